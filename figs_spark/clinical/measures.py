"""How good is a score? Tables from a scored DataFrame, for all rows and by group.

Spark adds the rows up by score; see `levels` for what happens where there are many scores, and
`curves` for thresholds and weights. `scoreCol` is a number, or a vector or array with the values of
two classes. With `groupCol` a table begins with that column: "all" first, then the groups in order;
what a group without positives or without negatives cannot say is NaN. Intervals are of 95%.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import DataFrame

from figs_spark.clinical.curves import Curve, Levels, Z, effective, wilson
from figs_spark.clinical.scored import Scored

if TYPE_CHECKING:
    import pandas as pd

SENSITIVITIES = (0.92, 0.94, 0.96, 0.98)
Rows = Iterable[dict[str, Any]]


def operating_points(
    scored: DataFrame,
    levels: Sequence[float] = SENSITIVITIES,
    labelCol: str = "label",
    scoreCol: str = "probability",
    weightCol: str | None = None,
    groupCol: str | None = None,
) -> pd.DataFrame:
    """For each level the threshold with the best specificity at that sensitivity or more.

    Rows with `score >= threshold` are flagged. One row per level: threshold, sensitivity,
    specificity, PPV and NPV with Wilson intervals (`...Low`, `...High`), likelihood ratios, F1, and
    the counts tp, fp, tn, fn (with `weightCol` their weights). Each group has its own thresholds.
    """
    wrong = [level for level in levels if not 0 <= level <= 1]
    if wrong:
        raise ValueError(f"levels has {wrong[0]!r}: a sensitivity is from 0 to 1.")

    def rows(found: Levels) -> Rows:
        curve = Curve(found)
        return [curve.point(float(level)).row() for level in levels]

    return _table(Scored(scored, labelCol, scoreCol, weightCol, groupCol), rows)


def roc_curve(
    scored: DataFrame,
    labelCol: str = "label",
    scoreCol: str = "probability",
    weightCol: str | None = None,
    groupCol: str | None = None,
) -> pd.DataFrame:
    """One row per threshold: sensitivity, specificity, and the rows (or their weight) flagged.

    From nobody flagged (threshold inf) to everybody (-inf).
    """

    def rows(found: Levels) -> Rows:
        curve = Curve(found)
        names = ("threshold", "sensitivity", "specificity", "tp", "fp")
        columns = (curve.thresholds, curve.sensitivity, curve.specificity, curve.tp, curve.fp)
        return [dict(zip(names, row)) for row in zip(*(c.tolist() for c in columns))]

    return _table(Scored(scored, labelCol, scoreCol, weightCol, groupCol), rows)


def roc_auc(
    scored: DataFrame,
    labelCol: str = "label",
    scoreCol: str = "probability",
    weightCol: str | None = None,
    groupCol: str | None = None,
) -> pd.DataFrame:
    """The area under the ROC curve, with DeLong's standard error and interval, ties included."""

    def rows(found: Levels) -> Rows:
        area, error = found.auc()
        low, high = np.clip([area - Z * error, area + Z * error], 0, 1).tolist()
        interval = {"aucLow": low, "aucHigh": high, "standardError": error}
        counts = {name: float(getattr(found, name).sum()) for name in ("positives", "negatives")}
        return [{"auc": area} | interval | counts]

    return _table(Scored(scored, labelCol, scoreCol, weightCol, groupCol), rows)


def brier_score(
    scored: DataFrame,
    labelCol: str = "label",
    scoreCol: str = "probability",
    weightCol: str | None = None,
    groupCol: str | None = None,
) -> pd.DataFrame:
    """The mean squared difference of probability and label; smaller is better.

    `skill` is the share of it that the score saves: 0 for the observed rate as everyone's
    probability, 1 for a perfect score.
    """

    def rows(found: Levels) -> Rows:
        rate, brier = found.positives.sum() / found.weights.sum(), found.brier()
        skill = 1 - brier / (rate * (1 - rate)) if 0 < rate < 1 else np.nan
        return [{"brier": brier, "skill": float(skill), "observed": float(rate)}]

    return _table(Scored(scored, labelCol, scoreCol, weightCol, groupCol), rows, both=False)


def calibration(
    scored: DataFrame,
    bins: int = 10,
    labelCol: str = "label",
    scoreCol: str = "probability",
    weightCol: str | None = None,
    groupCol: str | None = None,
) -> pd.DataFrame:
    """Mean predicted and observed rate, with a Wilson interval, in bins of about equal weight.

    A score with at most `bins` distinct values gets one bin for each. Equal scores stay together.
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ValueError(f"bins must be an integer of at least 1, got {bins!r}.")

    def rows(found: Levels) -> Rows:
        numbers = found.bins(bins)
        return [_bin(found, numbers == k) for k in range(numbers.max() + 1)]

    return _table(Scored(scored, labelCol, scoreCol, weightCol, groupCol), rows, both=False)


def _bin(found: Levels, own: np.ndarray) -> dict[str, Any]:
    weight = float(found.weights[own].sum())
    observed = float(found.positives[own].sum()) / weight
    low, high = wilson(observed, effective(weight, float(found.squares[own].sum())))
    return {
        "low": float(found.low[own].min()),
        "high": float(found.high[own].max()),
        "predicted": float(found.scores[own].sum()) / weight,
        "observed": observed,
        "observedLow": low,
        "observedHigh": high,
        "rows": int(found.rows[own].sum()),
    }


def _table(scored: Scored, rows: Callable[[Levels], Rows], both: bool = True) -> pd.DataFrame:
    import pandas as pd

    found = [(group, row) for group, levels in scored.levels(both) for row in rows(levels)]
    table = pd.DataFrame([row for _, row in found])
    if scored.group is not None:
        table.insert(0, scored.group, pd.Series([group for group, _ in found], dtype=object))
    return table
