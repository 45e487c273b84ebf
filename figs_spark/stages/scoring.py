"""Scoring, for every kind of fitted model: features in, scores, output columns out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from pyspark.ml import Model
from pyspark.ml.linalg import Vector
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from figs_spark.engine.blocks import Target
from figs_spark.engine.columns import column
from figs_spark.stages.inputs import check_outputs, scoring_columns, with_scoring_array
from figs_spark.stages.params import DeclaredParams
from figs_spark.stages.persistence import Persistent
from figs_spark.treesum import Feature


class ScoringModel(DeclaredParams, Persistent, Model):
    """A model that scores rows. What it scores by, and what comes out, is for others to say."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._classes = 0  # 0: regression
        self._class_names: tuple[str, ...] | None = None

    @property
    def numFeatures(self) -> int:
        return len(self._features)

    @property
    def featureNames(self) -> list[str]:
        return [feature.name for feature in self._features]

    # What it scores by: the kind of model

    @property
    @abstractmethod
    def _features(self) -> tuple[Feature, ...]:
        """The features that the model was trained on, in their order."""

    @property
    @abstractmethod
    def _used(self) -> set[int]:
        """The features that make a difference."""

    @abstractmethod
    def _score_array(self, features: Sequence[Column]) -> Column:
        """The raw score of each output, as array<double>."""

    @abstractmethod
    def _raw_scores(self, values: Any) -> np.ndarray:
        """The same without Spark, (rows, outputs)."""

    @abstractmethod
    def truncate(self, k: int) -> Any:
        """The model as it was after its first k splits."""

    def _details(self, features: Sequence[Column]) -> dict[str, Column]:
        """Further output columns by name."""
        return {}

    # What comes out: the kind of outcome

    def _predicted(self, scores: Sequence[Column]) -> list[Column]:
        """What the scores predict."""
        return list(scores)

    @abstractmethod
    def _outputs(self, scores: Sequence[Column], predicted: Sequence[Column]) -> dict[str, Column]:
        """The output columns by name, in order."""

    @abstractmethod
    def _outcome(self) -> str:
        """Ends the sentence "the sum is ..."."""

    def _output_names(self) -> Sequence[str] | None:
        """What the outputs are called, where there are several."""
        return None

    # How

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """What other expressions build on gets a column of its own for the time being, so that
        Spark computes it once."""
        check_outputs(dataset, self)
        own = [f"{self.uid}_{name}" for name in ("features", "scores", "predicted")]
        dataset, features = self._with_features(dataset, own[0])
        dataset = dataset.withColumn(own[1], self._score_array(features))
        scores = [column(own[1])[c] for c in range(Target(self._classes).outputs)]
        dataset = dataset.withColumn(own[2], F.array(*self._predicted(scores)))
        predicted = [column(own[2])[c] for c in range(max(1, self._classes))]
        outputs = self._outputs(scores, predicted) | self._details(features)
        for name, expression in outputs.items():
            dataset = dataset.withColumn(name, expression)
        return dataset.drop(*own)

    def _with_features(self, dataset: DataFrame, new: str) -> tuple[DataFrame, list[Column]]:
        """The features, each as a Column; those of a vector are bound to the column `new`."""
        names = self.getOrDefault("featuresCols")
        if names is not None:
            return dataset, scoring_columns(dataset, self._features, self._used, names)
        name = self.getOrDefault("featuresCol")
        dataset = with_scoring_array(dataset, name, self.numFeatures, new)
        return dataset, [column(new)[j] for j in range(self.numFeatures)]

    def _scores(self, values: Any) -> tuple[np.ndarray, bool]:
        """Raw scores, and whether a single row was given."""
        single = isinstance(values, Vector) or np.ndim(values) == 1
        if single:
            cells = values.toArray() if isinstance(values, Vector) else values
            values = np.array([list(cells)], dtype=object)
        return self._raw_scores(values), single

    # Saving

    def _class_contents(self) -> dict[str, Any]:
        return {"classes": self._classes, "classNames": self._class_names}

    def _set_classes(self, contents: dict[str, Any], outputs: int, source: str) -> None:
        self._classes = contents.get("classes", "missing")
        if not isinstance(self._classes, int) or Target(self._classes).outputs != outputs:
            raise ValueError(
                f"{source} is damaged: the entry 'classes' is {self._classes}, and a leaf has "
                f"{outputs} value(s)."
            )
        names = contents.get("classNames")
        self._class_names = tuple(names) if names else None
