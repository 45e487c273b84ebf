"""`classWeight`: each rule gives the model that its factors, multiplied into weightCol, give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import BaggedFIGSClassifier, FIGSClassifier
from tests.support.patients import FEATURES, patients
from tests.support.small import assert_same_model


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return patients(spark, rows=200).cache()


def fitted(data: DataFrame, label: str = "died", **params: Any) -> Any:
    return FIGSClassifier(featuresCols=FEATURES, labelCol=label, maxSplits=4, **params).fit(data)


@pytest.mark.parametrize("weight", [None, "weight"])
def test_inverse_is_the_ratio_of_negatives_to_positives(data: DataFrame, weight: Any) -> None:
    w = F.col(weight) if weight else F.lit(1.0)
    row = data.select(F.sum(w * (1 - F.col("died"))), F.sum(w * F.col("died"))).collect()[0]
    ratio = row[0] / row[1]
    model = fitted(data, classWeight="inverse", weightCol=weight)
    own = data.withColumn("own", w * F.when(F.col("died") == 1, ratio).otherwise(1.0))
    assert_same_model(model.treeSum, fitted(own, weightCol="own").treeSum)
    assert_same_model(model.treeSum, fitted(data, classWeight={1: ratio}, weightCol=weight).treeSum)
    root = model.trees[0]
    assert root.weight == pytest.approx(2 * row[0])


def test_inverse_counts_training_rows_only(data: DataFrame) -> None:
    training = data.where("not held")
    model = fitted(data, classWeight="inverse", validationIndicatorCol="held")
    negatives = training.where("died = 0").count()
    assert model.trees[0].weight == pytest.approx(2 * negatives)


def test_a_map(data: DataFrame) -> None:
    factors = F.when(F.col("triage") == 0, 0.5).when(F.col("triage") == 2, 4.0).otherwise(1.0)
    own = data.withColumn("own", factors)
    expected = fitted(own, "triage", weightCol="own").treeSum
    for given in ({0: 0.5, 2: 4}, {0.0: 0.5, 2.0: 4.0, 1: 1}, {"0": 0.5, "2.0": 4}):
        found = fitted(data, "triage", classWeight=given)
        assert_same_model(found.treeSum, expected)
        assert found.getClassWeight()[2] == 4.0


def test_a_bagged_model_takes_it(data: DataFrame) -> None:
    bagged = BaggedFIGSClassifier(
        featuresCols=FEATURES, labelCol="died", numEstimators=2, maxSplits=2
    )
    plain, heavy = (
        bagged.copy().setClassWeight(rule).fit(data).predictProbability(rows(data))[:, 1].mean()
        for rule in ("none", "inverse")
    )
    assert heavy > plain


def rows(data: DataFrame) -> list[list[Any]]:
    return [list(row) for row in data.select(*FEATURES).collect()]


@pytest.mark.parametrize("rule", ["inverse", {0: 1, 1: 2.5}])
def test_it_comes_back(data: DataFrame, tmp_path: Path, rule: Any) -> None:
    estimator = FIGSClassifier(classWeight=rule)
    estimator.save(str(tmp_path / "estimator"))
    assert FIGSClassifier.load(str(tmp_path / "estimator")).getClassWeight() == rule
    model = fitted(data, classWeight=rule)
    model.save(str(tmp_path / "model"))
    assert type(model).load(str(tmp_path / "model")).getClassWeight() == rule


def test_bad_input(data: DataFrame) -> None:
    with pytest.raises(ValueError, match=r"names the label 2, and column 'died' \(labelCol\) has"):
        fitted(data, classWeight={1: 2, 2: 3})
    with pytest.raises(ValueError, match=r"'inverse' is for two classes, and column 'triage'"):
        fitted(data, "triage", classWeight="inverse")


@pytest.mark.parametrize("params", [{}, {"refit": "linear"}, {"refit": "logistic"}])
def test_what_is_no_rate_is_called_a_score(
    data: DataFrame, params: dict[str, Any], tmp_path: Path
) -> None:
    """Under class weights the start is about a half, whatever the true rate."""
    model = fitted(data, classWeight="balanced", **params)
    model.setOperatingPoint(sensitivity=0.5, on=data)
    row = data.first()
    for shown in (str(model), model.toSVG(), str(model.explain(row)), model.explain(row).toSVG()):
        assert "robability" not in shown.replace("_probability", "")
    assert "with class weights it is no rate" in " ".join(str(model).split())
    assert "Score of died = 1" in model.toSVG()
    assert "the weighted average" in str(model.explain(row))
    model.report(str(tmp_path / "page.html"))
    assert (tmp_path / "page.html").read_text().count("the weighted average") > 1


def test_rates_are_called_probabilities(data: DataFrame) -> None:
    plain, weighted = fitted(data), fitted(data, classWeight="balanced")
    again = weighted.calibrate(data.withColumn("died", F.col("died").cast("double")))
    for model in (plain, again, fitted(data, classWeight="balanced", calibrate=True)):
        assert "the probability of died = 1, clipped to [0, 1]." in " ".join(str(model).split())
        assert "Probability of died = 1" in model.toSVG()
        assert "Start: the average" in str(model.explain(data.first()))


@pytest.mark.parametrize(
    "rule", ["fair", {1: -2}, {1: 0}, {1: float("nan")}, {1: "x"}, {-1: 2}, {0.5: 2}, {"x": 2}, 3]
)
def test_a_param_refuses(rule: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="classWeight"):
        FIGSClassifier(classWeight=rule)
