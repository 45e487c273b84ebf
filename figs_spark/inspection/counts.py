"""What a first look counts in a column, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

TEXT, NUMBER, TIME, OTHER = "text", "number", "time", "other"
MARKERS = ("?", "NA", "N/A", "#N/A", "NULL", "null", "NaN", "nan", "", ".", "-", "--")


@dataclass(frozen=True)
class Tally:
    """Rows, how many different values they have, and the sum of the label over them."""

    rows: int = 0
    label: float = 0.0
    kinds: int = 0  # of values

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.rows + other.rows, self.label + other.label, self.kinds + other.kinds)

    @property
    def mean(self) -> float:
        """The share with the label, or the mean label."""
        return self.label / self.rows if self.rows else float("nan")


def total(tallies: Sequence[Tally]) -> Tally:
    return sum(tallies, Tally())


@dataclass(frozen=True)
class Counted:
    """The values of a column. Text that few rows have is in `others`; numbers are rounded."""

    name: str
    type: str  # as Spark writes it
    kind: str  # TEXT, NUMBER, TIME or OTHER
    missing: Tally = Tally()
    texts: Mapping[str, Tally] = field(default_factory=dict)
    numbers: Mapping[float, Tally] = field(default_factory=dict)
    others: Tally = Tally()
    fractions: int = 0  # different numbers that are not whole
    alike: Mapping[str, int] = field(default_factory=dict)  # by pattern: values that match it

    @cached_property
    def present(self) -> Tally:
        """All rows in which the column has a value."""
        return total([*self.texts.values(), *self.numbers.values(), self.others])

    @property
    def distinct(self) -> int:
        return self.present.kinds

    @property
    def rows(self) -> int:
        return self.present.rows + self.missing.rows

    @property
    def whole(self) -> bool:
        return self.kind == NUMBER and self.fractions == 0

    def share(self, pattern: str) -> float:
        """The share of the different values that match a pattern."""
        return self.alike.get(pattern, 0) / self.distinct if self.distinct else 0.0


@dataclass(frozen=True)
class Label:
    """What is predicted: a share of rows, or an amount."""

    name: str
    positive: str | None
    rows: int  # that have a label
    missing: int
    mean: float
    variance: float
    classes: Mapping[str, int] = field(default_factory=dict)  # rows by class; empty: an amount
    source: str | None = None  # the column, if the label is made of one

    @property
    def is_class(self) -> bool:
        return bool(self.classes)

    @property
    def text(self) -> str:
        """What a row with the label has: readmitted = <30."""
        return self.name if self.positive is None else f"{self.name} = {self.positive}"
