"""How good is a score? Tables from a scored DataFrame, for all rows and by group.

Spark adds the rows up by score. `rows_by_score` says what happens if there are very many scores,
`curves` explains thresholds and weights. `scoreCol` is a number, or a vector or array with the
values of two classes. With `groupCol` a table begins with that column: "all" first, then the groups
in order. In a group without positives or without negatives some numbers are NaN. All intervals are
95% intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import DataFrame

from figs_spark.clinical.curves import Curve, RowsByScore, Z, effective, wilson
from figs_spark.clinical.scored import Scored

if TYPE_CHECKING:
    import pandas as pd

SENSITIVITIES = (0.92, 0.94, 0.96, 0.98)
Lines = Iterable[dict[str, Any]]  # of a table


def operating_points(
    scored: DataFrame, levels: Sequence[float] = SENSITIVITIES,
    labelCol: str = "label", scoreCol: str = "probability",
    weightCol: str | None = None, groupCol: str | None = None,
) -> pd.DataFrame:  # fmt: skip
    """For each level of sensitivity, the threshold with the best specificity.

    A level is the smallest sensitivity that is accepted. Rows with `score >= threshold` are
    flagged. One row per level: threshold, sensitivity, specificity, PPV and NPV with Wilson
    intervals (`...Low`, `...High`), likelihood ratios, F1, and the counts tp, fp, tn, fn (their
    weights if there is a `weightCol`). Each group has its own thresholds.
    """
    wrong = [level for level in levels if not 0 <= level <= 1]
    if wrong:
        raise ValueError(f"levels has {wrong[0]!r}: a sensitivity lies between 0 and 1.")

    def lines(rows: RowsByScore) -> Lines:
        curve = Curve(rows)
        return [curve.point(float(level)).row() for level in levels]

    return _table(Scored(scored, labelCol, scoreCol, weightCol, groupCol), lines)


def roc_curve(
    scored: DataFrame, labelCol: str = "label", scoreCol: str = "probability",
    weightCol: str | None = None, groupCol: str | None = None,
) -> pd.DataFrame:  # fmt: skip
    """One row per threshold: sensitivity, specificity, and how many rows (or what weight) it flags.

    The first threshold, inf, flags nobody; the last one, -inf, flags everybody.
    """

    def lines(rows: RowsByScore) -> Lines:
        curve = Curve(rows)
        names = ("threshold", "sensitivity", "specificity", "tp", "fp")
        columns = (curve.thresholds, curve.sensitivity, curve.specificity, curve.tp, curve.fp)
        return [dict(zip(names, point)) for point in zip(*(c.tolist() for c in columns))]

    return _table(Scored(scored, labelCol, scoreCol, weightCol, groupCol), lines)


def roc_auc(
    scored: DataFrame, labelCol: str = "label", scoreCol: str = "probability",
    weightCol: str | None = None, groupCol: str | None = None,
) -> pd.DataFrame:  # fmt: skip
    """The area under the ROC curve, with DeLong's standard error and interval, ties included."""

    def lines(rows: RowsByScore) -> Lines:
        area, error = rows.auc()
        low, high = np.clip([area - Z * error, area + Z * error], 0, 1).tolist()
        interval = {"aucLow": low, "aucHigh": high, "standardError": error}
        counts = {name: float(getattr(rows, name).sum()) for name in ("positives", "negatives")}
        return [{"auc": area} | interval | counts]

    return _table(Scored(scored, labelCol, scoreCol, weightCol, groupCol), lines)


def brier_score(
    scored: DataFrame, labelCol: str = "label", scoreCol: str = "probability",
    weightCol: str | None = None, groupCol: str | None = None,
) -> pd.DataFrame:  # fmt: skip
    """The mean squared difference between probability and label; smaller is better.

    `skill` compares it with a score that gives everyone the observed rate: 0 is no better than
    that, 1 is perfect.
    """

    def lines(rows: RowsByScore) -> Lines:
        rate, brier = rows.positives.sum() / rows.weights.sum(), rows.brier()
        skill = 1 - brier / (rate * (1 - rate)) if 0 < rate < 1 else np.nan
        return [{"brier": brier, "skill": float(skill), "observed": float(rate)}]

    return _table(Scored(scored, labelCol, scoreCol, weightCol, groupCol), lines, both=False)


def calibration(
    scored: DataFrame, bins: int = 10,
    labelCol: str = "label", scoreCol: str = "probability",
    weightCol: str | None = None, groupCol: str | None = None,
) -> pd.DataFrame:  # fmt: skip
    """The mean predicted and the observed rate, with a Wilson interval, in bins of similar weight.

    A score with at most `bins` distinct values has one bin per value. Equal scores stay together.
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise ValueError(f"bins must be an integer of at least 1, got {bins!r}.")

    def lines(rows: RowsByScore) -> Lines:
        numbers = rows.bins(bins)
        return [bin_line(rows, numbers == k) for k in range(numbers.max() + 1)]

    return _table(Scored(scored, labelCol, scoreCol, weightCol, groupCol), lines, both=False)


def bin_line(rows: RowsByScore, inside: np.ndarray) -> dict[str, Any]:
    """The mean predicted and the observed rate of the entries inside a bin."""
    weight = float(rows.weights[inside].sum())
    observed = float(rows.positives[inside].sum()) / weight
    low, high = wilson(observed, effective(weight, float(rows.squares[inside].sum())))
    return {
        "low": float(rows.low[inside].min()),
        "high": float(rows.high[inside].max()),
        "predicted": float(rows.scores[inside].sum()) / weight,
        "observed": observed,
        "observedLow": low,
        "observedHigh": high,
        "rows": int(rows.rows[inside].sum()),
    }


def _table(
    scored: Scored, lines: Callable[[RowsByScore], Lines], both: bool = True
) -> pd.DataFrame:
    """The lines of all rows and of each group, under one another."""
    import pandas as pd

    labelled = [(group, line) for group, rows in scored.by_group(both) for line in lines(rows)]
    table = pd.DataFrame([line for _, line in labelled])
    if scored.group is not None:
        table.insert(0, scored.group, pd.Series([group for group, _ in labelled], dtype=object))
    return table
