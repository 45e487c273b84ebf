"""Panels with lines and error bars, as the paper draws them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

COLOURS = {
    "FIGS": "#1b6ca8",
    "imodels FIGS": "#7fb3d8",
    "imodels FIGS, our bins": "#7fb3d8",
    "Bagging-FIGS": "#0b3c5d",
    "Bagging-FIGS, no ridge": "#7fb3d8",
    "G-FIGS": "#0b3c5d",
    "CART": "#d1495b",
    "CART (absolute error)": "#edae49",
    "C4.5": "#edae49",
    "RuleFit": "#66a182",
    "Boosted stumps": "#8d6a9f",
    "Boosted stumps, rate 1": "#c9a7d8",
    "Random forest": "#444444",
    "XGBoost": "#8d6a9f",
    "GAM": "#66a182",
    "A: regParam auto": "#2a9d8f",
    "A, logistic refit": "#edae49",
    "B: logistic loss": "#8d6a9f",
}


def panels(count: int, width: float = 3.2, height: float = 2.6, across: int = 4) -> tuple[Any, Any]:
    """A figure with so many axes; those left over are switched off."""
    columns = min(across, count)
    rows = math.ceil(count / columns)
    figure = Figure(figsize=(width * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for unused in axes[count:]:
        unused.axis("off")
    for used in axes[:count]:
        used.spines[["top", "right"]].set_visible(False)
        used.grid(alpha=0.25)
        used.set_axisbelow(True)
    return figure, axes[:count]


def line(axes: Any, rows: pd.DataFrame, x: str, y: str, label: str, **style: Any) -> None:
    """The mean of y at each x, with standard errors."""
    by = rows.groupby(x)[y]
    mean, error = by.mean(), by.sem().fillna(0.0)
    style.setdefault("color", COLOURS.get(label))
    axes.errorbar(mean.index, mean, error, label=label, lw=1.4, ms=3, marker="o", **style)


def legend(figure: Any, axes: Sequence[Any]) -> None:
    """One legend below all panels."""
    entries: dict[str, Any] = {}
    for one in axes:
        entries |= {label: handle for handle, label in zip(*one.get_legend_handles_labels())}
    columns = max(2, int(figure.get_figwidth() / 2.2))
    place = {"loc": "outside lower center", "ncols": columns, "frameon": False}
    figure.legend(entries.values(), entries.keys(), **place)
