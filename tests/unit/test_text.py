from __future__ import annotations

import math
import re
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.text import condition, describe, number, rules
from tests.support.treesums import FEATURES, chain, random_split, random_tree_sum

AGE = Feature("age")
SITE = Feature("site", ("A", "B", "C"))
LOC = Feature("loc", (False, True))


def leaf(value: float, rows: int, weight: float | None = None) -> Node:
    return Node((value,), rows, float(rows if weight is None else weight))


def numeric(threshold: float, missing_left: bool) -> Split:
    return Split(0, 0, 1.0, missing_left, threshold=threshold)


def listed(*categories: Any, missing_left: bool = False, left: bool = True) -> Split:
    return Split(0, 0, 1.0, missing_left, categories=categories, listed_left=left)


def trauma(weight: float | None = None) -> TreeSum:
    features = (Feature("gcs"), AGE, Feature("site", tuple("ABCDEFGHIJ")))
    first = Node(
        (0.0,),
        10_000,
        10_000.0,
        Split(0, 0, 9.0, True, threshold=8.5),
        Node(
            (0.31,),
            812,
            812.0,
            Split(1, 2, 3.0, False, threshold=60.5),
            leaf(0.213, 500, weight),
            leaf(0.4123, 312),
        ),
        leaf(0.021, 9_188),
    )
    split = Split(2, 1, 5.0, False, categories=tuple("ABCDEFGH"))
    second = Node((0.0,), 10_000, 10_000.0, split, leaf(0.05, 6_000), leaf(-0.02, 4_000))
    return TreeSum(features, (first, second), (0.03,), (1.0,) * 4)


@pytest.mark.parametrize(
    ("feature", "split", "left", "right"),
    [
        (AGE, numeric(2.5, True), "age <= 2.5 or missing", "age > 2.5"),
        (AGE, numeric(2.5, False), "age <= 2.5", "age > 2.5 or missing"),
        (AGE, numeric(math.inf, False), "age is not missing", "age is missing"),
        (AGE, numeric(math.inf, True), "age <= inf or missing", "age > inf"),
        (AGE, numeric(-math.inf, True), "age <= -inf or missing", "age > -inf"),
        (SITE, listed("A", "B"), "site in {A, B}", "site not in {A, B} or missing"),
        (
            SITE,
            listed("A", missing_left=True),
            "site in {A} or missing",
            "site not in {A}",
        ),
        (
            SITE,
            listed("A", missing_left=True, left=False),
            "site not in {A} or missing",
            "site in {A}",
        ),
        (SITE, listed(missing_left=True), "site is missing", "site is not missing"),
        (LOC, listed(True), "loc is true", "loc is false or missing"),
        (LOC, listed(False, missing_left=True), "loc is false or missing", "loc is true"),
        (LOC, listed(True, left=False), "loc is false", "loc is true or missing"),
        (LOC, listed(False, True), "loc is not missing", "loc is missing"),
        (
            Feature("sex", (0.0, 1.0), ("female", "male")),
            listed(1.0),
            "sex in {male}",
            "sex not in {male} or missing",
        ),
        (Feature("sex", (0.0, 2.5)), listed(0.0, 2.5), "sex in {0, 2.5}", None),
        (
            Feature("a, b", ("x, y", "", " z", "l\n")),
            listed("x, y", "", " z", "l\n"),
            r'"a, b" in {"x, y", "", " z", "l\n"}',
            None,
        ),
    ],
)
def test_condition(feature: Feature, split: Split, left: str, right: str | None) -> None:
    assert condition(feature, split, left=True) == left
    assert right is None or condition(feature, split, left=False) == right


@given(st.randoms(use_true_random=False), st.integers(0, len(FEATURES) - 1))
@settings(deadline=None)
def test_a_condition_always_tells_where_missing_goes(random: Random, feature: int) -> None:
    split = random_split(random, feature)
    with_missing = condition(FEATURES[feature], split, left=split.missing_left)
    without = condition(FEATURES[feature], split, left=not split.missing_left)
    assert with_missing.endswith((" or missing", " is missing"))
    assert not without.endswith((" or missing", " is missing"))
    assert with_missing.endswith(" is missing") == without.endswith(" is not missing")
    assert "\n" not in with_missing + without


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (100.0, "100"),
        (2.5, "2.5"),
        (3.1999999999999997, "3.2"),
        (0.48372619371823455, "0.483726"),
        (1.23456789e-7, "1.23457e-07"),
        (123457.5, "123457.5"),
        (1600000000.5, "1600000000.5"),
        (1600000000.123456, "1600000000.123"),
        (4503599627370495.5, "4503599627370495.5"),
        (1.2345678901234567e19, "1.2345678901234567e+19"),
        (-1e300, "-1e+300"),
        (5e-324, "5e-324"),
        (-math.inf, "-inf"),
    ],
)
def test_number(value: float, text: str) -> None:
    assert number(value) == text


@given(st.integers(-(2**51), 2**51))
def test_the_midpoint_of_two_integers_is_never_rounded(below: int) -> None:
    assert float(number(below + 0.5)) == below + 0.5


def test_describe() -> None:
    text = describe(trauma(), "FIGS", "the predicted risk of death, clipped to [0, 1]")
    assert text == (
        "FIGS: 2 trees, 3 splits\n"
        "Start at 0; in each tree follow the conditions to a leaf and add its value;\n"
        "the sum is the predicted risk of death, clipped to [0, 1].\n"
        "Values in parentheses belong to nodes that are split further: not added.\n"
        "\n"
        "                                                              value     rows\n"
        "Tree 1 (all rows)                                          (+0.0000)  10,000\n"
        "    gcs <= 8.5 or missing                                  (+0.3100)     812\n"
        "    |   age <= 60.5                                         +0.2130      500\n"
        "    |   age > 60.5 or missing                               +0.4123      312\n"
        "    gcs > 8.5                                               +0.0210    9,188\n"
        "+\n"
        "Tree 2 (all rows)                                          (+0.0000)  10,000\n"
        "    site in {A, B, C, D, E, F, ... 2 more}                  +0.0500    6,000\n"
        "    site not in {A, B, C, D, E, F, ... 2 more} or missing   -0.0200    4,000\n"
        "\n"
        "Sets in full:\n"
        "    site in {A, B, C, D, E, F, G, H}"
    )


def test_weights_are_shown_where_they_differ_from_the_rows() -> None:
    lines = describe(trauma(weight=512.5), "FIGS", "the risk").splitlines()
    assert lines[4].endswith("rows  weight")
    assert [line for line in lines if line.endswith("  500   512.5")] == [lines[7]]
    assert lines[5].endswith("10,000")


def test_a_model_without_splits() -> None:
    lines = describe(trauma().truncate(0), "FIGS", "the mean").splitlines()
    assert lines[0] == "FIGS: 1 tree, 0 splits"
    assert lines[3:] == [
        "                      value     rows",
        "Tree 1 (all rows)  +0.03000   10,000",
    ]


def test_many_outputs_show_a_value_for_each_class() -> None:
    split = numeric(2.45, True)
    left, right = Node((1.0, 0.0, 0.0), 50, 50.0), Node((0.0, 0.5, 0.5), 100, 100.0)
    root = Node((0.0, 0.0, 0.0), 150, 150.0, split, left, right)
    model = TreeSum((AGE,), (root,), (1 / 3,) * 3, (1.0, 0.5))
    classes = ["setosa", "versicolor", "virginica"]
    assert describe(model, "FIGS", "one score for each class", classes).splitlines()[-4:] == [
        "                             setosa   versicolor   virginica   rows",
        "Tree 1 (all rows)           (+0.000)     (+0.000)    (+0.000)   150",
        "    age <= 2.45 or missing   +1.000       +0.000      +0.000     50",
        "    age > 2.45               +0.000       +0.500      +0.500    100",
    ]
    table = rules(model, classes)
    assert list(table.columns[3:6]) == ["value_setosa", "value_versicolor", "value_virginica"]
    assert table["value_virginica"].tolist() == [0.0, 0.5]
    assert list(rules(model).columns[3:6]) == ["value_0", "value_1", "value_2"]
    with pytest.raises(ValueError, match="3 outputs, but got 1 names"):
        describe(model, "FIGS", "one score", ["only"])


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ((0.0, 0.0), ["+0", "+0"]),
        ((12345.6, 0.5), ["+12,345.6", "+0.5"]),
        ((1.0, 0.00042), ["+1.00000", "+0.00042"]),
        ((0.5, -1e-17), ["+0.500000", "+0.000000"]),
        ((1e-12, 2e-12), ["+1.000e-12", "+2.000e-12"]),
        ((1.5e300, 1.0), ["+1.500e+300", "+1.000e+00"]),
        ((3.0, -7.0), ["+3", "-7"]),
    ],
)
def test_values_share_their_decimals(values: tuple[float, float], shown: list[str]) -> None:
    root = Node((0.0,), 2, 2.0, numeric(1.0, True), leaf(values[0], 1), leaf(values[1], 1))
    lines = describe(TreeSum((AGE,), (root,), (0.0,), (0.0,) * 2), "T", "it").splitlines()
    assert [line.split()[-2] for line in lines[-2:]] == shown


def test_rules() -> None:
    table = rules(trauma(weight=512.5))
    assert list(table.columns) == ["tree", "leaf", "path", "value", "rows", "weight"]
    assert table.to_numpy().tolist() == [
        [1, 0, "(gcs <= 8.5 or missing) and age <= 60.5", 0.213, 500, 512.5],
        [1, 1, "(gcs <= 8.5 or missing) and (age > 60.5 or missing)", 0.4123, 312, 312.0],
        [1, 2, "gcs > 8.5", 0.021, 9188, 9188.0],
        [2, 0, "site in {A, B, C, D, E, F, ... 2 more}", 0.05, 6000, 6000.0],
        [2, 1, "site not in {A, B, C, D, E, F, ... 2 more} or missing", -0.02, 4000, 4000.0],
    ]
    assert rules(trauma(), full=True)["path"][3] == "site in {A, B, C, D, E, F, G, H}"
    assert rules(trauma().truncate(0))["path"].tolist() == ["always"]


@given(st.randoms(use_true_random=False), st.integers(0, 10), st.integers(1, 3))
@settings(max_examples=50, deadline=None)
def test_every_model_prints(random: Random, splits: int, outputs: int) -> None:
    model = random_tree_sum(random, splits, outputs)
    nodes = [node for tree in model.trees for node in tree.walk()]
    header = 4 if splits else 3
    lines = describe(model, "FIGS", "the score").split("\n\nSets in full")[0].splitlines()
    begun = [line for line in lines[header:] if re.search(r"[+-]\d\S*\s+[\d,]+", line)]
    assert len(begun) >= len(nodes)  # the next line of a long set may look like one, too
    assert sum(line == "+" for line in lines) == len(model.trees) - 1
    most = 100 if outputs < 3 else 120  # conditions have 40 characters, however wide the numbers
    assert max(map(len, lines)) <= most or max(tree.depth() for tree in model.trees) > 6
    table = rules(model)
    assert len(table) == sum(node.split is None for node in nodes)
    for k, tree in enumerate(model.trees, start=1):
        leaves = list(tree.leaves())
        assert table.loc[table["tree"] == k, "leaf"].tolist() == list(range(len(leaves)))
        assert table.loc[table["tree"] == k, "rows"].tolist() == [n.rows for n in leaves]


def test_a_deep_chain_prints_one_line_per_node() -> None:
    assert len(describe(chain(50, leftwards=False), "FIGS", "it").splitlines()) == 4 + 1 + 101
