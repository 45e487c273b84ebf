"""Columns that Spark itself would fail on, or would compare by other rules: refused by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from figs_spark import (
    BaggedFIGSRegressor,
    FIGSRegressionModel,
    FIGSRegressor,
    GFIGSRegressor,
)
from figs_spark.app.outputs import Folder

needs_collations = pytest.mark.skipif(
    not hasattr(StringType(), "collation"), reason="PySpark 4 brought collations"
)
FEATURES = {"featuresCols": ["x", "s"], "labelCol": "y", "maxSplits": 2}


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    number = F.col("id").cast("double")
    return spark.range(60).select(
        "id",
        number.alias("x"),
        F.when(number % 3 == 0, "a").otherwise("b").alias("s"),
        F.when(number % 2 == 0, "p").otherwise("q").alias("g"),
        (number % 5).alias("y"),
        F.lit(7).alias("same"),
        F.create_map(F.lit("k"), number).alias("m"),
    )


def collated(data: DataFrame, name: str) -> DataFrame:
    return data.withColumn(name, F.expr(f"collate({name}, 'UTF8_LCASE')"))


@needs_collations
def test_collated_text_is_refused_in_a_fit_and_in_scoring(data: DataFrame) -> None:
    message = r"'s' \(featuresCols\) has a collation, UTF8_LCASE. Compare by bytes: collate\(`s`"
    with pytest.raises(ValueError, match=message):
        FIGSRegressor(**FEATURES).fit(collated(data, "s"))
    model = FIGSRegressor(featuresCols=["s"], labelCol="y", maxSplits=2).fit(
        data.withColumn("y", F.when(F.col("s") == "a", 1.0).otherwise(0.0))
    )
    with pytest.raises(ValueError, match=message):
        model.transform(collated(data, "s"))
    grouped = GFIGSRegressor(**FEATURES, groupCol="g")
    with pytest.raises(ValueError, match=r"'g' \(groupCol\) has a collation"):
        grouped.fit(collated(data, "g"))
    named = GFIGSRegressor(
        featuresCols=["x"], labelCol="y", groupCol="g", membershipFeaturesCols=["s"]
    )
    with pytest.raises(ValueError, match=r"'s' \(membershipFeaturesCols\) has a collation"):
        named.fit(collated(data, "s"))


@pytest.mark.parametrize("mode", ["driver", "cluster"])
def test_one_id_for_all_rows_is_refused(data: DataFrame, mode: str) -> None:
    estimator = BaggedFIGSRegressor(**FEATURES, idCol="same", numEstimators=2, mode=mode)
    with pytest.raises(ValueError, match=r"'same' \(idCol\) has one value in all 60 rows"):
        estimator.fit(data)


def test_maps_cannot_tell_rows_apart(data: DataFrame) -> None:
    message = r"Column 'm' \({}\) has type map<string,double>, whose values Spark cannot compare"
    with pytest.raises(ValueError, match=message.format("idCol")):
        BaggedFIGSRegressor(**FEATURES, idCol="m").fit(data)
    with pytest.raises(ValueError, match=message.format("foldCol")):
        FIGSRegressor(**FEATURES).crossValidatePath(data, 2, "m")
    with pytest.raises(ValueError, match=message.format("membershipFoldCol")):
        GFIGSRegressor(**FEATURES, groupCol="g", membershipFolds=2, membershipFoldCol="m").fit(data)


def test_one_fold_for_all_rows_is_refused(data: DataFrame) -> None:
    with pytest.raises(ValueError, match=r"'same' \(foldCol\) has one value in all rows"):
        FIGSRegressor(**FEATURES).crossValidatePath(data, 2, "same")


def test_slots_of_one_name_are_told_apart_and_saved(data: DataFrame, tmp_path: Path) -> None:
    """VectorAssembler calls a slot of a vector by both names, so two can be the same."""
    inner = VectorAssembler(inputCols=["x"], outputCol="a").transform(data)
    named = inner.withColumn(
        "a",
        F.col("a").alias(
            "a",
            metadata={"ml_attr": {"attrs": {"numeric": [{"idx": 0, "name": "b"}]}, "num_attrs": 1}},
        ),
    ).withColumn("a_b", F.col("y") * 2)
    packed = VectorAssembler(inputCols=["a", "a_b"], outputCol="features").transform(named)
    model = FIGSRegressor(labelCol="y", maxSplits=2).fit(packed)
    assert model.featureNames == ["features[0]", "features[1]"]
    model.save(str(tmp_path / "model"))
    assert FIGSRegressionModel.load(str(tmp_path / "model")).treeSum == model.treeSum


# Files for spreadsheets


def test_a_csv_of_spark_has_no_formulas(spark: SparkSession, tmp_path: Path) -> None:
    rows: list[tuple[Any, ...]] = [("=1+1", -2.5, "-5"), ("@x", 3.0, "b"), (None, None, "+a")]
    frame = spark.createDataFrame(rows, "`=name` string, value double, code string")
    path = tmp_path / "table"
    Folder(spark, str(path), True, False).table(frame.coalesce(1), "csv")
    text = next(path.glob("part-*.csv")).read_text("utf-8")
    assert text.splitlines() == ["'=name,value,code", "'=1+1,-2.5,-5", "'@x,3.0,b", ",,'+a"]


# Parts of a saved stage


def test_a_part_outside_the_folder_is_not_loaded(
    spark: SparkSession, data: DataFrame, tmp_path: Path
) -> None:
    estimator = GFIGSRegressor(**FEATURES, groupCol="g")
    estimator.save(str(tmp_path / "stage"))
    file = next((tmp_path / "stage" / "metadata").glob("part-*.txt"))
    file.with_name(f".{file.name}.crc").unlink()
    saved = json.loads(file.read_text())
    del saved["digest"]
    file.write_text(json.dumps(saved | {"parts": {"../x": "pyspark.ml.feature.Binarizer"}}))
    with pytest.raises(ValueError, match="is not the name of a part"):
        GFIGSRegressor.load(str(tmp_path / "stage"))
