"""Time against rows, features, splits and partitions, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jobs.bench.growing import Curve
from jobs.bench.presets import AUTO, CLUSTER

COLOURS = {AUTO: "C0", CLUSTER: "C1"}


def plot(curves: Sequence[Curve], path: Path) -> str:
    """Draw the curves; returns why there is no picture, or nothing if there is one."""
    if not curves:
        return "no picture: this preset measures no growth"
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter
    except ImportError:
        return "no picture: not installed: matplotlib"
    axes = list(dict.fromkeys(curve.axis for curve in curves))
    figure = Figure(figsize=(3.6 * len(axes), 3.8), layout="constrained")
    panels = figure.subplots(1, len(axes), sharey=True, squeeze=False)[0]
    for axis, panel in zip(axes, panels):
        draw(panel, axis, [curve for curve in curves if curve.axis == axis])
    panels[0].set_ylabel("seconds for a fit")
    panels[0].yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5, 7)))
    panels[0].yaxis.set_major_formatter(ScalarFormatter())
    panels[0].yaxis.set_minor_formatter(NullFormatter())
    figure.savefig(path, dpi=150)
    return ""


def draw(panel: Any, axis: str, curves: Sequence[Curve]) -> None:
    panel.set(xscale="log", yscale="log", xlabel=axis)
    values = curves[0].values
    panel.set_xticks(values, [short(value) for value in values])
    panel.set_xticks([], minor=True)
    for curve in curves:
        points = [(n, s) for n, s in zip(curve.values, curve.seconds) if s is not None]
        fitted = "" if curve.exponent is None else f": {axis}^{curve.exponent:.2f}"
        label, colour = f"{curve.contender}{fitted}", COLOURS[curve.contender]
        panel.plot(*zip(*points), marker="o", color=colour, label=label)
    panel.grid(alpha=0.3)
    panel.legend(fontsize="small", frameon=False)


def short(value: int) -> str:
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if value >= size:
            return f"{value / size:g}{unit}"
    return str(value)
