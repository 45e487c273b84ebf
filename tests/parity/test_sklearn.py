"""The engine against scikit-learn's trees: one tree is CART, several are as good or better."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from figs_spark.engine.table import Target
from figs_spark.treesum import Node
from tests.support.small import Data


def assert_same_tree(ours: Node, theirs: Any, node: int = 0) -> None:
    assert ours.rows == theirs.n_node_samples[node]
    assert ours.weight == pytest.approx(theirs.weighted_n_node_samples[node])
    np.testing.assert_allclose(ours.value, theirs.value[node, :, 0], rtol=1e-9, atol=1e-9)
    left, right = theirs.children_left[node], theirs.children_right[node]
    if branches := ours.branches:
        assert branches[0].feature == theirs.feature[node]
        assert branches[0].threshold == theirs.threshold[node]
        assert_same_tree(branches[1], theirs, left)
        assert_same_tree(branches[2], theirs, right)
    else:
        assert left == right == -1


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({}, {}),
        ({"max_depth": 3}, {"max_depth": 3}),
        ({"min_rows": 40}, {"min_samples_leaf": 40}),
        ({"min_weight_fraction": 0.1}, {"min_weight_fraction_leaf": 0.1}),
        ({"min_impurity_decrease": 0.05}, {"min_impurity_decrease": 0.05}),
    ],
    ids=["free", "depth", "rows", "weight", "decrease"],
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("splits", [1, 5, 15])
def test_one_tree_is_best_first_cart(
    splits: int, weighted: bool, ours: dict[str, Any], theirs: dict[str, Any]
) -> None:
    random = np.random.default_rng(5)
    X = random.integers(0, 24, (500, 4)) / 4
    y = X[:, 0] * (X[:, 1] > 2) - X[:, 2] + random.normal(0, 0.5, 500)
    weight = random.uniform(0.1, 3, 500) if weighted else None
    model = Data(X, y, weight).fit(max_splits=splits, max_trees=1, **ours)
    cart = DecisionTreeRegressor(max_leaf_nodes=splits + 1, **theirs).fit(X, y, weight)
    assert_same_tree(model.trees[0], cart.tree_)


@pytest.mark.parametrize(
    ("load", "repeats", "sizes"),
    [(load_iris, 5, (2, 4)), (load_wine, 5, (3, 6)), (load_digits, 1, (10, 20))],
)
def test_several_classes_are_told_apart_as_well_as_by_a_tree(
    load: Callable[..., Any], repeats: int, sizes: tuple[int, ...]
) -> None:
    """Accuracy and Brier score over ten folds, for the same number of splits."""
    X, y = load(return_X_y=True)
    classes = int(y.max()) + 1
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=repeats, random_state=0)
    scores = []
    for train, test in folds.split(X, y):
        model = Data(X[train], y[train], classes=classes).fit(max_splits=max(sizes))
        for size in sizes:
            tree = DecisionTreeClassifier(max_leaf_nodes=size + 1, random_state=0)
            theirs = tree.fit(X[train], y[train]).predict_proba(X[test])
            ours = Target(classes).outcome.expected_table(model.truncate(size).predict(X[test]))
            scores.append([judged(p, y[test]) for p in (ours, theirs)])
    means = np.mean(np.reshape(scores, (-1, len(sizes), 2, 2)), axis=0)
    for (accuracy, brier), (their_accuracy, their_brier) in means:
        assert accuracy > their_accuracy - 0.01
        assert brier < their_brier + 0.015


def judged(probability: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Accuracy and Brier score."""
    error = probability - np.eye(probability.shape[1])[y]
    return float(np.mean(probability.argmax(axis=1) == y)), float((error**2).sum(axis=1).mean())
