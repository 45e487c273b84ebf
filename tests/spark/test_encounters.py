"""The jobs on a raw extract: text labels, '?' for missing, codes, derived columns, one command."""

from __future__ import annotations

import json
import logging
import re
from html import unescape
from pathlib import Path

import pandas as pd
import pytest
import yaml
from pyspark.sql import SparkSession

from figs_spark import FIGSClassificationModel, inspect
from figs_spark.app.errors import OUTPUT_EXISTS, UNFIT_INPUT
from tests.support.encounters import write_encounters
from tests.support.jobs import call, files

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def extract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encounters(tmp_path_factory.mktemp("raw") / "encounters.csv")


@pytest.fixture(scope="module")
def trained(extract: Path, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """By one command, from the raw file."""
    output = tmp_path_factory.mktemp("jobs") / "trained"
    assert (
        call(
            "train", "--input", extract, "--options.nullValue", "?",
            "--label", "readmitted = '<30'", "--derive.length", "datediff(discharged, admitted)",
            "--exclude", "encounter", "admitted", "discharged", "--split.group", "patient",
            "--model.categoricalCols", "[admission_type]", "--model.maxSplits", 4,
            "--output", output,
        )
        == 0
    )  # fmt: skip
    return output


def test_a_raw_extract_trains(trained: Path) -> None:
    model = FIGSClassificationModel.load(f"{trained}/model")
    assert set(model.featureNames) == {"age", "admission_type", "diag", "stays", "length"}
    assert model.classNames == ["false", "true"]
    assert "Probability of readmitted = '<30'" in unescape((trained / "model.svg").read_text())
    assert "{410, 428}" in str(model)
    assert model.getDerivedCols() == {"length": "datediff(discharged, admitted)"}
    assert json.loads((trained / "metrics.json").read_text())["test"]["auc"] > 0.6


def test_evaluation_reads_as_training_did(trained: Path, extract: Path, tmp_path: Path) -> None:
    output = tmp_path / "evaluation"
    options = ["--input", extract, "--model", trained, "--part", "test", "--plots", "false"]
    options[-1] = "true"
    assert call("evaluate", *options, "--groups", "age", "--output", output) == 0
    assert (output / "roc.png").exists()
    summary = pd.read_csv(output / "summary.csv")
    metrics = json.loads((trained / "metrics.json").read_text())
    assert summary["auc"][0] == pytest.approx(metrics["test"]["auc"], abs=1e-12)
    assert "?" not in set(summary["group"])
    assert summary["group"].isna().sum() == 1  # the missing ages


def test_a_part_has_the_rows_that_training_used(
    extract: Path, spark: SparkSession, tmp_path: Path
) -> None:
    label = ["--label", "readmitted", "--positive", "<30", "--features", "stays", "age"]
    options = ["--input", extract, "--options.nullValue", "?", "--where", "stays > 0"]
    options += ["--split.group", "patient", "--model.maxSplits", 2]
    assert call("train", *options, *label, "--output", tmp_path / "m") == 0
    used = json.loads((tmp_path / "m" / "metrics.json").read_text())["test"]["rows"]
    evaluated = {}
    for name, where in {"same": [], "own": ["--where", "stays >= 0"]}.items():
        model = ["--input", extract, "--model", tmp_path / "m", "--part", "test"]
        written = ["--plots", "false", "--output", tmp_path / name]
        assert call("evaluate", *model, *where, *written) == 0
        evaluated[name] = pd.read_csv(tmp_path / name / "summary.csv")["rows"][0]
    assert evaluated["same"] == used < evaluated["own"]


def test_scores_are_those_of_the_model(
    trained: Path,
    extract: Path,
    tmp_path: Path,
    spark: SparkSession,
    caplog: pytest.LogCaptureFixture,
) -> None:
    other = tmp_path / "new.csv"
    lines = re.sub(",([1238]),486,", r",\1,487.1,", extract.read_text()).splitlines()
    columns = lines[0].rpartition(",")[0]
    other.write_text("\n".join([columns, *(line.rpartition(",")[0] for line in lines[1:])]))
    with caplog.at_level(logging.WARNING, logger="figs_spark"):
        arguments = ["--input", other, "--model", trained, "--output", tmp_path / "scored"]
        assert call("score", *arguments) == 0
    scored = spark.read.parquet(str(tmp_path / "scored"))
    assert "length" not in scored.columns
    assert scored.where("age = '?'").isEmpty()
    (warning,) = [r.getMessage() for r in caplog.records if "not among" in r.getMessage()]
    changed = len(re.findall(",[1238],486,", extract.read_text()))
    assert f"Column 'diag': {changed} of 1,500 rows" in warning
    assert "(different ones: about 1)" in warning
    assert "in training 0% of the rows did" in warning


def test_a_positive_class_and_a_dry_run(
    extract: Path, tmp_path: Path, spark: SparkSession, capsys: Captured
) -> None:
    arguments = ["--input", extract, "--label", "readmitted", "--exclude", "encounter", "patient"]
    assert call("train", *arguments, "--positive", "<30", "--dry-run") == 0
    printed = capsys.readouterr().out
    assert "predict  readmitted = <30 (boolean), classification: false, true" in printed
    assert "diag (string, 7 categories)" in printed
    assert "readmitted (" not in printed
    assert call("train", *arguments, "--positive", "<31", "--dry-run") == UNFIT_INPUT
    assert "is never '<31'; it has '<30', '>30', 'NO'." in capsys.readouterr().err
    assert call("train", *arguments[:2], "--label", "readmit = '<30'", "--dry-run") == UNFIT_INPUT
    assert "no SQL expression that fits" in capsys.readouterr().err


def test_a_text_label_has_its_classes(
    extract: Path, tmp_path: Path, spark: SparkSession, capsys: Captured
) -> None:
    arguments = ["--input", extract, "--label", "readmitted", "--features", "stays", "diag"]
    assert call("train", *arguments, "--model.maxSplits", 3, "--output", tmp_path / "out") == 0
    model = FIGSClassificationModel.load(f"{tmp_path}/out/model")
    assert model.classNames == ["<30", ">30", "NO"]
    accuracy = json.loads((tmp_path / "out" / "metrics.json").read_text())["test"]["accuracy"]
    assert accuracy > 0.34
    evaluated = ["--input", extract, "--model", tmp_path / "out", "--part", "test"]
    assert call("evaluate", *evaluated, "--plots", "false", "--output", tmp_path / "e") == 0
    assert pd.read_csv(tmp_path / "e" / "summary.csv")["accuracy"][0] == pytest.approx(accuracy)


def test_problems_are_named_before_the_work(
    trained: Path, extract: Path, tmp_path: Path, spark: SparkSession, capsys: Captured
) -> None:
    for job in (["train", "--label", "readmitted"], ["score", "--model", "nowhere"]):
        options = ["--input", "nowhere", "--output", trained, "--dry-run"]
        assert call(*job, *options) == OUTPUT_EXISTS
        assert "exists: choose another output, or pass --overwrite" in capsys.readouterr().err
    arguments = ["--input", extract, "--label", "readmitted", "--positive", "<30"]
    arguments += ["--kind", "gfigs", "--model.groupCol", "encounter", "--dry-run"]
    assert call("train", *arguments, "--features", "stays") == UNFIT_INPUT
    assert "and at most 64 groups are allowed" in capsys.readouterr().err


# A first look


def test_a_first_look_writes_settings_that_run(
    extract: Path, spark: SparkSession, tmp_path: Path, capsys: Captured
) -> None:
    output = tmp_path / "look"
    options = ["--input", extract, "--label", "readmitted", "--positive", "<30"]
    assert call("inspect", *options, "--output", output) == 0
    assert files(output) == {"inspection.html", "inspection.txt", "train.yaml"}
    settings = yaml.safe_load((output / "train.yaml").read_text())
    assert settings["options"] == {"nullValue": "?"}
    assert settings["exclude"] == ["encounter"]
    assert settings["split"]["group"] == "patient"
    assert settings["model"]["categoricalCols"] == ["admission_type"]
    config = ["--config", output / "train.yaml", "--size.folds", 2, "--model.maxSplits", 3]
    assert call("train", *config) == 0
    assert (output / "model" / "model.txt").exists()
    assert "Saved to" in capsys.readouterr().out


def test_a_look_counts_what_is_there(extract: Path, spark: SparkSession) -> None:
    table = pd.read_csv(extract, na_values="?", keep_default_na=False, dtype={"diag": str})
    rows = spark.read.csv(str(extract), header=True, inferSchema=True)
    look = inspect(rows, "readmitted = '<30'")
    positive = table["readmitted"] == "<30"
    assert (look.rows, look.share) == (len(table), pytest.approx(positive.mean()))
    columns = {column.name: column for column in look.columns}
    assert set(columns) == set(table) - {"readmitted"}
    assert columns["diag"].missing == table["diag"].isna().sum()
    assert columns["diag"].distinct == table["diag"].nunique()
    assert columns["age"].use == "ordered"
    assert columns["admitted"].use == "date"
    first = columns["diag"].frequent[0]
    counts = table["diag"].value_counts()
    assert first.rows == counts.max()
    assert first.label == pytest.approx(positive[table["diag"] == first.value].mean())
    assert columns["stays"].quantiles == tuple(
        table["stays"].quantile([0.05, 0.5, 0.95], interpolation="inverted_cdf")
    )
    stay = inspect(rows.select("age", "stays"), "stays * 1.5")
    assert stay.share == pytest.approx(table["stays"].mean() * 1.5)
    with pytest.raises(ValueError, match="never 'soon'; it has '<30', '>30', 'NO'"):
        inspect(rows, "readmitted", "soon")
    with pytest.raises(ValueError, match="is no column, and no SQL expression"):
        inspect(rows, "readmited")
