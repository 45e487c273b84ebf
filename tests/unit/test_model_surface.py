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
from pyspark.ml.linalg import DenseVector

from figs_spark import Feature, FIGSRegressionModel, Node, OperatingPoint, Split, TreeSum
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
    outputs = model.predict(table)
    assert list(outputs) == (["prediction", "probability"] if classes else ["prediction"])
    predicted = outputs["prediction"].to_numpy()
    assert predicted.shape == (12,)
    if classes == 0:
        np.testing.assert_allclose(predicted, values[:, 0])
        return
    probabilities = model.predictProbability(table)
    assert [list(vector) for vector in outputs["probability"]] == probabilities.tolist()
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
    assert outcome[classes] in " ".join(str(model).split())  # lines are wrapped


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
    values = smaller.predictProbability(table) if classes else smaller.predict(table).to_numpy()
    shown = values if classes == 0 else values[:, 1:] if classes == 2 else values
    np.testing.assert_allclose(shown, expected(smaller, table), atol=1e-12)


@every_model
def test_one_row_of_pandas_is_read_by_its_names(kind: str, classes: int) -> None:
    model, table = fitted(kind, classes), rows(Random(5), 6)
    for k in range(len(table)):
        row = table.iloc[k][[*NAMES[::-1], "group"]]
        expected = model.predict(table).iloc[k]
        for values in (row, row.where(row.notna(), None).to_dict()):
            assert model.predict(values).to_dict() == expected.to_dict()
        if classes:
            assert model.predictProbability(row).tolist() == list(expected["probability"])


def test_columns_under_other_names_and_in_one_vector() -> None:
    model, table = fitted("FIGS", 2), rows(Random(5), 6)
    other = {name: f"{name}_2" for name in NAMES}
    renamed = model.copy()._set(featuresCols=list(other.values()))
    pd.testing.assert_frame_equal(
        renamed.predict(table.rename(columns=other)), model.predict(table)
    )
    numbers = only_numbers()
    values = np.random.default_rng(0).normal(size=(5, numbers.numFeatures))
    packed = pd.DataFrame({"features": [DenseVector(row) for row in values]})
    assert numbers.predict(packed)["prediction"].tolist() == numbers.predict(values).tolist()
    with pytest.raises(ValueError, match="has rows of 1 values, and the model was trained on 2"):
        numbers.predict(pd.DataFrame({"features": [[1.0]]}))


def only_numbers() -> FIGSRegressionModel:
    """A model of two numbers in one vector."""
    model = FIGSRegressionModel(labelCol="y")
    features = (Feature("a"), Feature("b"))
    leaves = [Node((value,), rows=1, weight=1.0) for value in (1.0, 2.0)]
    root = Node((0.0,), 2, 2.0, Split(1, 0, 1.0, True, threshold=0.0), *leaves)
    model.treeSum = TreeSum(features, (root,), (1.5,), (0.5, 0.25))
    return model


def test_a_column_that_spark_derives_is_named() -> None:
    model, table = fitted("FIGS", 2), rows(Random(5), 6)
    used = NAMES[sorted(model._used)[0]]
    model._set(derivedCols={used: "datediff(b, a)"})
    with pytest.raises(ValueError, match=rf"no column '{used}', which Spark derives: datediff"):
        model.predict(table.drop(columns=used))


# The group of a row


@pytest.mark.parametrize("classes", OUTCOMES)
def test_a_table_of_one_group(classes: int) -> None:
    model, table = fitted("GFIGS", classes), rows(Random(3))
    of_b = table[table["group"] == "b"]
    pd.testing.assert_frame_equal(model.predict(of_b), model.predict(of_b[NAMES], "b"))
    pd.testing.assert_frame_equal(
        model.predict(of_b[NAMES], "b"), model.models["b"].predict(of_b[NAMES])
    )
    if classes:
        np.testing.assert_array_equal(
            model.predictProbability(of_b), model.predictProbability(of_b[NAMES], "b")
        )
    row = list(of_b[NAMES].iloc[0])
    assert model.predict(row, "b") == model.predict(of_b)["prediction"].iloc[0]
    assert len(model.predict(table[:0])) == 0


def test_groups_may_be_numbers_and_booleans() -> None:
    for groups in ((1, 2), (False, True)):
        model, table = fitted("GFIGS", 0), rows(Random(4))
        by_letter = model.predict(table)
        letters = dict(zip("ab", groups))
        model._sums = {letters[letter]: s for letter, s in model._sums.items()}
        renamed = table.assign(group=table["group"].map(letters))
        pd.testing.assert_frame_equal(model.predict(renamed), by_letter)


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
