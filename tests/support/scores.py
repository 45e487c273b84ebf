"""Rows by score, from labels and scores in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from figs_spark.clinical.curves import RowsByScore


def levels_of(y: Any, scores: Any, weights: Any = None) -> RowsByScore:
    """The rows added up by score, as Spark would do it."""
    y, s = np.asarray(y, dtype=float), np.asarray(scores, dtype=float)
    w = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=float)
    columns = {
        "low": s,
        "high": s,
        "positives": w * y,
        "negatives": w * (1 - y),
        "positive_squares": w**2 * y,
        "negative_squares": w**2 * (1 - y),
        "rows": np.ones(len(y)),
        "scores": w * s,
        "errors": w * (s - y) ** 2,
    }
    return RowsByScore.of(s, columns)
