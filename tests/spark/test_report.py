"""`model.report` on Spark: one page from scored rows, and nothing in it points to a patient."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sklearn.metrics import roc_auc_score

from figs_spark import FIGSClassifier, GFIGSClassifier, load_report, optimism, stability
from figs_spark.app.errors import OUTPUT_EXISTS, UNFIT_INPUT, WRONG_USAGE
from tests.support.jobs import call
from tests.support.patients import FEATURES, patients

EXTREME = 89.4375  # an age that one row has


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    """Patients with an id, a date and one age that is higher than all others."""
    frame = patients(spark, 600, seed=3)
    number = F.monotonically_increasing_id()
    return (
        frame.withColumn("id", F.concat(F.lit("patient-"), number + 70_001))
        .withColumn("seen", F.expr("date_add(date'2023-06-01', cast(visits * 120 as int))"))
        .withColumn("age", F.when(number == 5, F.lit(EXTREME)).otherwise(F.col("age")))
        .cache()
    )


def data_of(path: Path) -> dict[str, Any]:
    (block,) = re.findall(r'id="figs-report">(.*?)</script>', path.read_text("utf-8"), re.DOTALL)
    data: dict[str, Any] = json.loads(block)
    return data


def test_a_report_of_figs(rows: DataFrame, tmp_path: Path) -> None:
    """Evaluated by group and by year; the figures are those of the rows."""
    estimator = FIGSClassifier(
        featuresCols=FEATURES, labelCol="died", maxSplits=5, minInstancesPerNode=30
    )
    model = estimator.fit(rows)
    path = model.report(
        tmp_path / "report.html",
        rows,
        about={"title": "Death", "intendedUse": "a test"},
        fields={"age": {"name": "Age", "unit": "years"}},
        groupCols=["hurt"],
        validationCols=["seen"],
        stability=stability(estimator, rows, flip=(), repeats=2, bootstrap=True),
        optimism=optimism(estimator, rows, repeats=3),
    )
    text = path.read_text("utf-8")
    results = data_of(path)["evaluation"]
    scored = model.transform(rows).select("died", "probability").toPandas()
    auc = roc_auc_score(scored["died"], [p[1] for p in scored["probability"]])
    assert results["summary"][0]["auc"] == pytest.approx(auc, abs=1e-9)
    assert {line["by"] for line in results["summary"]} == {"all", "hurt", "seen"}
    years = [line["group"] for line in results["summary"] if line["by"] == "seen"]
    assert years[0] == "2023"
    for words in (
        "Age",
        "years",
        "Groups of patients",
        "Other times and places",
        "3 bootstrap samples",
    ):
        assert words in text
    assert len(text.encode()) < 1_000_000
    again = load_report(path)
    table = rows.limit(50).toPandas()
    assert again.predict(table).equals(model.predict(table))
    _tells_nobody(text, rows)


def _tells_nobody(text: str, rows: DataFrame) -> None:
    """Neither an id nor the extreme value; the usual range ends before it."""
    assert "patient-7" not in text
    assert str(EXTREME) not in text
    high = float(re.findall(r"([\d.]+) to ([\d.]+) is usual", text)[0][1])
    assert high != rows.agg(F.max("age")).first()[0]


def test_optimism_is_what_a_model_flatters_itself_by(rows: DataFrame) -> None:
    estimator = FIGSClassifier(featuresCols=FEATURES, labelCol="died", maxSplits=8)
    measured = optimism(estimator, rows, repeats=4)
    assert measured == optimism(estimator, rows, repeats=4)
    scored = estimator.fit(rows).transform(rows).select("died", "probability").toPandas()
    auc = roc_auc_score(scored["died"], [p[1] for p in scored["probability"]])
    assert measured.auc == pytest.approx(auc, abs=1e-6)
    assert 0 < measured.aucOptimism < 0.2
    assert measured.correctedAuc < measured.auc
    assert measured.correctedSlope < measured.slope
    with pytest.raises(ValueError, match="two classes, and column 'triage'"):
        optimism(estimator.copy({estimator.labelCol: "triage"}), rows, repeats=1)


def test_a_report_of_gfigs(rows: DataFrame, tmp_path: Path) -> None:
    known = rows.where("hurt IS NOT NULL")
    model = GFIGSClassifier(
        featuresCols=["age", "gcs", "visits"], labelCol="died", groupCol="hurt",
        weighting="separate", maxSplits=3,
    ).fit(known)  # fmt: skip
    scored = model.transform(known).select("died", "probability", "hurt", *model.featureNames)
    path = model.report(tmp_path / "report.html", scored, groupCols=["hurt"])
    assert "choose first" in path.read_text("utf-8")
    assert load_report(path).groups == model.groups


def test_a_model_in_points_says_what_rounding_costs(rows: DataFrame, tmp_path: Path) -> None:
    rows = rows.withColumn("died", F.when(F.col("died") == 1, "dead").otherwise("alive"))
    model = FIGSClassifier(featuresCols=FEATURES, labelCol="died", maxSplits=4).fit(rows)
    pointed = model.toPoints(maxTotal=8)
    table = pointed.pointsTable(rows)
    assert table["rows"].sum() == 600
    assert table["total"].between(0, 8).all()
    assert table["predicted"].is_monotonic_increasing
    assert ((table["observedLow"] <= table["observed"]) & (table["observed"] <= 1)).all()
    path = pointed.report(tmp_path / "points.html", rows, original=model)
    text = path.read_text("utf-8")
    assert "Before and after the change" in text
    card = text.partition("What a total of points means")[2].partition("</table>")[0]
    shown = [f"{100 * rate:.1f}% (" in card for rate in table["observed"]]
    events = (table["observed"] * table["rows"]).round()
    few = [0 < min(e, n - e) < 11 for e, n in zip(events, table["rows"])]
    assert any(shown)
    assert not any(seen and hides for seen, hides in zip(shown, few))
    totals = np.array([pointed.points.total(s) for s in pointed._scores(rows.toPandas())[0][:, 0]])
    counts = dict(zip(*np.unique(totals, return_counts=True)))
    assert dict(zip(table["total"], table["rows"])) == counts


def test_what_cannot_be_reported_says_why(rows: DataFrame, tmp_path: Path) -> None:
    model = FIGSClassifier(featuresCols=["age"], labelCol="triage", maxSplits=1).fit(rows)
    with pytest.raises(ValueError, match="two classes, and column 'triage'"):
        model.report(tmp_path / "r.html", rows)
    with pytest.raises(ValueError, match="fields names 1 columns that the model does not read"):
        model.report(tmp_path / "r.html", fields={"ages": {"name": "Age"}})
    assert not (tmp_path / "r.html").exists()


def test_the_job(registry: Path, trained: Path, tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "report.html"
    arguments = ["--model", trained, "--input", registry, "--part", "test", "--output", path]
    assert call("report", *arguments, "--groups", "sex", "--validation", "site") == 0
    assert "Wrote" in capsys.readouterr().out
    sizes = data_of(path)["growth"]["sizes"][""]
    assert len(sizes) == 6
    assert call("report", *arguments) == OUTPUT_EXISTS
    wrong = call("report", *arguments, "--overwrite", "--groups", "nowhere")
    assert wrong == UNFIT_INPUT
    new = ["--model", trained, "--output", tmp_path / "b.html"]
    assert call("report", *new, "--groups", "sex") == WRONG_USAGE
    assert call("report", "--model", trained, "--output", tmp_path / "c.html", "--dry-run") == 0
    assert not (tmp_path / "c.html").exists()
