"""Charts of an evaluation, by matplotlib: one small panel for each group, all on the same axes.

The tables are those of `roc_curve`, `calibration` and `crossValidatePath`. All rows come first, and
stand behind every group in grey. A group with few rows of either kind is left out, and a note says
so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from figs_spark.pictures.axes import pyplot
from figs_spark.pictures.colours import LOWERS, PALE_INK, RAISES
from figs_spark.pictures.lettering import wrapped
from figs_spark.treesum.visible import visible_name

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
LEAST = 10  # rows with and without the outcome, to be drawn
MOST_PANELS = 24
ACROSS, PANEL = 4, 2.7  # panels in a row, and the inches of one
ALONE = 4.6  # inches of a single panel
Z = 1.959963984540054
BEHIND = "#c3cad1"  # the colour of all rows behind a group


@dataclass(frozen=True)
class Panel:
    """A group of rows, and its part of the table."""

    name: str
    lines: Any  # of the table
    positives: float
    negatives: float

    @property
    def is_large(self) -> bool:
        return min(self.positives, self.negatives) >= LEAST


def plot_roc(
    curve: pd.DataFrame,
    *,
    areas: Mapping[str, tuple[float, float, float]] | None = None,
    points: Mapping[str, tuple[float, float]] | None = None,
    ax: Any = None,
) -> Any:
    """Draw the ROC curve of `roc_curve`, with a panel for each group; returns the figure.

    The band is a 95% interval of the sensitivity at each threshold (Wilson). The AUC has DeLong's
    interval, or what `areas` has by group: the AUC and the ends of its interval. `points` has by
    group a sensitivity and a specificity to mark; all rows are the group "all". Groups of fewer
    than 10 rows with or without the outcome are left out.
    """
    panels = list(_panels(curve, _positives_of_curve))

    def draw(panel: Panel, ax: Any) -> str:
        _roc(panel, ax)
        if points and panel.name in points:
            sensitivity, specificity = points[panel.name]
            ax.plot(1 - specificity, sensitivity, "o", color=RAISES, markersize=4)
        area = (areas or {}).get(panel.name) or _area(panel)
        return f"AUC {area[0]:.2f} ({area[1]:.2f} to {area[2]:.2f})"

    axes = {"xlabel": "1 - specificity", "ylabel": "sensitivity", "xlim": (0, 1), "ylim": (0, 1)}
    return _drawn(panels, draw, lambda panel, ax: _roc_line(panel, ax, BEHIND), axes, ax)


def plot_calibration(bins: pd.DataFrame, *, ax: Any = None) -> Any:
    """Draw observed against predicted rates of `calibration`; returns the figure.

    Each group has its panel, with 95% intervals, all on the same axes. Groups of fewer than 10 rows
    with or without the outcome are left out, and bins of fewer than 10 rows.
    """
    panels = list(_panels(bins, _positives_of_bins))
    shown = [_large_bins(panel)[["predicted", "observed"]] for panel in panels if panel.is_large]
    highest = max((rates.to_numpy(float).max(initial=0.0) for rates in shown), default=1.0)
    limit = min(1.0, 1.2 * highest)

    def behind(panel: Panel, ax: Any) -> None:
        lines = _large_bins(panel)
        ax.plot(lines["predicted"], lines["observed"], "-", color=BEHIND)

    def draw(panel: Panel, ax: Any) -> str:
        lines = _large_bins(panel)
        ends = [lines["observed"] - lines["observedLow"], lines["observedHigh"] - lines["observed"]]
        style = {"fmt": "o", "markersize": 3.5, "capsize": 2, "linewidth": 1, "color": LOWERS}
        ax.errorbar(lines["predicted"], lines["observed"], np.maximum(0, ends), **style)
        return f"{panel.positives + panel.negatives:,.0f} rows"

    axes = {"xlabel": "predicted", "ylabel": "observed", "xlim": (0, limit), "ylim": (0, limit)}
    return _drawn(panels, draw, behind, axes, ax)


def plot_sizes(sizes: Any, *, chosen: int | None = None, ax: Any = None) -> Any:
    """Draw the loss by the number of splits; returns the figure.

    `sizes` is a SizePath, its table, or the summary of a model; `chosen` is a size to mark.
    """
    table = getattr(sizes, "table", sizes)
    table = table if "splits" in table else table.reset_index()
    if ax is None:
        ax = pyplot().figure(figsize=(6, 4), layout="constrained").add_subplot()
    folds = "trainingLoss" in table
    training = table["trainingLoss" if folds else "loss"]
    ax.plot(table["splits"], training, ":", color="grey", label="on training rows")
    if folds:
        style = {"fmt": "o-", "capsize": 3, "markersize": 4, "color": LOWERS}
        label = "not trained on (mean over folds, standard error)"
        ax.errorbar(table["splits"], table["loss"], table["standardError"], label=label, **style)
    elif "validationLoss" in table:
        label = "on validation rows"
        ax.plot(table["splits"], table["validationLoss"], "o-", color=LOWERS, label=label)
    if chosen is not None:
        size = f"{chosen} split{'s' * (chosen != 1)}"
        ax.axvline(chosen, color=RAISES, linewidth=1.5, label=f"chosen: {size}")
    ax.set(xlabel="splits", ylabel="loss")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend(fontsize=8)
    return ax.figure


# Panels


def _panels(table: pd.DataFrame, count: Any) -> Iterator[Panel]:
    """All rows, then each group; the group is in the first column, unless there is none."""
    first = str(table.columns[0])
    if first in ("threshold", "low"):  # of a table without groups
        yield Panel(ALL, table, *count(table))
        return
    names = table[first].where(table[first].notna(), "missing")
    for name, lines in table.groupby(names.map(str), sort=False):
        yield Panel(str(name), lines, *count(lines))


def _positives_of_curve(lines: pd.DataFrame) -> tuple[float, float]:
    return float(lines["tp"].max()), float(lines["fp"].max())


def _positives_of_bins(lines: pd.DataFrame) -> tuple[float, float]:
    positives = float((lines["rows"] * lines["observed"]).sum())
    return positives, float(lines["rows"].sum()) - positives


def _large_bins(panel: Panel) -> Any:
    """The lines of a calibration table that stand for enough rows."""
    return panel.lines[panel.lines["rows"] >= LEAST]


def _drawn(panels: list[Panel], draw: Any, behind: Any, axes: dict[str, Any], ax: Any) -> Any:
    """All large groups in panels of the same axes, and a note of what is left out."""
    large = [panel for panel in panels if panel.is_large]
    if not large:
        raise ValueError(
            f"No group has {LEAST} rows with and {LEAST} without the outcome: nothing to draw."
        )
    shown = large[:MOST_PANELS]
    whole = next((panel for panel in shown if panel.name == ALL), None)
    if ax is not None and len(shown) > 1:
        raise ValueError("The table has groups, which need a figure of their own. Leave `ax` out.")
    figure, places = _grid(len(shown)) if ax is None else (ax.figure, [ax])
    for panel, place in zip(shown, places):
        place.axline((0, 0), slope=1, linestyle=":", linewidth=1, color="grey")
        if whole is not None and panel is not whole:
            behind(whole, place)
        figures = draw(panel, place)
        name = "All rows" if panel.name == ALL else visible_name(panel.name)
        place.set_title(f"{name}\n{figures}", fontsize=9)
        place.set(**axes, aspect="equal")
        place.tick_params(labelsize=8)
        place.label_outer()
        _label_lowest(place, axes["xlabel"])
    note = _note(panels, large)
    if note:
        figure.text(0.01, -0.01, note, fontsize=8, color=PALE_INK, va="top")
    return figure


def _grid(count: int) -> tuple[Any, list[Any]]:
    if count == 1:
        figure = pyplot().figure(figsize=(ALONE, ALONE), layout="constrained")
        return figure, [figure.add_subplot()]
    across = min(ACROSS, count)
    down = math.ceil(count / across)
    figure = pyplot().figure(figsize=(PANEL * across, (PANEL + 0.35) * down), layout="constrained")
    axes = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for unused in axes[count:]:
        unused.set_axis_off()
    return figure, list(axes)


def _label_lowest(ax: Any, label: str) -> None:
    """Label the x axis of a panel that has none below it."""
    spec = ax.get_subplotspec()
    if spec is None or spec.is_last_row():
        return
    below = [
        other
        for other in ax.figure.axes
        if other.axison
        and other.get_subplotspec().colspan == spec.colspan
        and other.get_subplotspec().rowspan.start > spec.rowspan.start
    ]
    if not below:
        ax.tick_params(labelbottom=True)
        ax.set_xlabel(label)


def _note(panels: list[Panel], large: list[Panel]) -> str:
    notes = []
    small = [visible_name(panel.name) for panel in panels if not panel.is_large]
    if small:
        notes.append(
            f"Left out, fewer than {LEAST} rows with or without the outcome: {', '.join(small)}."
        )
    if len(large) > MOST_PANELS:
        notes.append(f"{len(large) - MOST_PANELS} more groups are in the tables.")
    if len(large) > 1 and large[0].name == ALL:
        notes.append("Grey: all rows.")
    return "\n".join(wrapped(" ".join(notes), 8, 500)) if notes else ""


# ROC curves


def _roc_line(panel: Panel, ax: Any, colour: str) -> None:
    lines = panel.lines
    ax.plot(1 - lines["specificity"], lines["sensitivity"], color=colour, linewidth=1.5)


def _roc(panel: Panel, ax: Any) -> None:
    lines = panel.lines
    low, high = _wilson(lines["sensitivity"].to_numpy(float), panel.positives)
    ax.fill_between(1 - lines["specificity"], low, high, color=LOWERS, alpha=0.18, linewidth=0)
    _roc_line(panel, ax, LOWERS)


def _wilson(share: np.ndarray, rows: float) -> tuple[np.ndarray, np.ndarray]:
    middle = (share + Z**2 / (2 * rows)) / (1 + Z**2 / rows)
    half = Z * np.sqrt(share * (1 - share) / rows + Z**2 / (4 * rows**2)) / (1 + Z**2 / rows)
    return middle - half, middle + half


def _area(panel: Panel) -> tuple[float, float, float]:
    """The AUC of a curve from (0, 0) to (1, 1), with DeLong's interval."""
    lines = panel.lines.sort_values(["fp", "tp"])
    positives = np.diff(lines["tp"].to_numpy(float), prepend=0.0)
    negatives = np.diff(lines["fp"].to_numpy(float), prepend=0.0)
    p, n = panel.positives, panel.negatives
    wins = (n - np.cumsum(negatives) + negatives / 2) / n  # of a positive: negatives it outranks
    losses = (np.cumsum(positives) - positives / 2) / p  # of a negative: positives above it
    area = float(positives @ wins / p)
    variance = positives @ (wins - area) ** 2 / (p * (p - 1))
    variance += negatives @ (losses - area) ** 2 / (n * (n - 1))
    half = Z * math.sqrt(variance)
    return area, max(0.0, area - half), min(1.0, area + half)
