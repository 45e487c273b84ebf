"""A report holds the model, says only what was said, and tells of no small group of rows."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import figs_spark
from figs_spark.clinical.curves import OperatingPoint
from figs_spark.clinical.evaluation import evaluated, safe_points
from figs_spark.exports.page.checklist import ITEMS, is_answered
from figs_spark.exports.page.evaluation import groups
from figs_spark.exports.page.page import Page, to_html
from figs_spark.exports.page.statement import TOPICS, Statement
from figs_spark.stages.base.usual_values import rounded_range
from figs_spark.treesum.counts import without_counts
from tests.support.fitted import KINDS, fitted, rows
from tests.support.hostile import HOSTILE
from tests.support.instruments import instrument
from tests.support.pictured import RISK, trauma
from tests.support.scores import levels_of, scored_parts
from tests.support.treesums import FEATURES


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_the_file_alone_restores_the_model(kind: str, classes: int, tmp_path: Path) -> None:
    model = fitted(kind, classes, workDir="/home/someone/secret", maxSplits=8)
    if classes == 2:
        model.setThreshold(0.25)
    path = model.report(tmp_path / "report.html", smallCell=1)
    again = figs_spark.load_report(path)
    assert type(again) is type(model)
    assert again.uid == model.uid
    assert again.fingerprint == model.fingerprint
    assert again.getOrDefault("maxSplits") == 8
    table = rows(Random(1))
    np.testing.assert_array_equal(again.predict(table), model.predict(table))
    assert "secret" not in path.read_text("utf-8")


def test_counts_of_few_rows_are_left_out(tmp_path: Path) -> None:
    """The model predicts the same, and has the number of rows nowhere."""
    model = fitted("FIGS", 2)
    rare = replace(model.treeSum.trees[0], rows=7, weight=7.0)
    model.treeSum = replace(model.treeSum, trees=(rare, *model.treeSum.trees[1:]))
    text = model.report(tmp_path / "report.html").read_text("utf-8")
    again = figs_spark.load_report(tmp_path / "report.html")
    assert model.fingerprint in text
    assert again.treeSum.trees == without_counts(model.treeSum).trees
    assert {node.rows for tree in again.treeSum.trees for node in tree.walk()} == {0}
    table = rows(Random(2))
    np.testing.assert_array_equal(again.predict(table), model.predict(table))


def test_a_small_operating_point_is_left_out_but_not_its_threshold(tmp_path: Path) -> None:
    model = fitted("FIGS", 2)
    model._operating_point = OperatingPoint(
        0.92, 0.125, 912345.0, 500.0, 4000.0, 3.0, (912345.0, 500.0, 4000.0, 3.0)
    )
    model.setThreshold(0.125)
    assert model.operatingPoint is not None
    text = model.report(tmp_path / "report.html").read_text("utf-8")
    again = figs_spark.load_report(tmp_path / "report.html")
    assert again.operatingPoint is None
    assert again.getOrDefault("threshold") == 0.125
    assert "912345" not in text.replace(",", "")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace('"rows":100', '"rows":101', 1), "'digest' is not that"),
        (lambda text: text.replace("figs-report", "other"), "holds no model"),
        (
            lambda text: text.replace('"format":"figs_spark.report"', '"format":"x"'),
            "the format 'x'",
        ),
        (lambda text: text[: len(text) // 2], "holds no model"),
        (lambda text: text.replace('"version":1', '"version":9', 1), "version 9"),
    ],
)
def test_a_changed_report_is_refused(change: Any, message: str, tmp_path: Path) -> None:
    path = fitted("FIGS", 2).report(tmp_path / "report.html", smallCell=1)
    path.write_text(change(path.read_text("utf-8")), "utf-8")
    with pytest.raises(ValueError, match=message):
        figs_spark.load_report(path)


def test_a_report_replaces_nothing_unasked(tmp_path: Path) -> None:
    path = fitted("FIGS", 2).report(tmp_path / "report.html")
    with pytest.raises(FileExistsError, match="exists"):
        fitted("FIGS", 2).report(path)
    fitted("FIGS", 2).report(path, overwrite=True)


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    """In names, categories, labels of classes and all that people say."""
    model = fitted("FIGS", 3)
    model._class_names = HOSTILE[:3]
    fields = {
        feature.name: {"name": HOSTILE[k], "unit": HOSTILE[-k], "help": HOSTILE[(k + 3) % 10]}
        for k, feature in enumerate(FEATURES)
    }
    about = {key: HOSTILE[k % len(HOSTILE)] for k, key in enumerate(TOPICS)}
    text = model.report(tmp_path / "r.html", about=about, fields=fields).read_text("utf-8")
    scripts = re.findall(r"<script[^>]*>", text)
    assert scripts == [
        '<script type="application/json" id="figs-program">',
        '<script type="application/json" id="figs-report">',
        "<script>",
    ]
    assert len(re.findall(r"<style[^>]*>", text)) == 1
    assert re.findall(r"<img|<iframe|<object|<!--", text) == []
    assert re.findall(r"<[^>]*\son\w+\s*=\s*[^>&]*alert", text) == []
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\u202e" not in text
    assert figs_spark.load_report(tmp_path / "r.html")._class_names == HOSTILE[:3]


# What people say


def test_what_is_not_said_is_not_stated() -> None:
    text = to_html(Page(instrument(trauma(), classes=2), RISK))
    assert text.count("not stated") > 25
    for topic in TOPICS.values():
        assert topic in text
    said = Statement.read({"intendedUse": "Triage", "doNotUseWhen": ["a", "b"], "owner": None})
    assert said.to_dict() == {"intendedUse": ["Triage"], "doNotUseWhen": ["a", "b"]}
    page = to_html(Page(instrument(trauma(), classes=2), RISK, said))
    assert "Triage" in page
    assert page.count("not stated") < text.count("not stated")


def test_wrong_statements_are_named_all_at_once() -> None:
    with pytest.raises(ValueError, match="'purpose' is not known; 'owner' needs a text or a list"):
        Statement.read({"purpose": "x", "owner": {"name": "y"}, "title": "z"})


def test_the_checklist_has_27_items_and_links_that_lead_somewhere() -> None:
    assert [item.number for item in ITEMS] == list(range(1, 28))
    assert {topic for item in ITEMS for topic in item.topics} <= set(TOPICS)
    model = instrument(trauma(), classes=2)
    everything = Statement.read(dict.fromkeys(TOPICS, "said"))
    results = evaluated(*scored_parts(), 0.1, over_time_and_place=("site",))
    text = to_html(Page(model, RISK, everything, results=results))
    links = set(re.findall(r'href="#([\w-]+)"', text))
    assert links <= set(re.findall(r'id="([\w-]+)"', text))
    sections = set(re.findall(r'<section id="(\w+)"', text))
    assert sections >= {"facts", "calculator", "model", "performance", "groups", "validation"}
    answered = [item.number for item in ITEMS if is_answered(item, everything, sections)]
    assert answered == [n for n in range(1, 28) if n != 12]  # no path of sizes was given
    bare = Statement()
    assert [item.number for item in ITEMS if is_answered(item, bare, sections)] == [
        13, 15, 21, 22, 23, 24,
    ]  # fmt: skip


# What an evaluation may tell


def test_a_single_small_group_is_hidden_with_the_next_smallest() -> None:
    results = evaluated(*scored_parts(), 0.1)
    assert [line["group"] for line in results.of_column("sex")] == ["female", "male"]
    named = [line["group"] for line in results.of_column("site")]
    assert named == ["A", "2 groups that are hidden"]
    text = groups(results, ["site"]).markup
    assert ">B<" not in text
    assert ">C<" not in text


def test_gaps_are_to_the_largest_group_with_an_interval_around_them() -> None:
    results = evaluated(*scored_parts(), 0.1)
    of_sex = [line for line in results.gaps if line["by"] == "sex" and line["figure"] == "auc"]
    (gap,) = of_sex
    lines = {line["group"]: line for line in results.of_column("sex")}
    assert gap["gap"] == pytest.approx(lines[gap["group"]]["auc"] - lines[gap["than"]]["auc"])
    assert gap["gapLow"] < gap["gap"] < gap["gapHigh"]
    assert lines[gap["than"]]["rows"] >= lines[gap["group"]]["rows"]


def test_curves_pass_no_point_that_tells_a_few_rows() -> None:
    tp, fp = np.array([0.0, 3, 12, 30, 33, 40]), np.array([0.0, 0, 5, 20, 60, 90])
    kept = safe_points(tp, fp, 40.0, 90.0, 11)
    assert kept == [0, 5]
    assert safe_points(tp, fp, 40.0, 90.0, 1) == [0, 1, 2, 3, 4, 5]
    for least in (5, 11):
        whole, _ = scored_parts(3)
        results = evaluated(whole, {}, 0.1, least=least)
        events, others = whole.positives.sum(), whole.negatives.sum()
        for one, other in zip(results.roc, results.roc[1:]):
            steps = (other[1] - one[1]) * events, (other[0] - one[0]) * others
            assert all(step < 0.01 or step > least - 0.01 for step in steps)


def test_few_events_show_no_rates() -> None:
    y = np.array([0.0] * 300 + [1.0] * 20)
    s = np.array([0.05] * 300 + [0.05] * 4 + [0.6] * 16)
    results = evaluated(levels_of(y, s), {}, 0.3, (0.5,))
    (in_use, _) = results.operating_points
    assert in_use["fn"] == "<11"
    assert in_use["sensitivity"] == "hidden"
    assert in_use["fnPerThousand"] == "hidden"
    assert results.overall["sensitivity"] == "hidden"
    json.dumps(results.to_dict(), allow_nan=False)


def test_usual_values_are_rounded_and_leave_out_the_extremes() -> None:
    quantiles = [41.3, 45.0, 50.0, 60.0, 70.0, 238.7, 230.0, 220.0, 200.0, 180.0]
    assert rounded_range(quantiles, 10_000, 11) == (40.0, 240.0)
    assert rounded_range(quantiles, 1_200, 11) == (40.0, 230.0)
    assert rounded_range(quantiles, 50, 11) is None
    assert rounded_range([], 0, 11) is None
    assert rounded_range([1.0] * 10, 5_000, 11) is None
