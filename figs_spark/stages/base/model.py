"""What every fitted model can do: score rows, print and draw itself, be saved."""

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
from figs_spark.dataframes.compat import check_frame, table_udf
from figs_spark.dataframes.derived import needed_for
from figs_spark.dataframes.labels import class_metadata
from figs_spark.exports import levels
from figs_spark.exports.instrument import Family, Instrument, Patient
from figs_spark.stages.base.deriving import Deriving
from figs_spark.stages.base.exporting import Exporting, version
from figs_spark.stages.base.frames import as_frame, with_feature_names
from figs_spark.stages.base.inputs import (
    OUTPUT_PARAMS,
    check_outputs,
    scoring_columns,
    with_scoring_array,
)
from figs_spark.stages.base.persistence import Persistent
from figs_spark.stages.base.rows import by_name, in_order
from figs_spark.stages.base.shown import Shown
from figs_spark.treesum import TreeSum
from figs_spark.treesum.adjustments import Adjustment
from figs_spark.treesum.contents import read_classes
from figs_spark.treesum.fingerprint import stage_fingerprint
from figs_spark.treesum.prediction import THRESHOLD, Outcome
from figs_spark.treesum.times import to_number

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Self

MOST_NATIVE_OUTPUTS = 20  # more scores than these are computed by Python workers


class FittedModel(Deriving, Shown, Persistent, Exporting, Model):
    """A fitted model of any family.

    A subclass for the family (one sum, many, one per group) defines the scores; a subclass for the
    outcome (a number, classes) defines what is made of them.
    """

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._classes = 0  # 0: regression
        self._class_names: tuple[str, ...] | None = None

    @property
    def _sum_outcome(self) -> Outcome:
        """What the score of one sum of trees means."""
        return Outcome(self._classes, self._family().link)

    @property
    def _target(self) -> Outcome:
        """What the scores of the model mean."""
        return self._sum_outcome

    @property
    def numFeatures(self) -> int:
        """The number of features that the model was trained on."""
        return len(self._features)

    @property
    def featureNames(self) -> list[str]:
        """The names of the features, in the order of training."""
        return [feature.name for feature in self._features]

    def _check_fitted(self) -> None:
        if not self._features:
            raise ValueError(
                f"This {type(self).__name__} is not fitted: it has no trees. Fit an estimator, or "
                f"load a saved model."
            )

    # Defined by the family

    @property
    @abstractmethod
    def _used(self) -> set[int]:
        """The numbers of the features that some split uses."""

    @abstractmethod
    def _family(self) -> Family:
        """The sums of trees, and how they make a score."""

    @abstractmethod
    def _score_array(self, features: Sequence[Column]) -> Column:
        """The raw score of each output, as array<double>."""

    @abstractmethod
    def _raw_scores(self, values: Any) -> np.ndarray:
        """The raw scores without Spark, shape (rows, outputs)."""

    @abstractmethod
    def truncate(self, k: int) -> Self:
        """The model as it was after its first k splits."""

    @abstractmethod
    def _with_sums(self, change: Adjustment) -> Self:
        """A copy whose sums of trees are changed by a step after the fit."""

    def _with_one_sum(self, change: Adjustment, group: Any) -> Self:
        """A copy in which one sum is changed: the only one, or that of a group."""
        if group is not None:
            raise ValueError("The model has no groups. Leave `group` out.")
        if len(self._family().sums) != 1:
            raise ValueError("An ensemble has too many sums of trees. Take a FIGS or G-FIGS model.")
        return self._with_sums(change)

    def _without_operating_point(self) -> Self:
        """This model, without a threshold that was chosen before it was changed."""
        return self

    @abstractmethod
    def rules(self, full: bool = False) -> pd.DataFrame:
        """One row per leaf: tree, leaf, path as text, value, rows, weight.

        Of a set of more than 6 categories the path has the first ones and the count of the others,
        unless `full`.
        """

    def _details(self, features: Sequence[Column]) -> dict[str, Column]:
        """Further output columns by name."""
        return {}

    # Defined by the outcome

    def predict(self, values: Any) -> Any:
        """What `transform` gives, without Spark.

        A pandas DataFrame gives one with the predictions, of classes also the probabilities. A row
        with names (pandas Series, dict, Row) gives a Series of these. An array gives an array of
        predictions, and its row a number.
        """
        frame, single = as_frame(values)
        if frame is None:
            return self._predict_unnamed(values)
        import pandas as pd

        scores, _ = self._scores(frame)
        predictions = pd.DataFrame(self._predictions(scores), index=frame.index)
        return predictions.iloc[0] if single else predictions

    @abstractmethod
    def _predict_unnamed(self, values: Any) -> Any:
        """The predictions of a table as an array, that of one row as a number."""

    @abstractmethod
    def _predictions(self, scores: np.ndarray) -> dict[str, Any]:
        """Predictions by the name of the output column, from raw scores."""

    def _predicted(self, scores: Sequence[Column]) -> list[Column]:
        """The predictions, from the scores."""
        return list(scores)

    def _predicted_array(self, scores: Column) -> Column:
        """The predictions as one array. The expression grows with the square of the classes, so
        the probabilities of many classes are computed by Python workers."""
        outputs = self._target.outputs
        if outputs > MOST_NATIVE_OUTPUTS:
            return table_udf(self._target.probability_table, outputs)(scores)
        return F.array(*self._predicted([scores[c] for c in range(outputs)]))

    @abstractmethod
    def _outputs(self, scores: Sequence[Column], predicted: Sequence[Column]) -> dict[str, Column]:
        """The output columns by name, in order."""

    # Scoring

    def transform(self, dataset: Any, params: Any = None) -> DataFrame:
        """A Spark DataFrame with the output columns; `params` are as in Spark ML."""
        self._check_fitted()
        check_frame(dataset)
        return super().transform(dataset, params)

    def _transform(self, dataset: DataFrame) -> DataFrame:
        """Add the output columns.

        Features, scores and predictions are columns until the end: so Spark computes each once.
        """
        self._check_fitted()
        dataset = self._with_derived(dataset)
        check_outputs(dataset, self)
        score, prediction = f"{self.uid}_scores", f"{self.uid}_predicted"
        dataset, features, temporary = self._with_features(dataset)
        dataset = dataset.withColumn(score, self._score_array(features))
        scores = [column(score)[c] for c in range(self._target.outputs)]
        dataset = dataset.withColumn(prediction, self._predicted_array(column(score)))
        predicted = [column(prediction)[c] for c in range(max(1, self._classes))]
        outputs = self._outputs(scores, predicted) | self._details(features)
        classes = class_metadata(self._class_names)
        added = [expression.alias(name, **classes) for name, expression in outputs.items()]
        return dataset.select("*", *added).drop(*temporary, score, prediction)

    def _with_one_output(self, dataset: DataFrame, param: str, name: str) -> DataFrame:
        """The rows with one output column: the output of this Param, under this name."""
        names = {p: "" for p in OUTPUT_PARAMS if self.hasParam(p)} | {param: name}
        return self.copy()._set(**names).transform(dataset)

    def _with_features(self, dataset: DataFrame) -> tuple[DataFrame, list[Column], list[str]]:
        """Each feature as a Column, and the names of columns that the DataFrame gets for them: that
        of a vector, or of codes as known categories. Splits would look codes up again and again."""
        names = self.getOrDefault("featuresCols")
        if names is None:
            new = f"{self.uid}_features"
            name, length = self.getOrDefault("featuresCol"), self.numFeatures
            dataset = with_scoring_array(dataset, name, length, new)
            return dataset, [column(new)[j] for j in range(length)], [new]
        features = scoring_columns(dataset, self._features, self._used, names)
        coded = [j for j in sorted(self._used) if self._features[j].system]
        codes = {f"{self.uid}_code_{j}": features[j] for j in coded}
        for j, new in zip(coded, codes, strict=True):
            features[j] = column(new)
        return (dataset.withColumns(codes) if codes else dataset), features, list(codes)

    def _scores(self, values: Any) -> tuple[np.ndarray, bool]:
        """The raw scores, and whether `values` is a single row."""
        self._check_fitted()
        frame, single = as_frame(values)
        if frame is not None:
            return self._raw_scores(with_feature_names(self, frame)), single
        single = isinstance(values, Vector) or np.ndim(values) == 1
        if single:
            cells = values.toArray() if isinstance(values, Vector) else values
            values = np.array([list(cells)], dtype=object)
        return self._raw_scores(values), single

    # Rows

    def _cells(self, row: Any) -> list[Any]:
        """The values of one row in the order of the features."""
        named = by_name(row)
        if named is None:
            return in_order(row, self.featureNames)
        packed = named.get(self.getOrDefault("featuresCol"))
        if self.getOrDefault("featuresCols") is None and isinstance(packed, (Vector, list)):
            return in_order(packed, self.featureNames)
        names = self.featureNames
        lost = [names[j] for j in sorted(self._used) if names[j] not in named]
        if lost:
            raise ValueError(
                f"The row lacks {lost}, which the model needs. Give None for a missing value."
            )
        return [named.get(name) for name in names]

    # Export

    def _instrument(self, small_cell: int | None = None) -> Instrument:
        thresholds = self._value_if_any("thresholds")
        threshold = self._value_if_any("threshold")
        return Instrument(
            title=type(self).__name__,
            subject=self._subject(),
            family=self._exported_family(),
            outcome=self._sum_outcome,
            columns=tuple(self.getOrDefault("featuresCols") or self.featureNames),
            fingerprint=self.fingerprint,
            version=version(),
            threshold=THRESHOLD if threshold is None else threshold,
            thresholds=None if thresholds is None else tuple(thresholds),
            class_names=self._class_names,
            operating_point=self._operating_sentence(small_cell),
            class_weights=self._has_class_weights,
        )

    def _exported_family(self) -> Family:
        """The sums of trees, with what a reader must know of the columns."""
        family, names = self._family(), self.getOrDefault("featuresCols") or self.featureNames
        used = [(names[j], self._features[j]) for j in sorted(self._used)]
        notes = list(filter(None, (levels.note(name, feature) for name, feature in used)))
        needed = [*(name for name, _ in used), family.group_column or ""]
        derived = needed_for(needed, self.getOrDefault("derivedCols") or {})
        notes += [f"{name} is derived: {sql}." for name, sql in derived.items()]
        return family.with_notes((*self._remarks(), *notes))

    def _operating_sentence(self, small_cell: int | None = None) -> str | None:
        """How the threshold was chosen, if it is an operating point."""
        return None

    def _patient(self, row: Any) -> Patient:
        columns = self.getOrDefault("featuresCols") or self.featureNames
        cells = [
            to_number(feature.kind, cell) if feature.is_time else cell
            for feature, cell in zip(self._features, self._cells(row), strict=True)
        ]
        return dict(zip(columns, cells, strict=True))

    # Saving

    @property
    def fingerprint(self) -> str:
        """The SHA-256 of the model: of all that it holds, and of the threshold it decides by."""
        self._check_fitted()
        return stage_fingerprint(
            self._contents() or {},
            self._value_if_any("threshold"),
            self._value_if_any("thresholds"),
        )

    def _class_contents(self) -> dict[str, Any]:
        return {"classes": self._classes, "classNames": self._class_names}

    def _set_classes(self, contents: dict[str, Any], model: TreeSum, source: str) -> None:
        classification = self.hasParam("probabilityCol")
        self._classes, self._class_names = read_classes(contents, model, classification, source)
