"""FIGS for a numeric outcome."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column

from figs_spark.stages import params
from figs_spark.stages.estimator import FIGSEstimator
from figs_spark.stages.model import FIGSModel
from figs_spark.stages.params import with_signature
from figs_spark.stages.scoring import ScoringModel

DECLARED = (
    *params.INPUTS,
    params.LABEL_COL,
    params.WEIGHT_COL,
    *params.OUTPUTS,
    *params.GROWING,
)


class RegressionOutputs(ScoringModel):
    """A number comes out: the score."""

    def predict(self, values: Any) -> Any:
        """Predictions without Spark: for a table an array, for one row a number."""
        scores, single = self._scores(values)
        return float(scores[0, 0]) if single else scores[:, 0]

    def _outcome(self) -> str:
        return f"the prediction of {self.getOrDefault('labelCol')}"

    def _outputs(self, scores: Sequence[Column], predicted: Sequence[Column]) -> dict[str, Column]:
        name = self.getOrDefault("predictionCol")
        return {name: predicted[0]} if name else {}


class FIGSRegressionModel(RegressionOutputs, FIGSModel):
    """A fitted FIGS for a numeric outcome: the prediction is the sum of the leaf values."""

    declared = DECLARED


@with_signature
class FIGSRegressor(FIGSEstimator):
    """Fast Interpretable Greedy-Tree Sums for a numeric outcome.

    >>> FIGSRegressor(featuresCols=["age", "dose"], labelCol="days", maxSplits=8).fit(df)
    """

    declared = DECLARED
    _classification = False
    _model_class = FIGSRegressionModel
