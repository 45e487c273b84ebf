"""Time against rows, features, splits and partitions, as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jobs.bench.growing import Curve


def plot(curves: Sequence[Curve], path: Path) -> str:
    """Draw the curves; returns why there is no picture, empty where there is one."""
    if not curves:
        return "not drawn: this preset measures no growth"
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return "not drawn: matplotlib is not installed"
    axes = list(dict.fromkeys(curve.axis for curve in curves))
    figure = Figure(figsize=(3.6 * len(axes), 3.6), layout="constrained")
    for panel, axis in zip(figure.subplots(1, len(axes), sharey=True, squeeze=False)[0], axes):
        for curve in curves:
            ...
    figure.savefig(path, dpi=150)
    return ""
