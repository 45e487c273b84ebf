from __future__ import annotations

import math
from random import Random
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.nodes import add_in_runs
from tests.support.treesums import (
    FEATURES,
    chain,
    leaf_of,
    random_path,
    random_rows,
    random_tree_sum,
)

randoms = st.randoms(use_true_random=False)


def stump(feature: Feature, split: Split) -> TreeSum:
    """A model that answers 1 on the left and 2 on the right."""
    left, right = Node((1.0,), 3, 3.0), Node((2.0,), 2, 2.0)
    root = Node((0.0,), 5, 5.0, split, left, right)
    return TreeSum((feature,), (root,), (1.4,), (1.0, 0.5))


@given(randoms, st.integers(0, 8), st.integers(1, 3))
@settings(max_examples=150, deadline=None)
def test_predictions_equal_those_of_a_plain_evaluator(
    random: Random, splits: int, outputs: int
) -> None:
    model = random_tree_sum(random, splits, outputs)
    rows = random_rows(random, 12)
    leaves = [[leaf_of(model, tree, row) for tree in model.trees] for row in rows]
    where = [[id(leaf) for leaf in tree.leaves()] for tree in model.trees]

    indices = [[where[k].index(id(leaf)) for k, leaf in enumerate(row)] for row in leaves]
    assert model.leaf_indices(rows).tolist() == indices
    parts = [[list(leaf.value) for leaf in row] for row in leaves]
    assert model.contributions(rows).tolist() == parts
    scores = [[sum(values[1:], values[0]) for values in zip(*row, strict=True)] for row in parts]
    assert model.predict(rows).tolist() == scores


@given(randoms, st.integers(0, 10), st.integers(1, 2))
@settings(max_examples=100, deadline=None)
def test_truncate_gives_back_every_earlier_model(random: Random, splits: int, outputs: int) -> None:
    path = random_path(random, splits, outputs)
    for k, earlier in enumerate(path):
        assert path[-1].truncate(k) == earlier
    assert path[-1].truncate(splits + 5) == path[-1]


def test_truncate_refuses_a_negative_number_of_splits() -> None:
    with pytest.raises(ValueError, match="k >= 0, got -1"):
        chain(3, leftwards=True).truncate(-1)


@pytest.mark.parametrize(
    ("split", "left"),
    [
        (Split(0, 0, 1.0, missing_left=True, threshold=2.5), [1, 1, 2, 2, 1, 1]),
        (Split(0, 0, 1.0, missing_left=False, threshold=2.5), [1, 1, 2, 2, 2, 2]),
        (Split(0, 0, 1.0, missing_left=False, threshold=math.inf), [1, 1, 1, 1, 2, 2]),
        (Split(0, 0, 1.0, missing_left=True, threshold=-math.inf), [1, 2, 2, 2, 1, 1]),
    ],
)
def test_numeric_split(split: Split, left: list[int]) -> None:
    rows = [[-math.inf], [2.5], [math.nextafter(2.5, 3)], [math.inf], [None], [math.nan]]
    assert stump(Feature("x"), split).predict(rows)[:, 0].tolist() == left


@pytest.mark.parametrize("listed_left", [True, False])
@pytest.mark.parametrize("missing_left", [True, False])
@pytest.mark.parametrize(
    ("known", "listed", "others"),
    [
        (("A", "B", "C"), ("A", "B"), ("C", "unseen", "a", "")),
        ((False, True), (True,), (False,)),
        ((0.0, 1.0, 2.0), (0.0, 2.0), (1.0, 7.0, math.inf)),
    ],
)
def test_categorical_split(
    known: tuple[Any, ...],
    listed: tuple[Any, ...],
    others: tuple[Any, ...],
    missing_left: bool,
    listed_left: bool,
) -> None:
    split = Split(0, 0, 1.0, missing_left, categories=listed, listed_left=listed_left)
    model = stump(Feature("x", known), split)
    here, there = (1.0, 2.0) if listed_left else (2.0, 1.0)
    rows = [[v] for v in (*listed, *others, None)]
    expected = [here] * len(listed) + [there] * len(others) + [1.0 if missing_left else 2.0]
    assert model.predict(rows)[:, 0].tolist() == expected


@pytest.mark.parametrize(
    ("known", "cells", "dtype"),
    [
        (None, [1, 2], "float64"),
        (None, [1, 2], "Float64"),
        (None, [1, 2], "Int64"),
        (None, [1, 2], "object"),
        (("A", "B"), ["A", "B"], "object"),
        (("A", "B"), ["A", "B"], "string"),
        (("A", "B"), ["A", "B"], "category"),
        ((True, False), [True, False], "object"),
        ((True, False), [True, False], "boolean"),
        ((0.0, 1.0), [0, 1], "Int64"),
    ],
)
def test_pandas_columns_of_every_kind(known: Any, cells: list[Any], dtype: str) -> None:
    split = Split(0, 0, 1.0, missing_left=True, threshold=1.5)
    if known is not None:
        split = Split(0, 0, 1.0, missing_left=True, categories=known[:1])
    model = stump(Feature("x", known), split)
    table = pd.DataFrame({"unused": [0, 0, 0], "x": pd.Series([*cells, None], dtype=dtype)})
    assert model.predict(table)[:, 0].tolist() == [1.0, 2.0, 1.0]


def test_pandas_and_rows_agree() -> None:
    random = Random(3)
    model, rows = random_tree_sum(random, 30), random_rows(random, 200)
    table = pd.DataFrame(rows, columns=[f.name for f in FEATURES])
    assert model.predict(table).tolist() == model.predict(rows).tolist()
    assert model.predict(table.iloc[:, ::-1]).tolist() == model.predict(rows).tolist()


def test_a_row_of_mixed_types_stays_as_it_is() -> None:
    split = Split(1, 0, 1.0, missing_left=False, categories=(True,))
    features = (Feature("text", ("a",)), Feature("flag", (False, True)))
    root = Node((0.0,), 2, 2.0, split, Node((1.0,), 1, 1.0), Node((2.0,), 1, 1.0))
    model = TreeSum(features, (root,), (0.0,), (0.0, 0.0))
    assert model.predict([["a", True], ["a", False]])[:, 0].tolist() == [1.0, 2.0]


def test_no_rows() -> None:
    model = random_tree_sum(Random(1), outputs=2)
    assert model.predict(np.empty((0, len(FEATURES)))).shape == (0, 2)


def test_input_errors_say_what_is_wrong() -> None:
    model = chain(2, leftwards=True)
    with pytest.raises(ValueError, match=r"needs the columns \['age'\]"):
        model.predict(pd.DataFrame({"other": [1.0]}))
    for wrong in ([1.0, 2.0], [[1.0]], [[1.0] * 7, [1.0]]):
        with pytest.raises(ValueError, match=r"a table of shape \(rows, 7\)"):
            model.predict(wrong)


def test_splits_and_importances() -> None:
    model = random_path(Random(5), splits=12)[-1]
    assert [split.step for split in model.splits] == list(range(12))
    gains = [sum(s.gain for s in model.splits if s.feature == j) for j in range(len(FEATURES))]
    np.testing.assert_allclose(model.importances(), np.array(gains) / sum(gains))
    assert model.truncate(0).importances().tolist() == [0.0] * len(FEATURES)


def test_depth_and_leaves() -> None:
    tree = chain(50, leftwards=False).trees[0]
    assert tree.depth() == 50
    assert [leaf.value for leaf in tree.leaves()] == [(float(v),) for v in range(51)]
    assert Node((1.0,), 1, 1.0).depth() == 0


@pytest.mark.parametrize("count", [1, 2, 8, 9, 64, 65, 1000])
def test_add_in_runs_keeps_every_term_in_order(count: int) -> None:
    runs: list[int] = []

    def add(run: Any) -> str:
        runs.append(len(run))
        return "".join(run)

    letters = [chr(200 + i) for i in range(count)]
    assert add_in_runs(letters, add) == "".join(letters)
    assert max(runs, default=1) <= 8


def test_two_columns_of_one_name_are_named() -> None:
    model = stump(Feature("age"), Split(0, 0, 1.0, missing_left=True, threshold=1.0))
    table = pd.DataFrame([[1.0, 2.0]], columns=["age", "age"])
    with pytest.raises(ValueError, match="2 columns are called 'age'"):
        model.predict(table)


@pytest.mark.parametrize(
    ("categories", "cells", "kind"),
    [(("250", "401"), [250, None, "401"], "int"), ((False, True), ["true", True], "str")],
)
def test_values_of_another_kind_do_not_pass_for_unseen_ones(
    categories: Any, cells: list[Any], kind: str
) -> None:
    """A file of codes that pandas read as numbers."""
    split = Split(0, 0, 1.0, missing_left=True, categories=categories[:1])
    model = stump(Feature("code", categories), split)
    with pytest.raises(ValueError, match=f"Column 'code' has values of type {kind} in 1 rows"):
        model.predict(pd.DataFrame({"code": cells}))
    with pytest.raises(ValueError, match=f"Column 'code' has values of type {kind} in 1 rows"):
        model.predict([[cell] for cell in cells])
    assert model.predict([[np.str_("401")]] if kind == "int" else [[1]])[0, 0] == 2.0


def test_text_for_numbers_is_named() -> None:
    model = stump(Feature("age"), Split(0, 0, 1.0, missing_left=True, threshold=2.5))
    with pytest.raises(ValueError, match=r"'age' has values of type str.* trained on numbers"):
        model.predict(pd.DataFrame({"age": ["old", "young"]}))
    assert model.predict(pd.DataFrame({"age": ["1.5"]}))[0, 0] == model.predict([[1.5]])[0, 0]
