"""Models whose sum is log odds, or of several classes the log weight of each: every way to read,
save or export one says so and agrees."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from figs_spark.exports.engines import run_onnx, run_pmml
from figs_spark.exports.onnx_model import to_onnx
from figs_spark.exports.pmml import to_pmml
from figs_spark.exports.proof import compare
from figs_spark.exports.vectors import make_vectors
from figs_spark.mlflow import Served, to_entry
from figs_spark.stages.base.persistence import model_text, set_model
from figs_spark.treesum.nodes import LOGIT, SOFTMAX
from figs_spark.treesum.prediction import MOST_LOG_ODDS, Outcome
from figs_spark.treesum.serialization import from_json, to_json
from figs_spark.treesum.strict_json import digest, parse
from tests.support.fitted import KINDS, fitted, rows
from tests.support.instruments import PLAIN_NAMES, instrument, logarithms, without
from tests.support.treesums import random_tree_sum

every_kind = pytest.mark.parametrize("kind", KINDS)
both_links = pytest.mark.parametrize("classes", [2, 3])


def risks(scores: np.ndarray) -> np.ndarray:
    return np.array([1 / (1 + math.exp(-score)) for score in scores])


def shares(scores: np.ndarray) -> np.ndarray:
    """The probabilities of all classes, from scores (rows, outputs)."""
    if scores.shape[1] == 1:
        return np.column_stack([1 - risks(scores[:, 0]), risks(scores[:, 0])])
    powers = [[math.exp(score - max(row)) for score in row] for row in scores]
    return np.array([[power / sum(row) for power in row] for row in powers])


def test_the_rule() -> None:
    scores = np.array([-300.0, -1.0, 0.0, 2.0, 300.0])
    low, high = Outcome(2, LOGIT).probabilities([scores])
    assert high.tolist() == pytest.approx(risks(scores).tolist())
    assert (low + high).tolist() == [1.0] * 5
    assert Outcome(2, LOGIT).of_mean == Outcome(2)


def test_the_rule_of_several_classes() -> None:
    scores = np.array([[-400.0, 2.0, 400.0], [0.0, 0.0, 0.0], [1.0, -2.0, 0.5]])
    table = Outcome(3, SOFTMAX).probability_table(scores)
    np.testing.assert_allclose(table, shares(scores), atol=1e-15)
    np.testing.assert_allclose(table.sum(axis=1), 1)
    assert Outcome(3, SOFTMAX).of_mean == Outcome(3)


@every_kind
@both_links
def test_predictions_are_logistic_functions_of_sums(kind: str, classes: int) -> None:
    model, table = fitted(kind, classes, logit=True), rows(Random(4))
    if kind == "FIGS":
        expected = shares(model.treeSum.predict(table))
    elif kind == "BaggedFIGS":
        expected = np.mean([shares(m.predict(table)) for m in model.members], axis=0)
    else:
        own = {g: shares(s.predict(table)) for g, s in model._sums.items()}
        expected = np.array([own[group][k] for k, group in enumerate(table["group"])])
    assert model.link == (LOGIT if classes == 2 else SOFTMAX)
    np.testing.assert_allclose(model.predictProbability(table), expected, atol=1e-12)
    assert len(set(model.predict(table)["prediction"])) > 1


@every_kind
@both_links
def test_text_and_picture_say_logarithms(kind: str, classes: int) -> None:
    model = fitted(kind, classes, logit=True)
    scale = "the log odds of y = 1" if classes == 2 else "the log weight of each class of y"
    rule = "the probability is 1 / (1 + exp(-sum))"
    if classes > 2:
        rule = "the probability of a class is exp(sum) / total of exp(sum)"
    if kind == "BaggedFIGS":
        assert "clipped" in str(model)  # a mean of probabilities
        assert f"The sum is {scale}" in " ".join(model._repr_html_().split())
        return
    assert f"the sum is {scale}; {rule}" in " ".join(str(model).split())
    picture = " ".join(model.toSVG().replace("\n", " ").split())
    scale = "log odds" if classes == 2 else "log weights"
    assert f"Start at the {scale} of the average" in picture
    assert f"values: {scale}" in picture
    assert "percentage points" not in picture


def test_an_explanation_of_several_classes_ends_with_probabilities() -> None:
    model, table = fitted("FIGS", 3, logit=True), rows(Random(4))
    explanation = model.explain(table.iloc[3].to_dict())
    total = np.array([explanation.baseline, *explanation.contributions]).sum(axis=0)
    np.testing.assert_allclose(explanation.score, total)
    np.testing.assert_allclose(explanation.prediction, shares(total[None])[0])
    text = str(explanation)
    assert "Start: the log weights of the average" in text
    for share in explanation.prediction:
        assert f"{100 * share:.1f}%" in text.splitlines()[-1]
    assert "exp(sum) / total of exp(sum)" in explanation.toSVG()


def test_an_explanation_adds_log_odds_and_ends_with_a_risk() -> None:
    model, table = fitted("FIGS", 2, logit=True), rows(Random(4))
    row = table.iloc[3].to_dict()
    explanation = model.explain(row)
    total = explanation.baseline[0] + sum(values[0] for values in explanation.contributions)
    assert total == pytest.approx(explanation.score[0])
    assert explanation.prediction[0] == pytest.approx(risks(np.array([total]))[0])
    assert "Start: the log odds of the average" in str(explanation)
    assert f"{100 * explanation.prediction[0]:.1f}%" in str(explanation).splitlines()[-1]
    assert "1 / (1 + exp(-sum))" in explanation.toSVG()


@every_kind
@both_links
def test_saved_and_served(kind: str, classes: int) -> None:
    model, table = fitted(kind, classes, logit=True), rows(Random(4))
    again = type(model)(featuresCols=model.getOrDefault("featuresCols"), labelCol="y")
    set_model(again, parse(model_text(model), "here"), "here")
    assert again.fingerprint == model.fingerprint
    assert again.link == model.link == (LOGIT if classes == 2 else SOFTMAX)
    served = Served.of(to_entry(model))
    own = model.predictProbability(table)[:, 1 if classes == 2 else 0 :]
    found = served.predict(table)[served.outputs[1:]]
    np.testing.assert_allclose(found, own, atol=1e-15)


def test_the_link_is_part_of_the_fingerprint() -> None:
    model = fitted("FIGS", 2, logit=True)
    before = model.fingerprint
    model.treeSum = replace(model.treeSum, link="identity")
    assert model.fingerprint != before


@pytest.mark.parametrize(("kind", "classes"), [("FIGS", 0), ("FIGS", 3), ("GFIGS", 0)])
def test_log_odds_of_anything_but_two_classes_are_damage(kind: str, classes: int) -> None:
    model = fitted(kind, classes)
    contents = json.loads(model_text(model))
    for own in [contents["treeSum"]] if kind == "FIGS" else contents["models"]:
        own["link"] = LOGIT
    with pytest.raises(ValueError, match=r"damaged: .*log odds"):
        set_model(type(model)(), contents, "here")


@pytest.mark.parametrize("classes", [0, 2])
def test_log_weights_of_fewer_than_three_classes_are_damage(classes: int) -> None:
    model = fitted("FIGS", classes)
    contents = json.loads(model_text(model))
    contents["treeSum"]["link"] = SOFTMAX
    with pytest.raises(ValueError, match=r"damaged: .*log weights are several values"):
        set_model(type(model)(), contents, "here")


def test_sums_of_different_links_are_damage() -> None:
    contents = json.loads(model_text(fitted("BaggedFIGS", 2, logit=True)))
    del contents["members"][1]["link"]
    with pytest.raises(ValueError, match="link differ from those of the first"):
        set_model(type(fitted("BaggedFIGS", 2))(), contents, "here")


def test_more_log_odds_than_databases_take_are_damage() -> None:
    model = logarithms(random_tree_sum(Random(0)))
    value = MOST_LOG_ODDS + 1
    huge = replace(model, trees=(replace(model.trees[0], value=(value,)), *model.trees[1:]))
    leaf = replace(huge, trees=(huge.trees[0].truncate(0),), losses=huge.losses[:1])
    with pytest.raises(ValueError, match="log odds are one value from -500 to 500"):
        to_json(leaf)


@pytest.mark.parametrize("change", ["fewer", "other", "short"])
def test_a_path_that_does_not_fit_is_damage(change: str) -> None:
    from tests.unit.test_refitting import patients, refitted

    data = json.loads(to_json(refitted(patients(classes=2), LOGIT)))
    if change == "fewer":
        data["path"] = data["path"][:-1]
    elif change == "other":
        data["path"][-1][1][0] += 1e-9
    else:
        data["path"][2] = data["path"][2][:-1]
    body = {k: v for k, v in data.items() if k not in ("format", "version", "fingerprint")}
    data["fingerprint"] = digest(body)
    problem = {"fewer": "not 7 sizes", "other": "other values", "short": "not 3 coefficients"}
    with pytest.raises(ValueError, match=f"damaged: .*{problem[change]}"):
        from_json(json.dumps(data))


def exported(kind: str, seed: int, classes: int = 2) -> Any:
    count, outputs = 1 if kind == "sum" else 3, 1 if classes == 2 else classes
    sums = [logarithms(random_tree_sum(Random(seed + k), 5, outputs)) for k in range(count)]
    sums = [without(one, **PLAIN_NAMES) for one in sums]
    return instrument(*sums, kind=kind, classes=classes, threshold=0.3)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["sum", "mean", "groups"])
@both_links
def test_onnx_and_pmml_run(kind: str, classes: int) -> None:
    model = exported(kind, 3, classes)
    vectors = make_vectors(model)
    compare(model, vectors, run_onnx(to_onnx(model), model, vectors.patients))
    finite = vectors.without(infinities=True, nans=True)
    compare(model, finite, run_pmml(to_pmml(model), model, finite.patients))


@every_kind
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres", "tsql", "bigquery"])
@both_links
def test_sql_and_python_are_verified(kind: str, dialect: str, classes: int, tmp_path: Path) -> None:
    model = fitted(kind, classes, logit=True)
    safe = [without(one, **PLAIN_NAMES) for one in model._family().sums]
    model._set(featuresCols=safe[0].feature_names)
    if kind == "FIGS":
        model.treeSum = safe[0]
    elif kind == "BaggedFIGS":
        model.members = tuple(safe)
    else:
        model._sums = dict(zip("ab", safe))
    written = model.export(tmp_path / "model.sql", dialect=dialect, table="t", keep=["age"])
    assert written.proof.startswith("verified in")
    sql = (tmp_path / "model.sql").read_text()
    assert f"add up to {'log odds' if classes == 2 else 'the log weight of each class'}" in sql
    assert model.export(tmp_path / "model.py").proof.startswith("verified in Python")
    assert "EXP(" in sql


def test_fhir_says_that_rules_add_log_odds() -> None:
    model, table = fitted("FIGS", 2, logit=True), rows(Random(4))
    resource = model.toFHIR(table.iloc[0].to_dict(), "Patient/1")
    assert "log odds" in resource["note"][0]["text"]
    own = model.predictProbability(table)[0, 1]
    assert resource["prediction"][0]["probabilityDecimal"] == pytest.approx(100 * own)


def test_edits_and_points_keep_the_link_and_forget_the_path() -> None:
    from tests.unit.test_refitting import patients, refitted

    model = fitted("FIGS", 2, logit=True)
    model.treeSum = refitted(patients(classes=2), LOGIT)
    model._set(featuresCols=model.treeSum.feature_names)
    changed = model.edit("a nurse", "a test", values={(1, 0): -1.0})
    points = model.toPoints(10)
    for other in (changed, points):
        assert other.link == LOGIT
        assert other.treeSum.path is None
        model_text(other)  # it can be saved
    assert points.predictProbability(patients().X)[:, 1].max() < 1


def test_the_page_computes_log_odds() -> None:
    from figs_spark.exports.page.fields import make_fields
    from figs_spark.exports.page.program import make_program

    for classes, link in ((2, LOGIT), (3, SOFTMAX)):
        model = exported("sum", 3, classes)
        assert make_program(model, make_fields(model))["link"] == link
