"""Bagging-FIGS: the mean of many FIGS models, each grown on a bootstrap sample.

Each greedy step of a member chooses from a random subset of the features.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml.linalg import DenseVector, Vectors
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from figs_spark.dataframes.columns import column, hashable_field
from figs_spark.dataframes.compat import table_udf
from figs_spark.engine.ensemble_scores import Ensemble
from figs_spark.engine.table import Target
from figs_spark.engine.training import train
from figs_spark.engine.weights import BootstrapWeights
from figs_spark.exports.instrument import Family
from figs_spark.pictures.importances import SHOWN, draw_importances
from figs_spark.pictures.shapes import Drawing
from figs_spark.pictures.trees import draw_model
from figs_spark.stages.base.checks import Checked, check
from figs_spark.stages.base.estimator import Growing, progress_bar
from figs_spark.stages.base.inputs import used_numbers
from figs_spark.stages.base.model import FittedModel
from figs_spark.stages.base.outputs import (
    ClassificationOutputs,
    RegressionOutputs,
    ThresholdParams,
)
from figs_spark.stages.params import catalogue as params
from figs_spark.stages.params.catalogue import composed
from figs_spark.stages.params.declared import Declared, with_signature
from figs_spark.treesum import Feature, TreeSum
from figs_spark.treesum.adjustments import Adjustment
from figs_spark.treesum.contents import read_members
from figs_spark.treesum.levels import as_fitted
from figs_spark.treesum.nodes import only_named
from figs_spark.treesum.prediction import Outcome
from figs_spark.treesum.serialization import to_dict
from figs_spark.treesum.strict_json import Entry, plain
from figs_spark.treesum.text import WIDTH, rules
from figs_spark.treesum.visible import visible_name

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Self

AUTO_RIDGE = 3.0
_WITHOUT = (
    params.LEAF_COL,
    params.CONTRIBUTIONS_COL,
    params.VALIDATION_COL,
    params.POLISH,
    *params.INTERVALS,
)
_CHANGED = (
    replace(
        params.SUBSET,
        default="auto",
        text=params.SUBSET.text + "; 'auto': 'onethird' for regression, 'sqrt' for classification",
    ),
    replace(
        params.REG_PARAM,
        default=AUTO_RIDGE,
        text="ridge (in units of row weights) that is added to the weight of a leaf, in the gain "
        f"of a split and in its values; 0: none; 'auto': {AUTO_RIDGE:g}",
    ),
    replace(params.SEED, text="seed of bootstrap samples and feature subsets"),
)


def _sized(splits: int) -> tuple[Declared, ...]:
    """The changed Params, with this number of splits."""
    text = "splits of each member, 60 for numbers and 25 for classes; None: no limit"
    return (*_CHANGED, replace(params.MAX_SPLITS, default=splits, text=text))


REGRESSION = composed(params.FIGS_REGRESSION, _WITHOUT, _sized(60), params.SAMPLING)
CLASSIFICATION = composed(params.FIGS_CLASSIFICATION, _WITHOUT, _sized(25), params.SAMPLING)


class BaggedModel(FittedModel):
    """A fitted Bagging-FIGS: it predicts the mean of the predictions of its members."""

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self.members: tuple[TreeSum, ...] = ()
        self.oobScore: float | None = None
        self.oobAuc: float | None = None  # of two classes

    @property
    def numMembers(self) -> int:
        """The number of members."""
        return len(self.members)

    @property
    def featureImportances(self) -> DenseVector:
        """The share of each feature in the gain of a member, as a mean over the members."""
        self._check_fitted()
        return Vectors.dense(np.mean([m.importances() for m in self.members], axis=0).tolist())

    def truncate(self, k: int) -> Self:
        """Every member as it was after its first k splits."""
        return self._with_sums(lambda member: member.truncate(k))

    def _with_sums(self, change: Adjustment) -> Self:
        changed = self.copy()
        changed.members = tuple(only_named([change(member) for member in self.members]))
        if changed.members != self.members:
            changed.oobScore = changed.oobAuc = None
        return changed

    def oobPredictions(self, dataset: DataFrame, outputCol: str = "oobPrediction") -> DataFrame:
        """The training set; each row with the prediction of the members that did not train on it.

        The prediction is an array: one number, with two classes the probability of class 1, with
        more the probability of each class. It is NaN if all members trained on the row. `idCol`
        must be set: by it the samples are drawn again.
        """
        name = self.getOrDefault("idCol")
        if name is None:
            raise ValueError(
                "Out-of-bag predictions need idCol. Set it to a column that identifies the rows."
            )
        dataset = self._with_derived(dataset)
        hashable_field(dataset, name, "idCol")
        dataset, features, temporary = self._with_features(dataset)
        ensemble = Ensemble.of(self.members, self._sum_outcome)
        predict = table_udf(
            partial(ensemble.predict_held, sampling(self, Target(self._classes))), ensemble.width
        )
        cells = used_numbers(self._features, features, ensemble.used)
        predictions = predict(cells, F.xxhash64(column(name)))
        return dataset.withColumn(outputCol, predictions).drop(*temporary)

    def _text(self, small_cell: int | None = None) -> str:
        shares = self.featureImportances.toArray()
        order = [j for j in np.argsort(-shares, kind="stable")[:SHOWN] if shares[j] > 0]
        names = [visible_name(name) for name in self.featureNames]
        width = max((len(names[j]) for j in order), default=0)
        lines = [
            *textwrap.wrap(
                f"{type(self).__name__}: {self._kind}; predicts {self._outcome()}", WIDTH
            ),
            "Features by their share of the gain:",
            *(f"    {names[j]:<{width}}  {shares[j]:.3f}" for j in order),
        ]
        return "\n".join([*lines, *self._evaluation])

    def rules(self, full: bool = False) -> pd.DataFrame:
        """One row per leaf: member (from 1), tree, leaf, path as text, value, rows, weight."""
        import pandas as pd

        self._check_fitted()
        parts = [rules(member, self._output_names(), full) for member in self.members]
        for number, part in enumerate(parts, start=1):
            part.insert(0, "member", number)
        return pd.concat(parts, ignore_index=True)

    _score_name: str

    @property
    def _kind(self) -> str:
        splits = [len(member.splits) for member in self.members]
        return f"the mean of {self.numMembers} members, {np.mean(splits):.1f} splits each"

    @property
    def _evaluation(self) -> list[str]:
        """The out-of-bag score in words, if there is one."""
        if self.oobScore is None:
            return []
        area = "" if self.oobAuc is None else f", AUC {self.oobAuc:.4f}"
        return [f"{self._score_name} out of bag: {self.oobScore:.4f}{area}"]

    def _drawing(self, width: float, small_cell: int | None = None) -> Drawing:
        notes = "; ".join([self._kind.capitalize(), *self._evaluation]) + "."
        shares = self.featureImportances.toArray().tolist()
        return draw_importances(self._subject(), notes, self.featureNames, shares)

    def _pictures(self) -> Sequence[Drawing]:
        """The importance of the features, and the first member as an example."""
        heading = f"Member 1 of {self.numMembers}"
        member = draw_model(self.members[0], self._labels(), heading=heading)
        return [self._drawing(member.width), member]

    # Scoring

    @property
    def _features(self) -> tuple[Feature, ...]:
        return self.members[0].features if self.members else ()

    @property
    def _used(self) -> set[int]:
        return {split.feature for member in self.members for split in member.splits}

    def _family(self) -> Family:
        return Family("mean", self.members)

    @property
    def _target(self) -> Outcome:
        """The score of the ensemble is a mean of what its members expect."""
        return self._sum_outcome.of_mean

    def _score_array(self, features: Sequence[Column]) -> Column:
        ensemble = Ensemble.of(self.members, self._sum_outcome)
        score = table_udf(ensemble.predict, ensemble.width, single=ensemble.outputs == 1)
        return score(used_numbers(self._features, features, ensemble.used))

    def _raw_scores(self, values: Any) -> np.ndarray:
        expected = [self._sum_outcome.expected_table(m.predict(values)) for m in self.members]
        mean: np.ndarray = np.mean(expected, axis=0)
        return mean

    # Saving

    def _contents(self) -> dict[str, Any]:
        area = {} if self.oobAuc is None else {"oobAuc": plain(self.oobAuc)}
        return {
            "members": [to_dict(member) for member in self.members],
            "oobScore": None if self.oobScore is None else plain(self.oobScore),
            **area,
            **self._class_contents(),
        }

    def _set_contents(self, contents: dict[str, Any], source: str) -> None:
        self.members = read_members(contents, source)
        score = Entry(contents, source).inner("oobScore")
        self.oobScore = None if score.value is None else score.number("nan", "inf", "-inf")
        if "oobAuc" in contents:  # version 0.1.0 had none
            self.oobAuc = Entry(contents, source).inner("oobAuc").number("nan")
        self._set_classes(contents, self.members[0], source)


class BaggedFIGSRegressionModel(RegressionOutputs, BaggedModel):
    """A fitted Bagging-FIGS for a numeric outcome."""

    __module__ = "figs_spark"

    declared = REGRESSION
    _score_name = "R2"


class BaggedFIGSClassificationModel(ClassificationOutputs, BaggedModel):
    """A fitted Bagging-FIGS for classes: probabilities are the means of those of the members."""

    __module__ = "figs_spark"

    declared = CLASSIFICATION
    _score_name = "accuracy"


class BaggedEstimator(Growing):
    """Grows all members together over one packed data set."""

    _model_class: type[BaggedModel]
    _joint = False

    def _ridge(self) -> float:
        value = self.getOrDefault("regParam")
        return AUTO_RIDGE if value == "auto" else float(value)

    def _fit(self, dataset: DataFrame) -> BaggedModel:
        get = self.getOrDefault
        self._check_params()
        with progress_bar(get("verbose"), None) as step:
            checked = self._checked(self._with_derived(dataset))
            target = checked.table.target
            self._check_params(target.classes)
            weights = sampling(self, target)
            plan, members = self._plan(checked), get("numEstimators")
            trained = train(checked.table, plan, members, weights, get("oobScore"), step)
        model: BaggedModel = self._copyValues(self._model_class())
        model._resetUid(self.uid)
        model.members = tuple(as_fitted(trained.models))
        model._classes, model._class_names = target.classes, checked.class_names
        if (out_of_bag := trained.out_of_bag) is not None:
            model.oobScore, model.oobAuc = out_of_bag.score, out_of_bag.area
        return model

    def _checked(self, dataset: DataFrame) -> Checked:
        """The rows, each with a number that its samples are drawn by: by `idCol`, or by content."""
        name, extra = self.getOrDefault("idCol"), {}
        if name is not None:
            hashable_field(dataset, name, "idCol")
            extra["id"] = F.xxhash64(column(name))
        checked = check(dataset, self, self._classification, **extra)
        table = replace(checked.table, mergeable=False)
        return replace(checked, table=table if name is not None else table.with_content_ids())


def sampling(stage: Any, target: Target) -> BootstrapWeights:
    """The sample of each member."""
    get = stage.getOrDefault
    return BootstrapWeights(target, get("seed"), get("subsamplingRate"), get("bootstrap"))


@with_signature
class BaggedFIGSRegressor(BaggedEstimator):
    """Bagging-FIGS for a numeric outcome.

    >>> BaggedFIGSRegressor(featuresCols=["age", "dose"], labelCol="days").fit(df)
    """

    __module__ = "figs_spark"

    declared = (*REGRESSION, params.OOB_SCORE)
    _classification = False
    _model_class = BaggedFIGSRegressionModel
    _auto_subset = "onethird"


@with_signature
class BaggedFIGSClassifier(ThresholdParams, BaggedEstimator):
    """Bagging-FIGS for two or more classes, labelled 0, 1, 2, ...

    >>> BaggedFIGSClassifier(featuresCols=["age", "sex"], labelCol="died").fit(df)
    """

    __module__ = "figs_spark"

    declared = (*CLASSIFICATION, params.CALIBRATE, params.OOB_SCORE)
    _classification = True
    _model_class = BaggedFIGSClassificationModel
    _auto_subset = "sqrt"
