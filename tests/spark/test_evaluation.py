"""The Evaluator: its metrics against scikit-learn, in a CrossValidator, saved and loaded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sklearn import metrics

from figs_spark import FIGSClassifier, SensitivitySpecificityEvaluator
from tests.support.patients import FEATURES, patients


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return patients(spark, rows=200).cache()


@pytest.fixture(scope="module")
def scored(data: DataFrame) -> DataFrame:
    model = FIGSClassifier(featuresCols=FEATURES, labelCol="died", maxSplits=5).fit(data)
    return model.transform(data).cache()


def test_groups_are_judged_as_if_alone(scored: DataFrame) -> None:
    evaluator = SensitivitySpecificityEvaluator(metricName="areaUnderROC", labelCol="died")
    (everyone, overall), *groups = evaluator.evaluateByGroup(scored, "visits")
    assert (everyone, overall) == ("all", evaluator.evaluate(scored))
    assert len(groups) > 2
    for group, area in groups:
        own = scored.where(F.col("visits") == group)
        if own.select("died").distinct().count() == 2:
            assert area == pytest.approx(evaluator.evaluate(own), abs=1e-12)
        else:
            assert np.isnan(area)
    one_class = scored.where("died = 1 OR visits > 1")
    assert np.isnan(dict(evaluator.evaluateByGroup(one_class, "visits")[1:])[1])


def expected(name: str, y: Any, s: Any, w: Any) -> float:
    fpr, tpr, _ = metrics.roc_curve(y, s, sample_weight=w, drop_intermediate=False)
    found = {
        "specificityAtSensitivity": 1 - fpr[tpr >= 0.9].min(),
        "sensitivityAtSpecificity": tpr[1 - fpr >= 0.8].max(),
        "areaUnderROC": metrics.roc_auc_score(y, s, sample_weight=w),
        "areaUnderPR": metrics.average_precision_score(y, s, sample_weight=w),
        "maxF1": max(metrics.f1_score(y, s >= t, sample_weight=w) for t in set(s)),
        "brier": metrics.brier_score_loss(y, s, sample_weight=w),
    }
    return float(found[name])


@pytest.mark.parametrize("weightCol", [None, "weight"])
@pytest.mark.parametrize(
    "name",
    [
        "specificityAtSensitivity",
        "sensitivityAtSpecificity",
        "areaUnderROC",
        "areaUnderPR",
        "maxF1",
        "brier",
    ],
)
def test_metrics(scored: DataFrame, name: str, weightCol: str | None) -> None:
    evaluator = SensitivitySpecificityEvaluator(
        metricName=name, minSensitivity=0.9, minSpecificity=0.8, labelCol="died"
    ).setWeightCol(weightCol)
    rows = scored.select("died", "probability", "weight").collect()
    y, w = np.array([r[0] for r in rows]), np.array([r[2] for r in rows])
    s = np.array([r[1][1] for r in rows])
    found = evaluator.evaluate(scored)
    assert type(found) is float
    assert found == pytest.approx(expected(name, y, s, w if weightCol else None), abs=1e-12)
    assert evaluator.isLargerBetter() == (name != "brier")


def test_params(scored: DataFrame) -> None:
    evaluator = SensitivitySpecificityEvaluator(labelCol="died")
    assert evaluator.getMetricName() == "specificityAtSensitivity"
    assert evaluator.getMinSensitivity() == 0.94
    every = evaluator.evaluate(scored, {evaluator.minSensitivity: 1.0})
    assert (
        every
        <= evaluator.evaluate(scored)
        <= evaluator.copy().setMinSensitivity(0.5).evaluate(scored)
    )
    for name, value in (("metricName", "accuracy"), ("minSensitivity", 94), ("scoreCol", 1)):
        with pytest.raises((TypeError, ValueError), match=name):
            SensitivitySpecificityEvaluator(**{name: value})
    with pytest.raises(TypeError, match="has no Param 'rawPredictionCol'"):
        SensitivitySpecificityEvaluator(rawPredictionCol="p")


def test_it_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    evaluator = SensitivitySpecificityEvaluator(metricName="brier", scoreCol="a.b", weightCol="w")
    evaluator.save(str(tmp_path / "evaluator"))
    loaded = SensitivitySpecificityEvaluator.load(str(tmp_path / "evaluator"))
    assert loaded.uid == evaluator.uid
    assert loaded.explainParams() == evaluator.explainParams()


@pytest.mark.parametrize("name", ["specificityAtSensitivity", "brier"])
def test_a_cross_validator_takes_it(data: DataFrame, tmp_path: Path, name: str) -> None:
    estimator = FIGSClassifier(featuresCols=FEATURES, labelCol="died", classWeight={1: 2})
    grid = ParamGridBuilder().addGrid(estimator.maxSplits, [0, 3]).build()
    evaluator = SensitivitySpecificityEvaluator(labelCol="died", metricName=name)
    validator = CrossValidator(
        estimator=estimator,
        estimatorParamMaps=grid,
        evaluator=evaluator.setMinSensitivity(0.7),
        numFolds=2,
        parallelism=2,
        seed=1,
    )
    model: Any = validator.fit(data)
    better = np.argmax if evaluator.isLargerBetter() else np.argmin
    best = int(better(model.avgMetrics))
    assert model.bestModel.getMaxSplits() == [0, 3][best]
    if name == "specificityAtSensitivity":
        assert model.avgMetrics[0] == 0  # a constant score: only everyone is enough
        assert model.avgMetrics[1] > 0
    validator.save(str(tmp_path / "validator"))
    again: Any = CrossValidator.load(str(tmp_path / "validator"))
    assert again.getEvaluator().explainParams() == evaluator.explainParams()
    assert again.getEstimator().getClassWeight() == {1: 2.0}
    model.save(str(tmp_path / "model"))
    loaded: Any = CrossValidatorModel.load(str(tmp_path / "model"))
    assert loaded.avgMetrics == model.avgMetrics
    assert loaded.bestModel.treeSum == model.bestModel.treeSum


def test_bad_input_is_named(scored: DataFrame) -> None:
    evaluator = SensitivitySpecificityEvaluator(labelCol="died")
    with pytest.raises(
        ValueError, match=r"'died' \(labelCol\) is 1 in 0 of \d+ rows: there are no"
    ):
        evaluator.evaluate(scored.where("died = 0"))
    with pytest.raises(ValueError, match=r"'p' \(scoreCol\) is not in the DataFrame"):
        evaluator.copy().setScoreCol("p").evaluate(scored)
    brier = evaluator.copy().setMetricName("brier")
    assert 0 < brier.evaluate(scored.where("died = 0")) < 1
