"""A weak split is made again: against brute force over all splits that could take its place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.engine import polishing
from figs_spark.engine.constraints import Constraints
from figs_spark.engine.grower import GrowthRules
from figs_spark.engine.joint_growth import JointGrowth
from figs_spark.engine.progress import QUIET
from figs_spark.treesum import TreeSum
from tests.support.oracle import (
    every_cut,
    penalised,
    psi_columns,
    ridge_fit,
    split_column,
)
from tests.support.small import Data

RIDGE = 4.0


def patients(seed: int, rows: int = 90) -> Data:
    random = np.random.default_rng(seed)
    X = random.integers(0, 4, (rows, 3)) * 1.0
    y = X[:, 0] * (X[:, 1] > 1) - (X[:, 2] > 2) + random.normal(0, 1.5, rows)
    return Data(X, y, block_rows=40)


def grown(data: Data, **rules: Any) -> JointGrowth:
    growth = data.growth(**{"max_splits": 5, "ridge": RIDGE, "min_rows": 2, **rules})
    data.backend.grow([growth], QUIET)
    assert isinstance(growth, JointGrowth)
    return growth


def objective(psi: np.ndarray, y: np.ndarray) -> float:
    """The penalised squared error of these columns."""
    penalty = [(a.max() ** 2 + a.min() ** 2) / 2 for a in psi.T]
    w = np.ones(len(psi))
    return penalised(psi, (y - y.mean())[:, None], w, RIDGE * np.array(penalty))


def best_of_one_round(model: TreeSum, data: Data) -> float:
    """By trying, for each of the three weakest splits at an end, every split in its place."""
    psi, X, y = psi_columns(model, data.X), data.X, data.y
    now = objective(psi, y)
    ends = [
        (np.flatnonzero(psi[:, n.split.step]), n.split.step, tree)
        for tree, root in enumerate(model.trees)
        for n in root.walk()
        if n.split and n.left and n.right and not n.left.split and not n.right.split
    ]
    rest = {step: np.delete(psi, step, axis=1) for _, step, _ in ends}
    for rows, step, tree in sorted(ends, key=lambda end: (objective(rest[end[1]], y), end[1]))[:3]:
        leaves = [np.arange(len(X)), *([] if model.trees[tree].split.step == step else [rows])]
        for k, of_tree in enumerate(model.leaf_indices(X).T):
            for leaf in np.unique(of_tree):
                own = np.flatnonzero(of_tree == leaf)
                if k != tree or not set(own) <= set(rows):
                    leaves.append(own)
        tried = []
        for leaf in leaves:
            for _, _, _, left in every_cut(X, leaf):
                right = np.setdiff1d(leaf, left)
                if min(len(left), len(right)) < 2:
                    continue
                column, _ = split_column(len(X), np.ones(len(X)), left, right)
                kept = rest[step]
                if penalised(
                    kept, column[:, None], np.ones(len(X)), own_penalty(kept)
                ) < 1e-3 * len(leaf):
                    continue
                tried.append(objective(np.column_stack([kept, column]), y))
        if tried and min(tried) < now - polishing.LEAST_GAIN * now:
            return min(tried)
    return now


def own_penalty(psi: np.ndarray) -> np.ndarray:
    return RIDGE * np.array([(a.max() ** 2 + a.min() ** 2) / 2 for a in psi.T])


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_one_round_equals_brute_force(seed: int) -> None:
    data = patients(seed)
    model = grown(data).model
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(polishing, "ROUNDS", 1)
        polished = grown(data, polish=True).model
    found = objective(psi_columns(polished, data.X), data.y)
    assert found == pytest.approx(best_of_one_round(model, data), rel=1e-7)


@pytest.mark.parametrize("ridge", [RIDGE, None])
def test_every_size_of_a_polished_model_is_fitted(ridge: float | None) -> None:
    data = patients(3, 200)
    growth = grown(data, polish=True, ridge=ridge, max_splits=7)
    model = growth.model
    assert len(model.splits) == 7
    assert [split.step for split in model.splits] == list(range(7))
    for k in range(1, 8):
        smaller = model.truncate(k)
        psi = psi_columns(smaller, data.X)
        penalty = [(a.max() ** 2 + a.min() ** 2) / 2 for a in psi.T]
        b = ridge_fit(psi, data.y[:, None], np.ones(200), growth.ridges[k] * np.array(penalty))
        expected = np.column_stack([np.ones(200), psi]) @ b
        np.testing.assert_allclose(smaller.predict(data.X), expected, atol=1e-8)
        assert smaller.losses[-1] == pytest.approx(((data.y[:, None] - expected) ** 2).mean())
    rows = [tree.rows for tree in model.trees]
    assert rows == [200] * len(rows)


def test_it_is_better_and_keeps_limits() -> None:
    changed = 0
    for seed in range(8):
        data = patients(seed)
        plain, polished = (grown(data, polish=p, max_trees=2, max_depth=2).model for p in (0, 1))
        before, after = (objective(psi_columns(m, data.X), data.y) for m in (plain, polished))
        assert after <= before + 1e-9
        changed += after < before
        assert len(polished.trees) <= 2
        assert max(tree.depth() for tree in polished.trees) <= 2
    assert changed


def test_what_cannot_be_polished_is_named() -> None:
    from figs_spark import FIGSClassifier

    stage = FIGSClassifier()
    stage._check_polish(GrowthRules(ridge=0.0))
    stage._check_polish(GrowthRules(ridge=None, polish=True))
    with pytest.raises(ValueError, match=r"regParam is 0(.|\n)*maxSplits is None"):
        stage._check_polish(GrowthRules(ridge=0.0, polish=True, max_splits=None))
    with pytest.raises(ValueError, match=r"loss is 'logistic'(.|\n)*there are constraints"):
        stage._check_polish(
            GrowthRules(ridge=None, polish=True, logistic=True, constraints=Constraints())
        )
