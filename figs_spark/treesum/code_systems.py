"""Systems of codes, such as ICD-9-CM: which levels a code belongs to, and what these are called.

A level above the codes has a key, which says what it holds: "390-459" or "C43-C44+C4A" are ranges
of categories, "428*" and "A10B*" are all codes that begin so, "1.2.*" all codes below 1.2. A key is
a category like any other: a split lists it, and a value may be given as the key itself.

To look for a code, a system makes it into a unit: the ranges of a key hold all units whose first
letters lie between the ends of one of them.
"""

from __future__ import annotations

import re
import string
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources

Range = tuple[str, str]

ICD9, ICD10, ATC, DOTTED, PREFIX = "icd9", "icd10", "atc", "dotted", "prefix"
KNOWN = f"'{ICD9}', '{ICD10}', '{ATC}', '{DOTTED}', or '{PREFIX}:' with widths, as in 'prefix:1,3'"
ATC_WIDTHS = (1, 3, 4, 5)
PREFIXES = "prefix:1,3"  # if no widths are given
MOST_PARTS = 3  # of a dotted code that are levels
CATEGORIES = {ICD9: r"^([0-9]{3}|V[0-9]{2}|E[0-9]{3})$", ICD10: r"^[A-Z][0-9][0-9A-Z]$"}


@cache
def code_system(name: str) -> CodeSystem:
    """The system of this name; ValueError if there is none."""
    if name in (ICD9, ICD10):
        return IcdSystem(name, ("chapter", "block", "category"))
    if name == DOTTED:
        return DottedSystem(name, tuple(f"part {k + 1}" for k in range(MOST_PARTS)))
    kind, _, widths = (PREFIXES if name == PREFIX else name).partition(":")
    if name == ATC or (kind == PREFIX and re.fullmatch(r"[1-9][0-9]?(,[1-9][0-9]?)*", widths)):
        sizes = ATC_WIDTHS if name == ATC else tuple(sorted(set(map(int, widths.split(",")))))
        return PrefixSystem(name, tuple(f"first {size}" for size in sizes), sizes)
    raise ValueError(f"a system of codes is needed, {KNOWN}, got {name!r}")


def is_system(name: str) -> bool:
    try:
        return bool(code_system(name))
    except ValueError:
        return False


@dataclass(frozen=True)
class CodeSystem(ABC):
    """A system of codes with its levels, the broadest first."""

    name: str
    levels: tuple[str, ...]

    def unit(self, code: str) -> str:
        """What is compared with the ranges of a key."""
        return code

    @abstractmethod
    def keys(self, code: str) -> tuple[str | None, ...]:
        """The key of each level that holds a code; None if no level does."""

    @abstractmethod
    def depth(self, category: str) -> int:
        """The place of a key among the levels; that of a single code is after them all."""

    def ranges(self, key: str) -> tuple[Range, ...]:
        """What units a key holds."""
        start = key.removesuffix("*")
        return ((start, start),)

    @property
    def names(self) -> dict[str, str]:
        """What keys are called, if they have names."""
        return {}

    def is_level(self, category: str) -> bool:
        return self.depth(category) < len(self.levels)

    def holds(self, key: str, category: str) -> bool:
        """Whether a level holds a code, or a level that is not above it."""
        depth = self.depth(key)
        if depth == len(self.levels) or depth > self.depth(category):
            return False
        code = self.ranges(category)[0][0] if self.is_level(category) else category
        return self.keys(code.removesuffix("."))[depth] == key

    def resolved(self, code: str, known: Collection[object]) -> str:
        """The code if it is among the known categories; else the narrowest known level with it."""
        if code in known:
            return code
        return next((key for key in reversed(self.keys(code)) if key in known), code) or code

    def label(self, key: str) -> str:
        """A key as it is read: circulatory (390-459)."""
        shown = ", ".join(a if a == b else f"{a}-{b}" for a, b in self.ranges(key))
        return f"{self.names[key]} ({shown})" if key in self.names else key


class IcdSystem(CodeSystem):
    """ICD-9-CM or ICD-10-CM: chapters, blocks, and categories of three characters (E codes of
    ICD-9: four). Points may be there or not; ICD-9 may have lost its leading zeros."""

    def unit(self, code: str) -> str:
        start = code.upper().partition(".")[0]
        if self.name == ICD10 or start.startswith("E"):
            return start[: 3 if self.name == ICD10 else 4]
        return start.rjust(3, "0")[:3]

    def keys(self, code: str) -> tuple[str | None, ...]:
        return self._keys_of(self.unit(code))

    @cache  # noqa: B019  there is one object for each system
    def _keys_of(self, unit: str) -> tuple[str | None, ...]:
        if not re.match(CATEGORIES[self.name], unit):
            return (None,) * len(self.levels)
        chapter, block = (self._within(unit, self.keys_at(depth)) for depth in (0, 1))
        return chapter, block, f"{unit}*"

    @cached_property
    def units(self) -> list[str]:
        """All categories that there can be, with those that no chapter holds."""
        digits = "0123456789"
        if self.name == ICD9:
            starts = [f"{a}{b}" for a in digits for b in digits]
            starts += [f"V{a}" for a in digits] + [f"E{one}" for one in starts]
            return [start + end for start in starts for end in digits]
        firsts = [f"{letter}{a}" for letter in string.ascii_uppercase for a in digits]
        return [first + end for first in firsts for end in digits + string.ascii_uppercase]

    def keys_at(self, depth: int) -> list[str]:
        """The chapters (0) or the blocks (1)."""
        also = self._also_blocks if depth == 1 else set()
        return [key for key, own in self._depths.items() if own == depth or key in also]

    def _within(self, unit: str, keys: Iterable[str]) -> str | None:
        return next((k for k in keys if holds_unit(self.ranges(k), unit)), None)

    def depth(self, category: str) -> int:
        return 2 if category.endswith("*") else self._depths.get(category, 3)

    def ranges(self, key: str) -> tuple[Range, ...]:
        if key.endswith("*"):
            return super().ranges(key)
        ends = (part.split("-") for part in key.split("+"))
        return tuple((one[0], one[-1]) for one in ends)

    @property
    def names(self) -> dict[str, str]:
        return _table(self.name)[0]

    @cached_property
    def _depths(self) -> dict[str, int]:
        return _table(self.name)[1]

    @cached_property
    def _also_blocks(self) -> set[str]:
        """Chapters that are one block."""
        return _table(self.name)[2]


@dataclass(frozen=True)
class PrefixSystem(CodeSystem):
    """Codes whose first characters are their levels."""

    widths: tuple[int, ...] = ()

    def unit(self, code: str) -> str:
        return code.upper() if self.name == ATC else code

    def keys(self, code: str) -> tuple[str | None, ...]:
        unit = self.unit(code)
        return tuple(f"{unit[:size]}*" if len(unit) >= size else None for size in self.widths)

    def depth(self, category: str) -> int:
        size = len(category) - 1
        if category.endswith("*") and size in self.widths:
            return self.widths.index(size)
        return len(self.widths)

    @property
    def names(self) -> dict[str, str]:
        return _table(ATC)[0] if self.name == ATC else {}


class DottedSystem(CodeSystem):
    """Codes whose parts between points are their levels."""

    def unit(self, code: str) -> str:
        return f"{code}."

    def keys(self, code: str) -> tuple[str | None, ...]:
        parts = code.split(".")
        sizes = range(1, MOST_PARTS + 1)
        return tuple(f"{'.'.join(parts[:k])}.*" if len(parts) >= k else None for k in sizes)

    def depth(self, category: str) -> int:
        parts = category.removesuffix(".*").count(".")
        return parts if category.endswith(".*") and parts < MOST_PARTS else MOST_PARTS


def holds_unit(ranges: Iterable[Range], unit: str) -> bool:
    """Whether the first letters of a unit lie in a range."""
    return any(low <= unit[: len(low)] <= high for low, high in ranges)


@cache
def _table(name: str) -> tuple[dict[str, str], dict[str, int], set[str]]:
    """The names of keys, their levels, and the chapters that are one block."""
    names: dict[str, str] = {}
    depths: dict[str, int] = {}
    also: set[str] = set()
    text = resources.files(__package__).joinpath(f"code_tables/{name}.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        key, _, words = line.strip().partition(" ")
        if key in names:
            also.add(key)
        names.setdefault(key, words)
        depths.setdefault(key, int(line.startswith(" ")))
    return names, depths, also
