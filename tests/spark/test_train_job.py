"""jobs/train.py on the shared session: what it prints, what it saves, how it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from figs_spark import FIGSClassificationModel, FIGSRegressionModel
from jobs import train as job


@pytest.fixture(scope="module")
def visits(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Parquet file with awkward column names, a class in three values and a stray column."""
    path = str(tmp_path_factory.mktemp("data") / "visits")
    hour = F.col("id") % 24
    spark.range(2_000).select(
        F.col("id").alias("visit"),
        hour.alias("hour of day"),
        F.when(hour < 8, "night").otherwise("day").alias("a`b.c"),
        (hour / 8).cast("int").alias("shift"),
        (2.5 * hour).alias("stay"),
        F.lit(0.0).alias("prediction"),
    ).write.parquet(path)
    return path


def run(spark: SparkSession, *arguments: str) -> None:
    job.train(spark, job.parse(arguments))


def test_the_demo(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = str(tmp_path / "model")
    run(spark, "--rows", "20000", "--max-splits", "4", "--output", output)
    printed = capsys.readouterr().out
    model = FIGSClassificationModel.load(output)
    assert str(model) in printed
    assert model.numSplits == 4
    auc, best = (float(value) for value in re.findall(r"AUC +([\d.]+)", printed))
    assert 0.6 < auc < best < 0.95


def test_an_existing_output_is_refused_before_any_work(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(job.JobError, match="exists: choose another --output") as refusal:
        run(spark, "--rows", "10", "--output", str(tmp_path))
    assert refusal.value.exit_code == job.OUTPUT_EXISTS


def test_regression_and_overwrite(
    spark: SparkSession, visits: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = ["--input", visits, "--label", "stay", "--features", "hour of day", "a`b.c"]
    target = ["--task", "regression", "--output", str(tmp_path), "--overwrite"]
    run(spark, *source, "--id", "visit", *target)
    assert float(re.findall(r"r2 +([\d.]+)", capsys.readouterr().out)[0]) > 0.9
    assert FIGSRegressionModel.load(str(tmp_path)).featureNames == ["hour of day", "a`b.c"]


def test_three_classes_give_an_accuracy(
    spark: SparkSession, visits: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(spark, "--input", visits, "--label", "shift", "--features", "hour of day")
    assert "accuracy             1.0000" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--input": "/no/such/path"}, "--input /no/such/path cannot be read"),
        ({"--label": "age"}, "no such column: age; there are visit, hour of day"),
        ({"--id": "patient"}, "no such column: patient"),
        ({"--label": "stay", "--features": "hour of day"}, "Column 'stay'"),
        ({}, "Column 'prediction'"),
    ],
)
def test_unfit_input_is_refused(
    spark: SparkSession, visits: str, changed: dict[str, str], message: str
) -> None:
    given = {"--input": visits, "--label": "shift", **changed}
    with pytest.raises(job.JobError, match=re.escape(message)) as refusal:
        run(spark, *(word for pair in given.items() for word in pair))
    assert refusal.value.exit_code == job.UNFIT_INPUT
