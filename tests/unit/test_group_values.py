"""Values of a group, drawn to those of all rows: against brute force."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from figs_spark.engine.cells import CellWork, all_cells
from figs_spark.engine.constraints import Constraints
from figs_spark.engine.group_values import CONSTANT, RIDGES, GroupValues, Shrinking
from figs_spark.engine.grower import Growth
from figs_spark.engine.progress import QUIET
from figs_spark.engine.refitting import Refit
from figs_spark.engine.training import refit
from figs_spark.treesum.nodes import IDENTITY, LOGIT
from figs_spark.treesum.side_by_side import side_by_side
from figs_spark.treesum.text import describe
from tests.support.oracle import logistic_fit, psi_columns, ridge_fit
from tests.support.small import Data

GROUPS, FOLDS = 3, 4


def patients(rows: int = 240, binary: bool = True, seed: int = 3) -> Data:
    """Three groups, of which one is small and has the effects of others the wrong way round."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 6, (rows, 3)) / 2
    group = random.choice(GROUPS, rows, p=[0.6, 0.3, 0.1])
    signal = np.where(group == 2, -1, 1) * (1.5 * (X[:, 0] > 1) - (X[:, 1] > 0.5)) + group
    noisy = signal + random.logistic(0, 1, rows)
    part = (group * FOLDS + random.integers(0, FOLDS, rows)).astype(np.uint8)
    y = (noisy > 1) * 1.0 if binary else noisy
    return Data(X, y, classes=2 if binary else 0, held=part, block_rows=50)


def grown(data: Data, link: str = IDENTITY, splits: int = 4, monotone: bool = False) -> Growth:
    rules = Constraints(monotone=(1, 0, 0)) if monotone else None
    growth = data.growth(255, max_splits=splits, constraints=rules)
    data.backend.grow([growth], QUIET)
    if link == LOGIT:
        refit(data.backend, [growth], Refit(link), None)
    return growth


def shrunken(data: Data, growth: Growth) -> GroupValues:
    parts = range(GROUPS * FOLDS)
    trees = [growth.trees.arrays()] * len(parts)
    work = CellWork(parts, trees, data.backend.weights, held_out=True)
    cells = [all_cells(of_part) for of_part in zip(*data.backend.gather(work), strict=True)]
    return Shrinking(growth, [cells[k : k + FOLDS] for k in parts[::FOLDS]]).result()


def drawn(psi: np.ndarray, y: np.ndarray, start: np.ndarray, ridge: float, link: str) -> np.ndarray:
    """The scores of least loss with a ridge on what is added to `start`: an explicit constant
    column takes the place of the free one of the oracle."""
    columns = np.column_stack([np.ones(len(psi)), psi])
    penalties = ridge * np.append(CONSTANT, np.ones(psi.shape[1]))
    if link == IDENTITY:
        products = columns.T @ columns + np.diag(penalties)
        return start + columns @ np.linalg.solve(products, columns.T @ (y - start))
    from scipy.optimize import minimize

    def deviance(b: np.ndarray) -> float:
        f = start + columns @ b
        return float(2 * (np.logaddexp(0, f) - y * f).sum() + penalties @ b**2)

    options = {"gtol": 1e-10, "ftol": 0.0, "maxiter": 5000, "maxfun": 500_000}
    best = minimize(deviance, np.zeros(len(penalties)), method="L-BFGS-B", options=options)
    return start + columns @ best.x


@pytest.mark.parametrize("link", [IDENTITY, LOGIT])
def test_values_equal_brute_force_at_every_size(link: str) -> None:
    data = patients()
    growth = grown(data, link)
    everybody, values = growth.model, shrunken(data, growth)
    mean = data.y.mean()
    ridge = values.ridge * (mean * (1 - mean) if link == LOGIT else 1.0)
    assert data.held is not None
    for group, model in enumerate(values.models):
        own = data.held // FOLDS == group
        for k in (0, 1, 4):
            psi = psi_columns(everybody.truncate(k), data.X[own]) if k else np.zeros((own.sum(), 0))
            start = everybody.truncate(k).predict(data.X[own])[:, 0]
            expected = drawn(psi, data.y[own], start, ridge, link)
            found = model.truncate(k).predict(data.X[own])[:, 0]
            np.testing.assert_allclose(found, expected, atol=1e-4 if link == LOGIT else 1e-9)
    assert {s.threshold for s in values.models[2].splits} == {s.threshold for s in everybody.splits}


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 1000), binary=st.booleans())
def test_the_ridge_is_that_of_least_held_out_loss(seed: int, binary: bool) -> None:
    data = patients(seed=seed, binary=False)
    data = replace(data, y=(data.y > 1) * 1.0) if binary else data
    growth = grown(data)
    psi, held = psi_columns(growth.model, data.X), data.held
    assert held is not None
    losses = dict.fromkeys(RIDGES, 0.0)
    for fold in range(FOLDS):
        rest = held % FOLDS != fold
        assume(np.linalg.matrix_rank(psi[rest] - psi[rest].mean(axis=0)) == psi.shape[1])
        b = ridge_fit(psi[rest], data.y[rest, None], np.ones(rest.sum()), np.zeros(psi.shape[1]))
        start = (np.column_stack([np.ones(len(psi)), psi]) @ b)[:, 0]
        for group in range(GROUPS):
            of_group = held // FOLDS == group
            own, test = of_group & rest, of_group & ~rest
            columns = np.column_stack([np.ones(len(psi)), psi])
            for ridge in RIDGES:
                penalties = ridge * np.append(CONSTANT, np.ones(psi.shape[1]))
                products = columns[own].T @ columns[own] + np.diag(penalties)
                more = np.linalg.solve(products, columns[own].T @ (data.y[own] - start[own]))
                scores = start[test] + columns[test] @ more
                losses[ridge] += ((data.y[test] - scores) ** 2).sum()
    values = shrunken(data, growth)
    gaps = np.diff([values.losses[ridge] for ridge in RIDGES])
    np.testing.assert_allclose(gaps, np.diff(list(losses.values())), atol=1e-7)
    assert values.ridge == min(RIDGES, key=values.losses.__getitem__)


def test_groups_that_are_alike_stay_with_all_rows_and_others_leave_them() -> None:
    data = patients(2000)
    alike = replace(data, held=np.random.default_rng(0).integers(0, 12, 2000).astype(np.uint8))
    together, apart = (shrunken(rows, grown(rows, LOGIT)) for rows in (alike, data))
    assert together.ridge >= 100 > apart.ridge
    turned, first = apart.models[2].path, apart.models[0].path
    assert turned is not None
    assert first is not None
    assert np.sign(turned[-1][1][0]) != np.sign(first[-1][1][0])


def test_a_group_keeps_the_order_of_monotone_features_and_an_empty_one_the_values_of_all() -> None:
    data = patients(600)
    assert data.held is not None
    empty = replace(data, held=np.where(data.held // FOLDS == 1, 0, data.held).astype(np.uint8))
    growth = grown(empty, LOGIT, monotone=True)
    values = shrunken(empty, growth)
    grid = np.column_stack([np.linspace(0, 3, 7), np.full(7, 1.0), np.full(7, 1.0)])
    for model in values.models:
        assert (np.diff(model.predict(grid)[:, 0]) >= 0).all()
    np.testing.assert_allclose(values.models[1].predict(data.X), growth.model.predict(data.X))


def test_one_text_has_a_column_for_each_group() -> None:
    models = shrunken(data := patients(), grown(data, LOGIT)).models
    together = side_by_side(models)
    assert together is not None
    np.testing.assert_array_equal(
        together.predict(data.X), np.column_stack([model.predict(data.X)[:, 0] for model in models])
    )
    text = describe(together, "Title", "the log odds", ["A", "B", "C"])
    assert text.count("Tree 1") == 1
    assert " A " in text
    assert "drawn to those of all rows" in text
    assert side_by_side([models[0], models[1].truncate(2)]) is None


def test_the_brute_force_of_this_file_agrees_with_the_oracle() -> None:
    data = patients()
    psi = psi_columns(grown(data).model, data.X)
    b = logistic_fit(psi, data.y, np.ones(len(psi)), np.full(psi.shape[1], 2.0))
    loose = drawn(np.column_stack([np.ones(len(psi)) * 1e3, psi]), data.y, 0 * data.y, 2.0, LOGIT)
    np.testing.assert_allclose(loose, b[0] + psi @ b[1:], atol=1e-3)
