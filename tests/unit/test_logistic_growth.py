"""Growing by the logistic loss against brute force, and each promise of it on its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.engine import candidates
from figs_spark.engine.refitting import Refit
from figs_spark.engine.replay import Replay
from figs_spark.engine.training import refit
from figs_spark.treesum import TreeSum
from figs_spark.treesum.nodes import LOGIT
from tests.support.oracle import logistic_figs
from tests.support.small import Data, assert_same_model, steps
from tests.unit.test_joint_growth import data_sets
from tests.unit.test_refitting import patients


def fitted(data: Data, **rules: Any) -> TreeSum:
    growth = data.growth(logistic=True, **({"max_splits": 5} | rules))
    data.backend.grow([growth], lambda models: None)
    refit(data.backend, [growth], Refit(LOGIT), None)
    assert len(list(Replay.of(growth).scores(data.blocks[0].codes))) == growth.steps + 1
    return growth.model


@given(data_sets(), st.sampled_from([0.0, 3.0, 30.0]), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_growing_equals_brute_force(data: Data, ridge: float, min_rows: int) -> None:
    two = replace(data, y=(data.y > 0.2).astype(float), classes=2)
    model = fitted(two, ridge=ridge, max_splits=4, min_rows=min_rows)
    expected = logistic_figs(two.X, two.y, two.weight, ridge, 4, min_rows=min_rows)
    assert [step[:4] for step in steps(model)] == [step[:4] for step in expected]
    for split, step in zip(model.splits, expected, strict=True):
        assert split.gain == pytest.approx(step[4], rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("limits", [{}, {"max_trees": 2}, {"max_depth": 1}])
def test_many_splits_over_many_trees(limits: dict[str, int]) -> None:
    data = patients(300, classes=2)
    model = fitted(data, ridge=None, max_splits=8, **limits)
    expected = logistic_figs(data.X, data.y, max_splits=8, **limits)
    assert [step[:4] for step in steps(model)] == [step[:4] for step in expected]
    assert len(model.splits) == 8
    assert model.link == LOGIT
    assert all(split.gain > 0 for split in model.splits)


def test_sizes_are_nested_and_calibrated() -> None:
    data = patients(400, classes=2)
    model = fitted(data, max_splits=6)
    for k in (0, 2, 6):
        smaller = fitted(data, max_splits=k)
        assert_same_model(model.truncate(k), smaller)
        risk = 1 / (1 + np.exp(-smaller.predict(data.X)[:, 0]))
        assert risk.mean() == pytest.approx(data.y.mean())


def test_any_division_of_rows_and_kernel_gives_the_same_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    weight = np.random.default_rng(0).choice([0.1, 1 / 3, 2.0], 300)
    data = patients(300, classes=2, weight=weight)
    expected = fitted(data)
    assert_same_model(fitted(replace(data, block_rows=17)), expected)
    monkeypatch.setenv("FIGS_SPARK_NUMBA", "0")
    assert_same_model(fitted(replace(data, block_rows=100)), expected)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("limits", [{}, {"max_trees": 1}, {"max_trees": 2, "max_depth": 2}])
def test_little_room_for_histograms_gives_the_same_model(
    monkeypatch: pytest.MonkeyPatch, classes: int, limits: dict[str, int]
) -> None:
    data = patients(300, classes=classes, weight=np.random.default_rng(1).choice([0.5, 3], 300))
    expected = fitted(data, max_splits=8, **limits)
    monkeypatch.setattr(candidates, "HISTOGRAM_BYTES", 0)
    assert_same_model(fitted(data, max_splits=8, **limits), expected)


def test_categories_are_split_as_sets() -> None:
    random = np.random.default_rng(5)
    X = random.integers(0, 6, (600, 2)).astype(float)
    y = (random.random(600) < np.where(np.isin(X[:, 0], [1, 4]), 0.7, 0.1)).astype(float)
    model = fitted(Data(X, y, classes=2, categorical=(0,)), max_splits=1)
    split = model.splits[0]
    assert split.feature == 0
    assert set(split.categories or ()) in ({1.0, 4.0}, {0.0, 2.0, 3.0, 5.0})


def test_rare_events_do_not_overshoot() -> None:
    random = np.random.default_rng(1)
    X = random.integers(0, 10, (3000, 3)).astype(float)
    y = (random.random(3000) < 0.01 + 0.3 * (X[:, 0] > 8) * (X[:, 1] > 7)).astype(float)
    model = fitted(Data(X, y, classes=2), max_splits=8)
    assert np.abs(model.predict(X)).max() < 10
    assert sorted(model.losses, reverse=True)[0] == model.losses[0]


def test_many_categories_without_effect_do_not_win() -> None:
    random = np.random.default_rng(3)
    X = np.column_stack([random.integers(0, 150, 1200), random.integers(0, 4, 1200)]).astype(float)
    y = (random.random(1200) < 0.3 + 0.15 * (X[:, 1] > 1)).astype(float)
    data = Data(X, y, classes=2, categorical=(0,))
    assert fitted(data, max_splits=1).splits[0].feature == 0
    for rules in ({"logistic": True}, {"ridge": None}, {}):
        model = data.fit(max_splits=1, category_smoothing=20.0, **rules)
        assert model.splits[0].feature == 1
