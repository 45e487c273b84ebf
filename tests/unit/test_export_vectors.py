"""Test vectors reach every leaf that can be reached, and try all edges."""

from __future__ import annotations

import json
import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.exports.vectors import UNSEEN_TEXT, make_vectors
from figs_spark.treesum import Feature, Node, Split, TreeSum
from tests.support.instruments import GROUPS, instrument, random_instrument
from tests.support.treesums import leaf_of, random_rows, random_tree_sum


def reached(one: TreeSum, rows: list[tuple[object, ...]]) -> set[tuple[int, int]]:
    """Tree and leaf of all rows, by the plain evaluator."""
    found = set()
    for k, tree in enumerate(one.trees):
        place = {id(leaf): i for i, leaf in enumerate(tree.leaves())}
        found |= {(k, place[id(leaf_of(one, tree, row))]) for row in rows}
    return found


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_every_leaf_that_a_row_can_reach(seed: int) -> None:
    one = random_tree_sum(Random(seed), 8)
    vectors = make_vectors(instrument(one))
    tried = [tuple(p.get(name) for name in one.feature_names) for p in vectors.patients]
    assert reached(one, random_rows(Random(seed), 400)) <= reached(one, tried)


def test_thresholds_and_the_numbers_beside_them_missing_and_unseen() -> None:
    leaf = Node((0.5,), 1, 1.0)
    age = Node((0.0,), 2, 2.0, Split(0, 0, 1.0, True, threshold=8.5), leaf, leaf)
    site = Node((0.0,), 2, 2.0, Split(1, 1, 1.0, False, categories=("A",)), leaf, leaf)
    one = TreeSum((Feature("age"), Feature("site", ("A", "B"))), (age, site), (0.5,), (0.0,) * 3)
    patients = make_vectors(instrument(one)).patients
    ages = {p["age"] for p in patients if p["age"] is None or p["age"] == p["age"]}
    assert {math.nextafter(8.5, 0), 8.5, math.nextafter(8.5, 9), None} <= ages
    assert any(isinstance(p["age"], float) and math.isnan(p["age"]) for p in patients)
    assert {p["site"] for p in patients} == {"A", "B", UNSEEN_TEXT, None}


def test_groups_and_unknown_ones() -> None:
    model = random_instrument(Random(3), kind="groups", classes=2)
    vectors = make_vectors(model)
    groups = {p["the group"] for p in vectors.patients}
    assert set(GROUPS) | {UNSEEN_TEXT, None} == groups
    for patient, result in zip(vectors.patients, vectors.expected, strict=True):
        assert bool(result.score) == (patient["the group"] in GROUPS)


@pytest.mark.parametrize("groups", [(1, 2, 7), (False, True, True)])
def test_groups_that_are_not_text(groups: tuple[object, ...]) -> None:
    sums = [random_tree_sum(Random(k), 2) for k in range(2)]
    model = instrument(*sums, kind="groups", groups=groups)
    kinds = {type(p["the group"]) for p in make_vectors(model).patients}
    assert kinds == {type(groups[0]), type(None)}


def test_they_are_the_same_each_time_and_strict_json() -> None:
    model = random_instrument(Random(4))
    first, again = make_vectors(model), make_vectors(model)
    assert json.dumps(first.to_list(), allow_nan=False) == json.dumps(again.to_list())


def test_only_what_a_target_can_hold() -> None:
    vectors = make_vectors(random_instrument(Random(6), kind="sum"))
    cells = [v for p in vectors.without(True, True).patients for v in p.values()]
    assert all(math.isfinite(v) for v in cells if isinstance(v, float))
