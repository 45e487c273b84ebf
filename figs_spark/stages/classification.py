"""FIGS for classes: the score is a probability, clipped; never a softmax."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
from pyspark.ml.functions import array_to_vector
from pyspark.sql import Column
from pyspark.sql import functions as F

from figs_spark.stages import params
from figs_spark.stages.estimator import FIGSEstimator
from figs_spark.stages.model import FIGSModel
from figs_spark.stages.operating import WithOperatingPoint
from figs_spark.stages.params import DeclaredParams, with_signature

DECLARED = (
    *params.INPUTS,
    params.LABEL_COL,
    params.WEIGHT_COL,
    params.CLASS_WEIGHT,
    *params.OUTPUTS,
    *params.CLASS_OUTPUTS,
    *params.GROWING,
)


class ThresholdParams(DeclaredParams):
    """`threshold` and `thresholds` exclude each other: to set one clears the other, as in MLlib."""

    def setThreshold(self, value: float) -> Any:
        """Set `threshold`, and clear `thresholds`."""
        self.clear(self.thresholds)
        return self._set(threshold=value)

    def setThresholds(self, value: Sequence[float]) -> Any:
        """Set `thresholds`, and clear `threshold`."""
        self.clear(self.threshold)
        return self._set(thresholds=value)

    def _check_params(self, classes: int | None = None) -> None:
        """Raise where the thresholds contradict one another or do not fit the classes."""
        label, thresholds = self.getOrDefault("labelCol"), self.getOrDefault("thresholds")
        if thresholds is None:
            if self.isSet("threshold") and classes is not None and classes > 2:
                raise ValueError(
                    f"threshold is for two classes, and column '{label}' (labelCol) has {classes}. "
                    f"Set thresholds instead, one value per class."
                )
            return
        if self.isSet("threshold"):
            raise ValueError("threshold and thresholds are both set. Clear one of them.")
        if thresholds.count(0.0) > 1:
            raise ValueError(
                f"thresholds is 0 for {thresholds.count(0.0)} classes. At most one may be 0."
            )
        if classes is not None and len(thresholds) != classes:
            raise ValueError(
                f"thresholds has {len(thresholds)} values, and column '{label}' (labelCol) has "
                f"{classes} classes. Give one value per class."
            )


class ClassificationOutputs(ThresholdParams, WithOperatingPoint):
    """Classes come out.

    Two classes: the score, clipped to [0, 1], is the probability of class 1. More: one score per
    class, clipped and normalised.
    """

    @property
    def numClasses(self) -> int:
        return self._classes

    def predictProbability(self, values: Any) -> np.ndarray:
        """Probabilities without Spark, shape (rows, classes); for one row (classes,)."""
        scores, single = self._scores(values)
        clipped = np.clip(scores, 0.0, 1.0)
        if self._classes == 2:
            found = np.column_stack([1 - clipped[:, 0], clipped[:, 0]])
        else:
            total = clipped.cumsum(axis=1)[:, -1:]  # from left to right, as Spark adds
            even = np.full_like(clipped, 1 / self._classes)
            found = np.divide(clipped, total, out=even, where=total > 0)
        return found[0] if single else found

    def predict(self, values: Any) -> Any:
        """Predicted classes without Spark: for a table an array, for one row a number."""
        self._check_params(self._classes)
        found = self.predictProbability(values)
        thresholds = self.getOrDefault("thresholds")
        if thresholds is not None:
            with np.errstate(divide="ignore", invalid="ignore"):
                scaled = np.where(np.array(thresholds) == 0, np.inf, found / np.array(thresholds))
            classes = np.argmax(scaled, axis=-1)
        elif self._classes == 2:
            classes = found[..., 1] > self.getOrDefault("threshold")
        else:
            classes = np.argmax(found, axis=-1)
        return classes.astype(float) if np.ndim(classes) else float(classes)

    def _outcome(self) -> str:
        label = self.getOrDefault("labelCol")
        if self._classes > 2:
            return f"the score of each class of {label}, clipped to [0, 1] and normalised"
        positive = self._class_names[1] if self._class_names else "1"
        return f"the probability of {label} = {positive}, clipped to [0, 1]"

    def _output_names(self) -> Sequence[str] | None:
        if self._classes <= 2:
            return None
        return self._class_names or [str(k) for k in range(self._classes)]

    def _predicted(self, scores: Sequence[Column]) -> list[Column]:
        """The probability of each class."""
        clipped = [F.greatest(F.lit(0.0), F.least(F.lit(1.0), score)) for score in scores]
        if self._classes == 2:
            return [1 - clipped[0], clipped[0]]
        total = reduce(operator.add, clipped)
        return [F.when(total > 0, p / total).otherwise(1 / self._classes) for p in clipped]

    def _outputs(self, scores: Sequence[Column], predicted: Sequence[Column]) -> dict[str, Column]:
        get = self.getOrDefault
        raw = [1 - scores[0], scores[0]] if self._classes == 2 else list(scores)
        outputs = {
            get("rawPredictionCol"): array_to_vector(F.array(*raw)),
            get("probabilityCol"): array_to_vector(F.array(*predicted)),
            get("predictionCol"): self._class(predicted),
        }
        return {name: expression for name, expression in outputs.items() if name}

    def _class(self, predicted: Sequence[Column]) -> Column:
        self._check_params(self._classes)
        thresholds = self.getOrDefault("thresholds")
        if thresholds is None and self._classes == 2:
            above = predicted[1] > self.getOrDefault("threshold")
            return F.when(above, 1.0).otherwise(0.0)
        if thresholds is not None:
            pairs = zip(predicted, thresholds, strict=True)
            predicted = [p / t if t > 0 else F.lit(float("inf")) for p, t in pairs]
        scaled = F.array(*predicted)
        first = F.call_function("array_position", scaled, F.array_max(scaled))
        return (first - 1).cast("double")


class FIGSClassificationModel(ClassificationOutputs, FIGSModel):
    """A fitted FIGS for classes."""

    declared = DECLARED


@with_signature
class FIGSClassifier(ThresholdParams, FIGSEstimator):
    """Fast Interpretable Greedy-Tree Sums for two or more classes, labelled 0, 1, 2, ...

    >>> FIGSClassifier(featuresCols=["age", "sex"], labelCol="died", maxSplits=8).fit(df)
    """

    declared = DECLARED
    _classification = True
    _model_class = FIGSClassificationModel
