"""What a model predicts: a number, or a class with the probability of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml.functions import array_to_vector
from pyspark.sql import Column
from pyspark.sql import functions as F

from figs_spark.dataframes.expressions import COLUMNS
from figs_spark.stages.base.editing import Editing
from figs_spark.stages.base.frames import vectors
from figs_spark.stages.base.pointed import Pointed
from figs_spark.stages.base.reporting import Reporting
from figs_spark.stages.operating_point import WithOperatingPoint
from figs_spark.stages.params.declared import DeclaredParams
from figs_spark.treesum.adjustments import has_rates
from figs_spark.treesum.nodes import LOGIT, SOFTMAX
from figs_spark.treesum.prediction import Outcome

if TYPE_CHECKING:
    from typing_extensions import Self


class RegressionOutputs(Editing, Pointed, Reporting):
    """The prediction is a number: the score."""

    def _predict_unnamed(self, values: Any) -> Any:
        scores, single = self._scores(values)
        return float(scores[0, 0]) if single else scores[:, 0]

    def _predictions(self, scores: np.ndarray) -> dict[str, Any]:
        return {self.getOrDefault("predictionCol") or "prediction": scores[:, 0]}

    def _outcome(self) -> str:
        return f"the prediction of {self.getOrDefault('labelCol')}"

    def _outputs(self, scores: Sequence[Column], predicted: Sequence[Column]) -> dict[str, Column]:
        name = self.getOrDefault("predictionCol")
        return {name: predicted[0]} if name else {}


class ThresholdParams(DeclaredParams):
    """`threshold` and `thresholds` exclude each other: setting one clears the other."""

    def setThreshold(self, value: float) -> Self:
        """Set `threshold`, and clear `thresholds`."""
        self.clear(self.getParam("thresholds"))
        return self._set(threshold=value)

    def setThresholds(self, value: Sequence[float]) -> Self:
        """Set `thresholds`, and clear `threshold`."""
        self.clear(self.getParam("threshold"))
        return self._set(thresholds=value)

    def _check_params(self, classes: int | None = None) -> None:
        """ValueError if the thresholds contradict one another or do not fit the classes."""
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


class ClassificationOutputs(ThresholdParams, WithOperatingPoint, Editing, Pointed, Reporting):
    """The prediction is a class.

    With two classes the score, clipped to [0, 1], is the probability of class 1; with the link
    "logit" it is its log odds. With more there is one score per class; the scores are clipped and
    normalised, or with the link "softmax" their exponentials are normalised.
    """

    @property
    def numClasses(self) -> int:
        """The number of classes."""
        return self._classes

    @property
    def link(self) -> str:
        """ "identity"; "logit" if the sum of the leaf values is log odds; "softmax" if there are
        more than two classes, and the sums are the logarithms of their weights."""
        return self._sum_outcome.link

    @property
    def classNames(self) -> list[str]:
        """The names of the classes, in the order of their numbers 0, 1, 2, ..."""
        return list(self._class_names or map(str, range(self._classes)))

    def predictProbability(self, values: Any) -> np.ndarray:
        """Probabilities without Spark, shape (rows, classes); for one row (classes,)."""
        scores, single = self._scores(values)
        table = self._target.probability_table(scores)
        return table[0] if single else table

    def _predict_unnamed(self, values: Any) -> Any:
        classes = self._predicted_classes(self.predictProbability(values))
        return classes if np.ndim(classes) else float(classes)

    def _predicted_classes(self, probabilities: np.ndarray) -> Any:
        self._check_params(self._classes)
        return self._target.predicted_class(list(probabilities.T), *self._thresholds)

    def _predictions(self, scores: np.ndarray) -> dict[str, Any]:
        probabilities = self._target.probability_table(scores)
        return {
            self.getOrDefault("predictionCol") or "prediction": self._predicted_classes(
                probabilities
            ),
            self.getOrDefault("probabilityCol") or "probability": vectors(probabilities),
        }

    @property
    def _thresholds(self) -> tuple[float, Sequence[float] | None]:
        return self.getOrDefault("threshold"), self.getOrDefault("thresholds")

    def _outcome(self) -> str:
        return self._meaning(self._target)

    def _sum_words(self) -> str:
        return self._meaning(self._sum_outcome)

    def _meaning(self, outcome: Outcome) -> str:
        """What scores of this kind are, in words."""
        words = self._words(outcome)
        return f"{words}; with class weights it is no rate" if self._has_class_weights else words

    @property
    def _has_class_weights(self) -> bool:
        weighted = self.getOrDefault("classWeight") != "none"
        return weighted and not all(map(has_rates, self._family().sums))

    def _words(self, outcome: Outcome) -> str:
        label, word = self.getOrDefault("labelCol"), self._score_word
        if outcome.link == SOFTMAX:
            return (
                f"the log weight of each class of {label}; the {word} of a class is exp(sum) "
                f"/ total of exp(sum)"
            )
        if outcome.classes > 2:
            return f"the score of each class of {label}, clipped to [0, 1] and normalised"
        if outcome.link == LOGIT:
            return f"the log odds of {self._positive()}; the {word} is 1 / (1 + exp(-sum))"
        return f"the {word} of {self._positive()}, clipped to [0, 1]"

    def _output_names(self) -> Sequence[str] | None:
        if self._classes <= 2:
            return None
        return self._class_names or [str(k) for k in range(self._classes)]

    def _predicted(self, scores: Sequence[Column]) -> list[Column]:
        """The probability of each class."""
        return self._target.probabilities(scores, COLUMNS)

    def _outputs(self, scores: Sequence[Column], predicted: Sequence[Column]) -> dict[str, Column]:
        get = self.getOrDefault
        raw = list(scores)
        if self._classes == 2:
            raw = [-scores[0] if self._target.link == LOGIT else 1 - scores[0], scores[0]]
        outputs = {
            get("rawPredictionCol"): array_to_vector(F.array(*raw)),
            get("probabilityCol"): array_to_vector(F.array(*predicted)),
            get("predictionCol"): self._class(predicted),
        }
        return {name: expression for name, expression in outputs.items() if name}

    def _class(self, predicted: Sequence[Column]) -> Column:
        self._check_params(self._classes)
        chosen: Column = self._target.predicted_class(predicted, *self._thresholds, COLUMNS)
        return chosen
