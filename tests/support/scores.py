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


def scored_parts(seed: int = 0, count: int = 4000) -> tuple[RowsByScore, dict[str, Any]]:
    """Rows by score of a good score, of all rows and by sex and site; site C is small."""
    random = np.random.default_rng(seed)
    levels = np.array([0.01, 0.04, 0.1, 0.3, 0.7])
    s = random.choice(levels, count, p=[0.5, 0.25, 0.15, 0.07, 0.03])
    y = (random.random(count) < s).astype(float)
    sex = random.choice(["female", "male"], count)
    site = random.choice(["A", "B", "C"], count, p=[0.6, 0.395, 0.005])

    def by(column: Any) -> list[tuple[str, Any]]:
        own = [(str(v), levels_of(y[column == v], s[column == v])) for v in np.unique(column)]
        return [("all", levels_of(y, s)), *own]

    return levels_of(y, s), {"sex": by(sex), "site": by(site)}
