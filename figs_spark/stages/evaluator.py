"""Evaluates a classifier of two classes by one number: an ML Evaluator in pure Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyspark.ml.evaluation import Evaluator
from pyspark.sql import DataFrame

from figs_spark.clinical.curves import Curve, RowsByScore
from figs_spark.clinical.scored import Scored
from figs_spark.stages.base.persistence import Persistent
from figs_spark.stages.params import catalogue as params
from figs_spark.stages.params.declared import Declared, DeclaredParams, with_signature
from figs_spark.stages.params.values import choice, number, text

SPECIFICITY, SENSITIVITY, BRIER = "specificityAtSensitivity", "sensitivityAtSpecificity", "brier"
METRICS: dict[str, Callable[[Curve], float]] = {
    "areaUnderROC": lambda curve: curve.rows.auc()[0],
    "areaUnderPR": lambda curve: curve.rows.average_precision(),
    "maxF1": Curve.best_f1,
    BRIER: lambda curve: curve.rows.brier(),
}

METRIC_NAME = Declared(
    "metricName",
    SPECIFICITY,
    choice(SPECIFICITY, SENSITIVITY, *METRICS),
    "'specificityAtSensitivity': the best specificity at minSensitivity or more; "
    "'sensitivityAtSpecificity': the best sensitivity at minSpecificity or more; 'areaUnderROC'; "
    "'areaUnderPR' (average precision); 'maxF1': the best F1 of all thresholds; 'brier': the Brier "
    "score, the only metric of which less is better",
)
MIN_SENSITIVITY = Declared(
    "minSensitivity", 0.94, number(0, 1), "smallest sensitivity for 'specificityAtSensitivity'"
)
MIN_SPECIFICITY = Declared(
    "minSpecificity", 0.94, number(0, 1), "smallest specificity for 'sensitivityAtSpecificity'"
)
SCORE_COL = Declared(
    "scoreCol",
    "probability",
    text,
    "column with the score of class 1: a number, or the second of two in a vector or array",
)


@with_signature
class SensitivitySpecificityEvaluator(DeclaredParams, Persistent, Evaluator):
    """Evaluates a score of two classes, labelled 0 and 1, by metrics that clinicians use.

    >>> SensitivitySpecificityEvaluator(labelCol="died", minSensitivity=0.96).evaluate(scored)
    """

    __module__ = "figs_spark"

    declared = (
        METRIC_NAME,
        MIN_SENSITIVITY,
        MIN_SPECIFICITY,
        params.LABEL_COL,
        SCORE_COL,
        params.WEIGHT_COL,
    )

    def isLargerBetter(self) -> bool:
        """Whether a larger metric is better: for all metrics but 'brier'."""
        return bool(self.getOrDefault("metricName") != BRIER)

    def evaluateByGroup(self, dataset: DataFrame, groupCol: str) -> list[tuple[Any, float]]:
        """The metric of all rows, under "all", and then of each group, from one aggregation.

        It is NaN for a group without rows of both classes.
        """
        return [
            (group, self._metric(Curve(rows))) for group, rows in self._by_group(dataset, groupCol)
        ]

    def _evaluate(self, dataset: DataFrame) -> float:
        ((_, rows),) = self._by_group(dataset)
        return self._metric(Curve(rows))

    def _by_group(
        self, dataset: DataFrame, group: str | None = None
    ) -> list[tuple[Any, RowsByScore]]:
        get: Any = self.getOrDefault
        scored = Scored(dataset, get("labelCol"), get("scoreCol"), get("weightCol"), group)
        return scored.by_group(both=get("metricName") != BRIER)

    def _metric(self, curve: Curve) -> float:
        get: Any = self.getOrDefault
        metric = get("metricName")
        if metric != BRIER and not (curve.tp[-1] > 0 and curve.fp[-1] > 0):
            return math.nan
        if metric == SPECIFICITY:
            return float(curve.specificity[curve.at_sensitivity(get("minSensitivity"))])
        if metric == SENSITIVITY:
            return float(curve.sensitivity[curve.at_specificity(get("minSpecificity"))])
        return METRICS[metric](curve)
