"""The grower against a plain NumPy oracle, and each promise of the algorithm on its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from figs_spark.engine.grower import grow
from figs_spark.engine.replay import Replay, held_out_losses
from figs_spark.treesum import Node, TreeSum
from tests.support.oracle import figs
from tests.support.small import Data, assert_same_model, assert_same_steps, steps

WEIGHTS = (0.0, 1 / 3, 0.5, 1.0, 2.0, 7.25)
CELLS = (-1.5, 0.0, 1.0, 2.0, 2.25, 1e9)


@st.composite
def data_sets(draw: st.DrawFn, exact: bool = False) -> Data:
    """Few rows with few distinct values, so that ties, empty bins and pure leaves are common.

    `exact` leaves out what the oracle does not know: categories and bins of several values.
    """
    rows, features = draw(st.integers(2, 40)), draw(st.integers(1, 3))
    cell = st.sampled_from([*CELLS, np.nan] if draw(st.booleans()) else CELLS)
    classes = draw(st.sampled_from([0, 2, 3]))
    label = st.sampled_from([-1.0, 0.1, 0.3, 2.0]) if classes == 0 else st.integers(0, classes - 1)
    weight = draw(st.none() | arrays(float, rows, elements=st.sampled_from(WEIGHTS)))
    if weight is not None:
        weight[0] = 1.0
    categorical = () if exact else draw(st.sets(st.integers(0, features - 1)))
    return Data(
        X=draw(arrays(float, (rows, features), elements=cell)),
        y=draw(arrays(float, rows, elements=label)),
        weight=weight,
        classes=classes,
        categorical=tuple(categorical),
        max_bins=255 if exact or categorical else draw(st.sampled_from([3, 255])),
        block_rows=draw(st.sampled_from([1, 7, 1000])),
    )


def limits() -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {},
        optional={
            "max_splits": st.integers(0, 6),
            "max_trees": st.integers(1, 3),
            "max_depth": st.integers(1, 3),
            "min_rows": st.integers(1, 6),
            "min_weight_fraction": st.sampled_from([0.05, 0.1, 0.25, 0.5]),
            "min_impurity_decrease": st.sampled_from([0.001, 0.02, 0.1]),
            "ridge": st.sampled_from([0.5, 3.0]),
        },
    )


def additive(rows: int = 600, **options: Any) -> Data:
    """A sum of an interaction and two main effects, with noise, over values in steps of 1/4."""
    random = np.random.default_rng(7)
    X = random.integers(0, 20, (rows, 5)) / 4
    y = X[:, 0] * (X[:, 1] > 2) + 2 * (X[:, 2] > 3) - X[:, 3] + random.normal(0, 0.3, rows)
    return Data(X, y, **options)


def targets(data: Data) -> np.ndarray:
    return np.eye(3)[data.y.astype(int)] if data.classes == 3 else data.y[:, None]


@given(data_sets(exact=True), limits())
@settings(max_examples=200, deadline=None)
def test_the_grower_equals_the_oracle(data: Data, limits: dict[str, Any]) -> None:
    expected = figs(data.X, targets(data), data.weight, **limits)
    model = data.fit(**limits, joint=False)
    assert_same_steps(steps(model), expected)
    scores, y = model.predict(data.X), targets(data)
    w = np.ones(len(y)) if data.weight is None else data.weight
    loss = (w @ (y - scores) ** 2).sum() / w.sum()
    np.testing.assert_allclose(model.losses[-1], loss, rtol=1e-6, atol=1e-9)


def nodes(model: TreeSum) -> list[Node]:
    return [node for tree in model.trees for node in tree.walk()]


@pytest.mark.parametrize(
    ("limit", "holds"),
    [
        ({"max_splits": 5}, lambda m: len(m.splits) <= 5),
        ({"max_trees": 2}, lambda m: len(m.trees) <= 2),
        ({"max_depth": 1}, lambda m: max(tree.depth() for tree in m.trees) <= 1),
        ({"min_rows": 160}, lambda m: min(node.rows for node in nodes(m)) >= 160),
        ({"min_weight_fraction": 0.2}, lambda m: min(n.weight for n in nodes(m)) >= 120),
        ({"min_impurity_decrease": 0.1}, lambda m: min(s.gain for s in m.splits) > 60),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_limit_holds_where_the_model_would_pass_it(
    limit: dict[str, Any], holds: Callable[[TreeSum], bool]
) -> None:
    data = additive()
    free, limited = data.fit(), data.fit(**limit)
    assert not holds(free)
    assert holds(limited)
    assert_same_steps(steps(limited), figs(data.X, data.y, **limit))


@pytest.mark.parametrize("weight", [0.07, 0.1, 0.3, 0.7, 1 / 3])
def test_a_leaf_may_have_exactly_the_least_weight(weight: float) -> None:
    X, y = np.arange(8.0)[:, None], np.array([0, 0, 1, 1, 5, 5, 7, 7.0])
    model = Data(X, y, np.full(8, weight)).fit(min_weight_fraction=0.25, max_trees=1)
    assert [step.threshold for step in steps(model)] == [3.5, 5.5, 1.5]


def test_a_gain_must_be_above_the_least_decrease() -> None:
    data = Data(np.array([[0.0], [0], [1], [1]]), np.array([0.0, 0, 1, 1]))  # gain / weight = 1/4
    assert not data.fit(min_impurity_decrease=0.25).splits
    assert len(data.fit(min_impurity_decrease=0.2499).splits) == 1


@given(data_sets(), st.integers(0, 5))
@settings(max_examples=60, deadline=None)
def test_a_smaller_model_is_the_beginning_of_a_larger_one(data: Data, k: int) -> None:
    assert data.fit(max_splits=k) == data.fit(max_splits=8).truncate(k)


@given(data_sets(), st.data())
@settings(max_examples=60, deadline=None)
def test_integer_weights_equal_replicated_rows(data: Data, draw: st.DataObject) -> None:
    times = draw.draw(arrays(int, len(data.y), elements=st.integers(0, 3)))
    times[0] = 1
    weighted = replace(data, weight=times.astype(float), max_bins=255)
    replicated = replace(
        data, X=data.X.repeat(times, axis=0), y=data.y.repeat(times), weight=None, max_bins=255
    )
    assert_same_model(weighted.fit(), replicated.fit())


@given(data_sets(), limits(), st.data())
@settings(max_examples=60, deadline=None)
def test_a_row_that_stands_for_several_equals_all_of_them(
    data: Data, limits: dict[str, Any], draw: st.DataObject
) -> None:
    times = draw.draw(arrays(int, len(data.y), elements=st.integers(1, 3)))
    weight = None if data.weight is None else data.weight * times
    merged = replace(data, weight=weight, count=times.astype(float), max_bins=255)
    several = replace(
        data,
        X=data.X.repeat(times, axis=0),
        y=data.y.repeat(times),
        weight=None if data.weight is None else data.weight.repeat(times),
        max_bins=255,
    )
    model, expected = merged.fit(**limits), several.fit(**limits)
    assert_same_model(model, expected)
    assert [n.rows for n in nodes(model)] == [n.rows for n in nodes(expected)]


@given(data_sets())
@settings(max_examples=60, deadline=None)
def test_rows_of_weight_zero_are_as_if_absent(data: Data) -> None:
    weight = np.ones(len(data.y)) if data.weight is None else data.weight
    every, some = replace(data, weight=weight, max_bins=255), weight > 0
    fewer = replace(every, X=data.X[some], y=data.y[some], weight=weight[some])
    model, expected = every.fit(), fewer.fit()
    assert_same_model(model, expected)
    assert [n.rows for n in nodes(model)] == [n.rows for n in nodes(expected)]


@given(data_sets())
@settings(max_examples=60, deadline=None)
def test_losses_are_the_mean_squared_errors_along_the_path(data: Data) -> None:
    model = data.fit()
    errors = [
        ((targets(data) - model.truncate(k).predict(data.X)) ** 2).sum(axis=1)
        for k in range(len(model.splits) + 1)
    ]
    expected = [np.average(error, weights=data.weight) for error in errors]
    np.testing.assert_allclose(model.losses, expected, rtol=1e-9, atol=1e-12)


@given(data_sets(), st.data())
@settings(max_examples=60, deadline=None)
def test_held_losses_equal_those_of_each_truncated_model(data: Data, draw: st.DataObject) -> None:
    """Also where held rows have values and categories that the training rows lack."""
    held = draw.draw(arrays(np.uint8, len(data.y), elements=st.sampled_from([0, 1, 255])))
    held[0] = 255
    data = replace(data, held=held)
    growths = [data.growth(member) for member in (0, 1)]
    models = grow(growths, data.backend)
    found = held_out_losses(
        iter(data.blocks), [Replay.of(g) for g in growths], data.backend.weights
    )
    expected = []
    for member, model in enumerate(models):
        here = held == member
        weight = (np.ones(len(held)) if data.weight is None else data.weight)[here]
        expected.append(weight.sum())
        for k in range(len(model.splits) + 1):
            predicted = data.target.outcome.expected_table(model.truncate(k).predict(data.X[here]))
            expected.append(weight @ ((targets(data)[here] - predicted) ** 2).sum(axis=1))
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_the_toy_function_is_recovered_as_two_trees_with_three_splits() -> None:
    X = np.array(list(product([-2.0, -1.0, 1.0, 3.0], repeat=3)))
    on = (X > 0).astype(float)
    data = Data(X, on[:, 0] + on[:, 1] * on[:, 2])
    model = data.fit(max_splits=12)
    assert [(s.tree, s.feature, s.threshold) for s in steps(model)] == [
        (0, 0, 0.0),
        (1, 1, 0.0),
        (1, 2, 0.0),
    ]
    np.testing.assert_allclose(model.predict(X)[:, 0], data.y, atol=1e-12)


def test_of_equal_gains_the_first_tree_and_leaf_win_and_a_new_root_is_last() -> None:
    X = np.array(list(product([0.0, 1.0], repeat=3)))
    beside_a_root = Data(X, 10 * X[:, 0] + X[:, 1] + np.sqrt(2) * X[:, 2] * X[:, 0])
    found = [(s.tree, s.feature) for s in steps(beside_a_root.fit(max_splits=3))]
    assert found == [(0, 0), (0, 2), (1, 1)]
    root = Data(X, 10 * X[:, 0] + X[:, 1]).fit(max_splits=2, max_trees=1).trees[0]
    assert root.left is not None
    assert root.left.split is not None


def test_an_offset_of_a_billion_costs_no_precision() -> None:
    data = additive()
    data = replace(data, y=np.round(data.y * 1024) / 1024)  # exact beside 1e9
    model, far = data.fit(), replace(data, y=data.y + 1e9).fit()
    assert [step[:4] for step in steps(model)] == [step[:4] for step in steps(far)]
    gains, far_gains = ([s.gain for s in m.splits] for m in (model, far))
    np.testing.assert_allclose(far_gains, gains, rtol=1e-9)
    np.testing.assert_allclose(far.losses, model.losses, rtol=1e-9)
    np.testing.assert_allclose(far.predict(data.X) - 1e9, model.predict(data.X), atol=1e-6)


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("settings", [{}, {"features_per_step": 2, "seed": 3}])
def test_neither_the_order_of_rows_nor_the_size_of_blocks_changes_the_model(
    classes: int, settings: dict[str, Any]
) -> None:
    random = np.random.default_rng(0)
    weight = random.choice([0.1, 0.7, 1 / 3], 600)
    data = additive(weight=weight, categorical=(4,))
    if classes:
        data = replace(data, y=np.digitize(data.y, [-1, 1]), classes=classes)
    expected = data.fit(**settings)
    for block_rows in (17, 250):
        p = random.permutation(600)
        rows: dict[str, Any] = {"X": data.X[p], "y": data.y[p], "weight": weight[p]}
        assert_same_model(replace(data, block_rows=block_rows, **rows).fit(**settings), expected)


def test_equal_categories_and_equal_sides_do_not_depend_on_rounding() -> None:
    """Six categories vary as much in one direction as in another, and every split is even."""
    category, x = np.repeat(np.arange(6.0), 150), np.tile([0.0, 1.0], 450)
    X, y = np.column_stack([x, category]), (category + (x == 0)) % 3
    found = set()
    for seed in range(8):
        p = np.random.default_rng(seed).permutation(900)
        data = Data(X[p], y[p], np.full(900, 0.1), classes=3, categorical=(1,), block_rows=100)
        splits = data.fit().splits
        found.add(tuple((s.threshold, s.categories, s.listed_left, s.missing_left) for s in splits))
    assert len(found) == 1


def test_models_grown_together_equal_those_grown_alone() -> None:
    held, weight = (np.arange(600) % 4).astype(np.uint8), np.linspace(0.1, 3, 600)
    data = additive(held=held, weight=weight)
    both: list[dict[str, int]] = [{}, {"max_splits": 5, "features_per_step": 2}]
    for options in both:
        together = grow([data.growth(member, **options) for member in range(5)], data.backend)
        alone = [grow([data.growth(m, **options)], data.backend)[0] for m in range(5)]
        assert together == alone


def test_a_model_trains_on_the_rows_that_are_not_held_from_it() -> None:
    held, weight = (np.arange(600) % 4).astype(np.uint8), np.linspace(0.1, 3, 600)
    data = additive(held=held, weight=weight)
    for member, model in enumerate(grow([data.growth(m) for m in range(5)], data.backend)):
        kept = held != member
        part = replace(data, X=data.X[kept], y=data.y[kept], weight=weight[kept], held=None)
        assert_same_model(model, part.fit())


def test_random_feature_subsets_depend_on_the_seed_alone() -> None:
    data = additive()
    models = [data.fit(features_per_step=2, seed=seed) for seed in (-1, -1, 0, 0, 1, 1)]
    assert models[0::2] == models[1::2]
    assert len({tuple(steps(m)[0][:3]) for m in models}) > 1
    assert all(len(model.splits) == 12 for model in models)


def test_a_subset_without_a_valid_split_is_drawn_again() -> None:
    X = np.zeros((20, 6))
    X[:, 4] = np.arange(20)
    data = Data(X, np.arange(20.0))
    for seed in range(4):
        model = data.fit(features_per_step=1, seed=seed, max_splits=3)
        assert_same_model(model, data.fit(max_splits=3))


@pytest.mark.parametrize(
    ("data", "settings"),
    [
        (Data(np.zeros((3, 2)), np.array([1.0, 2.0, 6.0])), {}),
        (Data(np.full((3, 1), np.nan), np.array([1.0, 2.0, 6.0])), {}),
        (Data(np.array([[0.0], [1], [2]]), np.array([1.0, 2.0, 6.0])), {"min_rows": 2}),
        (Data(np.array([[0.0], [1], [2]]), np.array([1.0, 2.0, 6.0])), {"max_splits": 0}),
        (Data(np.array([[5.0]]), np.array([3.0])), {}),
    ],
    ids=["constant feature", "all missing", "too few rows", "no splits wanted", "one row"],
)
def test_without_a_valid_split_the_model_is_one_leaf(data: Data, settings: dict[str, Any]) -> None:
    weight = np.linspace(1, 2, len(data.y))
    model = replace(data, weight=weight).fit(**settings)
    mean = np.average(data.y, weights=weight)
    loss = np.average((data.y - mean) ** 2, weights=weight)
    assert len(model.trees) == 1
    assert model.trees[0].split is None
    assert model.trees[0].rows == len(data.y)
    assert [*model.constant, *model.trees[0].value] == pytest.approx([mean] * 2, rel=1e-12)
    assert model.losses == pytest.approx([loss], abs=1e-12)


@pytest.mark.parametrize("constant", [0.0, 0.1, 1 / 3, -7e-5, 1e9 + 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_constant_label_is_never_split(constant: float, weighted: bool) -> None:
    random = np.random.default_rng(0)
    for rows in range(2, 60):
        X = random.integers(0, 5, (rows, 2)).astype(float)
        weight = random.random(rows) if weighted else None
        model = Data(X, np.full(rows, constant), weight).fit()
        assert not model.splits
        assert model.constant[0] == pytest.approx(constant, rel=1e-12)


def test_a_model_without_weight_is_refused() -> None:
    data = replace(additive(), held=np.zeros(600, np.uint8))
    with pytest.raises(ValueError, match="Model 0 has no row with positive weight"):
        data.fit()


nan = np.nan


@pytest.mark.parametrize(
    ("x", "y", "probe", "expected"),
    [
        ([0, 0, 0, 1], [0, 0, 0, 8], nan, 0),
        ([0, 1, 1, 1], [0, 8, 8, 8], nan, 8),
        ([0, 0, 1, 1], [0, 0, 8, 8], nan, 0),
        ([0, 0, 0, 1, nan], [0, 0, 0, 8, 8], nan, 8),
        ([0, 1, 1, 1, nan], [0, 8, 8, 8, 0], nan, 0),
        ([0, 1, 2, nan], [0, 0, 0, 8], nan, 8),
        ([0, 1, 2, nan], [0, 0, 0, 8], 7, 0),
        ([0, 1, 2, 4], [0, 0, 0, 8], 2.9, 0),
        ([0, 1, 2, 4], [0, 0, 0, 8], 3.1, 8),
    ],
)
def test_missing_values_go_where_the_leaf_learned_or_to_the_heavier_child(
    x: list[float], y: list[float], probe: float, expected: float
) -> None:
    model = Data(np.array(x)[:, None], np.array(y, float)).fit(max_splits=1)
    assert model.predict(np.array([[probe]]))[0, 0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        ([3, 3, 5, 7], [0, 0, 0, 8], 0),
        ([3, 5, 7, 7], [0, 8, 8, 8], 8),
        ([3, 3, 5, 5], [0, 0, 8, 8], 0),
        ([3, 3, 5, nan], [0, 0, 0, 8], 0),
        ([3, nan, nan, nan], [0, 8, 8, 8], 8),
    ],
)
def test_an_unseen_category_goes_to_the_heavier_child(
    x: list[float], y: list[float], expected: float
) -> None:
    model = Data(np.array(x)[:, None], np.array(y, float), categorical=(0,)).fit(max_splits=1)
    assert model.predict(np.array([[4.0]]))[0, 0] == pytest.approx(expected)
