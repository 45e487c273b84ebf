"""What every fitted model does: it scores rows, shows itself, and can be saved."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml import Model
from pyspark.ml.linalg import Vector
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from figs_spark.dataframes.columns import column
from figs_spark.pictures.axes import to_axes
from figs_spark.pictures.shapes import Drawing
from figs_spark.pictures.svg import to_html, to_svg
from figs_spark.pictures.trees import WIDTH
from figs_spark.stages.base.inputs import check_outputs, scoring_columns, with_scoring_array
from figs_spark.stages.base.persistence import Persistent
from figs_spark.stages.base.rows import by_name, in_order
from figs_spark.stages.params.declared import DeclaredParams
from figs_spark.treesum import Feature
from figs_spark.treesum.contents import read_classes
from figs_spark.treesum.fingerprint import short, stage_fingerprint
from figs_spark.treesum.prediction import Outcome
from figs_spark.treesum.reading import Labels

if TYPE_CHECKING:
    import pandas as pd


class FittedModel(DeclaredParams, Persistent, Model):
    """A model that scores rows and draws itself.

    The kind of model (one sum, many, one per group) says what it scores by; the kind of outcome
    (a number, classes) says what comes out.
    """

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._classes = 0  # 0: regression
        self._class_names: tuple[str, ...] | None = None

    @property
    def _target(self) -> Outcome:
        """What the scores stand for."""
        return Outcome(self._classes)

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
        scores = [column(own[1])[c] for c in range(self._target.outputs)]
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

    # Text and picture

    @abstractmethod
    def rules(self) -> pd.DataFrame:
        """One row per leaf: tree, leaf, path as text, value, rows, weight."""

    @abstractmethod
    def _text(self) -> str:
        """What `print(model)` shows before the fingerprint."""

    def __str__(self) -> str:
        return f"{self._text()}\n\nFingerprint {short(self.fingerprint)}"

    @property
    def toDebugString(self) -> str:
        """What `print(model)` shows."""
        return str(self)

    @abstractmethod
    def _drawing(self, width: float) -> Drawing:
        """The picture; trees that would be wider in a row are put into several rows."""

    def plot(self, ax: Any = None, width: float = WIDTH) -> Any:
        """The picture by matplotlib: on the axes, or on a new figure; returns the axes.

        `width` is that of a row of trees, in pixels of 1/96 inch. On axes that are given, the
        picture is scaled to fit.
        """
        return to_axes(self._drawing(width), ax)

    def toSVG(self, width: float = WIDTH) -> str:
        """The picture as SVG text, to be written to a file or put into a page."""
        return to_svg(self._drawing(width))

    def _repr_html_(self) -> str:
        return to_html(self._drawing(WIDTH))

    def _labels(self) -> Labels:
        names = self._output_names()
        return Labels(
            subject=self._subject(),
            outcome=self._outcome(),
            percent=self._classes > 0,
            outputs=tuple(names) if names else ("",),
        )

    def _subject(self) -> str:
        label = self.getOrDefault("labelCol")
        if self._classes == 0:
            return f"Prediction of {label}"
        if self._classes > 2:
            return f"Score of each class of {label}"
        return f"Probability of {label} = {self._class_names[1] if self._class_names else 1}"

    def _cells(self, row: Any) -> list[Any]:
        """The values of one row in the order of the features."""
        named = by_name(row)
        if named is None:
            return in_order(row, self.featureNames)
        packed = named.get(self.getOrDefault("featuresCol"))
        if self.getOrDefault("featuresCols") is None and isinstance(packed, (Vector, list)):
            return in_order(packed, self.featureNames)
        lost = [
            self.featureNames[j] for j in sorted(self._used) if self.featureNames[j] not in named
        ]
        if lost:
            raise ValueError(f"The row lacks {lost}, which the model needs. None is for missing.")
        return [named.get(name) for name in self.featureNames]

    # Saving

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the model: of all that it holds, and of the threshold it decides by."""
        return stage_fingerprint(
            self._contents() or {}, self.given("threshold"), self.given("thresholds")
        )

    def _class_contents(self) -> dict[str, Any]:
        return {"classes": self._classes, "classNames": self._class_names}

    def _set_classes(self, contents: dict[str, Any], outputs: int, source: str) -> None:
        classification = self.hasParam("probabilityCol")
        self._classes, self._class_names = read_classes(contents, outputs, classification, source)
