"""What once went wrong without a word: names by case, changing sources, classes without rows."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import BaggedFIGSClassifier, FIGSClassifier, FIGSRegressor, stability
from figs_spark.stages.base import checks

CASE = "spark.sql.caseSensitive"


@pytest.fixture
def case_sensitive(spark: SparkSession) -> Iterator[None]:
    spark.conf.set(CASE, "true")
    yield
    spark.conf.unset(CASE)


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """400 rows; the outcome depends on both features."""
    return spark.range(0, 400, 1, 3).selectExpr(
        "double(id % 11) Prediction",
        "double(id % 7) age",
        "double(id % 11 > 4) + double(id % 7 > 2) days",
        "int(id % 11 > 4) died",
    )


# Names


def test_an_output_may_not_replace_a_column_of_another_case(rows: DataFrame) -> None:
    figs = FIGSRegressor(featuresCols=["Prediction", "age"], labelCol="days", maxSplits=3)
    message = "Column 'prediction' \\(predictionCol\\) is the column 'Prediction' of the DataFrame"
    with pytest.raises(ValueError, match=message):
        figs.fit(rows)
    model = figs.setPredictionCol("risk").setContributionsCol("parts").fit(rows)
    with pytest.raises(ValueError, match="Give predictionCol another name"):
        model.copy({model.predictionCol: "PREDICTION"}).transform(rows)
    scored: Any = model.transform(rows).toPandas()
    expected = model.predict(scored[["Prediction", "age"]])["risk"].to_numpy()
    assert scored["risk"].to_numpy() == pytest.approx(expected, abs=1e-12)
    assert [sum(parts) for parts in scored["parts"]] == pytest.approx(expected, abs=1e-12)


@pytest.mark.usefixtures("case_sensitive")
def test_where_case_counts_both_columns_stay(rows: DataFrame) -> None:
    figs = FIGSRegressor(featuresCols=["Prediction", "age"], labelCol="days", maxSplits=2)
    scored = figs.fit(rows).transform(rows)
    assert scored.columns == [*rows.columns, "prediction"]


def test_all_clashes_of_outputs_are_named_at_once(rows: DataFrame) -> None:
    table = rows.withColumnRenamed("age", "Probability")
    figs = FIGSClassifier(featuresCols=["Probability"], labelCol="died")
    with pytest.raises(ValueError, match="predictionCol") as error:
        figs.fit(table)
    assert "probabilityCol" in str(error.value)


def test_features_that_differ_by_case_alone_are_named(spark: SparkSession) -> None:
    table = spark.range(20).selectExpr("double(id) age", "double(id % 3) AGE", "double(id) days")
    with pytest.raises(ValueError, match=r"'age', 'AGE'.*upper and lower case"):
        FIGSRegressor(featuresCols=["Age"], labelCol="days").fit(table)
    with pytest.raises(ValueError, match="names 'AGE', 'age' more than once"):
        FIGSRegressor(featuresCols=["age", "AGE"], labelCol="days").fit(table)


def test_a_feature_is_found_in_another_case(rows: DataFrame) -> None:
    table = rows.drop("Prediction")
    model = FIGSRegressor(featuresCols=["AGE"], labelCol="DAYS", maxSplits=1).fit(table)
    assert model.featureNames == ["age"]
    assert model.transform(table).count() == 400


def test_a_column_with_an_internal_name_is_named(rows: DataFrame) -> None:
    table = rows.drop("Prediction").withColumn("Figs_Spark_Partition", F.lit(0))
    message = "1 columns have a name that training uses itself: 'Figs_Spark_Partition'"
    with pytest.raises(ValueError, match=message):
        FIGSRegressor(featuresCols=["age"], labelCol="days").fit(table)


# Sources


def other_labels(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        labels = np.random.default_rng().random(batch.num_rows)  # sums that differ by chance, too
        yield pa.RecordBatch.from_arrays([batch.column(0), pa.array(labels)], ["x", "y"])


def fewer_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        kept = batch.slice(np.random.default_rng().integers(1, 1_000))
        yield pa.RecordBatch.from_arrays([kept.column(0), kept.column(0)], ["x", "y"])


@pytest.fixture(params=["driver", "cluster"])
def read_again(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A mode; the rows do not come to the driver at the first look."""
    monkeypatch.setattr(checks, "rows_here", lambda *_: None)
    return request.param


def test_labels_that_change_between_scans_are_named(spark: SparkSession, read_again: str) -> None:
    numbers = spark.range(0, 2_000, 1, 1).selectExpr("double(id) x")
    table = numbers.mapInArrow(other_labels, "x double, y double")
    figs = FIGSRegressor(featuresCols=["x"], labelCol="y", mode=read_again)
    with pytest.raises(ValueError, match="gives other rows when it is read again: the labels"):
        figs.fit(table)


def test_rows_that_change_between_scans_are_named(spark: SparkSession, read_again: str) -> None:
    numbers = spark.range(0, 2_000, 1, 1).selectExpr("double(id) x")
    table = numbers.mapInArrow(fewer_rows, "x double, y double")
    figs = FIGSRegressor(featuresCols=["x"], labelCol="y", mode=read_again)
    with pytest.raises(ValueError, match=r"rows were checked and .* were packed"):
        figs.fit(table)


def test_a_small_table_that_changes_is_read_once(spark: SparkSession) -> None:
    numbers = spark.range(0, 2_000, 1, 1).selectExpr("double(id) x")
    table = numbers.mapInArrow(fewer_rows, "x double, y double")
    model = FIGSRegressor(featuresCols=["x"], labelCol="y", maxSplits=2).fit(table)
    assert model.numSplits == 2


def test_weights_too_small_to_count_are_named(rows: DataFrame) -> None:
    table = rows.drop("Prediction").withColumn("w", F.lit(1e-310))
    figs = FIGSRegressor(featuresCols=["age"], labelCol="days", weightCol="w")
    with pytest.raises(ValueError, match=r"'w' .* above 0 but below 1e-140 in 400 of 400 rows"):
        figs.fit(table)


# Classes without rows


@pytest.mark.parametrize(("labels", "empty"), [((1, 2), "0"), ((0, 1, 254), "2, 3, 4")])
def test_labels_that_are_not_numbered_from_0_on_are_refused(
    spark: SparkSession, labels: tuple[int, ...], empty: str
) -> None:
    chosen = F.element_at(F.array(*map(F.lit, labels)), (F.col("id") % len(labels) + 1).cast("int"))
    table = spark.range(90).select(F.col("id").cast("double").alias("x"), chosen.alias("label"))
    with pytest.raises(ValueError, match=f"no rows of .* classes .*: {empty}"):
        FIGSClassifier(featuresCols=["x"]).fit(table)


def test_a_gap_between_classes_is_a_warning(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    table = spark.range(60).selectExpr("double(id) x", "int(id % 2) * 2 label")
    with caplog.at_level(logging.WARNING, "figs_spark"):
        model = FIGSClassifier(featuresCols=["x"], maxSplits=2).fit(table)
    assert model.numClasses == 3
    assert "no rows of 1 of the 3 classes 0 to 2: 1." in caplog.text


def test_many_classes_are_scored_as_by_numpy(spark: SparkSession) -> None:
    table = spark.range(0, 600, 1, 2).selectExpr(
        "double(id % 30) x", "string(id % 5) s", "int(id % 30) label"
    )
    model = FIGSClassifier(featuresCols=["x", "s"], maxSplits=25).fit(table)
    scored: Any = model.transform(table).toPandas()
    found = np.array([row.toArray() for row in scored["probability"]])
    expected = model.predictProbability(scored[["x", "s"]])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    assert scored["prediction"].tolist() == model.predict(scored)["prediction"].tolist()


# Bagging without an id


def test_samples_without_an_id_do_not_depend_on_mode_or_partitions(spark: SparkSession) -> None:
    table = spark.range(0, 300, 1, 1).selectExpr(
        "double(id % 9) x", "double(id % 4) z", "int((id % 9 > 4) or (id % 4 = 0)) label"
    )  # many equal rows
    bagged = BaggedFIGSClassifier(featuresCols=["x", "z"], numEstimators=3, maxSplits=3, seed=2)
    expected = bagged.fit(table).members
    for layout in (table.repartition(3), table.orderBy(F.desc("x")).coalesce(2)):
        for mode in ("driver", "cluster"):
            assert bagged.copy({bagged.mode: mode}).fit(layout).members == expected


def test_stability_does_not_depend_on_partitions(spark: SparkSession) -> None:
    table = spark.range(0, 300, 1, 1).selectExpr("double(id % 9) x", "int(id % 9 > 4) label")
    figs = FIGSClassifier(featuresCols=["x"], maxSplits=2)
    one = stability(figs, table, flip=(0.1,), repeats=3).frequencies
    other = stability(figs, table.repartition(3), flip=(0.1,), repeats=3).frequencies
    assert one.equals(other)


def test_equal_rows_are_drawn_each_by_itself() -> None:
    from figs_spark.engine.row_numbers import running_numbers

    hashes = np.array([5, 7, 5, 5, -3, 7], dtype=np.int64)
    numbers = running_numbers(hashes)
    assert len(set(numbers.tolist())) == 6
    assert sorted(running_numbers(hashes[::-1])) == sorted(numbers)


@pytest.mark.parametrize("name", ["age", "Age"])
def test_a_column_derived_from_itself_is_named(rows: DataFrame, name: str) -> None:
    figs = FIGSClassifier(featuresCols=[name], derivedCols={name: "age / 10"}, labelCol="died")
    with pytest.raises(ValueError, match=f"Column '{name}' .derivedCols. is derived from the col"):
        figs.fit(rows)
    rows = rows.drop("Prediction")
    scored = rows.withColumn("years", F.col("age"))
    figs = FIGSClassifier(featuresCols=["years"], derivedCols={"years": "age + 0"}, labelCol="died")
    assert figs.fit(rows).transform(scored).count() == 400  # a column that is there stays


def test_the_label_is_no_feature_in_another_case(rows: DataFrame) -> None:
    with pytest.raises(ValueError, match="'DIED' is both labelCol and a feature"):
        FIGSClassifier(featuresCols=["age", "died"], labelCol="DIED").fit(rows)
