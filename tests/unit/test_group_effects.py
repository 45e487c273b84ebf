"""On data with group-specific effects G-FIGS beats one model for all, and one per group alone.

The truth: children of 0 to 4 years; one in eight is under half a year, which is the small group.
The risk of the outcome is a sum of steps, most of which belong to an age and not to a group, since
children of 5 and of 7 months are much alike:

    risk = 0.05 + 0.1 a  +  (1 - s) (0.45 b + 0.35 c)  +  s (0.45 d + 0.35 e)
    s    = 1 / (1 + exp(-(age - 2) / 0.3))

a to e are signs that 35% of the children have, independently, and eleven more signs mean nothing.
The age is not among the columns; three measures of it are, with errors of 0.7 years.
"""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from figs_spark.engine.grower import grow
from tests.support.small import Data

SEEDS = range(10)
TRAIN, TEST = 500, 10_000
SPLITS = 8


def children(seed: int, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Signs, measures of the age, group and outcome."""
    random = np.random.default_rng(seed)
    age = random.uniform(0, 4, rows)
    measures = age[:, None] + random.normal(0, 0.7, (rows, 3))
    signs = (random.random((rows, 16)) < 0.35).astype(float)
    a, b, c, d, e, *_ = signs.T
    older = 1 / (1 + np.exp(-(age - 2) / 0.3))
    risk = 0.05 + 0.1 * a + (1 - older) * (0.45 * b + 0.35 * c) + older * (0.45 * d + 0.35 * e)
    outcome = (random.random(rows) < risk).astype(float)
    return signs, measures, (age >= 0.5).astype(int), outcome


def areas(seed: int) -> dict[str, float]:
    """The AUC on new rows of the models with each kind of weights, one column per group."""
    signs, measures, group, outcome = children(seed, TRAIN)
    new_signs, _, new_group, new_outcome = children(1000 + seed, TEST)
    weights = {
        "pooled": np.ones((TRAIN, 2)),
        "separate": np.eye(2)[group],
        "G-FIGS": LogisticRegression().fit(measures, group).predict_proba(measures),
    }
    found = {}
    for name, weight in weights.items():
        data = Data(signs, outcome, weight, classes=2)
        growths = [data.growth(member, max_splits=SPLITS) for member in (0, 1)]
        scores = [model.predict(new_signs)[:, 0] for model in grow(growths, data.backend)]
        found[name] = float(roc_auc_score(new_outcome, np.choose(new_group, scores)))
    return found


def test_g_figs_beats_pooled_and_separate_models() -> None:
    found = [areas(seed) for seed in SEEDS]
    for other in ("pooled", "separate"):
        gains = np.array([each["G-FIGS"] - each[other] for each in found])
        assert gains.mean() > 2 * gains.std(ddof=1) / np.sqrt(len(gains)), other
