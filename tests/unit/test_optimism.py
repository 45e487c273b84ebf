"""Scores in cells: what a bootstrap says of the optimism of a model, from packed rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from figs_spark.engine.backends import DriverBackend
from figs_spark.engine.grower import Growth, GrowthRules
from figs_spark.engine.replay import Replay
from figs_spark.engine.resampled import ALL, CELLS, NEGATIVES, OWN, POSITIVES, score_cells
from figs_spark.engine.weights import Perturbation, PerturbedWeights
from figs_spark.stages.optimism import rows_of
from tests.support.small import Data


def test_cells_give_the_area_of_the_rows() -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 4))
    y = (random.random(900) < 1 / (1 + np.exp(2 - X[:, 0] - X[:, 1]))).astype(float)
    data = Data(X, y, classes=2, block_rows=200)
    weights = PerturbedWeights(data.target, (Perturbation(), Perturbation(bootstrap=True)), 1, 3)
    backend = DriverBackend(data.blocks, data.backend.layout, weights)
    rules = GrowthRules(max_splits=8)
    centre = data.target.centres
    grown = backend.grow(
        [Growth(data.bins, backend.layout, rules, centre, k) for k in range(2)], lambda models: None
    )
    replays = [Replay.of(growth) for growth in grown]
    sums = score_cells(iter(data.blocks), replays, weights).reshape(2, 2, 3, CELLS)
    for k, growth in enumerate(grown):
        risk = np.clip(growth.model.predict(X)[:, 0], 0, 1)
        times = np.concatenate([weights.rows(block, k).weight for block in data.blocks])
        for sample, weight in ((OWN, times), (ALL, np.ones(900))):
            area = roc_auc_score(y, risk, sample_weight=weight)
            assert rows_of(sums[k, sample]).auc()[0] == pytest.approx(area, abs=1e-6)
            assert sums[k, sample, POSITIVES].sum() == pytest.approx(weight @ y)
            assert sums[k, sample, NEGATIVES].sum() == pytest.approx(weight @ (1 - y))
    own, other = (rows_of(sums[1, sample]).auc()[0] for sample in (OWN, ALL))
    assert own > other  # a model flatters itself on the rows it was grown on
