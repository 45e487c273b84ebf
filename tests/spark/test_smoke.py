"""From a table to a saved model and its scores: what `make quick` runs on Spark."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from figs_spark import FIGSClassificationModel, FIGSClassifier
from tests.support.patients import FEATURES, patients, strangers
from tests.support.small import assert_same_model


def test_a_model_is_fitted_saved_and_scores(spark: SparkSession, tmp_path: Path) -> None:
    train = patients(spark, rows=150).cache()
    figs = FIGSClassifier(featuresCols=FEATURES, labelCol="died", maxSplits=4)
    model = figs.copy().setMode("driver").fit(train)
    assert model.numSplits == 4
    assert_same_model(figs.copy().setMode("cluster").fit(train).treeSum, model.treeSum)
    model.save(str(tmp_path / "model"))
    loaded = FIGSClassificationModel.load(str(tmp_path / "model"))
    assert str(loaded) == str(model)
    rows = loaded.transform(train.union(strangers(spark))).collect()
    table = [[row[name] for name in FEATURES] for row in rows]
    assert [row["probability"].tolist() for row in rows] == model.predictProbability(table).tolist()
    assert [row["prediction"] for row in rows] == model.predict(table).tolist()
    train.unpersist()
