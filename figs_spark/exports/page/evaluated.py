"""What a page shows of an evaluation, as plain data without counts that could point to persons.

A figure is a number; a text such as "<11" or "hidden" in its place; or None if there is none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

Figure = float | str | None
Line = Mapping[str, Figure]
Points = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Decision:
    """Net benefit by threshold."""

    model: Points
    all: Points


@dataclass(frozen=True)
class Evaluated:
    """The evaluation of a score for two classes.

    `summary` has one line for all rows, then one per group: `by` is the column and `group` its
    value. `gaps` has the differences of each group from the largest one.
    """

    threshold: float
    summary: tuple[Line, ...]
    operating_points: tuple[Line, ...] = ()
    calibration: tuple[Line, ...] = ()
    smooth: Points = ()
    roc: Points = ()
    decision: Decision | None = None
    gaps: tuple[Line, ...] = ()
    over_time_and_place: tuple[str, ...] = ()  # columns of `by` that are periods or sites
    small_cell: int = 11

    @property
    def overall(self) -> Line:
        return self.summary[0]

    def of_column(self, column: str) -> list[Line]:
        return [line for line in self.summary if line["by"] == column]

    @property
    def columns(self) -> list[str]:
        """The columns by which rows were grouped."""
        return list(dict.fromkeys(str(line["by"]) for line in self.summary[1:]))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)
