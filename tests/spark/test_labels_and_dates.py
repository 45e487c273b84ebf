"""Labels that are text or booleans, derived columns, and dates as features, in the estimators."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path

import pandas as pd
import pytest
from pyspark.ml.feature import StringIndexer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import (
    BaggedFIGSClassifier,
    FIGSClassificationModel,
    FIGSClassifier,
    FIGSRegressor,
    GFIGSClassifier,
    SensitivitySpecificityEvaluator,
)

FEATURES = ["age", "visit", "seen"]
LIMIT = date(2020, 6, 9)


@pytest.fixture(scope="module")
def visits(spark: SparkSession) -> Iterator[DataFrame]:
    """A date decides between alive and dead, but for noise; a timestamp has no time zone."""
    day, noise = F.expr("date_add(date'2020-01-01', cast(id % 366 as int))"), F.col("id") % 7 == 0
    dead = (day > F.lit(LIMIT)) != noise
    frame = spark.range(1_098).select(
        (F.col("id") % 90).cast("double").alias("age"),
        F.when(F.col("id") % 50 != 0, day).alias("visit"),
        F.expr("timestamp_ntz'2020-03-29 02:30:00' + make_interval(0,0,0,cast(id % 5 as int))")
        .alias("seen"),
        F.expr("timestamp'2020-01-01 00:00:00' + make_dt_interval(0, 0, 0, id)").alias("at"),
        F.when(dead, "dead").otherwise("alive").alias("outcome"),
        dead.alias("died"),
        F.when(F.col("id") % 2 == 0, "a").otherwise("b").alias("site"),
    )  # fmt: skip
    frame = frame.repartition(2).cache()
    yield frame
    frame.unpersist()


@pytest.fixture(scope="module")
def model(visits: DataFrame) -> FIGSClassificationModel:
    return FIGSClassifier(featuresCols=FEATURES, labelCol="outcome", maxSplits=2).fit(visits)


def test_a_text_label_keeps_its_classes(
    model: FIGSClassificationModel, visits: DataFrame, tmp_path: Path
) -> None:
    assert model.classNames == ["alive", "dead"]
    assert "the probability of outcome = dead" in str(model)
    model.save(f"{tmp_path}/model")
    assert FIGSClassificationModel.load(f"{tmp_path}/model").classNames == ["alive", "dead"]
    scored = model.transform(visits)
    evaluator = SensitivitySpecificityEvaluator(metricName="areaUnderROC", labelCol="outcome")
    by_number = evaluator.copy().setLabelCol("number")
    numbers = scored.withColumn("number", (F.col("outcome") == "dead").cast("int"))
    assert evaluator.evaluate(scored) == by_number.evaluate(numbers) > 0.8
    point = model.copy().setOperatingPoint(sensitivity=0.8, on=visits).operatingPoint
    assert point is not None
    assert point.sensitivity >= 0.8


def test_all_ways_to_write_a_label_agree(model: FIGSClassificationModel, visits: DataFrame) -> None:
    indexer = StringIndexer(inputCol="outcome", outputCol="index", stringOrderType="alphabetAsc")
    indexed = FIGSClassifier(featuresCols=FEATURES, labelCol="index", maxSplits=2)
    assert indexed.fit(indexer.fit(visits).transform(visits)).treeSum == model.treeSum
    boolean = FIGSClassifier(featuresCols=FEATURES, labelCol="died", maxSplits=2).fit(visits)
    assert boolean.treeSum == model.treeSum
    assert boolean.classNames == ["false", "true"]
    assert "the probability of died, clipped" in str(boolean)


@pytest.mark.parametrize("label", ["outcome", "died"])
def test_the_other_families_take_such_labels(visits: DataFrame, label: str) -> None:
    bagged = BaggedFIGSClassifier(featuresCols=["age", "visit"], labelCol=label, numEstimators=3)
    assert bagged.fit(visits).numClasses == 2
    grouped = GFIGSClassifier(
        featuresCols=["age", "visit"], labelCol=label, groupCol="site", maxSplits=2
    )
    assert grouped.fit(visits).transform(visits).where("prediction = 1").count() > 100


def test_labels_that_cannot_be_used(visits: DataFrame) -> None:
    with pytest.raises(ValueError, match=r"Column 'outcome' \(labelCol\) has type string"):
        FIGSRegressor(featuresCols=["age"], labelCol="outcome").fit(visits)
    null = visits.withColumn("outcome", F.when(F.col("age") > 3, F.col("outcome")))
    with pytest.raises(ValueError, match=r"'outcome' \(labelCol\) is null.* in \d+ of 1098 rows"):
        FIGSClassifier(featuresCols=["age"], labelCol="outcome").fit(null)
    one = visits.where("outcome = 'dead'")
    with pytest.raises(ValueError, match="has the single class dead in all"):
        FIGSClassifier(featuresCols=["age"], labelCol="outcome").fit(one)
    twos = visits.withColumn("y", F.when(F.col("died"), 2).otherwise(1))
    with pytest.raises(ValueError, match="cast the label to text"):
        FIGSClassifier(featuresCols=["age"], labelCol="y").fit(twos)
    text = twos.withColumn("y", F.col("y").cast("string"))
    assert FIGSClassifier(featuresCols=["age"], labelCol="y").fit(text).classNames == ["1", "2"]


def test_all_columns_with_a_problem_are_named(visits: DataFrame) -> None:
    wrong = FIGSClassifier(
        featuresCols=["age", "agee", "sit"], labelCol="outcom", weightCol="site", maxSplits=1
    )
    with pytest.raises(ValueError, match="agee") as error:
        wrong.fit(visits)
    for name in ("'agee', 'sit'", "'outcom' (labelCol)", "'site' (weightCol)"):
        assert name in str(error.value)


def test_pandas_is_refused_with_the_remedy(model: FIGSClassificationModel) -> None:
    rows = pd.DataFrame({"age": [1.0], "outcome": ["dead"]})
    for call in (FIGSClassifier(featuresCols=["age"], labelCol="outcome").fit, model.transform):
        with pytest.raises(TypeError, match=r"got a pandas DataFrame.*createDataFrame"):
            call(rows)


# Dates


def test_a_date_is_split_and_printed_as_a_date(
    model: FIGSClassificationModel, visits: DataFrame, tmp_path: Path
) -> None:
    assert "visit <= 2020-06-09" in str(model)
    assert "visit > 2020-06-09" in model.rules()["path"].tolist()
    row = {"age": 3.0, "visit": date(2020, 6, 10), "seen": None}
    assert "visit > 2020-06-09 [2020-06-10]" in str(model.explain(row))
    rows = [[3.0, LIMIT, None], [3.0, date(2020, 6, 10), None], [3.0, None, None]]
    schema = "age double, visit date, seen timestamp_ntz"
    frame = visits.sparkSession.createDataFrame(rows, schema)
    by_spark = [r["probability"][1] for r in model.transform(frame).collect()]
    assert by_spark == model.predictProbability(frame.toPandas())[:, 1].tolist()
    assert by_spark[0] < 0.3 < 0.7 < by_spark[1]
    with pytest.raises(ValueError, match=r"'visit' .* has type string, and the model was"):
        model.transform(frame.withColumn("visit", F.col("visit").cast("string")))
    assert "visit is given in days since 1970-01-01." in model.toPython()


@pytest.mark.parametrize("zone", ["UTC", "Europe/Zurich"])
def test_times_do_not_depend_on_the_zone_of_the_session(visits: DataFrame, zone: str) -> None:
    spark = visits.sparkSession
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    later = visits.withColumn("late", F.col("seen") > F.expr("timestamp_ntz'2020-03-31 12:00:00'"))
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        model = FIGSClassifier(featuresCols=["seen"], labelCol="late", maxSplits=1).fit(later)
        assert "seen <= 2020-03-31 14:30:00" in str(model)
        frame = spark.createDataFrame([(datetime(2020, 3, 29, 2, 30),)], "seen timestamp_ntz")
        assert model.transform(frame).head()["prediction"] == 0.0
        last = visits.agg(F.max("at")).head()[0]
        timed = visits.withColumn("last", F.col("at") == last)
        assert " UTC" in str(FIGSClassifier(featuresCols=["at"], labelCol="last").fit(timed))
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


# Derived columns


def test_derived_columns_are_part_of_the_model(visits: DataFrame, tmp_path: Path) -> None:
    derived = {"days": "datediff(visit, date'2020-01-01')", "late": "cast(days > 160 as int)"}
    estimator = FIGSClassifier(
        featuresCols=["age", "late"], derivedCols=derived, labelCol="outcome", maxSplits=1
    )
    model = estimator.fit(visits)
    model.save(f"{tmp_path}/model")
    loaded = FIGSClassificationModel.load(f"{tmp_path}/model")
    assert loaded.getDerivedCols() == derived
    scored = loaded.transform(visits)
    assert {"days", "late"} <= set(scored.columns)
    assert scored.where("prediction = 1").count() == visits.where("visit > '2020-06-09'").count()
    assert "late is derived: cast(days > 160 as int)." in loaded.toPython()
    with pytest.raises(ValueError, match=r"Column 'days' \(derivedCols\) cannot be derived"):
        loaded.transform(visits.drop("visit"))
