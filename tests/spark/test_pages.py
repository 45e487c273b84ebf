"""The code of README.md and docs/ runs, and does what the text around it says."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from figs_spark.datasets import FEATURES
from figs_spark.treesum.reading import MINUS
from tests.support.pages import PAGES, PICTURES, ROOT, Reader, blocks, mlflow_store, name_of

pytestmark = [pytest.mark.usefixtures("compiled"), pytest.mark.slow]
Open = Callable[[str], Reader]
RUN_HERE = {
    "README.md",
    "docs/better-sums.md",
    "docs/models.md",
    "docs/deployment.md",
    "docs/exports.md",
    "docs/report.md",
    "docs/tutorials/data-scientist.md",
}


@pytest.fixture
def open_page(spark: SparkSession, tmp_path: Path) -> Open:
    return lambda name: Reader(ROOT / name, tmp_path, {"spark": spark})


def test_every_page_with_code_is_run_here() -> None:
    with_code = {name_of(p) for p in PAGES if any(b.tested for b in blocks(p, "python"))}
    assert with_code == RUN_HERE


def test_readme(open_page: Open) -> None:
    page = open_page("README.md")
    names = page.run("Pipeline(stages=")
    assert 0.7 < names["auc"] < 1
    assert f"test AUC {names['auc']:.3f}" in page.printed
    assert "8 splits" in page.printed
    assert names["model"].stages[-1].numSplits == 8

    names = page.run("model.truncate(5)")
    model, scored = names["model"], names["scored"]
    assert names["train"].where("gcs_total IS NULL").count() > 0
    assert len(model.rules()) == sum(len(list(tree.leaves())) for tree in model.trees)
    assert len(model.rules()) == model.numSplits + model.numTrees
    assert model.truncate(5).numSplits == 5
    assert model.truncate(5).treeSum.splits == model.treeSum.splits[:5]
    assert list(model.summary["splits"]) == list(range(11))
    assert model.summary["loss"].is_monotonic_decreasing
    assert (model.summary["gain"].iloc[1:] > 0).all()
    assert "Python" not in plan(scored)
    assert scored.count() == names["test"].count()
    assert not page.rest


def test_better_sums(open_page: Open) -> None:
    page = open_page("docs/better-sums.md")
    page.run("trauma_registry")
    shrunken = page.run("setRegParam")["shrunken"]
    assert shrunken.treeSum.path is not None
    assert shrunken.numSplits == 6
    assert shrunken.truncate(3).treeSum.splits == shrunken.treeSum.splits[:3]
    model = page.run('setRefit("logistic")')["model"]
    assert model.link == "logit"
    assert "log odds" in page.printed
    assert page.run('setLoss("logistic")')["grown"].link == "logit"
    assert page.run("as coma")["graded"].link == "softmax"
    assert "the log weight of each class of coma" in page.printed
    page.run("setParams(")
    assert "vomiting_count" in page.printed
    names = page.run("setClassWeight")
    train, scores, rates = (names[name] for name in ("train", "scores", "rates"))
    assert scores.treeSum.splits == rates.treeSum.splits
    rate = train.agg({"intervention": "avg"}).first()[0]
    means = [
        model.transform(train).select("probability").toPandas()["probability"].str[1].mean()
        for model in (scores, rates)
    ]
    assert means[1] == pytest.approx(rate, abs=1e-6)
    assert means[0] > 2 * rate
    names = page.run("rates.calibrate")
    assert f"{names['test'].count():,} new rows" in page.printed
    names = page.run("intervalSamples")
    assert "95% interval" in page.printed
    assert len(names["model"].transform(names["test"]).first()["between"]) == 2
    assert not page.rest


def test_exports(open_page: Open, tmp_path: Path) -> None:
    page = open_page("docs/exports.md")
    page.run("trauma_registry")
    names = page.run("model.export(")
    for name in ("model.py", "model.onnx", "model.sql"):
        (file,) = tmp_path.rglob(name)
        proof = file.with_name(f"{name}.proof.json").read_text()
        assert names["model"].fingerprint in proof
    names = page.run("toSQL(dialect=")
    assert names["expression"].startswith(("CASE", "(", "LEAST", "GREATEST", "--"))
    assert "[visits]" in names["statement"]
    assert "patient_id" in names["statement"]
    assert names["resource"]["resourceType"] == "RiskAssessment"
    page.run("exportable(pipeline)")
    assert not page.rest


def test_report(open_page: Open) -> None:
    page = open_page("docs/report.md")
    names = page.run("model.report(")
    text = names["path"].read_text("utf-8")
    assert "The trauma is penetrating" in text
    assert "By age_group" in text
    names = page.run("load_report(path)")
    assert names["again"].treeSum.splits == names["model"].treeSum.splits
    names = page.run("model.edit(")
    assert names["model"].treeSum.splits[0].threshold != 12.0
    assert names["edited"].treeSum.splits[0].threshold == 12.0
    names = page.run("toPoints(")
    assert names["table"]["total"].max() <= 20
    assert not page.rest


def plan(frame: object) -> str:
    return str(frame._jdf.queryExecution().toString())  # type: ignore[attr-defined]


def test_models(open_page: Open) -> None:
    page = open_page("docs/models.md")
    page.run("trauma_registry")
    names = page.run("FIGSClassifier(")
    assert "3 splits" in page.printed
    assert "or missing" in page.printed

    names = page.run("crossValidatePath")
    path = names["path"]
    assert list(path.table.index) == list(range(11))
    assert {"loss", "standardError", "bic"} <= set(path.table.columns)
    assert names["small"].numSplits == path.smallest <= path.best
    best = path.table.loc[path.best]
    assert path.table.loc[path.smallest, "loss"] <= best["loss"] + best["standardError"]

    names = page.run("stability(")
    table, frequencies = names["changes"].table, names["changes"].frequencies
    assert len(table) == 2  # one row per share of swapped labels
    assert table["jaccard"].between(0, 1).all()
    assert set(frequencies.reset_index()["feature"]) <= set(names["figs"].getFeaturesCols())

    stories = page.run("disentanglement(")["stories"]
    assert stories.trees["splits"].sum() == names["model"].numSplits
    assert stories.trees["share"].sum() == pytest.approx(1)
    assert 0 <= stories.in_one_block <= 1

    sensitivity_first(page)

    page.run("BaggedFIGSClassifier")
    assert "out of bag" in page.printed
    assert len(names["bagged"].members) == 20
    for feature in names["figs"].getFeaturesCols():
        assert feature in page.printed

    groups(page)
    assert not page.rest


def sensitivity_first(page: Reader) -> None:
    from figs_spark import calibration, operating_points, roc_auc

    names = page.run("setOperatingPoint")
    model, scored = names["model"], names["scored"]
    assert "\n\nOperating point: " in page.printed
    assert model.operatingPoint.sensitivity >= 0.92
    points = operating_points(
        scored, (0.92, 0.94, 0.96, 0.98), labelCol="intervention", groupCol="sex"
    )
    assert list(points["sex"].unique()[:1]) == ["all"]
    assert len(points) == 4 * points["sex"].nunique()
    assert {"threshold", "sensitivityLow", "ppvHigh", "npv", "f1", "tp"} <= set(points.columns)
    assert (points.query("sex == 'all'")["sensitivity"] >= [0.92, 0.94, 0.96, 0.98]).all()
    observed = calibration(scored, bins=10, labelCol="intervention")
    assert 1 < len(observed) <= 10
    overall = observed["predicted"] @ observed["rows"] / (observed["observed"] @ observed["rows"])
    assert overall > 2  # with class weights the probabilities are no longer the rates
    area = roc_auc(scored, labelCol="intervention").iloc[0]
    assert 0.7 < area["aucLow"] < area["auc"] < area["aucHigh"] < 1
    assert 0 <= names["evaluator"].evaluate(scored) <= 1


def groups(page: Reader) -> None:
    names = page.run("GFIGSClassifier(")
    by_age, train = names["by_age"], names["train"]
    assert set(by_age.models) == {"under_2", "2_and_over"}
    for group in by_age.models:
        assert group in page.printed
    infants = by_age.models["under_2"]
    assert len(infants.rules()) == infants.numSplits + infants.numTrees
    assert len(by_age.membershipCoefficients) > 0
    assert "age_years" not in str(by_age.membershipCoefficients)
    for group, rows in by_age.effectiveSampleSizes.items():
        assert 0 < rows <= train.count(), group
    assert infants.treeSum.trees[0].rows == train.count()  # each model is fitted on all rows
    chosen = names["chosen"]
    assert set(chosen.table["chosen"]) == {True, False}
    sizes = {group: model.numSplits for group, model in chosen.model.models.items()}
    assert set(sizes.values()) <= {4, 8}
    kinds = {"CART", "CART-SEP", "G-CART", "FIGS", "FIGS-SEP", "G-FIGS"}
    assert set(names["comparison"].table.index) == kinds
    assert (names["comparison"].table["all"] > 0.5).all()
    rows = names["train"].count() + names["validation"].count()
    assert next(iter(chosen.model.models.values())).treeSum.trees[0].rows == rows
    names = page.run('weighting="shrink"')
    assert page.printed.count("Tree 1 (all rows)") == 1
    assert names["best"].reason in page.printed


def test_deployment(open_page: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow")
    for name, value in mlflow_store(tmp_path).items():
        monkeypatch.setenv(name, value)
    page = open_page("docs/deployment.md")
    names = page.run("maxSplits=6")
    assert names["model"].numSplits == 6
    names = page.run(".save(")
    assert names["again"].treeSum == names["model"].treeSum
    names = page.run("transform")
    assert "Python" not in plan(names["scored"])
    names = page.run("log_model")
    assert list(names["predicted"].columns) == ["prediction", "probability"]
    assert len(names["predicted"]) == 5
    expected = names["model"].predict(names["frame"])["prediction"]
    assert list(names["predicted"]["prediction"]) == list(expected)
    assert names["staged"].treeSum == names["model"].treeSum
    assert not page.rest


def test_the_tutorial_for_data_scientists(open_page: Open) -> None:
    page = open_page("docs/tutorials/data-scientist.md")
    names = page.run("randomSplit")
    assert page.printed.strip() == str(FEATURES)
    page.run("truncate(4)")
    assert "4 splits" in page.printed
    names = page.run("crossValidatePath")
    assert names["path"].smallest <= names["path"].best == names["model"].numSplits
    names = page.run("setOperatingPoint")
    assert names["point"].sensitivity >= 0.7
    assert names["point"].specificity > 0.5
    assert "\n\nOperating point: " in str(names["model"])
    names = page.run("roc_auc")
    area = re.search(r"0\.\d+", page.printed)
    assert area is not None
    assert 0.7 < float(area[0]) < 1
    names = page.run("explain(")
    explained = names["explanation"]
    total = explained.baseline[0] + sum(added for (added,) in explained.contributions)
    assert math.isclose(total, explained.score[0], abs_tol=1e-9)
    for name, draw in PICTURES["docs/tutorials/data-scientist.md"].items():
        shown = (ROOT / "docs/pictures" / name).read_text("utf-8")
        assert words(shown) == words(draw(names)), "run: python -m tests.support.pages outputs"
    names = page.run(".load(")
    assert names["again"].operatingPoint == names["model"].operatingPoint
    assert not page.rest


def words(svg: str) -> list[str]:
    """The texts of a picture, without its numbers."""
    return [
        re.sub(rf"[-{MINUS}+\d.,%]+", "#", text) for text in re.findall(r">([^<>]+)</text>", svg)
    ]
