"""FIGS: estimators and models of one sum of trees, for a numeric outcome and for classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import DenseVector, Vectors
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from figs_spark.dataframes.compat import table_udf
from figs_spark.dataframes.expressions import contribution_columns, leaf_columns, score_columns
from figs_spark.engine.ensemble_scores import Ensemble
from figs_spark.engine.training import Trained, train
from figs_spark.exports.instrument import Family
from figs_spark.pictures.shapes import Drawing
from figs_spark.pictures.trees import draw_model
from figs_spark.pictures.waterfall import DrawnExplanation
from figs_spark.stages.base.checks import Checked, check_but_text
from figs_spark.stages.base.estimator import NestedSizes, progress_bar
from figs_spark.stages.base.inputs import used_numbers
from figs_spark.stages.base.model import MOST_NATIVE_OUTPUTS
from figs_spark.stages.base.outputs import (
    ClassificationOutputs,
    RegressionOutputs,
    ThresholdParams,
)
from figs_spark.stages.calibration import Calibrating
from figs_spark.stages.cross_validation import (
    REFITS,
    SizePath,
    fold_column,
    fold_losses,
    size_table,
)
from figs_spark.stages.intervals import (
    check_intervals,
    interval_column,
    resampled,
    row_interval,
)
from figs_spark.stages.params.catalogue import CALIBRATE, FIGS_CLASSIFICATION, FIGS_REGRESSION
from figs_spark.stages.params.declared import with_signature
from figs_spark.treesum import Feature, Node, TreeSum
from figs_spark.treesum.adjustments import Adjustment
from figs_spark.treesum.contents import read_sum
from figs_spark.treesum.levels import as_fitted
from figs_spark.treesum.nodes import only_named
from figs_spark.treesum.serialization import to_dict
from figs_spark.treesum.strict_json import Entry, plain
from figs_spark.treesum.text import describe, rules

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Self

NOT_FITTED = TreeSum((), (Node((0.0,), 0, 0.0),), (0.0,), (0.0,))


class FIGSModel(Calibrating):
    """A fitted sum of trees."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.treeSum: TreeSum = NOT_FITTED
        self._validation_losses: tuple[float, ...] | None = None

    # Contents

    @property
    def trees(self) -> tuple[Node, ...]:
        """The root of each tree."""
        return self.treeSum.trees

    @property
    def numTrees(self) -> int:
        """The number of trees."""
        return len(self.treeSum.trees)

    @property
    def numSplits(self) -> int:
        """The number of splits in all trees together."""
        return len(self.treeSum.splits)

    @property
    def featureImportances(self) -> DenseVector:
        """The share of each feature in the total gain."""
        return Vectors.dense(self.treeSum.importances().tolist())

    @property
    def summary(self) -> pd.DataFrame:
        """One row per split: feature, gain, and the loss after it; row 0 is the constant model.

        The loss is the weighted mean squared error on the training rows. With a
        `validationIndicatorCol` there is also the loss on the validation rows, up to the largest
        size that was evaluated.
        """
        import pandas as pd

        splits = self.treeSum.splits
        tree = {n.split.step: k for k, t in enumerate(self.trees, 1) for n in t.walk() if n.split}
        table = pd.DataFrame(
            {
                "splits": range(len(splits) + 1),
                "tree": pd.array([None, *(tree[s.step] for s in splits)], dtype="Int64"),
                "feature": [None, *(self.featureNames[s.feature] for s in splits)],
                "gain": [np.nan, *(s.gain for s in splits)],
                "loss": self.treeSum.losses,
            }
        )
        if self._validation_losses is not None:
            sizes = range(len(self._validation_losses))
            table = table.set_index("splits").reindex(sizes).rename_axis("splits").reset_index()
            table["validationLoss"] = self._validation_losses
        return table

    def rules(self, full: bool = False) -> pd.DataFrame:
        """One row per leaf: tree, leaf, path as text, value, rows, weight."""
        self._check_fitted()
        return rules(self.treeSum, self._output_names(), full)

    def truncate(self, k: int) -> Self:
        """The model as it was after its first k splits."""
        return self._with_sums(lambda tree_sum: tree_sum.truncate(k))

    def _with_sums(self, change: Adjustment) -> Self:
        changed = self.copy()
        (changed.treeSum,) = only_named([change(self.treeSum)])
        return changed

    def _sums_by_group(self) -> Mapping[Any, TreeSum]:
        return {0: self.treeSum}

    def _take_sums(self, sums: Mapping[Any, TreeSum]) -> None:
        (self.treeSum,), self._validation_losses = sums.values(), None

    def _text(self, small_cell: int | None = None) -> str:
        title, outcome, names = type(self).__name__, self._outcome(), self._output_names()
        return describe(self.treeSum, title, outcome, names, small_cell)

    def explain(self, row: Any) -> DrawnExplanation:
        """What each tree adds for one row, and why; a notebook shows it as a waterfall.

        `row` is a dict, a Spark Row, a pandas Series, or an array or vector with the values in the
        order of `featureNames`; None and NaN are missing.
        """
        cells = self._cells(row)
        scores, _ = self._scores(cells)
        prediction = self._target.expected_table(scores)[0]
        interval = row_interval(self.treeSum, self._target, cells)
        return DrawnExplanation.of(self.treeSum, self._labels(), cells, prediction, interval)

    def _drawing(self, width: float, small_cell: int | None = None) -> Drawing:
        return draw_model(self.treeSum, self._labels(small_cell), width)

    # Scoring

    @property
    def _features(self) -> tuple[Feature, ...]:
        return self.treeSum.features

    @property
    def _used(self) -> set[int]:
        return {split.feature for split in self.treeSum.splits}

    def _family(self) -> Family:
        return Family("sum", (self.treeSum,))

    def _score_array(self, features: Sequence[Column]) -> Column:
        """A native expression; of many classes by Python workers, see `_predicted_array`."""
        if self.treeSum.outputs > MOST_NATIVE_OUTPUTS:
            ensemble = Ensemble.of([self.treeSum], self._target)
            score = table_udf(ensemble.first_scores, ensemble.width)
            return score(used_numbers(self._features, features, ensemble.used))
        return F.array(*score_columns(self.treeSum, features))

    def _raw_scores(self, values: Any) -> np.ndarray:
        return self.treeSum.predict(values)

    def _details(self, features: Sequence[Column]) -> dict[str, Column]:
        """The optional outputs: the leaf in each tree, and what each tree adds."""
        outputs: dict[str, Column] = {}
        if name := self.getOrDefault("leafCol"):
            leaves = [leaf.cast("double") for leaf in leaf_columns(self.treeSum, features)]
            outputs[name] = array_to_vector(F.array(*leaves))
        if name := self.getOrDefault("contributionsCol"):
            trees = contribution_columns(self.treeSum, features)
            outputs[name] = F.array(*[t[0] if len(t) == 1 else F.array(*t) for t in trees])
        if name := self.getOrDefault("riskIntervalCol"):
            outputs[name] = interval_column(self.treeSum, self._target, features)
        return outputs

    # Saving

    def _contents(self) -> dict[str, Any]:
        losses = self._validation_losses
        return {
            "treeSum": to_dict(self.treeSum),
            **self._class_contents(),
            "validationLosses": losses and [plain(loss) for loss in losses],
        }

    def _set_contents(self, contents: dict[str, Any], source: str) -> None:
        self.treeSum = read_sum(contents, source)
        self._set_classes(contents, self.treeSum, source)
        losses = Entry(contents, source).inner("validationLosses")
        self._validation_losses = None if losses.value is None else losses.numbers("inf", "nan")
        if len(self._validation_losses or self.treeSum.losses) < len(self.treeSum.losses):
            losses.damaged(f"fewer than {len(self.treeSum.losses)} losses, one per size, are")


class FIGSEstimator(NestedSizes):
    """Grows one FIGS model."""

    _model_class: type[FIGSModel]

    def crossValidatePath(
        self, dataset: DataFrame, numFolds: int = 5, foldCol: str | None = None
    ) -> SizePath:
        """The held-out loss of every size up to `maxSplits`, from one batch of fits.

        `foldCol` keeps rows together: rows with equal values, such as those of a patient, are in
        the same fold. Integers from 0 to numFolds - 1 are the folds themselves. Without `foldCol`
        the folds are random, by `seed`.
        """
        self._check_params()
        dataset = self._with_derived(dataset)
        fold = fold_column(dataset, numFolds, foldCol, self.getOrDefault("seed"))
        whole = self.copy()._set(validationIndicatorCol=None)
        checked = check_but_text(dataset, whole, self._classification, held=fold)
        with progress_bar(self.getOrDefault("verbose"), None) as step:
            plan, members = self._plan(checked), numFolds + 1
            trained = train(
                checked.table, plan, members, progress=step, reported=numFolds, both_refits=True
            )
        held_out = (trained.held_out_losses or [])[:numFolds]
        empty = [k for k, losses in enumerate(held_out) if np.isnan(losses).any()]
        if empty:
            raise ValueError(
                f"Fold {empty[0]} of {numFolds} has no rows. Use fewer folds, or another foldCol."
            )
        full = trained.models[numFolds]
        by_fold = fold_losses(held_out, len(full.losses))
        freedoms = (trained.freedoms or [])[numFolds]
        table = size_table(by_fold, full.losses, checked.table.rows, freedoms)
        for name in ("with_refit", "without_refit"):
            losses = getattr(trained, name)
            table[REFITS[name]] = (
                np.nan if losses is None else fold_losses(losses[:numFolds], len(table)).mean()
            )
        return SizePath(table, whole._model(checked, Trained([full])), by_fold)

    def _grow(self, dataset: DataFrame) -> tuple[Checked, Trained]:
        with progress_bar(self.getOrDefault("verbose"), self.getOrDefault("maxSplits")) as step:
            samples = self.getOrDefault("intervalSamples")
            checked = self._check_rows(dataset) if samples else self._checked_but_text(dataset)
            check_intervals(self, checked.table.target.classes)
            table, weights = checked.table, None
            if samples:
                table, weights = resampled(table, samples, self.getOrDefault("seed"))
            plan = self._plan(checked)
            trained = train(table, plan, weights=weights, progress=step, samples=samples)
        return checked, trained

    def _checked_but_text(self, dataset: DataFrame) -> Checked:
        """What `_check_rows` gives; samples of rows are drawn by content, and need all of it."""
        self._check_params()
        checked = check_but_text(self._with_derived(dataset), self, self._classification)
        self._check_params(checked.table.target.classes)
        return checked

    def _model(self, checked: Checked, trained: Trained) -> FIGSModel:
        """The model of at most `maxSplits`; if rows are held out, of the size with least loss."""
        (grown,), size = trained.models, self.getOrDefault("maxSplits")
        kept, losses = len(grown.splits) if size is None else size, None
        if trained.held_out_losses is not None:
            losses = trained.held_out_losses[0][: kept + 1]
            kept = int(np.argmin(losses))
        model: FIGSModel = self._copyValues(self._model_class())
        model._resetUid(self.uid)
        tree_sum = replace(grown.truncate(kept), samples=trained.samples)
        (model.treeSum,) = as_fitted([tree_sum])
        model._classes = checked.table.target.classes
        model._class_names = checked.class_names
        model._validation_losses = None if losses is None else tuple(losses.tolist())
        return model


class FIGSRegressionModel(RegressionOutputs, FIGSModel):
    """A fitted FIGS for a numeric outcome: the prediction is the sum of the leaf values."""

    __module__ = "figs_spark"

    declared = FIGS_REGRESSION


@with_signature
class FIGSRegressor(FIGSEstimator):
    """Fast Interpretable Greedy-Tree Sums for a numeric outcome.

    >>> FIGSRegressor(featuresCols=["age", "dose"], labelCol="days", maxSplits=8).fit(df)
    """

    __module__ = "figs_spark"

    declared = FIGS_REGRESSION
    _classification = False
    _model_class = FIGSRegressionModel


class FIGSClassificationModel(ClassificationOutputs, FIGSModel):
    """A fitted FIGS for classes."""

    __module__ = "figs_spark"

    declared = FIGS_CLASSIFICATION


@with_signature
class FIGSClassifier(ThresholdParams, FIGSEstimator):
    """Fast Interpretable Greedy-Tree Sums for two or more classes, labelled 0, 1, 2, ...

    >>> FIGSClassifier(featuresCols=["age", "sex"], labelCol="died", maxSplits=8).fit(df)
    """

    __module__ = "figs_spark"

    declared = (*FIGS_CLASSIFICATION, CALIBRATE)
    _classification = True
    _model_class = FIGSClassificationModel
