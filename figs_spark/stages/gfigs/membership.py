"""Membership: a classifier estimates the probability that a row belongs to each group."""

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

from figs_spark.stages.base.persistence import can_be_saved
from figs_spark.stages.gfigs.groups import Group
from figs_spark.stages.gfigs.membership_columns import MembershipColumn, vector

if TYPE_CHECKING:
    import pandas as pd

# The columns that the classifier reads and writes.
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
REG_PARAM = 0.01  # on standardised slots: enough to limit the effect of a rare category

log = logging.getLogger("figs_spark")


@dataclass(frozen=True)
class Membership:
    """A fitted classifier, the groups that it distinguishes, and the columns that it uses."""

    __module__ = "figs_spark"

    groups: tuple[Group, ...]
    columns: tuple[MembershipColumn, ...]
    model: Any

    def with_probabilities(self, frame: DataFrame, cells: Sequence[Column], new: str) -> DataFrame:
        """Add the column `new`: the probability of each group, as array<double>."""
        return probabilities(self.model, frame.withColumn(VECTOR, vector(self.columns, cells)), new)

    def coefficients(self) -> pd.DataFrame | None:
        """The log odds of each group by feature, if the classifier is linear.

        With two groups there is one column, for the second group against the first.
        """
        import pandas as pd

        coefficients = _coefficients(self.model)
        if coefficients is None:
            return None
        slots = [slot for column in self.columns for slot in column.slots]
        groups = self.groups if len(coefficients) > 1 else self.groups[1:]
        index = pd.Index([*slots, "(intercept)"], name="feature")
        return pd.DataFrame(coefficients.T, index=index, columns=pd.Index(groups, dtype=object))


def probabilities(model: Any, frame: DataFrame, new: str) -> DataFrame:
    """Add the column `new`, the probability of each group, and drop the column VECTOR."""
    scored = model.transform(frame).withColumn(new, vector_to_array(F.col(PROBABILITY)))
    return scored.drop(VECTOR, PROBABILITY, RAW, PREDICTION)


def classifier_for(estimator: Any, groups: Sequence[Group], weighted: bool) -> Any:
    """The estimator, by default a logistic regression, with its columns set."""
    if estimator is None:
        estimator = LogisticRegression(regParam=REG_PARAM)
    if isinstance(estimator, GBTClassifier) and len(groups) > 2:
        raise ValueError(
            f"GBTClassifier (membershipEstimator) is for 2 groups, and there are {len(groups)}. "
            f"Use RandomForestClassifier or LogisticRegression."
        )
    if not can_be_saved(estimator):
        log.warning(
            "%s (membershipEstimator) is no class of pyspark.ml or figs_spark: the model can be "
            "used, but not saved.",
            type(estimator).__name__,
        )
    names = dict(COLUMNS)
    if weighted and estimator.hasParam("weightCol"):
        names["weightCol"] = WEIGHT
    elif weighted:
        log.warning(
            "%s (membershipEstimator) takes no weights: weightCol is used only in the models of "
            "the groups.",
            type(estimator).__name__,
        )
    params = {estimator.getParam(n): v for n, v in names.items() if estimator.hasParam(n)}
    return estimator.copy(params)


def fit_classifier(classifier: Any, frame: DataFrame, groups: Sequence[Group]) -> Any:
    """Fit on the columns VECTOR, GROUP and, if there is one, WEIGHT.

    ValueError or a warning if the fit cannot be trusted.
    """
    model = classifier.fit(frame)
    name = type(classifier).__name__
    classes = getattr(model, "numClasses", len(groups))
    if classes != len(groups):
        raise ValueError(
            f"{name} (membershipEstimator) has {classes} classes, and there are {len(groups)} "
            f"groups. Use another classifier."
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
            tell_no_end(name, most)
    return model


def tell_no_end(name: str, steps: int) -> None:
    log.warning(
        "%s (membershipEstimator) did not converge in %d iterations. Raise its maxIter, or its "
        "regParam.",
        name,
        steps,
    )


def _coefficients(model: Any) -> np.ndarray | None:
    """Shape (1 or groups, slots + 1), the intercept last; None if the model is not linear."""
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
        folds_of_group = {row[FOLD] for row in counts if row[GROUP] == k}
        if len(folds_of_group) == 1:
            raise ValueError(
                f"Group {group!r} lies in one of the {folds} folds (membershipFolds): without this "
                f"fold no row of the group is left. Use another membershipFoldCol, or none."
            )
    scored = []
    for fold in sorted({row[FOLD] for row in counts}):
        model = fit_classifier(classifier, frame.where(F.col(FOLD) != fold), groups)
        scored.append(probabilities(model, frame.where(F.col(FOLD) == fold), new))
    return reduce(lambda a, b: a.unionByName(b), scored)
