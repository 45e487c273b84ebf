"""The classifier that estimates to which group a row belongs: fitting it, and its probabilities."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml.classification import GBTClassifier, LogisticRegression
from pyspark.ml.functions import vector_to_array
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from figs_spark.stages.gfigs.groups import Group
from figs_spark.stages.gfigs.membership_columns import MembershipColumn, vector

if TYPE_CHECKING:
    import pandas as pd

# Columns that the classifier reads and writes.
VECTOR, GROUP, WEIGHT, FOLD = (
    f"figs_spark_membership_{name}" for name in ("features", "group", "weight", "fold")
)
PROBABILITY, RAW, PREDICTION = (
    f"figs_spark_membership_{name}" for name in ("probability", "raw", "prediction")
)
COLUMNS = {
    "featuresCol": VECTOR,
    "labelCol": GROUP,
    "probabilityCol": PROBABILITY,
    "rawPredictionCol": RAW,
    "predictionCol": PREDICTION,
}
REG_PARAM = 0.01  # on standardised slots: enough to bound what a rare category can say

log = logging.getLogger("figs_spark")


@dataclass(frozen=True)
class Membership:
    """A fitted classifier, the groups it tells apart, and the columns it tells them by."""

    groups: tuple[Group, ...]
    columns: tuple[MembershipColumn, ...]
    model: Any

    def with_probabilities(self, frame: DataFrame, cells: Sequence[Column], new: str) -> DataFrame:
        """With the column `new`: the probability of each group, as array<double>."""
        return probabilities(self.model, frame.withColumn(VECTOR, vector(self.columns, cells)), new)

    def coefficients(self) -> pd.DataFrame | None:
        """Log odds by feature, where the classifier is linear: a column per group, of two groups
        for the second against the first."""
        import pandas as pd

        found = _coefficients(self.model)
        if found is None:
            return None
        slots = [slot for column in self.columns for slot in column.slots]
        groups = self.groups if len(found) > 1 else self.groups[1:]
        index = pd.Index([*slots, "(intercept)"], name="feature")
        return pd.DataFrame(found.T, index=index, columns=pd.Index(groups, dtype=object))


def probabilities(model: Any, frame: DataFrame, new: str) -> DataFrame:
    scored = model.transform(frame).withColumn(new, vector_to_array(F.col(PROBABILITY)))
    return scored.drop(VECTOR, PROBABILITY, RAW, PREDICTION)


def classifier_for(estimator: Any, groups: Sequence[Group], weighted: bool) -> Any:
    """The estimator, by default a logistic regression, with its columns set."""
    if estimator is None:
        estimator = LogisticRegression(regParam=REG_PARAM)
    if isinstance(estimator, GBTClassifier) and len(groups) > 2:
        raise ValueError(
            f"GBTClassifier (membershipEstimator) tells 2 groups apart, and there are "
            f"{len(groups)}. Use RandomForestClassifier or LogisticRegression."
        )
    names = dict(COLUMNS)
    if weighted and estimator.hasParam("weightCol"):
        names["weightCol"] = WEIGHT
    elif weighted:
        log.warning(
            "%s (membershipEstimator) takes no weights: weightCol counts in the models of the "
            "groups only.",
            type(estimator).__name__,
        )
    known = {estimator.getParam(n): v for n, v in names.items() if estimator.hasParam(n)}
    return estimator.copy(known)


def fit_classifier(classifier: Any, frame: DataFrame, groups: Sequence[Group]) -> Any:
    """Fit on the columns VECTOR, GROUP and, where weighted, WEIGHT; raise or warn where the fit
    cannot be trusted."""
    model = classifier.fit(frame)
    name = type(classifier).__name__
    known = getattr(model, "numClasses", len(groups))
    if known != len(groups):
        raise ValueError(
            f"{name} (membershipEstimator) found {known} groups where there are {len(groups)}. Use "
            f"another classifier."
        )
    coefficients = _coefficients(model)
    if coefficients is not None and not np.isfinite(coefficients).all():
        raise ValueError(
            f"{name} (membershipEstimator) diverged: {int((~np.isfinite(coefficients)).sum())} of "
            f"its {coefficients.size} coefficients are not finite. Raise its regParam, or put "
            f"columns with extreme values in membershipExcludeCols."
        )
    if getattr(model, "hasSummary", False) and model.hasParam("maxIter"):
        steps, most = model.summary.totalIterations, model.getOrDefault("maxIter")
        if steps >= most:
            log.warning(
                "%s (membershipEstimator) did not converge in %d iterations. Raise its maxIter, or "
                "its regParam.",
                name,
                most,
            )
    return model


def _coefficients(model: Any) -> np.ndarray | None:
    """(1 or groups, slots + 1), the intercept last."""
    matrix = getattr(model, "coefficientMatrix", None)
    if matrix is None:
        return None
    return np.column_stack([matrix.toArray(), model.interceptVector.toArray()])


def out_of_fold(
    classifier: Any, frame: DataFrame, groups: Sequence[Group], folds: int, new: str
) -> DataFrame:
    """Each row with the probabilities of a classifier that was fitted on the other folds."""
    counts = frame.groupBy(FOLD, GROUP).count().collect()
    for k, group in enumerate(groups):
        found = {row[FOLD] for row in counts if row[GROUP] == k}
        if len(found) == 1:
            raise ValueError(
                f"Group {group!r} lies in one of the {folds} folds (membershipFolds): when that "
                f"one is left out, no row of the group remains. Use another membershipFoldCol, or "
                f"none."
            )
    scored = []
    for fold in sorted({row[FOLD] for row in counts}):
        model = fit_classifier(classifier, frame.where(F.col(FOLD) != fold), groups)
        scored.append(probabilities(model, frame.where(F.col(FOLD) == fold), new))
    return reduce(lambda a, b: a.unionByName(b), scored)
