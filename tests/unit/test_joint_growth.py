"""Growing with a ridge against brute force, and each promise of it on its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from figs_spark.engine import joint_growth
from figs_spark.engine.joint_growth import JointGrowth
from figs_spark.engine.kernels import joint_split
from figs_spark.engine.kernels.records import CutLimits
from figs_spark.treesum import TreeSum
from figs_spark.treesum.serialization import from_json, to_json
from tests.support.oracle import joint_figs
from tests.support.small import Data, assert_same_model, steps
from tests.unit.test_refitting import patients


@st.composite
def data_sets(draw: st.DrawFn) -> Data:
    rows, features = draw(st.integers(4, 30)), draw(st.integers(1, 3))
    cells = [0.0, 1.0, 2.0, 3.5]
    cell = st.sampled_from([*cells, np.nan] if draw(st.booleans()) else cells)
    classes = draw(st.sampled_from([0, 2, 3]))
    label = st.sampled_from([-1.0, 0.1, 0.3, 2.0]) if classes == 0 else st.integers(0, classes - 1)
    elements = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0])
    weight = draw(st.none() | arrays(float, rows, elements=elements))
    if weight is not None:
        weight[:2] = 1.0
    X = draw(arrays(float, (rows, features), elements=cell))
    y = draw(arrays(float, rows, elements=label))
    return Data(X, y, weight, classes, block_rows=draw(st.sampled_from([5, 1000])))


def targets(data: Data) -> np.ndarray:
    return np.eye(3)[data.y.astype(int)] if data.classes == 3 else data.y[:, None]


def assert_as_brute_force(data: Data, **rules: Any) -> TreeSum:
    model = data.fit(**rules)
    expected = joint_figs(data.X, targets(data), data.weight, **rules)
    found = steps(model)
    assert [step[:4] for step in found] == [step[:4] for step in expected]
    used = slice(None) if data.weight is None else data.weight > 0
    scale = 1e-7 * (1 + np.abs(data.y).max())
    for k, step in enumerate(expected, start=1):
        smaller = model.truncate(k)
        np.testing.assert_allclose(smaller.predict(data.X[used]), step.scores, atol=scale)
        assert smaller.splits[-1].gain == pytest.approx(step.gain, rel=1e-6, abs=scale)
    return model


@given(data_sets(), st.sampled_from([None, 0.3, 3.0, 20.0]), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_growing_equals_brute_force(data: Data, ridge: float | None, min_rows: int) -> None:
    assert_as_brute_force(data, ridge=ridge, max_splits=4, min_rows=min_rows)


@pytest.mark.parametrize("ridge", [None, 2.0])
@pytest.mark.parametrize("limits", [{}, {"max_trees": 2}, {"max_depth": 1}, {"max_trees": 1}])
def test_many_splits_over_many_trees(ridge: float | None, limits: dict[str, int]) -> None:
    data = patients(160)
    model = assert_as_brute_force(data, ridge=ridge, max_splits=9, **limits)
    assert len(model.splits) == 9


@pytest.mark.parametrize("kept", [4, 5])
@pytest.mark.parametrize("together", [1, 1000])
def test_candidates_that_do_not_fit_are_added_up_again(
    monkeypatch: pytest.MonkeyPatch, kept: int, together: int
) -> None:
    data = patients(300)
    rules: dict[str, Any] = {"ridge": None, "max_splits": 10}
    expected = data.fit(**rules)
    one = JointGrowth(*_parts(data, **rules))._bytes_of_one
    monkeypatch.setattr(joint_growth, "JOINT_BYTES", kept * one)
    monkeypatch.setattr(joint_growth, "PASS_BYTES", together * one)
    growth = data.growth(**rules)
    data.backend.grow([growth], lambda models: None)
    assert isinstance(growth, JointGrowth)
    assert growth._let_go
    assert_same_model(growth.model, expected)


def _parts(data: Data, **rules: Any) -> tuple[Any, ...]:
    growth = data.growth(**rules)
    return growth.bins, growth.layout, growth.rules, growth.centre


def test_sizes_are_those_that_growing_passed() -> None:
    data = patients()
    model = data.fit(ridge=None, max_splits=8)
    for k in range(9):
        smaller = data.fit(ridge=None, max_splits=k)
        assert_same_model(model.truncate(k), smaller)
        np.testing.assert_allclose(model.truncate(k).predict(data.X), smaller.predict(data.X))
    assert from_json(to_json(model)) == model


def test_a_large_ridge_shrinks_and_no_ridge_is_the_paper() -> None:
    data = patients()
    plain, small, large = (data.fit(ridge=r, max_splits=6) for r in (0.0, 1e-6, 1e4))
    assert plain.path is None
    assert np.ptp(large.predict(data.X)) < 0.5 * np.ptp(plain.predict(data.X))
    assert small.losses[-1] <= plain.losses[-1] + 1e-9  # all values are fitted together


def test_categories_and_missing_values_compete() -> None:
    random = np.random.default_rng(5)
    X = random.integers(0, 6, (400, 3)).astype(float)
    X[random.random((400, 3)) < 0.1] = np.nan
    y = 2.0 * np.isin(X[:, 0], [1, 4]) + (X[:, 1] > 2) + random.normal(0, 0.3, 400)
    data = Data(X, y, categorical=(0,))
    model = data.fit(ridge=None, max_splits=5)
    assert any(split.categories is not None for split in model.splits)
    f = model.predict(X)[:, 0]
    assert ((y - f) ** 2).mean() == pytest.approx(model.losses[-1])


def test_any_division_of_rows_gives_the_same_model() -> None:
    data = patients(500, weight=np.random.default_rng(0).choice([0.1, 1 / 3, 2.0], 500))
    expected = data.fit(ridge=None, max_splits=8)
    for block_rows in (3, 64):
        found = replace(data, block_rows=block_rows).fit(ridge=None, max_splits=8)
        assert_same_model(found, expected)


def test_integer_weights_are_replicated_rows() -> None:
    data = patients(200)
    times = np.random.default_rng(2).integers(1, 4, 200)
    weighted = replace(data, weight=times.astype(float)).fit(ridge=None, max_splits=6)
    copies = Data(np.repeat(data.X, times, axis=0), np.repeat(data.y, times))
    assert_same_model(weighted, copies.fit(ridge=None, max_splits=6))


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_both_kernels_give_the_same_gains(seed: int) -> None:
    random = np.random.default_rng(seed)
    offsets = np.array([0, 4, 9, 12], np.uint64)
    counts = random.integers(0, 4, 12).astype(float)
    for start, stop in ((4, 9), (9, 12)):  # every feature has all rows
        counts[stop - 1] = 0
        counts[start] += counts[:4].sum() - counts[start:stop].sum()
    if counts.min() < 0:
        return
    histogram = np.column_stack([random.normal(size=(12, 2)), counts * 1.5, counts])
    overlaps = 0.3 * random.normal(size=(12, 3)) * counts[:, None]
    histogram[counts == 0] = 0
    limits = CutLimits(1, 0.0, 1e-9, 1e-9)
    found = np.zeros((2, 24))
    curved = np.abs(histogram)  # one output and its curvatures
    for outputs, own, shared in ((2, histogram, overlaps), (1, curved, overlaps[:, :0].copy())):
        arguments = (own, shared, offsets, outputs, 2, 1.5, limits)
        joint_split.joint_gains(*arguments, found[0])
        joint_split.joint_gains_plain(*arguments, found[1])
        np.testing.assert_allclose(found[0], found[1], rtol=1e-9)
