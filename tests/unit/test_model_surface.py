"""All families of models offer the same: text, picture, rules, smaller models, predictions."""

from __future__ import annotations

import re
from random import Random
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import pyplot

from figs_spark import OperatingPoint
from figs_spark.treesum import TreeSum
from figs_spark.treesum.nodes import only_named
from tests.support.fitted import KINDS, NAMES, OUTCOMES, fitted, rows
from tests.support.treesums import leaf_of

mpl.use("agg")

every_model = pytest.mark.parametrize(
    ("kind", "classes"), [(kind, classes) for kind in KINDS for classes in OUTCOMES]
)
RULES = ["tree", "leaf", "path", "value", "rows", "weight"]


def tree_sums(model: Any) -> list[TreeSum]:
    """The sums of trees in a model of any family."""
    if hasattr(model, "treeSum"):
        return [model.treeSum]
    return list(model.members) if hasattr(model, "members") else list(model._sums.values())


def expected(model: Any, table: pd.DataFrame) -> np.ndarray:
    """What the model predicts (of two classes: the probability of class 1), row by row."""
    cells = table[NAMES].astype(object).where(table[NAMES].notna(), None)
    values = []
    for row, group in zip(cells.itertuples(index=False), table["group"], strict=True):
        sums = tree_sums(model)
        if hasattr(model, "groups"):
            sums = [model._sums[group]]
        values.append(np.mean([one(s, tuple(row), model._classes) for s in sums], axis=0))
    return np.array(values)


def one(tree_sum: TreeSum, row: tuple[Any, ...], classes: int) -> np.ndarray:
    score = np.sum([leaf_of(tree_sum, tree, row).value for tree in tree_sum.trees], axis=0)
    if classes == 0:
        return score
    clipped = np.minimum(1.0, np.maximum(0.0, score))
    if classes == 2:
        return clipped
    return clipped / clipped.sum() if clipped.sum() > 0 else np.full(classes, 1 / classes)


@every_model
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_predictions_of_a_table(kind: str, classes: int, seed: int) -> None:
    model, table = fitted(kind, classes, seed), rows(Random(seed), 12)
    values = expected(model, table)
    predicted = model.predict(table)
    assert predicted.shape == (12,)
    if classes == 0:
        np.testing.assert_allclose(predicted, values[:, 0])
        return
    probabilities = model.predictProbability(table)
    shown = probabilities[:, 1:] if classes == 2 else probabilities
    np.testing.assert_allclose(shown, values, atol=1e-12)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(
        predicted, probabilities[:, 1] > 0.5 if classes == 2 else probabilities.argmax(axis=1)
    )


@every_model
def test_text(kind: str, classes: int) -> None:
    model = fitted(kind, classes)
    assert model.toDebugString == str(model)
    assert str(model).startswith(type(model).__name__)
    outcome = {0: "the prediction of y", 2: "the probability of y = 1", 3: "each class of y"}
    assert outcome[classes] in str(model)


@every_model
def test_pictures(kind: str, classes: int) -> None:
    model = fitted(kind, classes)
    svg = ElementTree.fromstring(model.toSVG())
    title = {0: "Prediction of y", 2: "Probability of y = 1", 3: "Score of each class of y"}
    assert title[classes] in "".join(svg.itertext())
    assert model._repr_html_().count("<svg") >= 1
    axes = model.plot()
    assert len(axes.texts) == len(re.findall("<text", model.toSVG()))
    own = pyplot.figure().add_subplot()
    assert model.plot(ax=own) is own
    pyplot.close("all")


@every_model
def test_rules_have_a_row_for_each_leaf(kind: str, classes: int) -> None:
    model = fitted(kind, classes)
    table = model.rules()
    first = {"FIGS": [], "BaggedFIGS": ["member"], "GFIGS": ["group"]}[kind]
    assert list(table.columns)[: len(first) + 2] == [*first, "tree", "leaf"]
    assert set(RULES) - {"value"} <= set(table.columns)
    leaves = [len(list(tree.leaves())) for s in tree_sums(model) for tree in s.trees]
    assert len(table) == sum(leaves)


@every_model
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(0, 9))
def test_smaller_models(kind: str, classes: int, seed: int, k: int) -> None:
    model, table = fitted(kind, classes, seed), rows(Random(seed), 8)
    smaller = model.truncate(k)
    assert type(smaller) is type(model)
    truncated = [tree_sum.truncate(k) for tree_sum in tree_sums(model)]
    assert tree_sums(smaller) == list(only_named(truncated))
    assert [len(s.splits) for s in tree_sums(smaller)] == [min(k, 8)] * len(tree_sums(model))
    values = smaller.predict(table) if classes == 0 else smaller.predictProbability(table)
    shown = values[:, None] if classes == 0 else values[:, 1:] if classes == 2 else values
    np.testing.assert_allclose(shown, expected(smaller, table), atol=1e-12)


# The group of a row


@pytest.mark.parametrize("classes", OUTCOMES)
def test_a_table_of_one_group(classes: int) -> None:
    model, table = fitted("GFIGS", classes), rows(Random(3))
    of_b = table[table["group"] == "b"]
    np.testing.assert_array_equal(model.predict(of_b), model.predict(of_b[NAMES], "b"))
    np.testing.assert_array_equal(
        model.predict(of_b[NAMES], "b"), model.models["b"].predict(of_b[NAMES])
    )
    if classes:
        np.testing.assert_array_equal(
            model.predictProbability(of_b), model.predictProbability(of_b[NAMES], "b")
        )
    row = list(of_b[NAMES].iloc[0])
    assert model.predict(row, "b") == model.predict(of_b)[0]
    assert len(model.predict(table[:0])) == 0


def test_groups_may_be_numbers_and_booleans() -> None:
    for groups in ((1, 2), (False, True)):
        model, table = fitted("GFIGS", 0), rows(Random(4))
        by_letter = model.predict(table)
        letters = dict(zip("ab", groups))
        model._sums = {letters[letter]: s for letter, s in model._sums.items()}
        renamed = table.assign(group=table["group"].map(letters))
        np.testing.assert_array_equal(model.predict(renamed), by_letter)


def test_without_a_group() -> None:
    model, table = fitted("GFIGS", 2), rows(Random(3))
    message = r"The groups of the rows are not given\. .* the column 'group' \(groupCol\)"
    for values in (table[NAMES], table[NAMES].to_numpy(), list(table[NAMES].iloc[0])):
        for predict in (model.predict, model.predictProbability):
            with pytest.raises(ValueError, match=message):
                predict(values)
    with pytest.raises(ValueError, match=r"There is no group 'c'; there are \['a', 'b'\]"):
        model.predict(table, "c")
    table.loc[[3, 5], "group"] = ["c", None]
    message = r"'group' \(groupCol\) has a group .* in 2 of 60 rows, such as 'c'; it has \['a', 'b'"
    with pytest.raises(ValueError, match=message):
        model.predict(table)


# The operating point


@pytest.mark.parametrize("kind", KINDS)
def test_an_operating_point_is_in_the_text_and_leaves_with_the_size(kind: str) -> None:
    model = fitted(kind, 2)
    model._operating_point = OperatingPoint(0.9, 0.25, 9.0, 3.0, 7.0, 1.0, (9.0, 3.0, 7.0, 1.0))
    model.setThreshold(0.25)
    assert "Operating point: predict 1 if the probability is above 0.25" in str(model)
    smaller = model.truncate(2)
    assert smaller.operatingPoint is None
    assert smaller.getThreshold() == 0.5
    again = type(model)()
    again._set_contents(model._contents(), "the file")
    assert again._operating_point == model.operatingPoint
