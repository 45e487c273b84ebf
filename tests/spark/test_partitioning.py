"""However the rows are spread and wherever the work is done, the model is the same; and no fit
leaves anything behind."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import FIGSClassifier, FIGSRegressor
from figs_spark.dataframes.compat import (
    BATCH_ROWS,
    FILE_BATCH_ROWS,
    arrow_batches,
    file_batches,
    parallelism,
)
from figs_spark.engine import packing, partial_sums, table
from figs_spark.engine.grower import Growth
from figs_spark.treesum import TreeSum
from tests.support.small import assert_same_model

FEATURES = ["few", "many", "often", "site", "flag"]
PROBLEMS = {
    "risk": FIGSRegressor(featuresCols=FEATURES, labelCol="risk", weightCol="w", maxSplits=5),
    "grade": FIGSClassifier(
        featuresCols=FEATURES, labelCol="grade", validationIndicatorCol="held", maxSplits=5
    ),
}


@pytest.fixture(scope="module")
def patients(spark: SparkSession) -> Iterator[DataFrame]:
    """Numbers with few and many values, one that is mostly 0, text, truth values, missing ones."""
    random, rows = np.random.default_rng(11), 3000
    few, many = random.integers(0, 12, rows) / 4, random.normal(size=rows)
    often = np.where(random.random(rows) < 0.1, random.normal(size=rows), 0.0)
    site, flag = random.choice(list("abcde"), rows), random.random(rows) < 0.3
    risk = few * (many > 0.3) + 2.0 * np.isin(site, ["b", "e"]) + 3 * often * flag
    risk += random.normal(0, 0.2, rows)
    table = pd.DataFrame(
        {
            "few": np.where(random.random(rows) < 0.1, np.nan, few),
            "many": many,
            "often": often,
            "site": pd.Series(site).where(random.random(rows) > 0.1, None),
            "flag": flag,
            "risk": risk,
            "grade": np.digitize(risk, [0.5, 2.0]),
            "w": random.choice([0.1, 0.7, 1 / 3], rows),
            "held": random.random(rows) < 0.3,
        }
    )
    frame = spark.createDataFrame(table).coalesce(1).cache()
    frame.count()
    yield frame
    frame.unpersist()


@pytest.fixture(scope="module")
def models(patients: DataFrame) -> dict[str, TreeSum]:
    """Trained in the driver, from one partition."""
    found = {name: fitted(name, patients, mode="driver") for name in PROBLEMS}
    assert all(len(model.splits) >= 3 for model in found.values())
    return found


def fitted(problem: str, frame: DataFrame, **params: Any) -> TreeSum:
    model = PROBLEMS[problem].copy().setParams(**params).fit(frame)
    return model.treeSum


def spread(frame: DataFrame, partitions: int) -> DataFrame:
    """Over one, several or many partitions; of many, most are empty."""
    if partitions == 17:
        frame = frame.repartition(17, "flag", F.col("site") == "a")
        assert frame.select(F.spark_partition_id()).distinct().count() < 8
        return frame
    return frame.repartition(partitions)


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("mode", ["driver", "cluster"])
@pytest.mark.parametrize("partitions", [1, 3, 17])
def test_any_partitioning(
    patients: DataFrame, models: dict[str, TreeSum], problem: str, mode: str, partitions: int
) -> None:
    model = fitted(problem, spread(patients, partitions), mode=mode)
    assert_same_model(model, models[problem])


def test_a_partition_with_most_of_the_rows(
    patients: DataFrame,
    models: dict[str, TreeSum],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(table, "BLOCK_BYTES", 0)
    parts = 4 * parallelism(patients.sparkSession)
    uneven = patients.repartition(parts, F.when(F.col("many") > 1.5, F.col("many")))
    with caplog.at_level("INFO", logger="figs_spark"):
        model = fitted("risk", uneven, mode="cluster")
    assert "dealt out evenly" in caplog.text
    assert_same_model(model, models["risk"])


@pytest.mark.parametrize("problem", PROBLEMS)
def test_sums_merged_by_spark(
    patients: DataFrame, models: dict[str, TreeSum], monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    monkeypatch.setattr(partial_sums, "COLLECT_BYTES", 0)
    monkeypatch.setattr(partial_sums, "SLICE_BYTES", 8 * 100)
    model = fitted(problem, spread(patients, 3), mode="cluster")
    assert_same_model(model, models[problem])


@pytest.mark.parametrize("mode", ["driver", "cluster"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_without_numba(
    spark: SparkSession,
    patients: DataFrame,
    models: dict[str, TreeSum],
    monkeypatch: pytest.MonkeyPatch,
    problem: str,
    mode: str,
) -> None:
    monkeypatch.setenv("FIGS_SPARK_NUMBA", "0")
    monkeypatch.setitem(spark.sparkContext.environment, "FIGS_SPARK_NUMBA", "0")

    def setting(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            value = os.environ.get("FIGS_SPARK_NUMBA", "")
            yield pa.RecordBatch.from_arrays([pa.array([value])], names=["value"])

    assert spark.range(1).mapInArrow(setting, "value string").first() == ("0",)
    assert_same_model(fitted(problem, spread(patients, 3), mode=mode), models[problem])


def test_blocks_in_a_work_directory(
    patients: DataFrame, models: dict[str, TreeSum], tmp_path: Path
) -> None:
    model = fitted("risk", spread(patients, 3), mode="cluster", workDir=str(tmp_path))
    assert_same_model(model, models["risk"])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("problem", PROBLEMS)
def test_bins_from_a_sample(
    patients: DataFrame, monkeypatch: pytest.MonkeyPatch, problem: str
) -> None:
    """The sample misses most values of a feature that is mostly 0, and some of the few."""
    monkeypatch.setattr(table, "SAMPLE_ROWS", 300)
    monkeypatch.setattr(table, "SMALL_ROWS", 300)
    expected = fitted(problem, patients, mode="driver")
    assert len(expected.splits) >= 3
    for mode, partitions in (("driver", 17), ("cluster", 3)):
        model = fitted(problem, spread(patients, partitions), mode=mode)
        assert_same_model(model, expected)


@pytest.mark.parametrize("sample_rows", [1000, 1])
def test_equal_rows_are_merged(
    patients: DataFrame,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    sample_rows: int,
) -> None:
    """Where a sample has few distinct rows; a sample may also be empty."""
    few = patients.where("few is null or few < 1").withColumn(
        "w", F.when(F.col("flag"), 0.7).otherwise(0.1)
    )
    classifier = FIGSClassifier(
        featuresCols=["few", "site", "flag"],
        labelCol="grade",
        weightCol="w",
        minInstancesPerNode=20,
        maxSplits=4,
    )
    expected = classifier.fit(few).treeSum
    assert len(expected.splits) == 4
    monkeypatch.setattr(table, "SAMPLE_ROWS", sample_rows)
    monkeypatch.setattr(table, "SMALL_ROWS", sample_rows)
    caplog.set_level("INFO", "figs_spark")
    for mode in ("driver", "cluster"):
        caplog.clear()
        model = classifier.setParams(mode=mode).fit(spread(few, 3)).treeSum
        assert ("equal rows are merged" in caplog.text) == (sample_rows == 1000)
        assert_same_model(model, expected)
        assert [n.rows for n in model.trees[0].walk()] == [n.rows for n in expected.trees[0].walk()]


@pytest.mark.parametrize("mode", ["driver", "cluster"])
def test_a_sign_in_five_of_a_million_rows_is_found(spark: SparkSession, mode: str) -> None:
    sign = (F.col("id") % 200_000 == 7).cast("double")
    frame = spark.range(1_000_000, numPartitions=4).select(
        (F.col("id") % 10).alias("noise"),
        F.rand(0).alias("more"),
        sign.alias("sign"),
        sign.alias("label"),
    )
    classifier = FIGSClassifier(featuresCols=["noise", "more", "sign"], mode=mode, maxSplits=3)
    model = classifier.fit(frame)
    assert model.numSplits == 1
    root = model.trees[0]
    assert root.split is not None
    assert (root.split.feature, root.split.threshold) == (2, 0.5)
    assert [(leaf.rows, leaf.value) for leaf in root.leaves()] == [
        (999_995, pytest.approx((0.0,), abs=1e-12)),
        (5, pytest.approx((1.0,))),
    ]


class Failure(RuntimeError):
    """What a fit that fails midway raises."""


def fail_at_the_third_step(monkeypatch: pytest.MonkeyPatch) -> None:
    split = Growth.split

    def split_or_fail(growth: Growth) -> None:
        if growth.steps == 2:
            raise Failure
        split(growth)

    monkeypatch.setattr(Growth, "split", split_or_fail)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("where", ["driver", "cluster", "workDir"])
def test_nothing_is_left_behind(
    spark: SparkSession,
    patients: DataFrame,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    where: str,
    fails: bool,
) -> None:
    def traces() -> tuple[set[int], dict[str, str], list[Path]]:
        cached = set(spark.sparkContext._jsc.getPersistentRDDs().keySet())
        return cached, settings(spark), list(tmp_path.iterdir())

    monkeypatch.setattr(table, "READ_BYTES", 8 * 64)  # so that files are read in smaller batches
    params = {"mode": where}
    if where == "workDir":
        params = {"mode": "cluster", "workDir": str(tmp_path)}
    spark.conf.set(BATCH_ROWS, "777")
    before = traces()
    if fails:
        fail_at_the_third_step(monkeypatch)
        with pytest.raises(Failure):
            fitted("risk", patients, **params)
    else:
        fitted("risk", patients, **params)
    after = traces()
    spark.conf.unset(BATCH_ROWS)
    assert after == before


def settings(spark: SparkSession) -> dict[str, str]:
    """Those of the session that were set."""
    return {row.key: row.value for row in spark.sql("set").collect()}


def test_files_are_read_in_batches_no_larger_than_the_user_wants(spark: SparkSession) -> None:
    own, other = FILE_BATCH_ROWS
    before = settings(spark)
    spark.conf.set(own, "100")
    with file_batches(spark, 200), file_batches(spark, 300):
        assert spark.conf.get(own) == "100"
        assert spark.conf.get(other) == "300"
    assert spark.conf.get(own) == "100"
    spark.conf.unset(own)
    assert settings(spark) == before


def test_wide_rows_are_read_in_small_batches(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """While two fits run at once, one of which fails; the model is the same."""
    names = [f"x{j}" for j in range(20)]
    numbers = [F.rand(j).alias(name) for j, name in enumerate(names)]
    rows = spark.range(0, 3000, 1, 2).select(*numbers)
    rows.withColumn("label", F.col("x0") + F.col("x7")).write.parquet(str(tmp_path / "rows"))
    frame = spark.read.parquet(str(tmp_path / "rows"))
    monkeypatch.setattr(table, "SMALL_ROWS", 100)
    monkeypatch.setenv("FIGS_SPARK_PARQUET", "0")  # Spark reads the files
    regressor = FIGSRegressor(featuresCols=names, maxSplits=3, mode="cluster")
    expected = regressor.fit(frame)
    fails = "if(x3 > 0.5, cast(raise_error('this row is wrong') as double), x3)"
    seen: set[str | None] = set()
    before = settings(spark)
    monkeypatch.setattr(table, "READ_BYTES", 8 * 20 * 100)

    def watched(*arguments: Any, **more: Any) -> Any:
        seen.update(spark.conf.get(name) for name in FILE_BATCH_ROWS)
        return packed_frame(*arguments, **more)

    packed_frame = packing._packed_frame
    monkeypatch.setattr(packing, "_packed_frame", watched)
    with ThreadPoolExecutor(2) as pool:
        fit = pool.submit(regressor.fit, frame)
        failing = pool.submit(regressor.fit, frame.withColumn("x3", F.expr(fails)))
        assert_same_model(fit.result().treeSum, expected.treeSum)
        with pytest.raises(Exception, match="this row is wrong"):
            failing.result()
    assert seen == {"100"}
    assert settings(spark) == before


def test_the_bound_on_batches_comes_back_after_fits_at_the_same_time(spark: SparkSession) -> None:
    before = spark.conf.get(BATCH_ROWS)
    one, other = arrow_batches(spark, 5), arrow_batches(spark, 7)
    one.__enter__()
    other.__enter__()
    assert spark.conf.get(BATCH_ROWS) == "7"
    one.__exit__(None, None, None)
    other.__exit__(None, None, None)
    assert spark.conf.get(BATCH_ROWS) == before
    assert BATCH_ROWS not in {row.key for row in spark.sql("set").collect()}


def test_nothing_is_left_behind_where_packing_fails(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The source has other categories each time it is read."""
    monkeypatch.setattr(table, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(table, "SMALL_ROWS", 100)

    def coded(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        start = float(np.random.default_rng().integers(1, 1 << 40))
        for batch in batches:
            codes = start + np.arange(batch.num_rows) % 20
            yield pa.RecordBatch.from_arrays(
                [pa.array(codes), batch.column("label")], ["code", "label"]
            )

    rows = spark.range(0, 3000, 1, 2).select(F.rand(0).alias("label"))
    frame = rows.mapInArrow(coded, "code double, label double")
    cached = spark.sparkContext._jsc.getPersistentRDDs().size()
    for directory in (None, str(tmp_path)):
        regressor = FIGSRegressor(
            featuresCols=["code"], categoricalCols=["code"], mode="cluster", workDir=directory
        )
        with pytest.raises(ValueError, match=r"read again: column 'code' has \d+ more categories"):
            regressor.fit(frame)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == cached
    assert list(tmp_path.iterdir()) == []
