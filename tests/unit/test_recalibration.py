"""A model on new rows: each method against its definition, at every size."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from figs_spark.engine.cells import Cells
from figs_spark.engine.recalibration import METHODS, recalibrated, split_columns
from figs_spark.treesum import TreeSum
from figs_spark.treesum.adjustments import as_path
from figs_spark.treesum.nodes import LOGIT
from figs_spark.treesum.serialization import from_json, to_json
from tests.support.oracle import logistic_fit, psi_columns, ridge_fit
from tests.support.treesums import random_path, random_rows
from tests.unit.test_refitting import patients, refitted


def new_rows(model: TreeSum, X: np.ndarray, y: np.ndarray, w: np.ndarray) -> Cells:
    return Cells(model.leaf_indices(X).astype(np.int32), w, w[:, None] * y[:, None], w @ y**2)


def risk(scores: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-scores))


@pytest.fixture(scope="module", params=["identity", "logit"])
def example(request: pytest.FixtureRequest) -> tuple[TreeSum, np.ndarray, np.ndarray, np.ndarray]:
    """A model, and rows on which its outcome is rarer."""
    logit = request.param == LOGIT
    model = refitted(patients(classes=2 if logit else 0), request.param)
    data = patients(700, classes=2 if logit else 0, seed=9)
    w = np.random.default_rng(0).choice([0.5, 1.0, 2.0], 700)
    y = data.y * (np.random.default_rng(1).random(700) < 0.6) if logit else 0.5 * data.y - 3
    return model, data.X, y, w


@pytest.mark.parametrize("method", METHODS)
def test_each_size_is_calibrated(example: tuple, method: str) -> None:
    model, X, y, w = example
    changed = recalibrated(model, new_rows(model, X, y, w), 700, method)
    expected_of = risk if model.link == LOGIT else np.asarray
    assert changed.splits == model.splits
    for k in range(len(model.splits) + 1):
        before, after = model.truncate(k).predict(X)[:, 0], changed.truncate(k).predict(X)[:, 0]
        found = expected_of(after)
        assert w @ found / w.sum() == pytest.approx(w @ y / w.sum(), abs=1e-6)
        assert changed.losses[k] == pytest.approx(w @ (y - found) ** 2 / w.sum())
        if method == "intercept":
            assert np.ptp(after - before) < 1e-9
        elif method == "slope":
            fit = logistic_fit if model.link == LOGIT else ridge_fit
            target = y if model.link == LOGIT else y[:, None]
            column = before[:, None] if k else np.zeros((700, 0))
            b = np.ravel(fit(column, target, w, np.zeros(column.shape[1])))
            np.testing.assert_allclose(after, b[0] + column @ b[1:], atol=1e-4)
        else:
            assert changed.losses[k] <= (w @ (y - expected_of(before)) ** 2 / w.sum()) + 1e-3


def test_the_model_says_what_was_done(example: tuple) -> None:
    model, X, y, w = example
    changed = model
    for method in METHODS:
        changed = recalibrated(changed, new_rows(model, X, y, w), 700, method)
    assert [remark.split(":")[0] for remark in changed.remarks[-3:]] == [
        "Recalibrated on 700 new rows",
        "Recalibrated on 700 new rows",
        "All values were fitted again on 700 new rows",
    ]
    assert "times" in changed.remarks[-2]
    assert from_json(to_json(changed)) == changed


def test_a_refit_equals_brute_force() -> None:
    model = refitted(patients())
    data = patients(500, seed=8)
    changed = recalibrated(model, new_rows(model, data.X, data.y, np.ones(500)), 500, "refit")
    psi = psi_columns(model, data.X)
    b = ridge_fit(psi, data.y[:, None], np.ones(500), np.zeros(psi.shape[1]))
    expected = np.column_stack([np.ones(500), psi]) @ b
    np.testing.assert_allclose(changed.predict(data.X), expected, atol=1e-9)


def test_log_odds_need_both_classes() -> None:
    model = refitted(patients(classes=2), LOGIT)
    data = patients(50, seed=8)
    with pytest.raises(ValueError, match="all of one class"):
        recalibrated(model, new_rows(model, data.X, np.zeros(50), np.ones(50)), 50, "intercept")


@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_a_nested_model_as_coefficients_predicts_the_same(seed: int, outputs: int) -> None:
    path = random_path(Random(seed), splits=7, outputs=outputs)
    coefficients, rows = as_path(path[-1]), random_rows(Random(seed), 60)
    again = path[-1].with_path(coefficients)
    for k, smaller in enumerate(path):
        expected, scale = smaller.predict(rows), np.abs(smaller.predict(rows)).max()
        np.testing.assert_allclose(again.truncate(k).predict(rows), expected, atol=1e-12 * scale)
    assert as_path(again) == coefficients


def test_columns_of_splits_are_those_of_rows() -> None:
    model = refitted(patients())
    columns, penalty = split_columns(model)
    X = patients().X
    leaves = model.leaf_indices(X)
    psi = sum(own[leaves[:, k]] for k, own in enumerate(columns))
    expected = psi_columns(model, X)
    np.testing.assert_allclose(psi, expected)
    assert penalty.tolist() == pytest.approx(
        [(c.max() ** 2 + c.min() ** 2) / 2 for c in expected.T]
    )


def test_monotone_models_keep_their_order() -> None:
    model = refitted(patients())
    data = patients(300, seed=8)
    cells = new_rows(model, data.X, -data.y, np.ones(300))
    with pytest.raises(ValueError, match="would not keep their order"):
        recalibrated(model, cells, 300, "refit", monotone=True)
    with pytest.raises(ValueError, match="falls where it should rise"):
        recalibrated(model, cells, 300, "slope", monotone=True)
    recalibrated(model, cells, 300, "intercept", monotone=True)
