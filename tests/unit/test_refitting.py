"""Leaf values fitted together: against brute force, for every size, link and division of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.engine import cells as cells_module
from figs_spark.engine.cells import CellWork, all_cells
from figs_spark.engine.grower import Growth
from figs_spark.engine.logistic_fit import likeliest
from figs_spark.engine.refitting import LEAST_RIDGE, Basis, Refit, fit_path
from figs_spark.engine.replay import Replay, held_out_losses
from figs_spark.engine.training import refit
from figs_spark.treesum import TreeSum
from figs_spark.treesum.nodes import IDENTITY, LOGIT
from figs_spark.treesum.serialization import from_json, to_json
from tests.support.oracle import logistic_fit, psi_columns, ridge_fit
from tests.support.small import Data


def patients(rows: int = 400, classes: int = 0, seed: int = 3, **options: Any) -> Data:
    random = np.random.default_rng(seed)
    X = random.integers(0, 8, (rows, 4)) / 2
    signal = 1.2 * (X[:, 0] > 2) + X[:, 1] * (X[:, 2] > 1) - 0.8 * (X[:, 3] > 1.5)
    if classes == 0:
        return Data(X, signal + random.normal(0, 0.5, rows), **options)
    if classes == 2:
        y = (random.random(rows) < 1 / (1 + np.exp(2 - signal))).astype(float)
        return Data(X, y, classes=2, **options)
    return Data(X, np.digitize(signal + random.normal(0, 0.5, rows), [0.5, 2.0]) * 1.0, classes=3)


def grown(data: Data, **rules: Any) -> Growth:
    growth = data.growth(**({"max_splits": 6} | rules))
    data.backend.grow([growth], lambda models: None)
    return growth


def refitted(data: Data, link: str = IDENTITY, **rules: Any) -> TreeSum:
    growth = grown(data, **rules)
    refit(data.backend, [growth], Refit(link), None)
    return growth.model


def weights_of(data: Data) -> np.ndarray:
    return np.ones(len(data.X)) if data.weight is None else data.weight


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("block_rows", [7, 1000])
def test_least_squares_equals_brute_force_at_every_size(classes: int, block_rows: int) -> None:
    data = replace(patients(classes=classes), block_rows=block_rows)
    model = refitted(data)
    y = np.eye(3)[data.y.astype(int)] if classes == 3 else data.y[:, None]
    assert model.link == IDENTITY
    for k in range(len(model.splits) + 1):
        smaller = model.truncate(k)
        psi = psi_columns(smaller, data.X) if k else np.zeros((len(data.X), 0))
        b = ridge_fit(psi, y, weights_of(data), np.zeros(k))
        expected = np.column_stack([np.ones(len(psi)), psi]) @ b
        np.testing.assert_allclose(smaller.predict(data.X), expected, atol=1e-9)
        assert smaller.losses[-1] == pytest.approx(((y - expected) ** 2).sum(axis=1).mean())
        assert smaller.losses == model.losses[: k + 1]


@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_equals_brute_force_at_every_size(weighted: bool) -> None:
    data = patients(classes=2)
    if weighted:
        data = replace(data, weight=np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(data.X)))
    model, w = refitted(data, LOGIT), weights_of(data)
    mean = w @ data.y / w.sum()
    assert model.link == LOGIT
    for k in range(len(model.splits) + 1):
        smaller = model.truncate(k)
        psi = psi_columns(smaller, data.X) if k else np.zeros((len(data.X), 0))
        even = np.array([(r**2).max() for r in psi.T]) if k else np.zeros(0)
        penalties = LEAST_RIDGE * mean * (1 - mean) * (even + 1 / even) / 2
        b = logistic_fit(psi, data.y, w, penalties)
        expected = np.column_stack([np.ones(len(psi)), psi]) @ b
        np.testing.assert_allclose(smaller.predict(data.X)[:, 0], expected, atol=2e-4)
        risk = 1 / (1 + np.exp(-smaller.predict(data.X)[:, 0]))
        assert risk @ w / w.sum() == pytest.approx(mean)  # calibrated in the large
        assert smaller.losses[-1] == pytest.approx(w @ (data.y - risk) ** 2 / w.sum())


def test_integer_weights_are_replicated_rows() -> None:
    data = patients(classes=2)
    times = np.random.default_rng(2).integers(1, 4, len(data.X))
    weighted = refitted(replace(data, weight=times.astype(float)), LOGIT)
    copies = Data(np.repeat(data.X, times, axis=0), np.repeat(data.y, times), classes=2)
    copied = refitted(copies, LOGIT)
    np.testing.assert_allclose(weighted.predict(data.X), copied.predict(data.X), atol=1e-9)


def test_a_leaf_without_events_has_finite_log_odds() -> None:
    X = np.repeat(np.arange(4.0), 50)[:, None]
    y = (X[:, 0] >= 2).astype(float)
    scores = refitted(Data(X, y, classes=2), LOGIT).predict(X)[:, 0]
    assert 3 < np.abs(scores).min() <= np.abs(scores).max() < 20


def test_a_sample_of_one_class_has_no_splits_and_finite_log_odds() -> None:
    X = np.arange(20.0)[:, None]
    model = refitted(Data(X, np.zeros(20), classes=2), LOGIT)
    assert model.splits == []
    assert -6 < model.predict(X)[0, 0] < -3


def test_without_class_weights_the_probabilities_are_rates() -> None:
    data = patients(2000, classes=2)
    factors = np.array([1.0, 6.0])
    weighted = replace(data, weight=factors[data.y.astype(int)])
    scores = {}
    for unweighted in (False, True):
        growth = grown(weighted)
        refit(weighted.backend, [growth], Refit(LOGIT, unweighted), (1.0, 6.0))
        scores[unweighted] = 1 / (1 + np.exp(-growth.model.predict(data.X)[:, 0]))
        assert ("without their class weights" in growth.model.remarks[0]) == unweighted
    assert scores[True].mean() == pytest.approx(data.y.mean(), abs=1e-9)
    assert scores[False].mean() > data.y.mean() + 0.1


def test_held_out_losses_are_those_of_the_fitted_sizes() -> None:
    random = np.random.default_rng(0)
    data = replace(patients(classes=2), held=np.where(random.random(400) < 0.3, 0, 255))
    growth = grown(data)
    refit(data.backend, [growth], Refit(LOGIT), None)
    total = held_out_losses(iter(data.blocks), [Replay.of(growth)], data.backend.weights)
    held = data.held == 0
    assert total[0] == held.sum()
    for k in range(len(growth.model.splits) + 1):
        p = 1 / (1 + np.exp(-growth.model.truncate(k).predict(data.X[held])[:, 0]))
        assert total[1 + k] / total[0] == pytest.approx(((data.y[held] - p) ** 2).mean())


def test_a_fitted_model_is_read_as_it_was_written() -> None:
    model = refitted(patients(classes=2), LOGIT)
    again = from_json(to_json(model))
    assert again == model
    assert again.truncate(2) == model.truncate(2)
    changed = to_json(model).replace('"link": "logit"', '"link": "probit"')
    with pytest.raises(ValueError, match="damaged: the entry 'link' is 'probit'"):
        from_json(changed)


@given(st.integers(0, 10_000), st.integers(1, 3), st.sampled_from([0, 1, 5, 200]))
def test_cells_are_numbered_in_the_order_of_their_leaves(seed: int, trees: int, rows: int) -> None:
    leaves = np.random.default_rng(seed).integers(0, 6, (trees, rows)).astype(np.int32)
    first, number = cells_module._numbered(leaves)
    keys = np.ravel_multi_index(tuple(leaves), (6,) * trees)
    _, expected_first, expected = np.unique(keys, return_index=True, return_inverse=True)
    assert first.tolist() == expected_first.tolist()
    assert number.tolist() == expected.tolist()


def test_more_cells_than_fit_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    data = patients()
    growth = grown(data)
    work = CellWork([0], [growth.trees.arrays()], data.backend.weights)
    count = len(all_cells([work(iter(data.blocks))[0]]))
    monkeypatch.setattr(cells_module, "MOST_CELLS", count - 1)
    with pytest.raises(ValueError, match=f"more than {count - 1} ways.*Lower maxSplits"):
        all_cells([work(iter(data.blocks))[0]])
    monkeypatch.setattr(cells_module, "MOST_CELLS", count)
    parts = [work(iter([block]))[0] for block in replace(data, block_rows=9).blocks]
    assert len(all_cells(parts)) == count


def test_keys_of_many_trees_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    data = patients()
    growth = grown(data, max_depth=1)
    work = CellWork([0], [growth.trees.arrays()], data.backend.weights)
    whole = work(iter(data.blocks))[0]
    monkeypatch.setattr(cells_module, "LARGEST_KEY", 20)
    again = work(iter(data.blocks))[0]
    assert whole is not None
    assert again is not None
    assert again.leaves.tolist() == whole.leaves.tolist()
    assert again.weight.tolist() == whole.weight.tolist()


@given(st.integers(0, 10_000), st.floats(0, 50))
@settings(max_examples=60, deadline=None)
def test_newton_ends_where_no_direction_leads_down(seed: int, ridge: float) -> None:
    random = np.random.default_rng(seed)
    columns = np.column_stack([np.ones(30), random.choice([-3.0, 0.0, 0.2], (30, 4))])
    weight = random.choice([0.1, 1.0, 40.0], 30)
    penalties = np.append(0.0, np.full(4, ridge + 0.01))
    events = weight[:, None] * random.random((30, 1)).round()
    if 0 < events.sum() < weight.sum():
        b = likeliest(columns, weight, events, penalties, np.zeros((5, 1)))
        p = 1 / (1 + np.exp(-columns @ b))
        gradient = columns.T @ (events - weight[:, None] * p) - penalties[:, None] * b
        assert np.abs(gradient).max() < 1e-4 * weight.sum()
    classes = weight[:, None] * np.eye(4)[random.choice(4, 30, p=[0.1, 0.2, 0.3, 0.4])]
    b = likeliest(columns, weight, classes, penalties, np.zeros((5, 4)))
    seen = classes.sum(axis=0) > 0
    np.testing.assert_allclose(b.sum(axis=1), 0, atol=1e-9)
    np.testing.assert_array_equal(b[:, ~seen], 0)
    power = np.exp(columns @ b[:, seen])
    rest = classes[:, seen] - weight[:, None] * power / power.sum(axis=1, keepdims=True)
    gradient = columns.T @ rest - penalties[:, None] * b[:, seen]
    assert np.abs(gradient).max() < 1e-4 * weight.sum()


def test_ridge_equals_brute_force() -> None:
    data = patients()
    growth = grown(data)
    work = CellWork([0], [growth.trees.arrays()], data.backend.weights)
    basis = Basis(growth.trees.nodes)
    ridges = [3.0 + k for k in range(growth.steps + 1)]
    fitted = fit_path(all_cells([work(iter(data.blocks))[0]]), basis, ridges, IDENTITY)
    psi = psi_columns(growth.model, data.X)
    y = (data.y - data.target.centre)[:, None]
    for k, b in enumerate(fitted.path):
        expected = ridge_fit(psi[:, :k], y, np.ones(len(y)), ridges[k] * basis.penalty[:k])
        np.testing.assert_allclose(b, expected, atol=1e-9)
