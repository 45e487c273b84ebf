"""The model of a group: its own rows in every node, and no branch that none of them reaches."""

from __future__ import annotations

import numpy as np
import pytest

from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.own_rows import with_own_rows, without_empty_branches
from figs_spark.treesum.serialization import from_json, to_json
from figs_spark.treesum.text import describe, rules


def leaf(value: float, rows: int = 10) -> Node:
    return Node((value,), rows, float(rows))


def node(value: float, feature: int, step: int, threshold: float, left: Node, right: Node) -> Node:
    split = Split(feature, step, 1.0, True, threshold)
    return Node((value,), left.rows + right.rows, 20.0, split, left, right)


@pytest.fixture
def model() -> TreeSum:
    """Tree 1 splits x at 5 and then its right side at 8; tree 2 splits z at 0."""
    deeper = node(0.3, 0, 1, 8.0, leaf(0.2), leaf(0.5))
    first = node(0.2, 0, 0, 5.0, leaf(0.1), deeper)
    second = node(0.0, 1, 2, 0.0, leaf(-0.05), leaf(0.07))
    features = (Feature("x"), Feature("z"))
    return TreeSum(features, (first, second), (0.2,), (0.4, 0.3, 0.2, 0.1))


def test_every_node_has_the_rows_of_its_leaves(model: TreeSum) -> None:
    counted = with_own_rows(model, [[1, 2, 3], [4, 2]])
    assert [n.own_rows for n in counted.trees[0].walk()] == [6, 1, 5, 2, 3]
    assert [n.own_rows for n in counted.trees[1].walk()] == [6, 4, 2]
    assert without_empty_branches(counted) == counted
    assert counted.truncate(1).trees[0].right.own_rows == 5  # type: ignore[union-attr]
    assert from_json(to_json(counted)) == counted


def test_an_empty_branch_is_left_out(model: TreeSum) -> None:
    counted = with_own_rows(model, [[0, 2, 4], [3, 3]])
    smaller = without_empty_branches(counted)
    assert [split.step for split in smaller.splits] == [0, 1]
    assert smaller.losses == (0.4, 0.2, 0.1)  # after the splits that are left
    assert smaller.trees[0].split == Split(0, 0, 1.0, True, 8.0)
    own = np.array([[6.0, -1.0], [9.0, 1.0], [7.0, 2.0]])
    np.testing.assert_array_equal(smaller.predict(own), model.predict(own))
    assert from_json(to_json(smaller)) == smaller


def test_a_tree_without_a_choice_is_added_to_the_others(model: TreeSum) -> None:
    smaller = without_empty_branches(with_own_rows(model, [[1, 2, 3], [6, 0]]))
    own = np.array([[1.0, -1.0], [6.0, -2.0], [9.0, -3.0]])
    assert len(smaller.trees) == 1
    np.testing.assert_allclose(smaller.predict(own), model.predict(own), rtol=1e-12)
    alone = without_empty_branches(with_own_rows(model, [[0, 0, 6], [6, 0]]))
    assert alone.splits == []
    assert alone.predict(own[2:])[0, 0] == pytest.approx(0.45)


def test_the_text_shows_the_own_rows(model: TreeSum) -> None:
    counted = with_own_rows(model, [[1, 2, 3], [4, 2]])
    text = describe(counted, "Model", "the risk")
    assert "Rows are the group's own" in text
    assert rules(counted)["rows"].tolist() == [1, 2, 3, 4, 2]
    assert "Rows are the group's own" not in describe(model, "Model", "the risk")
