"""The figures of some rows by name: without a threshold, at a threshold, and between two groups."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from figs_spark.clinical.curves import OperatingPoint, RowsByScore, Z


def of_score(rows: RowsByScore) -> dict[str, Any]:
    """The metrics of a score for two classes that need no threshold."""
    area, error = rows.auc()
    low, high = np.clip([area - Z * error, area + Z * error], 0, 1).tolist()
    positives = float(rows.positives.sum())
    return {
        "rows": int(rows.rows.sum()),
        "positives": positives,
        "auc": area,
        "aucLow": low,
        "aucHigh": high,
        "brier": rows.brier(),
    }


def at_threshold(rows: RowsByScore, threshold: float) -> dict[str, float]:
    """The metrics if class 1 is predicted above the threshold, with 95% intervals."""
    over = rows.low > threshold
    counts = {
        "tp": rows.positives[over],
        "fp": rows.negatives[over],
        "tn": rows.negatives[~over],
        "fn": rows.positives[~over],
    }
    p, n = rows.positive_squares, rows.negative_squares
    squares = tuple(float(s.sum()) for s in (p[over], n[over], n[~over], p[~over]))
    sums: dict[str, Any] = {name: float(weights.sum()) for name, weights in counts.items()}
    point = OperatingPoint(math.nan, threshold, squares=squares, **sums)  # type: ignore[arg-type]
    return {name: value for name, value in point.row().items() if name != "level"}


def gap(one: Mapping[str, Any], other: Mapping[str, Any], name: str) -> dict[str, float] | None:
    """By how much a figure of one group is above that of another, with a 95% interval.

    The interval is made from those of the two groups, which are independent, by Newcombe's method.
    None if a figure is missing or hidden.
    """
    cells = [line.get(key) for line in (one, other) for key in (name, f"{name}Low", f"{name}High")]
    if not all(isinstance(c, (int, float)) and math.isfinite(c) for c in cells):
        return None
    a, a_low, a_high, b, b_low, b_high = map(float, cells)  # type: ignore[arg-type]
    down, up = math.hypot(a - a_low, b_high - b), math.hypot(a_high - a, b - b_low)
    return {"gap": a - b, "gapLow": a - b - down, "gapHigh": a - b + up}
