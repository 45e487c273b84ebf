"""Bootstrap samples of the values, and the intervals that they give."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from figs_spark.engine.backends import DriverBackend
from figs_spark.engine.constraints import Constraints
from figs_spark.engine.ensemble_scores import Ensemble
from figs_spark.engine.progress import QUIET
from figs_spark.engine.refitting import LEAST_RIDGE, Basis, Refit
from figs_spark.engine.training import order_of, refit
from figs_spark.engine.value_samples import value_samples
from figs_spark.engine.weights import Perturbation, PerturbedWeights
from figs_spark.exports.page.intervals import interval_table
from figs_spark.pictures.waterfall import DrawnExplanation
from figs_spark.treesum import TreeSum
from figs_spark.treesum.counts import without_counts
from figs_spark.treesum.intervals import leaf_intervals, prediction_intervals, sampled_sums
from figs_spark.treesum.nodes import IDENTITY, LOGIT
from figs_spark.treesum.own_rows import with_own_rows, without_empty_branches
from figs_spark.treesum.prediction import Outcome
from figs_spark.treesum.reading import Labels
from figs_spark.treesum.serialization import from_json, to_json
from figs_spark.treesum.text import describe, rules
from tests.support.oracle import logistic_fit, psi_columns, ridge_fit
from tests.support.small import Data

SAMPLES = 40


def patients(rows: int = 300, binary: bool = True) -> Data:
    random = np.random.default_rng(4)
    X = random.integers(0, 6, (rows, 3)) / 2
    signal = 1.5 * (X[:, 0] > 1) - (X[:, 1] > 0.5) + random.logistic(0, 1, rows)
    y = (signal > 1) * 1.0 if binary else signal
    return Data(X, y, classes=2 if binary else 0, block_rows=70)


def sampled(
    data: Data, link: str = IDENTITY, samples: int = SAMPLES, monotone: bool = False, **rules: int
) -> tuple[TreeSum, DriverBackend]:
    """A model with samples of its values, and the rows with their weights in each sample."""
    perturbations = (Perturbation(), *[Perturbation(bootstrap=True)] * samples)
    weights = PerturbedWeights(data.target, perturbations, 1, seed=5)
    backend = DriverBackend(data.blocks, data.backend.layout, weights)
    limits = Constraints(monotone=(1, 0, 0)) if monotone else None
    growth = data.growth(**{"max_splits": 4, "constraints": limits, **rules})
    backend.grow([growth], QUIET)
    if link == LOGIT:
        refit(backend, [growth], Refit(link), None)
    order = order_of(growth, Basis(growth.trees.nodes))
    found = value_samples(backend, growth, len(growth.losses) - 1, samples, order)
    return replace(growth.model, samples=found), backend


@pytest.mark.parametrize("link", [IDENTITY, LOGIT])
def test_a_sample_is_the_fit_to_rows_drawn_again(link: str) -> None:
    data = patients()
    model, backend = sampled(data, link, samples=3)
    psi = psi_columns(model, data.X)
    columns = np.column_stack([np.ones(len(psi)), psi])

    def scores(member: int) -> np.ndarray:
        times = np.concatenate([backend.weights.rows(b, member).weight for b in data.blocks])
        if link == IDENTITY:
            b = ridge_fit(psi, data.y[:, None], times, np.zeros(4))[:, 0]
        else:
            mean = times @ data.y / times.sum()
            penalty = [(a.max() ** 2 + a.min() ** 2) / 2 for a in psi.T]
            penalties = LEAST_RIDGE * mean * (1 - mean) * np.array(penalty)
            b = logistic_fit(psi, data.y, times, penalties)
        return columns @ b

    own = model.predict(data.X)[:, 0] - scores(0)
    for member, one in enumerate(sampled_sums(model), start=1):
        expected = scores(member) + own
        np.testing.assert_allclose(one.predict(data.X)[:, 0], expected, atol=1e-4)
    if link == LOGIT:
        np.testing.assert_allclose(own, 0, atol=1e-4)


def test_intervals_are_as_wide_as_theory_says() -> None:
    """With one split a leaf is the mean of its rows."""
    model, _ = sampled(data := patients(800, binary=False), samples=400, max_splits=1)
    leaf = model.leaf_indices(data.X)[:, 0]
    for k, ((low, high),) in enumerate(leaf_intervals(model)[0]):
        own = data.y[leaf == k]
        assert high - low == pytest.approx(2 * 1.96 * own.std() / np.sqrt(len(own)), rel=0.15)
        assert low < own.mean() < high


def test_rows_have_the_same_intervals_everywhere() -> None:
    data = patients()
    model, _ = sampled(data, LOGIT)
    outcome = Outcome(2, LOGIT)
    found = prediction_intervals(model, outcome, data.X)[:, 0]
    by_kernel = Ensemble.of(sampled_sums(model), outcome).interval(data.X)
    np.testing.assert_allclose(by_kernel, found, atol=1e-12)
    risk = outcome.expected_table(model.predict(data.X))[:, 0]
    assert ((found[:, 0] < risk) & (risk < found[:, 1])).all()


def test_what_is_monotone_is_so_in_every_sample() -> None:
    model, _ = sampled(patients(150), LOGIT, monotone=True)
    grid = np.column_stack([np.linspace(0, 3, 7), np.full((7, 2), 0.5)])
    for one in sampled_sums(model):
        assert (np.diff(one.predict(grid)[:, 0]) >= -1e-8).all()


def test_they_are_saved_shown_and_dropped_when_values_change() -> None:
    data = patients()
    model, _ = sampled(data, LOGIT)
    assert from_json(to_json(model)) == model
    assert model.truncate(4).samples == model.samples
    assert model.truncate(3).samples is None
    table = rules(model)
    assert ((table["low"] < table["value"]) & (table["value"] < table["high"])).all()
    text = describe(model, "Title", "log odds")
    assert "95% interval" in text
    assert "95% interval" not in describe(model, "Title", "log odds", small_cell=11)
    row, outcome = data.X[:1], Outcome(2, LOGIT)
    interval = tuple(map(tuple, prediction_intervals(model, outcome, row)[0].tolist()))
    risk = outcome.expected_table(model.predict(row))[0]
    labels = Labels("Risk", "log odds", percent=True)
    explained = DrawnExplanation.of(model, labels, row[0], risk, interval)
    low, high = (f"{100 * end:.1f}%" for end in interval[0])
    assert f"{low} to {high}" in str(explained)
    assert f"{low} to {high}" in explained.toSVG()
    page = str(interval_table(model, 11))
    assert f"by {SAMPLES} bootstrap samples" in page
    assert page.count(" to ") == len(table)
    assert str(interval_table(model, 10**6)).count(" to ") == 0


def test_a_fitted_model_without_counts_or_with_an_empty_branch_can_be_read_again() -> None:
    model, _ = sampled(data := patients(), LOGIT, samples=2)
    bare = from_json(to_json(without_counts(model)))
    np.testing.assert_array_equal(bare.predict(data.X), model.predict(data.X))
    assert bare.samples is None
    counts = [[int(k > 0) for k, _ in enumerate(tree.leaves())] for tree in model.trees]
    pruned = from_json(to_json(without_empty_branches(with_own_rows(model, counts))))
    np.testing.assert_array_equal(
        pruned.truncate(2).predict(data.X), model.truncate(2).predict(data.X)
    )
