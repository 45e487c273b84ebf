"""Conditions on a path, merged: the same rows, in fewer words."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.engine.bins import Bins, FeatureBins
from figs_spark.engine.splits import BinSplit, Side
from figs_spark.exports.vectors import goes_left
from figs_spark.treesum.nodes import Feature, Node, Split, TreeSum
from figs_spark.treesum.paths import merged, shorter, turns_to_leaves
from figs_spark.treesum.text import describe, rules
from tests.support.treesums import random_tree_sum

SITE = Feature("site", tuple("ABCDEFGHIJ"))
AGE = Feature("age")


def leaf(value: float) -> Node:
    return Node((value,), 10, 10.0)


def chain(feature: Feature, first: Split, second: Split, left: bool) -> TreeSum:
    """Two splits of one feature, the second on this side of the first."""
    inner = Node((0.0,), 20, 20.0, second, leaf(1.0), leaf(2.0))
    sides = (inner, leaf(3.0)) if left else (leaf(3.0), inner)
    return TreeSum((feature,), (Node((0.0,), 30, 30.0, first, *sides),), (0.0,), (1.0,) * 3)


def test_thresholds_merge() -> None:
    model = chain(AGE, Split(0, 0, 1.0, False, 21.0), Split(0, 1, 1.0, True, 22.5), left=False)
    assert rules(model)["path"].tolist() == [
        "age <= 21",
        "(age > 21 or missing) and (age <= 22.5 or missing)",
        "age > 22.5",
    ]


def test_categories_that_a_parent_excludes_are_not_repeated() -> None:
    first = Split(0, 0, 1.0, False, categories=tuple("ABCD"))
    second = Split(0, 1, 1.0, False, categories=tuple("ABC"))
    model = chain(SITE, first, second, left=True)
    assert rules(model)["path"].tolist()[:2] == ["site in {A, B, C}", "site in {D}"]
    lines = [line.split("  ")[0] for line in describe(model, "M", "it").splitlines()]
    text = "\n".join(line.strip(" |") for line in describe(model, "M", "it").splitlines())
    assert "site not in {D}" in text, "the shorter side is listed"
    assert "site in {A, B, C} " not in text, lines


def test_what_two_sets_exclude_is_one_set() -> None:
    first = Split(0, 0, 1.0, False, categories=("A",))
    second = Split(0, 1, 1.0, False, categories=("B",))
    model = chain(SITE, first, second, left=False)
    assert rules(model)["path"].tolist()[-1] == "site not in {A, B} or missing"


@given(st.randoms(use_true_random=False), st.integers(1, 8))
@settings(max_examples=40, deadline=None)
def test_merged_conditions_hold_for_the_same_values(random: Random, splits: int) -> None:
    model = random_tree_sum(random, splits, 1)
    for tree in model.trees:
        for turns, _ in turns_to_leaves(tree):
            fewer = merged(model.features, turns)
            assert len(fewer) <= len(turns)
            for j in {split.feature for split, _ in turns}:
                feature = model.features[j]
                cuts = [s.threshold for s, _ in turns if s.feature == j and s.threshold is not None]
                values = [*(feature.categories or ()), None]
                values += [c + d for c in cuts for d in (-0.5, 0.0, 0.5)]
                for value in values:
                    own = ([t for t in part if t[0].feature == j] for part in (turns, fewer))
                    before, after = (
                        all(goes_left(feature, s, value) == left for s, left in part)
                        for part in own
                    )
                    assert before == after, (value, turns, fewer)


def test_the_shorter_side_of_a_split_has_the_same_rows() -> None:
    before = [(Split(0, 0, 1.0, False, categories=tuple("ABCD")), True)]
    split = Split(0, 1, 1.0, False, categories=tuple("ABCX"))
    short = shorter(SITE, split, before)
    assert short.categories == ("D",)
    assert all(goes_left(SITE, split, c) == goes_left(SITE, short, c) for c in "ABCD")


@pytest.mark.parametrize(("others", "listed"), [(3, "JIH"), (9, "A")])
def test_long_sets_list_the_shorter_side_most_frequent_first(others: int, listed: str) -> None:
    bins = Bins((SITE,), (FeatureBins(np.arange(9) + 0.5, np.arange(10.0)),))
    left = np.arange(10 - others) if others == 3 else np.array([0])
    right = np.setdiff1d(np.arange(10), left)
    rows = np.arange(1, 11)
    side = Side(np.zeros(1), 1.0, 5)
    split, _ = bins.split(0, BinSplit(1.0, 0, left, right, False, side, side, rows), 0)
    assert set(split.categories or ()) == set(listed)
    long = BinSplit(1.0, 0, np.arange(8), np.arange(8), False, side, side, rows)
    assert bins.split(0, long, 0)[0].categories == tuple("HGFEDCBA")
