"""A model that a person changed is still a model, and says who changed what, when and why."""

from __future__ import annotations

import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import figs_spark
from figs_spark.stages.base.persistence import model_text, set_model
from figs_spark.treesum import TreeSum
from figs_spark.treesum.editing import Changes, edited
from figs_spark.treesum.serialization import from_dict, to_dict
from figs_spark.treesum.strict_json import parse
from tests.support.fitted import fitted, rows
from tests.support.pictured import FEATURES, trauma
from tests.support.treesums import mild_tree_sum, random_tree_sum

GCS, PRESSURE, TENDER, MECHANISM = (FEATURES[k].name for k in (0, 1, 2, 3))
WHO = {"by": "A. Meier", "why": "the protocol says so", "when": "2026-11-18"}


def scores(model: TreeSum, *patients: tuple[Any, ...]) -> list[float]:
    table = np.array([(*p, None, None) for p in patients], dtype=object)
    return [float(v) for v in model.predict(table)[:, 0]]


def test_a_threshold_is_rounded() -> None:
    model = trauma()
    new, said = edited(model, Changes(thresholds={4: 95.0}))
    assert said == (f"threshold of {PRESSURE} is 95, not 90",)
    before, after = scores(model, (15, 92, True, "fall")), scores(new, (15, 92, True, "fall"))
    assert after[0] - before[0] == pytest.approx(0.25)
    assert scores(new, (15, 96, True, "fall")) == scores(model, (15, 96, True, "fall"))


def test_categories_sides_and_values_are_changed() -> None:
    model = trauma()
    changes = Changes(categories={2: ("fall",)}, missing_left={0: True}, values={(2, 1): 0.2})
    new, said = edited(model, changes)
    assert len(said) == 3
    assert "missing goes left at 'gcs_total <= 8.5'" in said
    assert "leaf 1 of tree 2 is 0.2, not 0.25" in said
    assert scores(new, (None, 80, True, "fall")) == [pytest.approx(0.5 + 0.2 + 0.03)]


def test_a_tree_is_removed_and_the_average_stays() -> None:
    model = trauma()
    for gone in (1, 2, 3):
        new, said = edited(model, Changes(without_trees=[gone]))
        assert said == (f"tree {gone} is removed",)
        assert [split.step for split in new.splits] == list(range(len(new.splits)))
        kept = [k for k in range(3) if k + 1 != gone]
        patient = np.array([(8, 80, True, "fall", None, None)], dtype=object)
        added = model.contributions(patient)[0, :, 0]
        added[0] -= model.constant[0]
        expected = model.constant[0] + sum(added[k] for k in kept)
        assert new.predict(patient)[0, 0] == pytest.approx(expected)
    nothing, _ = edited(model, Changes(without_trees=[1, 2, 3]))
    assert scores(nothing, (8, 80, True, "fall")) == [0.04]


def test_an_edited_model_can_be_read_again() -> None:
    for seed in range(20):
        model = random_tree_sum(Random(seed), 6)
        new, _ = edited(model, Changes(without_trees=[1], missing_left={}))
        assert from_dict(to_dict(new)) == new


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (Changes(), "Nothing is changed"),
        (Changes(thresholds={99: 1.0}), "there is no split 99"),
        (Changes(thresholds={2: 1.0, 0: math.nan}), "split 2 takes no threshold.*split 0 takes"),
        (Changes(categories={2: ("moon",)}), "has no category 'moon'"),
        (Changes(categories={0: ("fall",)}), "is on the number 'gcs_total'"),
        (Changes(values={(1, 7): 0.1, (9, 0): 0.1}), "no leaf 7 in tree 1; .*leaf 0 in tree 9"),
        (Changes(values={(1, 0): (0.1, 0.2)}), "needs 1 finite value"),
        (Changes(without_trees=[0]), "there is no tree 0"),
    ],
)
def test_what_cannot_be_is_named(changes: Changes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        edited(trauma(), changes)


# As a stage


def stage() -> Any:
    model = fitted("FIGS", 2)
    return model.edit(**WHO, values={(1, 0): 0.5})


def test_the_record_is_in_text_picture_report_and_json(tmp_path: Path) -> None:
    model, original = stage(), fitted("FIGS", 2)
    (edit,) = model.editedBy
    assert (edit.by, edit.when, edit.why) == ("A. Meier", "2026-11-18", "the protocol says so")
    assert original.editedBy == ()
    assert model.fingerprint != original.fingerprint
    words = "Edited by A. Meier on 2026-11-18"
    assert words in str(model)
    assert words in model.toSVG()
    assert words in model.toPython()
    page = model.report(tmp_path / "report.html")
    assert words in page.read_text("utf-8")
    assert figs_spark.load_report(page).editedBy == model.editedBy
    assert "editedBy" not in model_text(original)
    again = type(model)(featuresCols=model.getOrDefault("featuresCols"))
    set_model(again, parse(model_text(model), "here"), "here")
    assert again.editedBy == model.editedBy
    twice = model.edit(by="B", why="again", values={(1, 0): 0.25})
    assert [edit.by for edit in twice.editedBy] == ["A. Meier", "B"]


def test_a_group_of_gfigs_is_edited() -> None:
    model = fitted("GFIGS", 2)
    with pytest.raises(ValueError, match=r"groups \['a', 'b'\]. Name one"):
        model.edit(**WHO, values={(1, 0): 0.5})
    new = model.edit(**WHO, values={(1, 0): 0.5}, group="b")
    assert new._sums["a"].trees == model._sums["a"].trees
    assert new._sums["b"].trees != model._sums["b"].trees
    assert "in group b" in str(new)


def test_who_and_why_are_needed_and_ensembles_are_not_edited() -> None:
    with pytest.raises(ValueError, match="by is empty"):
        fitted("FIGS", 2).edit(by=" ", why="x", values={(1, 0): 0.5})
    with pytest.raises(ValueError, match="too many sums"):
        fitted("BaggedFIGS", 2).edit(**WHO, values={(1, 0): 0.5})


def test_a_changed_model_forgets_its_operating_point() -> None:
    model = fitted("FIGS", 2)
    point = figs_spark.OperatingPoint(0.9, 0.125, 90.0, 50.0, 400.0, 30.0, (1.0, 1.0, 1.0, 1.0))
    model._operating_point = point
    model.setThreshold(0.125)
    new = model.edit(**WHO, values={(1, 0): 0.5})
    assert new.operatingPoint is None
    assert new.getOrDefault("threshold") == 0.5
    assert model.operatingPoint == point


# Points


def test_points_are_whole_and_few() -> None:
    for seed in range(25):
        model = fitted("FIGS", 2, seed)
        pointed = model.toPoints(maxTotal=12)
        points, tree_sum = pointed.points, pointed.treeSum
        each = [
            [points.of_leaf(k, leaf.value[0]) for leaf in tree.leaves()]
            for k, tree in enumerate(tree_sum.trees)
        ]
        assert all(min(own) == 0 for own in each)
        assert sum(max(own) for own in each) == points.largest <= 12
        for k, (tree, own) in enumerate(zip(tree_sum.trees, each)):
            base = points.base if k == 0 else 0.0
            for leaf, count in zip(tree.leaves(), own):
                assert leaf.value[0] == pytest.approx(base + points.unit * count, abs=1e-9)


def test_a_model_that_is_in_points_already_stays_as_it_is() -> None:
    model = fitted("FIGS", 0)
    model.treeSum = trauma()  # multiples of 0.5 percentage points
    exact = model.toPoints(maxTotal=1000)
    table = np.array([(8, 80, True, "fall", None, None), (15, 99, False, "x", None, None)], object)
    np.testing.assert_allclose(
        exact.treeSum.predict(table), model.treeSum.predict(table), atol=2e-3
    )
    rough = model.toPoints(maxTotal=3)
    errors = [
        np.abs(m.treeSum.predict(table) - model.treeSum.predict(table)).max()
        for m in (rough, exact)
    ]
    assert errors[0] > errors[1]


def test_more_points_cost_less() -> None:
    model = fitted("FIGS", 0)
    model.treeSum = mild_tree_sum(Random(3))
    table = rows(Random(4), 300)
    truth = model.predict(table)
    costs = [
        float(np.mean((model.toPoints(maxTotal=most).predict(table) - truth) ** 2))
        for most in (3, 10, 40, 200)
    ]
    assert costs[-1] < costs[0] / 50
    assert costs == sorted(costs, reverse=True)


def test_points_are_in_text_json_and_on_the_card(tmp_path: Path) -> None:
    model = fitted("FIGS", 2).toPoints()
    assert "In points: each point adds" in str(model)
    page = model.report(tmp_path / "report.html")
    text = page.read_text("utf-8")
    assert "What a total of points means" in text
    assert "Total of points" in text
    assert figs_spark.load_report(page).points == model.points
    table = rows(Random(5))
    np.testing.assert_array_equal(figs_spark.load_report(page).predict(table), model.predict(table))


def test_points_need_one_score() -> None:
    with pytest.raises(ValueError, match="Points are for one score, and the model has 3"):
        fitted("FIGS", 3).toPoints()
    with pytest.raises(ValueError, match="maxTotal must be at least 1"):
        fitted("FIGS", 2).toPoints(maxTotal=0)
    with pytest.raises(ValueError, match="made"):
        fitted("FIGS", 2).pointsTable(None)
