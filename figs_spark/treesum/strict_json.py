"""JSON read strictly and written in one form.

`parse` turns text into plain values. `Entry` is such a value with its place in the file: each of
its methods returns the value, which must have the right type already, or raises a ValueError that
names the file and the entry. `canonical` is the one text that stands for a value, and `digest` its
SHA-256.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

SHOWN = 60  # characters of a wrong value in a message
PATH_SHOWN = 120  # characters of a path in a message
NESTING = 500  # brackets open at once; a tree has 250 levels at most
_QUOTED = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NO_BRACKET = re.compile(r"[^][{}]+")


def canonical(data: Any) -> str:
    """The one JSON text of this data: keys sorted, no spaces, ASCII only, and for each number the
    shortest text that reads back as the same number."""
    return json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False
    )


def digest(data: Any) -> str:
    """The SHA-256 of the canonical JSON, 64 hexadecimal digits."""
    return hashlib.sha256(canonical(data).encode("ascii")).hexdigest()


def check_digest(saved: Any, data: Any, source: str) -> None:
    """Raise unless `saved` is the digest of the data."""
    try:
        right = saved == digest(data)
    except RecursionError as error:
        raise ValueError(f"{source} is damaged: its entries are nested too deep.") from error
    if not right:
        raise ValueError(
            f"{source} is damaged: its entry 'digest' is not that of what it holds. It was changed "
            f"after it was saved; take another copy."
        )


def parse(text: str, source: str) -> Any:
    """The value of a JSON text without NaN, Infinity or a key that stands twice."""
    if _deepest(text) > NESTING:
        raise ValueError(f"{source} is damaged: its entries are nested too deep.")
    try:
        return json.loads(
            text, object_pairs_hook=_object, parse_constant=_refuse, parse_float=_float
        )
    except ValueError as error:
        raise ValueError(f"{source} is damaged: it is not JSON ({error}).") from error


def _deepest(text: str) -> int:
    """How many brackets are open at once, at most.

    Counted before the text is parsed: Python's parser calls itself at each bracket, and where a
    program has raised the limit of recursion it would end the process.
    """
    depth = deepest = 0
    for bracket in _NO_BRACKET.sub("", _QUOTED.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the entry {shown(twice)} stands twice")
    return data


def _float(literal: str) -> float:
    value = float(literal)
    return value if math.isfinite(value) else _refuse(literal[:SHOWN])


def _refuse(literal: str) -> NoReturn:
    raise ValueError(f"{literal} is not a finite number")


@dataclass(frozen=True)
class Entry:
    """A value, its place in the file such as `trees[0].left`, and the name of the file."""

    value: Any
    source: str
    path: str = ""

    def refuse(self, needed: str) -> NoReturn:
        value = shown(self.value)
        what = f"the entry '{self._place}' is {value}" if self.path else f"it holds {value}"
        raise ValueError(f"{self.source} is damaged: {what}, and {needed} is needed.")

    def damaged(self, problem: str) -> NoReturn:
        where = f" in the entry '{self._place}'" if self.path else ""
        raise ValueError(f"{self.source} is damaged: {problem}{where}.")

    @property
    def _place(self) -> str:
        return self.path if len(self.path) <= PATH_SHOWN else f"...{self.path[-PATH_SHOWN:]}"

    def fields(self, required: Iterable[str], optional: Iterable[str] = ()) -> dict[str, Entry]:
        """The entries of an object that has all of `required` and nothing but these."""
        data = self.object()
        required, optional = list(required), list(optional)
        if lost := [name for name in required if name not in data]:
            self.damaged(f"the entry '{lost[0]}' is missing")
        if unknown := sorted(set(data) - set(required) - set(optional)):
            self.damaged(f"the entry {shown(unknown[0])} is unknown")
        return {name: self.inner(name) for name in data}

    def inner(self, name: str) -> Entry:
        """An entry of an object; its value is None if it is missing."""
        return Entry(self.object().get(name), self.source, f"{self.path}.{name}".lstrip("."))

    def object(self) -> dict[str, Any]:
        if type(self.value) is not dict or not all(type(name) is str for name in self.value):
            self.refuse("an object with named entries")
        return self.value

    def items(self) -> list[Entry]:
        if type(self.value) not in (list, tuple):
            self.refuse("a list")
        return [Entry(v, self.source, f"{self.path}[{k}]") for k, v in enumerate(self.value)]

    def text(self) -> str:
        if type(self.value) is not str:
            self.refuse("a text")
        try:
            self.value.encode("utf-8")
        except UnicodeEncodeError:
            self.refuse("a text of whole Unicode characters")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """A list of texts, none of which stands twice."""
        return self.distinct([item.text() for item in self.items()])

    def distinct(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The values, if none of them stands twice."""
        if len(set(values)) < len(values):
            twice = next(value for value in values if values.count(value) > 1)
            self.damaged(f"{shown(twice)} stands twice")
        return tuple(values)

    def boolean(self) -> bool:
        if type(self.value) is not bool:
            self.refuse("true or false")
        return self.value

    def integer(self, low: int, high: int | None = None) -> int:
        within = type(self.value) is int and low <= self.value
        if not within or (high is not None and self.value > high):
            bounds = f"of at least {low}" if high is None else f"from {low} to {high}"
            self.refuse(f"a whole number {bounds}")
        return int(self.value)

    def number(self, *special: str, low: float = -math.inf, high: float = math.inf) -> float:
        """A finite number; or one of the texts `special`, such as "inf", that stand for others."""
        if special and type(self.value) is str and self.value in special:
            return float(self.value)
        if not _is_finite(self.value) or not low <= self.value <= high:
            bounds = "" if low == -math.inf else f" of at least {low:g}"
            bounds = bounds if high == math.inf else f" from {low:g} to {high:g}"
            self.refuse(f"a finite number{bounds}")
        return float(self.value)

    def numbers(self, *special: str, low: float = -math.inf) -> tuple[float, ...]:
        return tuple(item.number(*special, low=low) for item in self.items())


def shown(value: Any) -> str:
    """A value of a file in a message: short, whatever it is."""
    if not (value is None or isinstance(value, (str, bool, int, float))):
        return "an object" if isinstance(value, dict) else f"a {type(value).__name__}"
    if isinstance(value, int) and abs(value) > 2**64:
        return "a huge number"  # Python refuses to print one of more than 4300 digits
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def _is_finite(value: Any) -> bool:
    if type(value) is int:
        return abs(value) <= 2**1023
    return isinstance(value, float) and math.isfinite(value)


def plain(value: float) -> float | str:
    """A number as JSON takes it: one that is not finite becomes a text."""
    return value if math.isfinite(value) else str(value)
