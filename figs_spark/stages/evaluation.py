"""How good a classifier of two classes is, as one number: an ML Evaluator in pure Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.ml.evaluation import Evaluator
from pyspark.sql import DataFrame

from figs_spark.clinical.curves import Curve
from figs_spark.clinical.scored import Scored
from figs_spark.stages import params
from figs_spark.stages.params import Declared, DeclaredParams, choice, number, text, with_signature
from figs_spark.stages.persistence import Persistent

SPECIFICITY, SENSITIVITY, BRIER = "specificityAtSensitivity", "sensitivityAtSpecificity", "brier"
METRICS: dict[str, Callable[[Curve], float]] = {
    "areaUnderROC": lambda curve: curve.levels.auc()[0],
    "areaUnderPR": lambda curve: curve.levels.average_precision(),
    "maxF1": Curve.best_f1,
    BRIER: lambda curve: curve.levels.brier(),
}

METRIC_NAME = Declared(
    "metricName",
    SPECIFICITY,
    choice(SPECIFICITY, SENSITIVITY, *METRICS),
    "'specificityAtSensitivity', 'sensitivityAtSpecificity': the best there is at minSensitivity, "
    "minSpecificity or more; 'areaUnderROC'; 'areaUnderPR' (average precision); 'maxF1': over all "
    "thresholds; 'brier', the only one of which less is better",
)
MIN_SENSITIVITY = Declared("minSensitivity", 0.94, number(0, 1), "of 'specificityAtSensitivity'")
MIN_SPECIFICITY = Declared("minSpecificity", 0.94, number(0, 1), "of 'sensitivityAtSpecificity'")
SCORE_COL = Declared(
    "scoreCol",
    "probability",
    text,
    "column with the score of class 1: a number, or the second of two in a vector or array",
)


@with_signature
class SensitivitySpecificityEvaluator(DeclaredParams, Persistent, Evaluator):
    """Judges a score of two classes, labelled 0 and 1, as clinicians do.

    >>> SensitivitySpecificityEvaluator(labelCol="died", minSensitivity=0.96).evaluate(scored)
    """

    declared = (
        METRIC_NAME,
        MIN_SENSITIVITY,
        MIN_SPECIFICITY,
        params.LABEL_COL,
        SCORE_COL,
        params.WEIGHT_COL,
    )

    def isLargerBetter(self) -> bool:
        return bool(self.getOrDefault("metricName") != BRIER)

    def _evaluate(self, dataset: DataFrame) -> float:
        get: Any = self.getOrDefault
        metric = get("metricName")
        scored = Scored(dataset, get("labelCol"), get("scoreCol"), get("weightCol"))
        curve = Curve(scored.overall(both=metric != BRIER))
        if metric == SPECIFICITY:
            return float(curve.specificity[curve.at_sensitivity(get("minSensitivity"))])
        if metric == SENSITIVITY:
            return float(curve.sensitivity[curve.at_specificity(get("minSpecificity"))])
        return METRICS[metric](curve)
