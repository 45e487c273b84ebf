"""The regression of groups in the driver, beside that of scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from figs_spark.engine.logistic_regression import can_fit, fit_logistic


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_is_the_regression_of_scikit_learn(groups: int, weighted: bool) -> None:
    random = np.random.default_rng(groups)
    columns = random.normal(size=(600, 4)) * [1, 50, 0.01, 1] + [0, 1e3, 0, 5]
    columns = np.column_stack([columns, np.full(600, 7.0), random.random(600) < 0.1])
    score = columns[:, 0] + columns[:, 1] / 50 + 2 * columns[:, 5] + random.normal(size=600)
    group = np.digitize(score, np.quantile(score, np.arange(1, groups) / groups))
    w = random.random(600) + 0.1 if weighted else None
    found = fit_logistic(columns, group, groups, w, 0.01)
    assert found.converged
    assert found.steps < 20
    weights = np.ones(600) if w is None else w
    total = weights.sum()
    mean = weights @ columns / total
    spread = np.sqrt(weights @ (columns - mean) ** 2 / (total - weights @ weights / total))
    scaled = (columns - mean) / np.where(spread > 0, spread, 1)
    known = LogisticRegression(C=1 / (0.01 * total), tol=1e-12, max_iter=10_000)
    expected = known.fit(scaled, group, weights).predict_proba(scaled)
    assert found.probabilities(columns) == pytest.approx(expected, abs=2e-6)
    assert found.coefficients.shape == (1 if groups == 2 else groups, 6)
    assert found.coefficients[:, 4].tolist() == [0.0] * len(found.coefficients)
    if groups > 2:
        assert found.intercepts.sum() == pytest.approx(0, abs=1e-9)
        assert found.coefficients.sum(axis=0) == pytest.approx(0, abs=1e-6)


def test_groups_that_a_column_separates_have_finite_coefficients() -> None:
    column = np.linspace(-1, 1, 200)[:, None]
    found = fit_logistic(column, (column[:, 0] > 0).astype(np.intp), 2, None, 0.01)
    assert found.converged
    assert 1 < found.coefficients[0, 0] < 100


def test_what_is_too_much_for_the_driver() -> None:
    assert can_fit(200_000, 50, 2)
    assert can_fit(101_766, 27, 9)  # nine bands of age
    assert not can_fit(200_000, 300, 2)
    assert not can_fit(1_000, 200, 6)
