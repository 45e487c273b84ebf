"""The settings of a job: keys with types, defaults and help, declared once as a dataclass.

    @dataclass(frozen=True)
    class MakeRegistry:
        rows: int = key(100_000, "rows to generate", low=1)

A field is a text, a number, a boolean, a list of these, a choice (`Literal`), a map of anything
(`dict[str, Any]`) or of texts (`dict[str, str]`), or a section, which is again such a dataclass.
`| None` allows null. `convert` checks a value against its type and says what is needed. `yamlfile`
reads YAML, `options` the command line.
"""

from __future__ import annotations

import reprlib
import types
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from difflib import get_close_matches
from typing import Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from figs_spark.app.errors import WRONG_USAGE, JobError

T = TypeVar("T")
MOST = 2**63 - 1


def key(default: Any, text: str, low: float | None = None, high: float | None = None) -> Any:
    """A field with its help text, and the smallest and largest number allowed."""
    metadata = {"help": text, "low": low, "high": high}
    if isinstance(default, (list, dict)):
        return field(default_factory=lambda: default.copy(), metadata=metadata)
    return field(default=default, metadata=metadata)


def section(cls: type[Any], text: str) -> Any:
    return field(default_factory=cls, metadata={"help": text})


@dataclass(frozen=True)
class Key:
    """One field, by its dotted name."""

    name: str
    kind: Any
    text: str
    low: float | None
    high: float | None

    @property
    def optional(self) -> bool:
        return type(None) in get_args(self.kind)

    @property
    def plain(self) -> Any:
        """The type without `| None`."""
        if get_origin(self.kind) in (Union, types.UnionType):
            return next(kind for kind in get_args(self.kind) if kind is not type(None))
        return self.kind

    @property
    def is_map(self) -> bool:
        return get_origin(self.plain) is dict

    @property
    def holds_texts(self) -> bool:
        """Whether this is a map whose values are texts, taken as they are written."""
        return self.is_map and get_args(self.plain)[1] is str

    @property
    def is_list(self) -> bool:
        return get_origin(self.plain) is list

    @property
    def choices(self) -> tuple[str, ...]:
        return get_args(self.plain) if get_origin(self.plain) is Literal else ()


def keys_of(cls: type[Any], prefix: str = "") -> dict[str, Key | type[Any]]:
    """Every field by its dotted name; a section is its class, and its fields follow it."""
    hints = get_type_hints(cls)
    keys: dict[str, Key | type[Any]] = {}
    for item in fields(cls):
        name, kind, notes = prefix + item.name, hints[item.name], item.metadata
        if is_dataclass(kind):
            assert isinstance(kind, type)
            keys[name] = kind
            keys |= keys_of(kind, f"{name}.")
        else:
            keys[name] = Key(name, kind, notes["help"], notes["low"], notes["high"])
    return keys


def close(name: str, names: Iterable[str]) -> str:
    """A hint for a name that does not exist: the most similar one, or "" if none is similar."""
    matches = get_close_matches(name, list(names), n=1)
    return f"did you mean '{matches[0]}'?" if matches else ""


def nearest(name: str, names: Iterable[str]) -> str:
    """A hint for a name that does not exist: the most similar one, or else all of them."""
    names = sorted(names)
    return close(name, names) or f"use one of {', '.join(names)}."


@dataclass(frozen=True)
class Settings(Generic[T]):
    """The values of a job, and the line or the option that set each of them."""

    job: T  # the dataclass, such as Train, with a value for every key
    origins: Mapping[str, str]
    dry_run: bool = False
    overwrite: bool = False

    def error(self, name: str, message: str, code: int = WRONG_USAGE) -> JobError:
        """A JobError that names the line or the option that set `name`."""
        return JobError(code, f"{self.origins.get(name, name)}: {message}")


def build(cls: type[T], values: Mapping[str, Any]) -> T:
    """The dataclass from values by dotted name; other fields have their defaults."""
    arguments = {}
    for item in fields(cls):  # type: ignore[arg-type]
        inner = {
            name.removeprefix(f"{item.name}."): value
            for name, value in values.items()
            if name.startswith(f"{item.name}.")
        }
        kind = get_type_hints(cls)[item.name]
        if item.name in values:
            arguments[item.name] = values[item.name]
        elif inner:
            arguments[item.name] = build(kind, inner)
    return cls(**arguments)


# Does a value have the type that its key needs?


def convert(declared: Key, value: Any) -> Any:
    """The value, or a ValueError that says what is needed."""
    if value is None:
        if not declared.optional:
            raise ValueError(f"{_needed(declared)} is needed, got null")
        return None
    if declared.is_map:
        if not isinstance(value, dict):
            raise ValueError(f"{_needed(declared)} is needed, got {shown(value)}")
        values = {str(name): inner for name, inner in value.items()}
        wrong = [name for name, inner in values.items() if not isinstance(inner, str)]
        if declared.holds_texts and wrong:
            raise ValueError(f"the entry '{wrong[0]}' needs a text, got {shown(values[wrong[0]])}")
        return values
    if declared.is_list:
        if not isinstance(value, list):
            raise ValueError(f"{_needed(declared)} is needed, got {shown(value)}")
        return [_scalar(declared, get_args(declared.plain)[0], item) for item in value]
    return _scalar(declared, declared.plain, value)


def _scalar(declared: Key, kind: Any, value: Any) -> Any:
    if declared.choices:
        if value not in declared.choices:
            raise ValueError(f"{_needed(declared)} is needed, got {shown(value)}")
        return value
    if isinstance(value, int) and abs(value) > MOST:
        raise ValueError(f"{_needed(declared)} of at most 64 bits is needed")
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        hint = "; put it in quotes" if kind is str else ""
        raise ValueError(f"{_needed(declared)} is needed, got {shown(value)}{hint}")
    if kind in (int, float):
        _check_range(declared, value)
    return value


def _check_range(declared: Key, value: float) -> None:
    low, high = declared.low, declared.high
    if (low is not None and value < low) or (high is not None and value > high) or value != value:
        bounds = f"at least {low:g}" if high is None else f"from {low or 0:g} to {high:g}"
        raise ValueError(f"a number {bounds} is needed, got {value}")


_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 120


def shown(value: Any) -> str:
    """A wrong value as text for a message, of a bounded length."""
    return _SHORT.repr(value)


_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


def _needed(declared: Key) -> str:
    if declared.choices:
        return f"one of {', '.join(declared.choices)}"
    if declared.is_map:
        return "a map of keys and values"
    if declared.is_list:
        return f"a list, each {_NAMES[get_args(declared.plain)[0]]},"
    return _NAMES[declared.plain]
