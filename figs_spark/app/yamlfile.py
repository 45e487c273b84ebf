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


MAP, NULL = "tag:yaml.org,2002:map", "tag:yaml.org,2002:null"
MOST_VALUES, MOST_LEVELS = 100_000, 50  # of one key, with its aliases written out


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
    except (OSError, ValueError) as error:  # ValueError: other text than UTF-8, a NUL in the path
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        raise JobError(WRONG_USAGE, f"--config {path} cannot be read: {reason}.") from error
    try:
        return yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        raise JobError(WRONG_USAGE, f"{path}{where}: this is not YAML: {_why(error)}.") from error


def _read(
    path: str, node: yaml.MappingNode, keys: Mapping[str, Any], prefix: str, content: _Content
) -> None:
    seen: set[str] = set()
    if node.tag != MAP:
        content.problems.append(f"{path}: the tag '{node.tag}' is unknown. Leave it out.")
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
    elif node.tag != NULL:
        content.problems.append(f"{where}: '{name}' is a section: put its keys below it, indented.")


def _read_value(declared: Key, node: yaml.Node, where: str, content: _Content) -> None:
    content.origins[declared.name] = f"{where} ({declared.name})"
    try:
        value = _texts(node) if declared.holds_texts else _plain(node)
        if declared.is_map:
            _check_types(value)
        content.values[declared.name] = convert(declared, value)
    except ValueError as error:
        content.problems.append(f"{where}: '{declared.name}': {error}.")
    if declared.is_map and isinstance(node, yaml.MappingNode):
        file = where.rpartition(", line ")[0]
        for name, line, _ in _entries(node):
            inner = f"{declared.name}.{name}"
            content.origins[inner] = f"{file}, line {line} ({inner})"


def _entries(node: yaml.MappingNode) -> Iterator[tuple[str, int, yaml.Node]]:
    for key, value in node.value:
        name = str(key.value) if isinstance(key, yaml.ScalarNode) else "a list or a map"
        yield name, key.start_mark.line + 1, value


def _plain(node: yaml.Node) -> Any:
    """The value of a node, or a ValueError that says why it has none."""
    _check_nodes(node)
    loader = _Loader("")
    try:
        return loader.construct_object(node, deep=True)
    except yaml.YAMLError as error:
        raise ValueError(_why(error)) from error
    except (AttributeError, KeyError, OverflowError, RecursionError, TypeError) as error:
        raise ValueError(f"it is not what its tag '{node.tag}' says") from error
    finally:
        loader.dispose()


def _texts(node: yaml.Node) -> Any:
    """A map with its values as they are written: `-`, `no` and `1e3` are texts, too."""
    if not isinstance(node, yaml.MappingNode):
        return _plain(node)
    _check_nodes(node)
    return {
        str(key.value): value.value if isinstance(value, yaml.ScalarNode) else _plain(value)
        for key, value in node.value
    }


def _check_nodes(node: yaml.Node) -> None:
    """Raise a ValueError if a value is endless, or has keys that are no texts or stand twice."""
    pending, count = [(node, 0)], 0
    while pending:
        inner, depth = pending.pop()
        count += 1
        if count > MOST_VALUES or depth > MOST_LEVELS:
            raise ValueError("it is nested too deep, or holds itself by an alias")
        if isinstance(inner, yaml.SequenceNode):
            pending += [(item, depth + 1) for item in inner.value]
        elif isinstance(inner, yaml.MappingNode):
            _check_keys(inner)
            pending += [(value, depth + 1) for _, value in inner.value]


def _check_keys(node: yaml.MappingNode) -> None:
    keys = [key for key, _ in node.value]
    if any(not isinstance(key, yaml.ScalarNode) for key in keys):
        raise ValueError("a list or a map stands as a key; a text is needed")
    names = [str(key.value) for key in keys]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"the key '{twice[0]}' is set twice. Leave one of them")


def _check_types(value: Any) -> None:
    """Raise a ValueError if a value is a date, or another thing that JSON does not have."""
    if isinstance(value, dict):
        for inner in value.values():
            _check_types(inner)
    elif isinstance(value, list):
        for inner in value:
            _check_types(inner)
    elif value is not None and not isinstance(value, (str, bool, int, float)):
        raise ValueError(f"{value!r:.60} is a {type(value).__name__}; put it in quotes")


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "it is nested too deep"
    problem = getattr(error, "problem", None) or str(error)
    return problem.partition("\n")[0].rstrip(".")


def _is_child(name: str, prefix: str) -> bool:
    return name.startswith(prefix) and "." not in name.removeprefix(prefix)


def scalar(text: str) -> Any:
    """The value of a text on the command line, read as YAML: 10 is a number, true a boolean.

    A ValueError says why a text is not YAML.
    """
    node = _node(text)
    value = None if node is None else _plain(node)
    _check_types(value)
    return value


def text_map(text: str) -> Any:
    """A map on the command line whose values are taken as they are written."""
    node = _node(text)
    return None if node is None else _texts(node)


def _node(text: str) -> yaml.Node | None:
    try:
        return yaml.compose(text, Loader=_Loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(f"{text!r:.60} is not YAML: {_why(error)}") from error
