"""The evaluate job: tables and pictures, of the rows that the model has not seen."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from figs_spark.app.errors import UNFIT_INPUT, WRONG_USAGE
from tests.support.jobs import call, files

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def evaluated(registry: Path, trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("jobs") / "evaluation"
    arguments = ["--input", registry, "--model", trained, "--part", "test", "--output", output]
    assert call("evaluate", *arguments, "--groups", "sex", "site") == 0
    return output


def test_the_folder(evaluated: Path) -> None:
    tables = ("summary", "operating_points", "calibration", "roc", "sizes")
    pictures = {"roc.png", "calibration.png", "sizes.png"}
    assert files(evaluated) == {f"{t}.csv" for t in tables} | pictures | {
        "report.md",
        "report.json",
    }
    assert all((evaluated / name).read_bytes().startswith(b"\x89PNG") for name in pictures)
    assert set(json.loads((evaluated / "report.json").read_text())) == {*tables, "fingerprint"}
    assert "## Operating points" in (evaluated / "report.md").read_text()


def test_test_rows_give_what_train_found(evaluated: Path, trained: Path) -> None:
    summary = pd.read_csv(evaluated / "summary.csv")
    found = summary[summary["by"] == "all"].iloc[0]
    expected = json.loads((trained / "metrics.json").read_text())["test"]
    for name in ("rows", "auc", "aucLow", "brier", "threshold", "sensitivity", "specificity", "tp"):
        assert found[name] == pytest.approx(expected[name]), name


def test_groups_add_up(evaluated: Path) -> None:
    summary = pd.read_csv(evaluated / "summary.csv")
    rows = summary.groupby("by")["rows"].sum()
    assert rows["all"] == rows["sex"] == rows["site"]
    assert set(summary[summary["by"] == "sex"]["group"]) == {"female", "male"}
    points = pd.read_csv(evaluated / "operating_points.csv")
    assert len(points) == 4 * len(summary)
    assert (points["sensitivity"] >= points["level"]).all()


def test_scores_of_another_model_need_no_model_of_ours(
    spark: SparkSession, registry: Path, tmp_path: Path, capsys: Captured
) -> None:
    arguments = ["--input", registry, "--label", "intervention", "--score", "true_risk"]
    assert call("evaluate", *arguments, "--output", tmp_path / "e", "--plots", "false") == 0
    assert pd.read_csv(tmp_path / "e/summary.csv")["auc"][0] > 0.8
    assert not list((tmp_path / "e").glob("*.png"))


def test_an_amount_and_classes(spark: SparkSession, tmp_path: Path) -> None:
    hour = F.col("id") % 24
    data = spark.range(600).select(hour.alias("hour"), (hour / 8).cast("int").alias("shift"))
    data = data.withColumn("prediction", F.col("hour") + 1.0).withColumn("sex", F.lit("f"))
    data.write.parquet(f"{tmp_path}/data")
    given = ["--input", tmp_path / "data", "--groups", "sex"]
    amount = ["--label", "hour", "--task", "amount", "--output", tmp_path / "amount"]
    assert call("evaluate", *given, *amount) == 0
    found = pd.read_csv(tmp_path / "amount/summary.csv")
    assert found["bias"].tolist() == found["mae"].tolist() == pytest.approx([1, 1])
    classes = ["--label", "shift", "--task", "classes", "--output", tmp_path / "classes"]
    assert call("evaluate", *given, *classes) == 0
    assert pd.read_csv(tmp_path / "classes/summary.csv")["accuracy"][0] == pytest.approx(
        0.0, abs=0.1
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--part", "test"], WRONG_USAGE, "'model' is needed"),
        ([], WRONG_USAGE, "the column with the true outcome is needed"),
        (["--label", "intervention"], UNFIT_INPUT, "the input has no column 'probability'"),
        (["--label", "age_years", "--score", "true_risk"], UNFIT_INPUT, "Column 'age_years'"),
        (["--model", "/no/such"], UNFIT_INPUT, "has no model in it"),
    ],
)
def test_refusals(
    registry: Path, tmp_path: Path, arguments: list[str], code: int, message: str, capsys: Captured
) -> None:
    given = ["--input", registry, "--output", tmp_path / "e", *arguments]
    assert call("evaluate", *given) == code
    assert message in capsys.readouterr().err


def test_a_dry_run(registry: Path, trained: Path, tmp_path: Path, capsys: Captured) -> None:
    given = ["--input", registry, "--model", trained, "--output", tmp_path / "e", "--dry-run"]
    assert call("evaluate", *given) == 0
    assert "probability against intervention (binary)" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
