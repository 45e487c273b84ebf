"""What a fitted sum tells of its trees: shared features, repeated splits, explained variance."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from figs_spark import Feature, Node, Split, TreeSum, disentanglement
from tests.support.treesums import random_tree_sum

FEATURES = tuple(Feature(name) for name in "abcd")


def split(feature: int, step: int, threshold: float, *children: Node, gain: float = 1.0) -> Node:
    left, right = children
    made = Split(feature, step, gain, missing_left=True, threshold=threshold)
    rows = left.rows + right.rows
    return Node((0.0,), rows, float(rows), made, left, right)


def leaf(value: float, rows: int) -> Node:
    return Node((value,), rows, float(rows))


def model() -> TreeSum:
    """Two trees: (a, b) with a cut on a that the second tree, (a, c), makes again."""
    first = split(0, 0, 0.5, leaf(-1, 50), split(1, 1, 2.0, leaf(0, 25), leaf(2, 25)), gain=6.0)
    second = split(2, 2, 1.0, split(0, 3, 0.505, leaf(0.5, 20), leaf(-0.5, 20)), leaf(0, 60))
    return TreeSum(FEATURES, (first, second), (0.0,), (1.0,) * 5)


def test_features_that_share_a_tree_and_splits_that_are_repeated() -> None:
    result = disentanglement(model())
    assert result.trees["features"].tolist() == [("a", "b"), ("a", "c")]
    assert result.trees["splits"].tolist() == [2, 2]
    assert result.trees["repeated"].tolist() == [1, 1]
    assert result.repeated_splits == 0.5
    assert disentanglement(model(), tolerance=0.001).repeated_splits == 0.0
    assert result.together.values.tolist() == [["a", "b", 1], ["a", "c", 1]]
    assert result.in_one_block is None
    assert "in_one_block" not in result.trees


def test_the_variance_of_a_tree_is_that_of_its_values_on_training_rows() -> None:
    trees = disentanglement(model()).trees
    variances = [np.var([-1] * 50 + [0] * 25 + [2] * 25), np.var([0.5, -0.5] * 20 + [0] * 60)]
    assert trees["variance"].tolist() == pytest.approx(variances)
    assert trees["share"].tolist() == pytest.approx(np.divide(variances, sum(variances)))
    assert trees["gain"].tolist() == pytest.approx([7 / 9, 2 / 9])


def test_trees_within_a_block_are_counted() -> None:
    assert disentanglement(model(), [["a", "b"]]).in_one_block == 0.5
    assert disentanglement(model(), [["a", "b", "c"]]).in_one_block == 1.0
    assert disentanglement(model(), []).in_one_block == 0.0
    assert disentanglement(model().truncate(1), []).in_one_block == 1.0
    assert disentanglement(model().truncate(0), []).in_one_block is None


def test_any_model_can_be_asked() -> None:
    for seed in range(20):
        sums = random_tree_sum(Random(seed))
        result = disentanglement(sums)
        assert result.trees["splits"].sum() == len(sums.splits)
        assert 0 <= result.repeated_splits <= 1


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([["a", "x"]], r"1 features that the model lacks: \['x'\]"),
        ([["a"], ["b", "a"]], r"\['a'\] are listed more than once"),
    ],
)
def test_wrong_blocks_are_named(blocks: list[list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        disentanglement(model(), blocks)


def test_what_is_no_single_sum_is_named() -> None:
    with pytest.raises(ValueError, match=r"got dict. Of a G-FIGS take one"):
        disentanglement({})
