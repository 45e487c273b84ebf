"""One path serves every size: held-out rows choose among them, and param maps share the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder, TrainValidationSplit
from pyspark.sql import DataFrame, SparkSession

from figs_spark import FIGSClassifier, FIGSRegressor
from figs_spark.stages import figs as home
from tests.support.patients import FEATURES, patients


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return patients(spark, rows=150, seed=1).select(*FEATURES, "days", "died", "triage", "held")


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The size of every path that is grown."""
    sizes: list[Any] = []
    train = home.train

    def counted(table: Any, plan: Any, *args: Any, **keywords: Any) -> Any:
        sizes.append(plan.rules.max_splits)
        return train(table, plan, *args, **keywords)

    monkeypatch.setattr(home, "train", counted)
    return sizes


def regressor(**params: Any) -> FIGSRegressor:
    return FIGSRegressor(featuresCols=FEATURES, labelCol="days", **params)


# Held-out rows


@pytest.mark.parametrize(
    ("kind", "label"),
    [(FIGSRegressor, "days"), (FIGSClassifier, "died"), (FIGSClassifier, "triage")],
)
def test_held_rows_choose_the_size(data: DataFrame, kind: Any, label: str, fits: list[Any]) -> None:
    estimator = kind(featuresCols=FEATURES, labelCol=label, maxSplits=12)
    path = estimator.fit(data.where("not held"))
    model = estimator.copy().setValidationIndicatorCol("held").fit(data)
    held = data.where("held").collect()
    table, labels = [[row[name] for name in FEATURES] for row in held], [row[label] for row in held]

    def loss(k: int) -> float:
        """Mean squared error, or Brier score, of the model with k splits."""
        smaller = path.truncate(k)
        if kind is FIGSRegressor:
            return float(np.mean((np.array(labels) - smaller.predict(table)) ** 2))
        truth = np.eye(smaller.numClasses)[labels]
        score = ((truth - smaller.predictProbability(table)) ** 2).sum(axis=1).mean()
        return float(score) / (2 if smaller.numClasses == 2 else 1)

    losses = [loss(k) for k in range(13)]
    best = int(np.argmin(losses))
    assert model.numSplits == best
    assert model.rules().equals(path.truncate(best).rules())
    assert model.summary["validationLoss"].to_numpy() == pytest.approx(losses)
    assert model.summary["loss"].count() == best + 1
    assert fits == [12, 12]


def test_a_class_that_only_held_rows_have(data: DataFrame) -> None:
    seen = data.where("held or triage < 2")
    estimator = FIGSClassifier(featuresCols=FEATURES, labelCol="triage", maxSplits=0)
    model = estimator.setValidationIndicatorCol("held").fit(seen)
    assert model.numClasses == 3
    assert model.treeSum.constant[2] == 0
    assert len(model.summary["validationLoss"]) == 1


# Several sizes


def test_sizes_share_one_fit(data: DataFrame, fits: list[Any]) -> None:
    estimator = regressor(maxSplits=2)
    size, depth = estimator.maxSplits, estimator.maxDepth
    maps = [{size: 5}, {}, {size: 0}, {size: 7, depth: 1}, {size: 3, depth: 1}]
    models = estimator.fit(data, maps)
    assert sorted(fits) == [5, 7]
    assert [m.numSplits for m in models] == [5, 2, 0, 7, 3]
    assert [m.getMaxSplits() for m in models] == [5, 2, 0, 7, 3]
    for model, smaller in ((models[0], models[1]), (models[3], models[4])):
        assert smaller.treeSum == model.treeSum.truncate(smaller.numSplits)
    alone = regressor(maxSplits=3, maxDepth=1).fit(data)
    assert models[4].treeSum == alone.treeSum
    assert max(tree.depth() for tree in alone.trees) == 1


def test_no_limit_is_the_largest_size(data: DataFrame, fits: list[Any]) -> None:
    estimator = regressor(minImpurityDecrease=0.002)
    sizes: list[dict[Any, Any]] = [{estimator.maxSplits: 2}, {estimator.maxSplits: None}]
    small, large = estimator.fit(data, sizes)
    assert fits == [None]
    assert large.numSplits > 2
    assert small.treeSum == large.treeSum.truncate(2)


def test_sizes_with_held_rows(data: DataFrame, fits: list[Any]) -> None:
    estimator = regressor(validationIndicatorCol="held")
    sizes = (0, 1, 4, 12)
    models = estimator.fit(data, [{estimator.maxSplits: k} for k in sizes])
    assert fits == [12]
    losses = models[-1].summary["validationLoss"].to_numpy()
    assert [m.numSplits for m in models] == [int(np.argmin(losses[: k + 1])) for k in sizes]
    assert [len(m.summary) for m in models] == [k + 1 for k in sizes]


def test_cross_validation_over_sizes_costs_a_fit_per_fold(data: DataFrame, fits: list[Any]) -> None:
    estimator = regressor()
    grid = ParamGridBuilder().addGrid(estimator.maxSplits, [1, 6, 3]).build()
    validator = CrossValidator(
        estimator=estimator,
        estimatorParamMaps=grid,
        evaluator=RegressionEvaluator(labelCol="days"),
        numFolds=2,
        seed=1,
        parallelism=2,
    )
    model: Any = validator.fit(data)
    assert fits == [6, 6, 6]  # two folds, and the best size on all rows
    assert model.bestModel.getMaxSplits() == model.bestModel.numSplits == 6
    assert model.avgMetrics[1] < model.avgMetrics[2] < model.avgMetrics[0]


def test_train_validation_split_costs_one_fit(data: DataFrame, fits: list[Any]) -> None:
    estimator = regressor()
    grid = ParamGridBuilder().addGrid(estimator.maxSplits, [1, 6]).build()
    evaluator = RegressionEvaluator(labelCol="days")
    validator = TrainValidationSplit(
        estimator=estimator, estimatorParamMaps=grid, evaluator=evaluator, seed=1
    )
    model: Any = validator.fit(data)
    assert fits == [6, 6]
    assert model.bestModel.numSplits == 6
    assert model.validationMetrics[1] < model.validationMetrics[0]
