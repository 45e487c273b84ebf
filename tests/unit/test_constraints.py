"""Each constraint holds, exactly, in every way to grow; and splits are the best allowed ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.engine.bins import make_bins
from figs_spark.engine.constraints import Constraints, ordered, two_sides
from figs_spark.engine.histograms import Layout
from figs_spark.engine.refitting import Refit
from figs_spark.engine.table import Target
from figs_spark.engine.training import refit
from figs_spark.treesum import Feature, TreeSum
from figs_spark.treesum.nodes import IDENTITY, LOGIT
from tests.support.oracle import every_cut
from tests.support.small import Data, assert_same_model

WAYS: dict[str, dict[str, Any]] = {
    "paper": {},
    "ridge": {"ridge": 3.0, "joint": False},
    "subset": {"features_per_step": 2, "joint": False},
    "joint": {"ridge": None},
    "logistic": {"logistic": True},
    "linear refit": {},
    "logistic refit": {"ridge": None},
}
every_way = pytest.mark.parametrize("way", WAYS)


def patients(rows: int = 500, seed: int = 0, missing: float = 0.0) -> Data:
    """Two classes by four features; the risk falls with the first on average, not everywhere."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 9, (rows, 4)).astype(float)
    score = -0.4 * X[:, 0] + 1.5 * (X[:, 0] == 6) + 0.5 * X[:, 1] * (X[:, 2] > 4) + 0.2 * X[:, 3]
    y = (random.random(rows) < 1 / (1 + np.exp(-score))).astype(float)
    X[random.random(X.shape) < missing] = np.nan
    return Data(X, y, classes=2)


def fitted(data: Data, way: str, splits: int = 8, **constraints: Any) -> TreeSum:
    rules = {"max_splits": splits, "constraints": Constraints(**constraints), **WAYS[way]}
    growth = data.growth(**rules)
    data.backend.grow([growth], lambda models: None)
    if way in ("logistic", "logistic refit", "linear refit"):
        refit(data.backend, [growth], Refit(IDENTITY if way == "linear refit" else LOGIT), None)
    return growth.model


def used(model: TreeSum) -> set[int]:
    return {split.feature for split in model.splits}


def tree_features(model: TreeSum) -> list[set[int]]:
    return [{n.split.feature for n in tree.walk() if n.split} for tree in model.trees]


@every_way
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_monotone_features_are_monotone_in_every_size(way: str, sign: int, missing: float) -> None:
    data = patients(missing=missing)
    monotone = (-1, 0, sign, 0)
    model = fitted(data, way, monotone=monotone)
    free = fitted(data, way)
    values = np.arange(-1, 10.0)
    grid = np.array(list(product(values, [0.0, 4.0, 8.0, np.nan], values, [1.0, 6.0])))
    for feature, direction in ((0, -1), (2, sign)):
        ordered_rows = np.lexsort((grid[:, feature], *np.delete(grid, feature, axis=1).T))
        table = grid[ordered_rows]
        same = table[1:, feature] > table[:-1, feature]
        for k in range(len(model.splits) + 1):
            steps = np.diff(model.truncate(k).predict(table)[:, 0])[same]
            assert (direction * steps >= 0).all()
    assert model.predict(grid).tolist() != free.predict(grid).tolist()
    assert len(model.splits) >= 4


@every_way
def test_forbidden_features_are_as_if_they_were_not_there(way: str) -> None:
    data = patients()
    model = fitted(data, way, forbidden=frozenset({1}))
    assert used(model) == {0, 2, 3}
    if way != "subset":  # others are drawn where a feature is missing
        X = data.X.copy()
        X[:, 1] = 0.0
        assert_same_model(model, fitted(replace(data, X=X), way))


@every_way
def test_required_features_are_used(way: str) -> None:
    random = np.random.default_rng(0)
    data = patients()
    X = np.column_stack([data.X, random.integers(0, 5, (500, 2))])  # noise
    wide = replace(data, X=X)
    for splits in (2, 3, 6):
        model = fitted(wide, way, splits=splits, required=(4, 5))
        assert used(model) >= {4, 5}
        assert len(model.splits) == splits
    assert not used(fitted(wide, way, splits=3)) >= {4, 5}


def test_a_required_feature_without_gain_is_split_when_growing_ends() -> None:
    X = np.array([[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)] * 20)
    data = Data(X, X[:, 0])
    model = data.fit(max_splits=None, constraints=Constraints(required=(1,)))
    assert used(model) == {0, 1}
    joint = data.fit(max_splits=5, ridge=1.0, constraints=Constraints(required=(1,)))
    assert used(joint) == {0, 1}


@every_way
def test_a_required_feature_that_cannot_be_split_is_named(way: str) -> None:
    data = patients()
    X = data.X.copy()
    X[:, 3] = 1.0
    with pytest.raises(ValueError, match=r"required names 'x3'.*no split on it is valid"):
        fitted(replace(data, X=X), way, required=(3,))


@every_way
def test_features_share_a_tree_only_within_a_group(way: str) -> None:
    groups = (frozenset({0, 1}), frozenset({1, 2}))
    model = fitted(patients(1500), way, splits=10, groups=groups)
    for features in tree_features(model):
        assert features <= {0, 1} or features <= {1, 2} or features == {3}


@every_way
def test_no_more_features_than_allowed(way: str) -> None:
    assert len(used(fitted(patients(), way))) > 2
    for most in (1, 2):
        assert len(used(fitted(patients(), way, max_features=most))) == most
    both = fitted(patients(), way, max_features=2, required=(3,))
    assert len(used(both)) == 2
    assert 3 in used(both)


@every_way
def test_costly_features_come_later_or_never(way: str) -> None:
    data = patients()
    assert 1 in used(fitted(data, way))
    assert 1 not in used(fitted(data, way, costs=(0.0, 5.0, 0.0, 0.0)))
    assert len(used(fitted(data, way, new_feature_penalty=1.0))) == 1


def test_gains_of_a_model_are_those_without_penalties() -> None:
    data = patients()
    plain = data.fit(max_splits=1)
    costly = data.fit(max_splits=1, constraints=Constraints(costs=(0.01,) * 4))
    assert costly.splits == plain.splits


@every_way
def test_no_constraint_changes_nothing(way: str) -> None:
    data = patients()
    free = fitted(data, way)
    rules = {"max_splits": 8, **WAYS[way]}
    growth = data.growth(**rules)
    data.backend.grow([growth], lambda models: None)
    assert growth.model.splits == free.splits


def test_little_room_for_histograms_gives_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    from figs_spark.engine import candidates

    data = patients()
    asked = {"monotone": (-1, 0, 1, 0), "new_feature_penalty": 0.3, "max_features": 3}
    expected = fitted(data, "paper", 10, **asked)
    monkeypatch.setattr(candidates, "HISTOGRAM_BYTES", 0)
    assert_same_model(fitted(data, "paper", 10, **asked), expected)


@given(st.integers(0, 10_000), st.sampled_from([1, -1]))
@settings(max_examples=40, deadline=None)
def test_the_first_split_is_the_best_in_order(seed: int, sign: int) -> None:
    random = np.random.default_rng(seed)
    X = random.integers(0, 5, (30, 2)).astype(float)
    y = random.normal(size=30)
    model = Data(X, y).fit(max_splits=1, constraints=Constraints(monotone=(sign, 0)))
    gains = {}
    for j, threshold, _, left in every_cut(X, np.arange(30)):
        right = np.setdiff1d(np.arange(30), left)
        low, high = y[left].mean(), y[right].mean()
        if j == 1 or sign * (high - low) >= 0:
            sides = ((len(left), low), (len(right), high))
            gains[j, threshold] = sum(n * (mean - y.mean()) ** 2 for n, mean in sides)
    best = max(gains.values())
    split = model.splits[0]
    assert split.gain == pytest.approx(best)
    assert gains[split.feature, split.threshold] == pytest.approx(best)


def test_what_cannot_hold_is_named_with_what_the_outcome_forbids() -> None:
    from figs_spark import FIGSRegressor

    stage = FIGSRegressor(refit="logistic", forbidden=["bmi"], required=["age", "sex"])
    features, numbers = (Feature("age"), Feature("sex")), Target(0, 0.0)
    checked: Any = SimpleNamespace(table=SimpleNamespace(features=features, target=numbers))
    with pytest.raises(ValueError, match="refit 'logistic' is for classes") as error:
        stage.setMaxFeatures(1)._plan(checked)
    assert "forbidden names 'bmi'" in str(error.value)
    assert "required names 2 features, and maxFeatures allows 1" in str(error.value)


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_least_squares_in_order_equals_a_general_optimiser(seed: int) -> None:
    from scipy.optimize import minimize

    random = np.random.default_rng(seed)
    size = int(random.integers(2, 6))
    root = random.normal(size=(size, size))
    products, targets = root @ root.T + 0.1 * np.eye(size), random.normal(size=size)
    rows = np.zeros((int(random.integers(0, 5)), size))
    for row in rows:  # of two numbers the first is to be smaller
        row[random.choice(size - 1)] = 1.0
        row[-1] = -1.0
    b = ordered(products, targets, rows, 1e-6)
    assert (rows @ b <= -0.9e-6).all()

    def value(b: np.ndarray) -> float:
        return float(b @ products @ b - 2 * targets @ b)

    limits = [{"type": "ineq", "fun": lambda b, row=row: -(row @ b) - 1e-6} for row in rows]
    other = minimize(value, np.append(np.zeros(size - 1), 1.0), constraints=limits, method="SLSQP",
                     options={"ftol": 1e-14, "maxiter": 1000})  # fmt: skip
    assert value(b) <= other.fun + 1e-6 * (1 + abs(other.fun))


def test_cuts_are_those_that_are_allowed() -> None:
    random = np.random.default_rng(0)
    X = random.uniform(0, 20, (400, 2))
    y = X[:, 0] + X[:, 1] + random.normal(0, 0.1, 400)
    features = [Feature("age"), Feature("dose")]
    data = Data(X, y)
    bins = make_bins(X, features, 255, cuts={0: (2.0, 5.0, 16.0), 1: 5.0})
    object.__setattr__(data, "bins", bins)
    model = data.fit(max_splits=12)
    cuts = {j: {s.threshold for s in model.splits if s.feature == j} for j in (0, 1)}
    assert cuts[0] == {2.0, 5.0, 16.0}
    assert cuts[1] <= {0.0, 5.0, 10.0, 15.0, 20.0}
    assert len(cuts[1]) >= 3
    digitised = X.copy()
    digitised[:, 0] = np.digitize(X[:, 0], [2.0, 5.0, 16.0], right=True)
    digitised[:, 1] = np.digitize(X[:, 1], [0.0, 5.0, 10.0, 15.0, 20.0], right=True)
    expected = Data(digitised, y).fit(max_splits=12)
    np.testing.assert_allclose(model.predict(X), expected.predict(digitised))


def test_both_sides_of_every_cut() -> None:
    layout = Layout((3, 4), 1, True)
    histogram = np.arange(21.0).reshape(7, 3)
    histogram[:3, 2], histogram[3:, 2] = [1, 0, 2], [1, 1, 0, 1]
    left, right = two_sides(histogram, layout)
    assert left[0].tolist() == (histogram[0] + histogram[2]).tolist()
    assert left[1].tolist() == histogram[0].tolist()
    assert left[8].tolist() == (histogram[3] + histogram[4] + histogram[6]).tolist()
    assert (left + right).tolist() == [histogram[:3].sum(axis=0).tolist()] * 14
