"""Reading a YAML file against the keys of a job; every problem is named with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from figs_spark.app.config import Key, convert, keys_of, nearest
from figs_spark.app.errors import WRONG_USAGE, JobError


class _Loader(yaml.SafeLoader):
    """YAML 1.1 reads 1e-4 as text; this loader reads it as a number."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


@dataclass
class _Content:
    """What the file sets, by dotted name, and what is wrong with it."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def read_yaml(path: str, cls: type[Any]) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Values by dotted name, and the line of each."""
    content = _Content()
    root = _compose(path)
    if root is None:
        return {}, {}
    if not isinstance(root, yaml.MappingNode):
        raise JobError(WRONG_USAGE, f"{path}: keys and values are needed, such as `rows: 1000`.")
    _read(path, root, keys_of(cls), "", content)
    if content.problems:
        raise JobError(WRONG_USAGE, "\n".join(content.problems))
    return content.values, content.origins


def _compose(path: str) -> yaml.Node | None:
    try:
        text = Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise JobError(WRONG_USAGE, f"--config {path} cannot be read: {reason}.") from error
    try:
        return yaml.compose(text, Loader=_Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}" if mark else ""
        raise JobError(WRONG_USAGE, f"{path}{where}: this is not YAML: {error.problem}.") from error
    except yaml.YAMLError as error:
        raise JobError(WRONG_USAGE, f"{path}: this is not YAML: {error}.") from error


def _read(
    path: str, node: yaml.MappingNode, keys: Mapping[str, Any], prefix: str, content: _Content
) -> None:
    seen: set[str] = set()
    for name, line, value in _entries(node):
        full, where = prefix + name, f"{path}, line {line}"
        if full in seen:
            content.problems.append(f"{where}: '{full}' is set twice. Remove one of them.")
        seen.add(full)
        if full not in keys:
            siblings = [k.removeprefix(prefix) for k in keys if _is_child(k, prefix)]
            content.problems.append(f"{where}: unknown key '{full}'; {nearest(name, siblings)}")
        elif not isinstance(keys[full], Key):
            _read_section(path, value, keys, full, where, content)
        else:
            _read_value(keys[full], value, where, content)


def _read_section(
    path: str, node: yaml.Node, keys: Mapping[str, Any], name: str, where: str, content: _Content
) -> None:
    if isinstance(node, yaml.MappingNode):
        content.origins[name] = f"{where} ({name})"
        _read(path, node, keys, f"{name}.", content)
    elif _plain(node) is not None:
        content.problems.append(f"{where}: '{name}' is a section: put its keys below it, indented.")


def _read_value(declared: Key, node: yaml.Node, where: str, content: _Content) -> None:
    content.origins[declared.name] = f"{where} ({declared.name})"
    try:
        content.values[declared.name] = convert(declared, _plain(node))
    except ValueError as error:
        content.problems.append(f"{where}: '{declared.name}': {error}.")
    if declared.is_map and isinstance(node, yaml.MappingNode):
        file = where.rpartition(", line ")[0]
        for name, line, _ in _entries(node):
            inner = f"{declared.name}.{name}"
            content.origins[inner] = f"{file}, line {line} ({inner})"


def _entries(node: yaml.MappingNode) -> Iterator[tuple[str, int, yaml.Node]]:
    for name, value in node.value:
        yield str(name.value), name.start_mark.line + 1, value


def _plain(node: yaml.Node) -> Any:
    loader = _Loader("")
    try:
        return loader.construct_object(node, deep=True)
    finally:
        loader.dispose()


def _is_child(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and "." not in name.removeprefix(prefix)


def scalar(text: str) -> Any:
    """The value of a text on the command line, read as YAML: 10 is a number, true a boolean."""
    node = yaml.compose(text, Loader=_Loader)
    return None if node is None else _plain(node)
