"""A name that one row has is in nothing that is written, printed or logged."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.sql import DataFrame, SparkSession

from figs_spark import BaggedFIGSClassifier, FIGSClassifier, GFIGSClassifier
from figs_spark.app.errors import UNFIT_INPUT
from figs_spark.mlflow import to_entry
from tests.support.jobs import call

FIRST, LAST = "Wilhelmina", "Featherstonehaugh"
NAME = f"{FIRST} {LAST}"
ROWS = 240
TEXTS = ["ward", "referrer", "name", "note"]


@pytest.fixture(scope="module")
def patients(spark: SparkSession) -> DataFrame:
    """The name stands in every text column of the one row whose outcome differs the most."""
    rows: list[tuple[Any, ...]] = [
        (f"ward {k % 4}", f"Dr {k % 7}", f"patient {k}", "ab"[k % 2], k % 2, k % 3, float(k % 11))
        for k in range(ROWS)
    ]
    rows[100] = (NAME, NAME, NAME, NAME, 1, 1, 9.0)
    rows = [(*row, float((k % 4 == 1) ^ (k % 5 == 0) or k == 100)) for k, row in enumerate(rows)]
    names = "ward string, referrer string, name string, note string"
    schema = f"{names}, sex int, site int, age double, died double"
    return spark.createDataFrame(rows, schema).repartition(2)


def settings(**more: Any) -> dict[str, Any]:
    return {
        "featuresCols": [*TEXTS, "age"],
        "labelCol": "died",
        "maxSplits": 8,
        "verbose": True,
    } | more


ESTIMATORS = {
    "figs": FIGSClassifier(**settings()),
    "bagged": BaggedFIGSClassifier(**settings(numEstimators=4, featureSubsetStrategy="all")),
    "gfigs": GFIGSClassifier(**settings(groupCol="sex", membershipFeaturesCols=TEXTS)),
}


def is_clean(text: str | bytes) -> bool:
    blob = text.encode() if isinstance(text, str) else text
    return FIRST.encode() not in blob and LAST.encode() not in blob


def row_counts(part: Any) -> Iterator[int]:
    """The number of rows of each node of a saved model."""
    if isinstance(part, dict | list):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from row_counts(inner)
    if isinstance(part, dict) and "rows" in part:
        yield part["rows"]


def unclean_files(folder: Path) -> list[str]:
    paths = [path for path in folder.rglob("*") if path.is_file()]
    assert paths
    return [str(p) for p in paths if not is_clean(p.read_bytes()) or not is_clean(str(p))]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_estimators(
    patients: DataFrame,
    kind: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with caplog.at_level(logging.DEBUG, "figs_spark"):
        model: Any = ESTIMATORS[kind].fit(patients)
    assert any("a set of " in record.getMessage() for record in caplog.records)
    assert is_clean(caplog.text)
    assert is_clean("".join(capfd.readouterr()))
    model.save(str(tmp_path / "model"))
    (tmp_path / "entry.json").write_text(json.dumps(to_entry(model)))
    (tmp_path / "model.txt").write_text(str(model))
    (tmp_path / "model.svg").write_text(model.toSVG())
    (tmp_path / "model.html").write_text(model._repr_html_())
    (tmp_path / "rules.csv").write_text(model.rules().to_csv())
    model.report(tmp_path / "report.html")
    model.export(tmp_path / "model.py")
    model.export(tmp_path / "model.sql", dialect="sqlite", table="visits", keep=[])
    assert unclean_files(tmp_path) == []
    assert is_clean(repr(model._features))
    for feature in model._features[: len(TEXTS)]:
        assert feature.others > 0
    loaded = type(model).load(str(tmp_path / "model"))
    row = patients.where(patients.name == NAME)
    predictions = [m.transform(row).select("prediction").collect() for m in (model, loaded)]
    assert predictions[0] == predictions[1]


def test_an_indexed_vector(patients: DataFrame, tmp_path: Path) -> None:
    indexed = [f"{name}_index" for name in TEXTS]
    indexer = StringIndexer(inputCols=TEXTS, outputCols=indexed)
    frame = indexer.fit(patients).transform(patients)
    frame = VectorAssembler(inputCols=[*indexed, "age"], outputCol="features").transform(frame)
    model = FIGSClassifier(labelCol="died").fit(frame)
    model.save(str(tmp_path / "model"))
    (tmp_path / "model.txt").write_text(str(model))
    assert unclean_files(tmp_path) == []


def test_jobs(
    patients: DataFrame,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    table, written = tmp_path / "patients", tmp_path / "written"
    patients.write.parquet(str(table))
    shares = ("--split.fractions", "0.5", "0.25", "0.25")
    options = ("--input", table, "--label", "died", "--privacy", "strict", *shares)
    grouping = ("--model.groupCol", "sex", "--model.membershipFeaturesCols", "[referrer, name]")
    with caplog.at_level(logging.INFO, "figs_spark"):
        for kind, more in {"figs": (), "gfigs": grouping}.items():
            output = written / kind
            arguments = (*options, "--kind", kind, "--model.verbose", "true", *more)
            assert call("train", *arguments, "--output", output) == 0
        evaluation = ("--input", table, "--model", written / "figs", "--groups", "referrer", "ward")
        output = written / "evaluation"
        assert call("evaluate", *evaluation, "--privacy", "strict", "--output", output) == 0
    assert is_clean(caplog.text)
    assert is_clean("".join(capfd.readouterr()))
    assert unclean_files(written) == []
    for kind in ("figs", "gfigs"):
        (saved,) = [p for p in (written / kind / "model/model").glob("part-*") if p.stat().st_size]
        counts = list(row_counts(json.loads(saved.read_text())))
        assert min(counts) >= 11 < len(counts)
    assert "groups that are hidden" in (output / "report.md").read_text()
    assert not (output / "roc.csv").exists()


def test_jobs_without_strict_privacy(
    patients: DataFrame,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A first look, a model of codes, its page and exports, and what scoring says."""
    table, written = tmp_path / "patients", tmp_path / "written"
    patients.write.parquet(str(table))
    given = ("--input", table)
    model = ("--model", written / "model")
    levels = "{referrer: 'prefix:1,4', name: 'prefix:1'}"
    parts = ("--split.fractions", "0.7", "0.0", "0.3", "--codeSystems", levels)
    params = ("--model.intervalSamples", "10", "--model.riskIntervalCol", "between")
    page = ("--groups", "ward", "referrer", "note", "--output", written / "report.html")
    with caplog.at_level(logging.INFO, "figs_spark"):
        assert call("inspect", *given, "--label", "died", "--output", written / "look") == 0
        train = ("--label", "died", *parts, *params, "--output", written / "model")
        assert call("train", *given, *train) == 0
        assert call("report", *given, *model, *page) == 0
        for kind in ("sql", "pmml", "python"):
            assert call("export", *model, "--format", kind, "--output", written / kind) == 0
        assert call("score", *given, *model, "--output", tmp_path / "scored") == 0
        written_look = written / "look/train.yaml"
        more = ("--split.fractions", "1.0", "0.0", "0.0", "--output", written / "again")
        assert call("train", "--config", written_look, *more) == 0
        for label in ("ward", "name"):
            wrong = ("--label", label, "--positive", "nobody")
            assert call("train", *given, *wrong) == UNFIT_INPUT
            assert call("inspect", *given, *wrong) == UNFIT_INPUT
    printed = "".join(capfd.readouterr())
    assert "is never 'nobody'; it has 'ward 0', 'ward 1', 'ward 2', 'ward 3'." in printed
    assert is_clean(caplog.text)
    assert is_clean(printed)
    assert unclean_files(written) == []
    assert "ward 1" in (written / "look/inspection.html").read_text()
