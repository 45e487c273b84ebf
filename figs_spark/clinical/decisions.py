"""Is a decision by the score worth it? Net benefit by threshold, and the fate of 1,000 patients.

The net benefit of a threshold t is the share of true positives less the share of false positives,
which count t / (1 - t) each: whoever acts at a risk of 10% takes nine needless treatments for one
that is needed. Rows with `score >= t` are treated. NumPy only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from figs_spark.clinical.curves import Floats, RowsByScore

POINTS = 100
LARGEST = 0.95  # threshold


@dataclass(frozen=True)
class DecisionCurve:
    """The net benefit of treating by the score and of treating all; of treating none it is 0."""

    thresholds: Floats
    model: Floats
    all: Floats
    tp: Floats  # weights of rows that are treated
    fp: Floats


def decision_curve_of(rows: RowsByScore, thresholds: Sequence[float] | Floats) -> DecisionCurve:
    """The curve at these thresholds, each above 0 and below 1."""
    limits = np.asarray(thresholds, dtype=np.float64)
    wrong = limits[~((limits > 0) & (limits < 1))]
    if len(wrong):
        raise ValueError(f"thresholds has {wrong[0]:g}: a threshold lies above 0 and below 1.")
    total = rows.weights.sum()
    # The scores fall, so the rows at or above a threshold come first.
    treated = np.searchsorted(-rows.low, -limits, side="right")
    tp = np.concatenate([[0.0], np.cumsum(rows.positives)])[treated]
    fp = np.concatenate([[0.0], np.cumsum(rows.negatives)])[treated]
    odds = limits / (1 - limits)
    everyone = rows.positives.sum() / total - odds * rows.negatives.sum() / total
    return DecisionCurve(limits, tp / total - odds * fp / total, everyone, tp, fp)


def usual_thresholds(rows: RowsByScore, threshold: float | None = None) -> Floats:
    """From 0.5% to where decisions end: four times the rate, or twice the threshold in use, but
    for no other reason beyond a half."""
    rate = float(rows.positives.sum() / rows.weights.sum())
    end = min(LARGEST, max(0.2, 4 * rate, min(0.5, 2 * (threshold or 0.0))))
    return np.linspace(0.005, end, POINTS)


def per_thousand(line: Mapping[str, float]) -> dict[str, float]:
    """Of 1,000 patients like these: who is flagged, rightly or not, and who is missed."""
    counts = {name: line[name] for name in ("tp", "fp", "fn", "tn")}
    total = sum(counts.values())
    of_thousand = {name: 1000 * count / total for name, count in counts.items()}
    return {"flagged": of_thousand["tp"] + of_thousand["fp"], **of_thousand}
