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
    """YAML 1.1 takes 1e-4 for text; here it is a number."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+(\.\d*)?|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


@dataclass
class _Found:
    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def read_yaml(path: str, cls: type[Any]) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """Values by dotted name, and the line that each one is on."""
    found = _Found()
    root = _compose(path)
    if root is None:
        return {}, {}
    if not isinstance(root, yaml.MappingNode):
        raise JobError(WRONG_USAGE, f"{path}: keys and values are needed, such as `rows: 1000`.")
    _read(path, root, keys_of(cls), "", found)
    if found.problems:
        raise JobError(WRONG_USAGE, "\n".join(found.problems))
    return found.values, found.origins


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
    path: str, node: yaml.MappingNode, known: Mapping[str, Any], prefix: str, found: _Found
) -> None:
    seen: set[str] = set()
    for name, line, value in _entries(node):
        full, where = prefix + name, f"{path}, line {line}"
        if full in seen:
            found.problems.append(f"{where}: '{full}' is set twice. Leave one of them.")
        seen.add(full)
        if full not in known:
            siblings = [k.removeprefix(prefix) for k in known if _is_child(k, prefix)]
            found.problems.append(f"{where}: unknown key '{full}'; {nearest(name, siblings)}")
        elif not isinstance(known[full], Key):
            _read_section(path, value, known, full, where, found)
        else:
            _read_value(known[full], value, where, found)


def _read_section(
    path: str, node: yaml.Node, known: Mapping[str, Any], name: str, where: str, found: _Found
) -> None:
    if isinstance(node, yaml.MappingNode):
        found.origins[name] = f"{where} ({name})"
        _read(path, node, known, f"{name}.", found)
    elif _plain(node) is not None:
        found.problems.append(f"{where}: '{name}' is a section: indented keys are needed below it.")


def _read_value(known: Key, node: yaml.Node, where: str, found: _Found) -> None:
    found.origins[known.name] = f"{where} ({known.name})"
    try:
        found.values[known.name] = convert(known, _plain(node))
    except ValueError as error:
        found.problems.append(f"{where}: '{known.name}': {error}.")
    if known.is_map and isinstance(node, yaml.MappingNode):
        file = where.rpartition(", line ")[0]
        for name, line, _ in _entries(node):
            inner = f"{known.name}.{name}"
            found.origins[inner] = f"{file}, line {line} ({inner})"


def _entries(node: yaml.MappingNode) -> Iterator[tuple[str, int, yaml.Node]]:
    for key, value in node.value:
        yield str(key.value), key.start_mark.line + 1, value


def _plain(node: yaml.Node) -> Any:
    loader = _Loader("")
    try:
        return loader.construct_object(node, deep=True)
    finally:
        loader.dispose()


def _is_child(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and "." not in name.removeprefix(prefix)


def scalar(text: str) -> Any:
    """What a text on the command line is in YAML: 10 a number, true a truth value."""
    node = yaml.compose(text, Loader=_Loader)
    return None if node is None else _plain(node)
