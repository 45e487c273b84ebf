"""Trees as plain data: which leaf values are equal, and what has no tree."""

from __future__ import annotations

import numpy as np
import pytest

from figs_spark.engine.grower import grow
from figs_spark.treesum import Node
from tests.support.small import Data


def leaf_values(node: Node) -> list[float]:
    if node.branches is None:
        return [node.value[0]]
    _, left, right = node.branches
    return leaf_values(left) + leaf_values(right)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_leaves_of_the_same_mean_have_the_same_value(scale: float) -> None:
    random = np.random.default_rng(2)
    x = random.integers(0, 30, (300, 2)).astype(float)
    inside = (x[:, 0] > 4) & (x[:, 0] < 19) & (x[:, 1] > 6)
    outcome = scale * np.where(inside, 0.3, 0.1)
    data = Data(x, outcome, random.uniform(0.1, 3, 300))
    (model,) = grow([data.growth(max_trees=1)], data.backend)
    found = leaf_values(model.trees[0])
    assert len(found) == 4
    assert len(set(found)) == 2


def test_a_target_whose_squares_overflow_has_no_tree_to_grow() -> None:
    x = np.arange(20.0).reshape(-1, 1)
    data = Data(x, np.where(x[:, 0] > 9, 1e150, -1e150), np.full(20, 1e20))
    with np.errstate(over="ignore", invalid="ignore"):
        (model,) = grow([data.growth()], data.backend)
    assert model.splits == []
