"""The train job: what it prints and saves, how rows are divided, how it refuses."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import (
    BaggedFIGSClassificationModel,
    FIGSClassificationModel,
    FIGSClassifier,
    FIGSRegressionModel,
    GFIGSClassificationModel,
)
from figs_spark.app.division import Holdout, divide
from figs_spark.app.errors import OUTPUT_EXISTS, UNFIT_INPUT, WRONG_USAGE
from tests.support.jobs import call, files

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def visits(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Awkward names, two visits per patient, a class of three values, a part, a stray column."""
    path = tmp_path_factory.mktemp("data") / "visits"
    hour = F.col("id") % 24
    spark.range(2_000).select(
        F.col("id").alias("visit"),
        F.floor(F.col("id") / 2).alias("patient"),
        hour.alias("hour of day"),
        F.when(hour < 8, "night").otherwise("day").alias("a`b.c"),
        (hour / 8).cast("int").alias("shift"),
        (hour < 12).alias("morning"),
        (2.5 * hour).alias("stay"),
        F.when(hour < 20, "old").when(hour < 22, "tune").otherwise("test").alias("era"),
        F.lit(0.0).alias("prediction"),
    ).write.parquet(str(path))
    return path


FEATURES = ("--features", "hour of day", "a`b.c")


def test_the_demo(spark: SparkSession, tmp_path: Path, capsys: Captured) -> None:
    output = tmp_path / "demo"
    assert call("train", "--rows", 20_000, "--model.maxSplits", 4, "--output", output) == 0
    printed = capsys.readouterr().out
    model = FIGSClassificationModel.load(f"{output}/model")
    assert str(model) in printed
    assert (output / "model.txt").read_text() == f"{model}\n"
    auc, best = (float(value) for value in re.findall(r"AUC.*? (0\.\d+) \(", printed))
    assert 0.6 < auc < best < 0.95


def test_what_is_saved(trained: Path, registry: Path, spark: SparkSession) -> None:
    expected = {"model", "model.txt", "model.svg", "metrics.json", "sizes.csv", "settings.json"}
    assert files(trained) == expected
    assert [path.name for path in trained.parent.iterdir()] == ["trained"]  # nothing incomplete
    metrics = json.loads((trained / "metrics.json").read_text())
    assert metrics["validation"]["rows"] + metrics["test"]["rows"] == pytest.approx(3_200, rel=0.1)
    assert 0.6 < metrics["test"]["auc"] < metrics["test"]["reference"]["auc"] < 1
    assert metrics["validation"]["sensitivity"] >= 0.9
    assert len(pd.read_csv(trained / "sizes.csv")) == 6
    assert (trained / "model.svg").read_text().startswith("<svg")


def test_the_model_is_that_of_the_estimator(
    trained: Path, registry: Path, spark: SparkSession
) -> None:
    model = FIGSClassificationModel.load(f"{trained}/model")
    data = spark.read.parquet(str(registry))
    split = divide(data, Holdout([0.6, 0.2, 0.2], group="patient_id"))
    own = FIGSClassifier(featuresCols=model.featureNames, labelCol="intervention", maxSplits=5)
    expected = own.fit(split.rows(data, "train"))
    assert model.treeSum == expected.treeSum
    assert not {"patient_id", "true_risk", "site", "intervention"} & set(model.featureNames)
    expected.setOperatingPoint(sensitivity=0.9, on=split.rows(data, "validation"))
    assert model.operatingPoint == expected.operatingPoint


def test_regression_and_overwrite(visits: Path, tmp_path: Path, capsys: Captured) -> None:
    (tmp_path / "old").write_text("old")
    arguments = ["--input", visits, "--label", "stay", *FEATURES, "--output", tmp_path]
    assert call("train", *arguments) == OUTPUT_EXISTS
    assert "exists: choose another output, or pass --overwrite" in capsys.readouterr().err
    assert call("train", *arguments, "--overwrite", "--split.group", "visit") == 0
    assert float(re.findall(r"r2 +([\d.]+)", capsys.readouterr().out)[0]) > 0.9
    assert FIGSRegressionModel.load(f"{tmp_path}/model").featureNames == ["hour of day", "a`b.c"]
    assert "old" not in files(tmp_path)


def test_three_classes_and_truth_values(visits: Path, capsys: Captured) -> None:
    assert call("train", "--input", visits, "--label", "shift", *FEATURES) == 0
    assert "accuracy             1.0000" in capsys.readouterr().out
    assert call("train", "--input", visits, "--label", "morning", *FEATURES) == 0
    assert "AUC                  1.0000" in capsys.readouterr().out


def test_bagged(visits: Path, tmp_path: Path) -> None:
    arguments = ["--input", visits, "--label", "shift", *FEATURES, "--output", tmp_path / "m"]
    assert call("train", *arguments, "--kind", "bagged", "--model.numEstimators", 3) == 0
    assert BaggedFIGSClassificationModel.load(f"{tmp_path}/m/model").numMembers == 3


def test_gfigs(registry: Path, tmp_path: Path) -> None:
    arguments = ["--input", registry, "--label", "intervention", "--output", tmp_path / "m"]
    arguments += ["--features", "gcs_total", "systolic_bp", "age_years", "--kind", "gfigs"]
    arguments += ["--model.groupCol", "age_group", "--model.maxSplits", 2]
    assert call("train", *arguments, "--model.membershipExcludeCols", "[age_years]") == 0
    model = GFIGSClassificationModel.load(f"{tmp_path}/m/model")
    assert model.groups == ("2_and_over", "under_2")


@pytest.mark.parametrize("choose", ["validation", "smallest"])
def test_a_size_by_the_data(choose: str, visits: Path, tmp_path: Path) -> None:
    arguments = ["--input", visits, "--label", "shift", *FEATURES, "--size.choose", choose]
    arguments += ["--size.folds", 3, "--split.fractions", 0.6, 0.2, 0.2, "--split.group", "patient"]
    assert call("train", *arguments, "--output", tmp_path / "m", "--model.maxSplits", 6) == 0
    size = json.loads((tmp_path / "m/metrics.json").read_text())["size"]
    model = FIGSClassificationModel.load(f"{tmp_path}/m/model")
    assert size["splits"] == model.numSplits <= 6
    assert len(pd.read_csv(tmp_path / "m/sizes.csv")) > model.numSplits


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--input", "/no/such/path"], UNFIT_INPUT, "--input: '/no/such/path' does not exist."),
        (["--label", "age"], UNFIT_INPUT, "no column 'age'; it has 'visit', 'patient'"),
        (["--label", "shft"], UNFIT_INPUT, "no column 'shft'; did you mean 'shift'?"),
        (["--split.group", "person"], UNFIT_INPUT, "the input has no column 'person'"),
        (["--label", "stay", "--task", "classification"], UNFIT_INPUT, "Column 'stay'"),
        (["--label", "a`b.c", "--task", "regression"], UNFIT_INPUT, "'a`b.c' (labelCol) has type"),
        (["--features", "hour of day", "prediction"], UNFIT_INPUT, "Column 'prediction'"),
        (["--exclude", "Prediction"], UNFIT_INPUT, "no column 'Prediction'; did you mean"),
        (["--derive", "{Shift: '1'}"], UNFIT_INPUT, "already has a column 'shift'"),
        (["--where", "no such thing"], UNFIT_INPUT, "--where: 'no such thing' does not fit"),
        (["--format", "table", "--input", "nowhere.t"], UNFIT_INPUT, "cannot be read as table"),
        (["--format", "delta"], UNFIT_INPUT, "cannot be read as delta"),
        (["--output", "."], OUTPUT_EXISTS, "'.' exists"),
        (["--output", ".", "--overwrite"], WRONG_USAGE, "contains the working directory"),
    ],
)
def test_refusals(
    visits: Path, arguments: list[str], code: int, message: str, capsys: Captured
) -> None:
    given = ["--input", visits, "--label", "shift", "--exclude", "prediction", *arguments]
    assert call("train", *given) == code
    shown = capsys.readouterr().err
    assert message in shown
    assert "\tat " not in shown
    assert "Traceback" not in shown


def test_what_is_no_parquet_is_refused(
    spark: SparkSession, tmp_path: Path, capsys: Captured
) -> None:
    (tmp_path / "visits.parquet").write_text("age,died\n1,0\n")
    for path in (tmp_path / "visits.parquet", tmp_path):
        assert call("train", "--input", path, "--label", "died") == UNFIT_INPUT
        shown = capsys.readouterr().err
        assert f"--input: '{path}' cannot be read as parquet" in shown
        assert "Set format to the right one" in shown


def test_a_csv_file(spark: SparkSession, tmp_path: Path, capsys: Captured) -> None:
    rows = "".join(f"{k % 24};{int(k % 24 < 8)}\n" for k in range(500))
    (tmp_path / "visits.csv").write_text(f"hour;night\n{rows}")
    source = ["--input", tmp_path / "visits.csv", "--options.delimiter", ";", "--label", "night"]
    assert call("train", *source) == 0
    assert "hour <= 7.5" in capsys.readouterr().out


def test_a_table(spark: SparkSession, visits: Path, capsys: Captured) -> None:
    spark.read.parquet(str(visits)).createOrReplaceTempView("visits_table")
    assert call("train", "--input", "visits_table", "--label", "shift", *FEATURES) == 0
    assert "accuracy" in capsys.readouterr().out


def test_a_dry_run_checks_and_writes_nothing(
    visits: Path, tmp_path: Path, capsys: Captured
) -> None:
    arguments = ["--input", visits, "--label", "shift", "--output", tmp_path / "m", "--dry-run"]
    assert call("train", *arguments, *FEATURES) == 0
    shown = capsys.readouterr().out
    assert "Nothing was fitted or written" in shown
    assert "a`b.c (string, 2 categories)" in shown
    assert list(tmp_path.iterdir()) == []
    assert call("train", *arguments, "--features", "nothing") == UNFIT_INPUT


def test_a_failed_job_leaves_nothing(visits: Path, tmp_path: Path) -> None:
    arguments = ["--input", visits, "--label", "stay", "--task", "classification", *FEATURES]
    assert call("train", *arguments, "--output", tmp_path / "m") == UNFIT_INPUT
    assert list(tmp_path.iterdir()) == []


# Dividing


def shares(data: DataFrame, holdout: Holdout) -> dict[str, int]:
    division = divide(data, holdout)
    return {part: division.rows(data, part).count() for part in ("train", "validation", "test")}


def test_parts_are_disjoint_whole_and_of_the_right_size(spark: SparkSession) -> None:
    found = shares(spark.range(20_000).toDF("patient"), Holdout([0.6, 0.3, 0.1]))
    assert sum(found.values()) == 20_000
    assert list(found.values()) == pytest.approx([12_000, 6_000, 2_000], abs=250)


def test_a_patient_never_straddles(spark: SparkSession, visits: Path) -> None:
    data = spark.read.parquet(str(visits)).repartition(3)
    part = divide(data, Holdout([0.5, 0.2, 0.3], group="patient")).part()
    most = data.groupBy("patient").agg(F.countDistinct(part).alias("n")).agg(F.max("n")).first()
    assert most is not None
    assert most[0] == 1


def test_another_seed_gives_other_rows(spark: SparkSession) -> None:
    data = spark.range(5_000).toDF("patient")
    first, second = (divide(data, Holdout([0.5, 0, 0.5], seed=seed)).part() for seed in (0, 1))
    assert data.where(first != second).count() == pytest.approx(2_500, rel=0.1)


def test_a_column_says_where_a_row_belongs(spark: SparkSession, visits: Path) -> None:
    holdout = Holdout(column="era", validation=["tune"], test=["test"])
    data = spark.read.parquet(str(visits))
    assert shares(data, holdout)["test"] == data.where("era = 'test'").count()
    assert shares(data, holdout)["train"] == data.where("era = 'old'").count()
