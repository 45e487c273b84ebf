"""The score job: predictions, contributions and rules; streams; columns that do not fit."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from figs_spark import FIGSClassificationModel
from figs_spark.app.errors import OUTPUT_EXISTS, UNFIT_INPUT, WRONG_USAGE
from tests.support.jobs import call

Captured = pytest.CaptureFixture[str]


def test_predictions_contributions_and_rules(
    spark: SparkSession, registry: Path, trained: Path, tmp_path: Path
) -> None:
    output = tmp_path / "scored"
    arguments = ["--input", registry, "--model", trained, "--output", output]
    assert call("score", *arguments, "--rulesCol", "rules", "--keep", "patient_id") == 0
    scored = spark.read.parquet(str(output))
    outputs = ["patient_id", "prediction", "probability", "contributions", "rules"]
    assert scored.columns == outputs
    model = FIGSClassificationModel.load(f"{trained}/model")
    expected = model.setContributionsCol("own").transform(spark.read.parquet(str(registry)))
    both = scored.join(
        expected.select("patient_id", "own", F.col("probability").alias("p")), "patient_id"
    )
    texts = model.rules()
    for row in both.limit(200).collect():
        assert row["probability"] == row["p"][1]
        assert row["contributions"] == row["own"]
        for tree, (text, value) in enumerate(zip(row["rules"], row["own"], strict=True), start=1):
            own = texts[(texts["tree"] == tree) & (texts["path"] == text)]
            assert own["value"].tolist() == [value]
    threshold = model.getThreshold()
    assert both.where((F.col("probability") > threshold) != (F.col("prediction") == 1)).isEmpty()


def test_csv_holds_lists_as_json(
    registry: Path, trained: Path, tmp_path: Path, spark: SparkSession
) -> None:
    output = tmp_path / "scored"
    arguments = ["--input", registry, "--model", f"{trained}/model", "--output", output]
    assert call("score", *arguments, "--outputFormat", "csv", "--where", "patient_id < 10") == 0
    rows = spark.read.csv(str(output), header=True, escape='"').collect()
    assert len(rows) == 10
    assert all(isinstance(value, float) for value in json.loads(rows[0]["contributions"]))


def test_columns_that_do_not_fit_are_all_named(
    spark: SparkSession, registry: Path, trained: Path, tmp_path: Path, capsys: Captured
) -> None:
    used = FIGSClassificationModel.load(f"{trained}/model").summary["feature"].dropna().unique()
    first, second = list(used)[:2]
    data = spark.read.parquet(str(registry)).limit(10).drop(first)
    data.withColumn(second, F.lit("2026-01-01").cast("date")).write.parquet(f"{tmp_path}/bad")
    arguments = ["--input", tmp_path / "bad", "--model", trained, "--output", tmp_path / "out"]
    assert call("score", *arguments) == UNFIT_INPUT
    shown = capsys.readouterr().err
    assert "2 columns of the input do not fit the model" in shown
    assert f"'{first}' is missing" in shown
    assert f"'{second}' is date, " in shown
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("changed", "code", "message"),
    [
        ({"--model": "/no/such"}, UNFIT_INPUT, "--model: '/no/such' has no model in it."),
        ({"--input": "/no/such"}, UNFIT_INPUT, "--input: '/no/such' does not exist."),
        ({"--output": "."}, OUTPUT_EXISTS, "'.' exists"),
        ({"--predictionCol": "sex"}, UNFIT_INPUT, "already has a column 'sex'"),
        ({"--keep": "name"}, UNFIT_INPUT, "the input has no column 'name'"),
        ({"--stream": "true", "--overwrite": ""}, WRONG_USAGE, "a stream appends"),
    ],
)
def test_refusals(
    registry: Path,
    trained: Path,
    tmp_path: Path,
    capsys: Captured,
    changed: dict[str, str],
    code: int,
    message: str,
) -> None:
    given = {"--input": registry, "--model": trained, "--output": tmp_path / "o", **changed}
    words = [word for pair in given.items() for word in pair if word != ""]
    assert call("score", *words) == code
    assert message in capsys.readouterr().err


def test_a_dry_run(registry: Path, trained: Path, tmp_path: Path, capsys: Captured) -> None:
    arguments = ["--input", registry, "--model", trained, "--output", tmp_path / "o", "--dry-run"]
    assert call("score", *arguments) == 0
    assert "contributions (array<double>)" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_stream_goes_on_where_it_was(
    spark: SparkSession, registry: Path, trained: Path, tmp_path: Path, capsys: Captured
) -> None:
    parts = sorted(registry.glob("part-*.parquet"))
    arriving, output = tmp_path / "arriving", tmp_path / "scored"
    arriving.mkdir()
    arguments = ["--input", arriving, "--model", trained, "--output", output, "--stream"]
    counts = []
    for part in parts:
        shutil.copy(part, arriving)
        assert call("score", *arguments) == 0
        counts.append(spark.read.parquet(str(output)).count())
    assert counts[0] < counts[1] == 8_000
    assert spark.read.parquet(str(output)).select("patient_id").distinct().count() == 8_000
    shutil.rmtree(f"{output}_checkpoint")
    assert call("score", *arguments) == OUTPUT_EXISTS
    assert "without a checkpoint" in capsys.readouterr().err
