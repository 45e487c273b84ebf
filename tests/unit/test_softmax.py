"""More than two classes by the logistic loss: growing and fitting against brute force."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import logsumexp, softmax

from figs_spark.engine.cells import Cells
from figs_spark.engine.kernels.accumulate import probabilities
from figs_spark.engine.logistic_fit import scores_of
from figs_spark.engine.recalibration import METHODS, recalibrated
from figs_spark.engine.refitting import LEAST_RIDGE, Refit
from figs_spark.engine.replay import Replay, held_out_losses
from figs_spark.engine.training import refit
from figs_spark.treesum import TreeSum
from figs_spark.treesum.nodes import SOFTMAX
from figs_spark.treesum.serialization import from_json, to_json
from tests.support.oracle import logistic_figs, psi_columns, softmax_fit
from tests.support.small import Data, assert_same_model, steps
from tests.unit.test_group_values import FOLDS, grown, shrunken
from tests.unit.test_joint_growth import data_sets
from tests.unit.test_refitting import patients, refitted

CLASSES = 3


def one_hot(y: np.ndarray) -> np.ndarray:
    return np.eye(CLASSES)[y.astype(int)]


def fitted(data: Data, **rules: Any) -> TreeSum:
    growth = data.growth(logistic=True, **({"max_splits": 5} | rules))
    data.backend.grow([growth], lambda models: None)
    refit(data.backend, [growth], Refit(SOFTMAX), None)
    return growth.model


numbers = arrays(float, (2, 4), elements=st.floats(-30, 30))


@given(numbers, st.floats(0, 1))
@settings(max_examples=300, deadline=None)
def test_the_parabola_is_above_the_loss(values: np.ndarray, share: float) -> None:
    scores, move = values[0], share * values[1]
    p, ((curvature,),) = probabilities(scores[None])
    bound = logsumexp(scores) + p[0] @ move + curvature / 2 * ((move - move.mean()) ** 2).sum()
    assert logsumexp(scores + move) <= bound + 1e-9
    np.testing.assert_allclose(p[0], softmax(scores), atol=1e-12)
    np.testing.assert_allclose(softmax(scores_of(p[0] + 1e-9)), p[0], atol=1e-8)


@given(data_sets(), st.sampled_from([0.0, 3.0, 30.0]), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_growing_equals_brute_force(data: Data, ridge: float, min_rows: int) -> None:
    three = replace(data, y=np.digitize(data.y, [-0.3, 0.4]).astype(float), classes=CLASSES)
    model = fitted(three, ridge=ridge, max_splits=4, min_rows=min_rows)
    y = one_hot(three.y)
    expected = logistic_figs(three.X, y, three.weight, ridge, 4, min_rows=min_rows)
    assert [step[:4] for step in steps(model)] == [step[:4] for step in expected]
    for split, step in zip(model.splits, expected, strict=True):
        assert split.gain == pytest.approx(step[4], rel=1e-6, abs=1e-9)


def test_many_splits_in_any_division_of_rows_and_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    data = patients(300, classes=CLASSES)
    expected = fitted(data, ridge=None, max_splits=8)
    brute = logistic_figs(data.X, one_hot(data.y), max_splits=8)
    assert [step[:4] for step in steps(expected)] == [step[:4] for step in brute]
    assert len(expected.splits) == 8
    assert_same_model(fitted(replace(data, block_rows=17), ridge=None, max_splits=8), expected)
    monkeypatch.setenv("FIGS_SPARK_NUMBA", "0")
    assert_same_model(fitted(replace(data, block_rows=100), ridge=None, max_splits=8), expected)


def test_two_classes_written_as_several_grow_alike() -> None:
    """With p, y and b written for both classes, gains and the path are those of log odds where
    the curvature is the same: at even odds."""
    data = patients(400, classes=2)
    half = replace(data, y=np.arange(400) % 2.0)
    one = logistic_figs(half.X, half.y, max_splits=1)
    two = logistic_figs(half.X, np.column_stack([1 - half.y, half.y]), max_splits=1)
    assert one[0][:4] == two[0][:4]
    assert one[0][4] == pytest.approx(two[0][4])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_refit_equals_brute_force_at_every_size(weighted: bool) -> None:
    data = patients(classes=CLASSES)
    if weighted:
        data = replace(data, weight=np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(data.X)))
    w = np.ones(len(data.X)) if data.weight is None else data.weight
    model, y = refitted(data, SOFTMAX), one_hot(data.y)
    mean = w @ y / w.sum()
    assert model.link == SOFTMAX
    for k in range(len(model.splits) + 1):
        smaller = model.truncate(k)
        psi = psi_columns(smaller, data.X) if k else np.zeros((len(data.X), 0))
        even = np.array([(r**2).max() for r in psi.T]) if k else np.zeros(0)
        penalties = LEAST_RIDGE * mean @ (1 - mean) * (even + 1 / even) / 2
        b = softmax_fit(psi, y, w, penalties)
        expected = softmax(np.column_stack([np.ones(len(psi)), psi]) @ b, axis=1)
        p = softmax(smaller.predict(data.X), axis=1)
        np.testing.assert_allclose(p, expected, atol=1e-5)
        np.testing.assert_allclose(w @ p / w.sum(), mean, atol=1e-7)  # each class in the large
        assert smaller.losses[-1] == pytest.approx(w @ ((y - p) ** 2).sum(axis=1) / w.sum())
        np.testing.assert_allclose(np.array(smaller.path[-1]).sum(axis=1), 0, atol=1e-8)


def test_sizes_are_nested_and_saved() -> None:
    data = patients(300, classes=CLASSES)
    model = fitted(data, max_splits=4)
    assert_same_model(model.truncate(2), fitted(data, max_splits=2))
    assert from_json(to_json(model)) == model


def test_a_rare_class_does_not_overshoot_and_an_unseen_one_has_a_place() -> None:
    random = np.random.default_rng(1)
    X = random.integers(0, 10, (3000, 3)).astype(float)
    y = np.digitize(random.random(3000) - 0.3 * (X[:, 0] > 8) * (X[:, 1] > 7), [0.01, 0.2]) * 1.0
    model = fitted(Data(X, 2 - y, classes=4), max_splits=8)
    scores = model.predict(X)
    assert np.abs(scores).max() < 15
    assert 0 < softmax(scores, axis=1)[:, 3].max() < 1e-3  # no row is of class 3
    assert model.losses[-1] < model.losses[0]


def test_held_out_losses_are_those_of_the_fitted_sizes() -> None:
    held = np.where(np.random.default_rng(0).random(400) < 0.3, 0, 255)
    data = replace(patients(classes=CLASSES), held=held)
    growth = data.growth(max_splits=4)
    data.backend.grow([growth], lambda models: None)
    refit(data.backend, [growth], Refit(SOFTMAX), None)
    total = held_out_losses(iter(data.blocks), [Replay.of(growth)], data.backend.weights)
    y = one_hot(data.y)[held == 0]
    for k in range(5):
        p = softmax(growth.model.truncate(k).predict(data.X[held == 0]), axis=1)
        assert total[1 + k] / total[0] == pytest.approx(((y - p) ** 2).sum(axis=1).mean())


def test_a_sample_of_one_class_has_finite_weights() -> None:
    model = refitted(Data(np.arange(20.0)[:, None], np.ones(20), classes=CLASSES), SOFTMAX)
    assert model.splits == []
    assert softmax(model.predict(np.zeros((1, 1)))[0])[1] > 0.9


@pytest.mark.parametrize("method", METHODS)
def test_each_size_is_calibrated_on_new_rows(method: str) -> None:
    model, data = refitted(patients(classes=CLASSES), SOFTMAX), patients(700, CLASSES, seed=9)
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 700)
    y = one_hot(np.where(np.random.default_rng(1).random(700) < 0.3, 0, data.y))
    leaves = model.leaf_indices(data.X).astype(np.int32)
    changed = recalibrated(model, Cells(leaves, w, w[:, None] * y, w.sum()), 700, method)
    assert changed.link == SOFTMAX
    for k in range(len(model.splits) + 1):
        before, after = (one.truncate(k).predict(data.X) for one in (model, changed))
        p = softmax(after, axis=1)
        np.testing.assert_allclose(w @ p / w.sum(), w @ y / w.sum(), atol=1e-6)
        assert changed.losses[k] == pytest.approx(w @ ((y - p) ** 2).sum(axis=1) / w.sum())
        if method == "intercept":
            assert np.ptp(after - before, axis=0).max() < 1e-9
        elif method == "slope" and k:
            # the slope of the likelihood is 0 in the direction that stretches all scores
            assert (w @ ((y - p) * before).sum(axis=1)) / w.sum() == pytest.approx(0, abs=1e-6)
    assert from_json(to_json(changed)) == changed
    y[:, 0], y[:, 1] = y[:, 0] + y[:, 1], 0
    with pytest.raises(ValueError, match="lack 1 of the 3 classes"):
        recalibrated(model, Cells(leaves, w, w[:, None] * y, w.sum()), 700, method)


def test_values_of_groups_are_drawn_to_those_of_all_rows() -> None:
    random = np.random.default_rng(4)
    X = random.integers(0, 6, (240, 3)) / 2
    group = random.choice(3, 240, p=[0.6, 0.3, 0.1])
    y = np.digitize((X[:, 0] > 1) + group + random.normal(0, 1, 240), [0.5, 1.5]) * 1.0
    part = (group * FOLDS + random.integers(0, FOLDS, 240)).astype(np.uint8)
    data = Data(X, y, classes=CLASSES, held=part)
    growth = grown(data, splits=3)
    refit(data.backend, [growth], Refit(SOFTMAX), None)
    values = shrunken(data, growth)
    assert {model.link for model in values.models} == {SOFTMAX}
    own = [group == k for k in range(3)]
    for model, rows in zip(values.models, own):
        loss = ((one_hot(y[rows]) - softmax(model.predict(X[rows]), axis=1)) ** 2).sum(axis=1)
        assert model.losses[-1] == pytest.approx(loss.mean())
        everybody = softmax(growth.model.predict(X[rows]), axis=1)
        assert loss.mean() <= ((one_hot(y[rows]) - everybody) ** 2).sum(axis=1).mean() + 1e-9
