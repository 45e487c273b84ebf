"""The pictures of an evaluation, from its tables."""

from __future__ import annotations

from typing import Any

from figs_spark.pictures.curves import ALL, plot_calibration, plot_roc, plot_sizes
from figs_spark.treesum.prediction import THRESHOLD

Tables = dict[str, Any]


def draw_roc(tables: Tables) -> Any:
    """The ROC curve of all rows and of each group, with the operating point of the threshold."""
    summary = _named(tables["summary"])
    areas = {line.group: (line.auc, line.aucLow, line.aucHigh) for line in summary.itertuples()}
    chosen = summary[summary["threshold"] != THRESHOLD]  # 0.5 is nobody's choice
    points = {line.group: (line.sensitivity, line.specificity) for line in chosen.itertuples()}
    return plot_roc(_named(tables["roc"]), areas=areas, points=points)


def draw_calibration(tables: Tables) -> Any:
    """Observed against predicted rates, without bins whose rows or rate are hidden."""
    table = tables["calibration"]
    shown = [not isinstance(n, str) and r == r for n, r in zip(table["rows"], table["observed"])]
    return plot_calibration(_named(table[shown].astype({"rows": float, "observed": float})))


def draw_sizes(tables: Tables, chosen: int | None = None) -> Any:
    """The loss by number of splits, with the size of the model."""
    return plot_sizes(tables["sizes"], chosen=chosen)


def _named(table: Any) -> Any:
    """The table with one column for its groups: "age = [70-80)"."""
    names = [
        ALL if by == ALL else f"{by} = {'missing' if group != group or group is None else group}"
        for by, group in zip(table["by"], table["group"])
    ]
    named = table.drop(columns=["by", "group"])
    named.insert(0, "group", names)
    return named
