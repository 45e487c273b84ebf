"""A model that was trained with `privacy: strict`: the jobs that use it hide what it hides."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession

from figs_spark import FIGSClassificationModel
from figs_spark.app.errors import UNFIT_INPUT
from tests.support.jobs import call, files

Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def strict(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose operating point misses a few of the validation rows."""
    path = tmp_path_factory.mktemp("strict") / "model"
    options = ["--rows", 6000, "--privacy", "strict", "--split.fractions", 0.6, 0.2, 0.2]
    options += ["--model.maxSplits", 12, "--operatingPoint.sensitivity", 0.8]
    assert call("train", *options, "--output", path) == 0
    point = FIGSClassificationModel.load(str(path / "model")).operatingPoint
    assert point is not None
    assert 0 < point.fn < 11
    return path


def small_counts(folder: Path) -> int:
    """How many counts of the summary are from 1 to 10."""
    summary = pd.read_csv(folder / "summary.csv")
    counts = summary[["rows", "positives"]].apply(pd.to_numeric, errors="coerce")
    return int(((counts > 0) & (counts < 11)).sum().sum())


def test_an_evaluation_is_strict_as_well(registry: Path, strict: Path, tmp_path: Path) -> None:
    given = ["--input", registry, "--model", strict, "--groups", "site", "age_group"]
    given += ["--where", "patient_id % 16 = 0", "--plots", "false"]
    assert call("evaluate", *given, "--output", tmp_path / "e") == 0
    assert "roc.csv" not in files(tmp_path / "e")
    assert small_counts(tmp_path / "e") == 0
    assert call("evaluate", *given, "--privacy", "open", "--output", tmp_path / "open") == 0
    assert "roc.csv" in files(tmp_path / "open")
    assert small_counts(tmp_path / "open") > 0


def test_a_privacy_that_cannot_be_read_is_not_open(
    registry: Path, strict: Path, tmp_path: Path, capsys: Captured
) -> None:
    damaged = tmp_path / "model"
    shutil.copytree(strict, damaged)
    record = json.loads((damaged / "settings.json").read_text())
    record["settings"]["privacy"] = "strictt"
    (damaged / "settings.json").write_text(json.dumps(record))
    given = ["--input", registry, "--model", damaged, "--output", tmp_path / "e"]
    assert call("evaluate", *given) == UNFIT_INPUT
    assert "'settings.privacy' is 'strictt'" in capsys.readouterr().err


@pytest.mark.parametrize(("kind", "inner"), [("sql", "."), ("pmml", "."), ("python", "model")])
def test_an_export_tells_no_small_count(
    strict: Path, tmp_path: Path, kind: str, inner: str
) -> None:
    given = ["--model", strict / inner, "--format", kind, "--verify", "false"]
    assert call("export", *given, "--output", tmp_path / "strict") == 0
    text = (tmp_path / "strict").read_text()
    assert "Operating point: predict" in text
    assert "positives and" not in text
    assert "95% interval" not in text
    assert call("export", *given, "--privacy", "open", "--output", tmp_path / "open") == 0
    assert "positives and" in (tmp_path / "open").read_text()
