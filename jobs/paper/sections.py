"""What a part of the report is made of: texts, tables, figures and claims; and their Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd


@dataclass(frozen=True)
class Claim:
    """What the paper says, what was measured, and whether it holds; None if it was not tried."""

    text: str
    measured: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        return {True: "yes", False: "**no**", None: "not known"}[self.holds]

    def resting_on(self, done: int, total: int) -> Claim:
        """With the number of cells, if some are missing; not decided if more than half are."""
        if done == total or self.holds is None:
            return self
        if 2 * done < total:
            return replace(self, measured=f"only {done} of {total} cells so far", holds=None)
        return replace(self, measured=f"{self.measured} ({done} of {total} cells)")


@dataclass(frozen=True)
class Grid:
    """A table with a caption."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A figure of matplotlib, and what it shows."""

    name: str
    caption: str
    figure: Any


@dataclass(frozen=True)
class Section:
    """One part of the report."""

    title: str
    text: str  # how it was measured
    blocks: Sequence[Grid | Picture]
    claims: Sequence[Claim] = field(default_factory=list)


def spread(values: pd.Series, digits: int = 3) -> str:
    """The mean and its standard error."""
    known = values.dropna()
    if known.empty:
        return ""
    error = f" ± {known.sem():.{digits}f}" if len(known) > 1 else ""
    return f"{known.mean():.{digits}f}{error}"


def pivoted(
    results: pd.DataFrame, rows: str, columns: str, value: str, digits: int = 3
) -> tuple[list[str], list[list[str]]]:
    """Header and rows of a table of means with their standard errors, in the order of results."""
    across = list(dict.fromkeys(results[columns]))
    lines = []
    for name in dict.fromkeys(results[rows]):
        own = results[results[rows] == name]
        cells = [spread(own.loc[own[columns] == column, value], digits) for column in across]
        lines.append([str(name), *cells])
    return [rows, *map(str, across)], lines


def how_set(results: pd.DataFrame) -> Grid:
    """The params of each method, in its own words; nothing where they are its defaults."""
    first = results.drop_duplicates("method")
    rows = [
        [method, ", ".join(f"`{name}={value}`" for name, value in params.items()) or "defaults"]
        for method, params in zip(first["method"], first["params"])
    ]
    return Grid("How models are set", ["model", "params"], rows)
