"""Data at the edge: large numbers, constants, nothing but missing values, one row, many columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import FIGSClassifier, FIGSRegressionModel, FIGSRegressor

MODES = pytest.mark.parametrize("mode", ["driver", "cluster"])
NAN, INFINITY = float("nan"), float("inf")


def fit(df: DataFrame, **params: Any) -> FIGSRegressionModel:
    features = [name for name in df.columns if name != "label"]
    return FIGSRegressor(featuresCols=features, **params).fit(df)


def scores(model: FIGSRegressionModel, df: DataFrame) -> list[float]:
    """The predictions, which must be those of `predict`."""
    scored: Any = model.transform(df).toPandas()
    assert scored["prediction"].tolist() == model.predict(scored)["prediction"].tolist()
    return list(scored["prediction"])


def labelled(df: DataFrame, condition: str) -> DataFrame:
    return df.withColumn("label", F.expr(f"if({condition}, 1.0D, 0.0D)"))


@MODES
def test_a_timestamp_is_split_to_the_second(spark: SparkSession, mode: str) -> None:
    seconds = spark.range(1_700_000_000, 1_700_000_200).withColumnRenamed("id", "time")
    model = fit(labelled(seconds, "time >= 1700000123"), mode=mode)
    assert model.numSplits == 1
    assert model.treeSum.splits[0].threshold == 1_700_000_122.5
    assert "time <= 1700000122.5" in str(model)


@MODES
def test_a_timestamp_with_more_values_than_bins(spark: SparkSession, mode: str) -> None:
    seconds = spark.range(1_700_000_000, 1_700_001_000).withColumnRenamed("id", "time")
    model = fit(labelled(seconds, "time >= 1700000500"), mode=mode, maxSplits=1)
    threshold = model.treeSum.splits[0].threshold
    assert threshold is not None
    assert abs(threshold - 1_700_000_499.5) <= 1000 / 255


@MODES
def test_huge_and_infinite_values(spark: SparkSession, mode: str) -> None:
    values = [-INFINITY, -1e300, -1e-300, 0.0, 1e-300, 1e300, 1.7e308, INFINITY, NAN, None]
    alternating = [(v, float(k % 2)) for k, v in enumerate(values)]
    df = spark.createDataFrame(alternating * 4, "x double, label double")
    model = fit(df, mode=mode, maxSplits=40, maxTrees=1)
    assert scores(model, df)[:8] == pytest.approx([0.0, 1.0] * 4)
    assert scores(model, df)[8:10] == pytest.approx([0.5, 0.5])  # NaN and null are both missing


def test_constant_and_all_missing_features(spark: SparkSession) -> None:
    df = spark.range(20).select(
        F.lit(7.0).alias("constant"),
        F.lit(None).cast("double").alias("nothing"),
        F.lit(NAN).alias("nan"),
        F.lit(None).cast("string").alias("no text"),
        F.lit(None).cast("boolean").alias("no truth"),
        F.lit("same").alias("one text"),
        (F.col("id") % 4).alias("x"),
    )
    model = fit(labelled(df, "x > 1"))
    assert model.numSplits == 1
    assert model.featureImportances.toArray().tolist() == [0.0] * 6 + [1.0]
    assert sum(scores(model, df)) == pytest.approx(10)
    constant = fit(labelled(df, "x > 1").drop("x"))
    assert constant.numSplits == 0
    assert scores(constant, df) == [0.5] * 20


def test_missing_alone_decides(spark: SparkSession) -> None:
    df = spark.range(20).select(F.expr("if(id < 5, null, 'seen')").alias("x"))
    model = fit(labelled(df, "x is null"))
    assert sorted(model.rules()["path"]) == ["x is missing", "x is not missing"]
    assert scores(model, df) == pytest.approx([1.0] * 5 + [0.0] * 15)


@MODES
def test_a_single_row(spark: SparkSession, mode: str) -> None:
    df = spark.createDataFrame([(1.0, 3.0)], "x double, label double")
    model = fit(df, mode=mode)
    assert (model.numTrees, model.numSplits) == (1, 0)
    assert scores(model, df) == [3.0]
    assert str(model).startswith("FIGSRegressionModel: 1 tree, 0 splits\n")


@pytest.mark.parametrize("label", [0.0, 0.1, 1e140, -1e-140])
def test_a_constant_label(spark: SparkSession, label: float) -> None:
    df = spark.range(7).select(F.col("id").alias("x"), F.lit(label).alias("label"))
    model = fit(df)
    assert model.numSplits == 0
    assert scores(model, df) == pytest.approx([label] * 7, rel=1e-12)


def test_a_large_offset_of_the_label(spark: SparkSession) -> None:
    df = spark.range(100).select(
        F.col("id").alias("x"), F.expr("1e12 + (id div 50)").alias("label")
    )
    model = fit(df.withColumn("label", F.col("label").cast("double")))
    assert model.treeSum.splits[0].threshold == 49.5
    assert scores(model, df)[0::99] == [1e12, 1e12 + 1]


@MODES
def test_two_thousand_features(spark: SparkSession, mode: str) -> None:
    table = np.random.default_rng(0).integers(0, 4, (60, 2000)).astype(float)
    label = (table[:, 1234] > 1) + 2.0 * (table[:, 7] > 2)
    rows = [(row.tolist(), float(y)) for row, y in zip(table, label, strict=True)]
    df = spark.createDataFrame(rows, "features array<double>, label double")
    model = FIGSRegressor(mode=mode, maxSplits=2).fit(df)
    assert [split.feature for split in model.treeSum.splits] == [7, 1234]
    scored = [row[0] for row in model.transform(df).select("prediction").collect()]
    assert scored == pytest.approx(label.tolist(), abs=0.1)
    assert scored == model.predict(table).tolist()


def test_as_many_categories_as_bins(spark: SparkSession) -> None:
    df = spark.range(2_540).select(F.expr("concat('site ', id % 254)").alias("site"))
    model = fit(labelled(df, "hash(site) % 2 = 0"))
    assert model.numSplits == 1
    assert set(np.round(scores(model, df), 9)) == {0.0, 1.0}


def test_a_gap_among_the_classes(spark: SparkSession) -> None:
    df = spark.range(30).select(F.col("id").alias("x"), F.expr("if(id < 10, 0, 2)").alias("label"))
    model = FIGSClassifier(featuresCols=["x"]).fit(df)
    assert model.numClasses == 3
    assert model.predictProbability([0]) == pytest.approx(np.array([1.0, 0.0, 0.0]))
    assert model.predict([[0], [29]]).tolist() == [0.0, 2.0]


def test_many_classes_score_alike_in_spark_and_without(spark: SparkSession) -> None:
    label = F.expr("pmod(hash(id div 10, id % 3), 12)").alias("label")
    df = spark.range(600).select(F.col("id").alias("x"), label)
    model = FIGSClassifier(featuresCols=["x"], maxSplits=12).fit(df)
    rows = model.transform(df).select("x", "probability").collect()
    expected = model.predictProbability([[row["x"]] for row in rows])
    assert [row["probability"].tolist() for row in rows] == expected.tolist()
