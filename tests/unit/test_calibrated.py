"""Calibration and net benefit equal those of statsmodels, scikit-learn and dcurves."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, roc_auc_score

from figs_spark.clinical.calibrated import (
    LEAST,
    SPAN,
    calibration_line,
    integrated_index,
    intercept_of,
    observed_over_expected,
    slope_of,
    smooth_curve,
)
from figs_spark.clinical.decisions import decision_curve_of, per_thousand
from figs_spark.clinical.figures import at_threshold, of_score
from tests.support.scores import levels_of

LEVELS = np.array([0.0, 0.004, 0.02, 0.05, 0.11, 0.18, 0.3, 0.42, 0.6, 0.77, 1.0])


def sample(seed: int = 0, rows: int = 3000, levels: Any = LEVELS) -> tuple[Any, Any]:
    """Labels and scores; the scores are too bold, as those of a tree often are."""
    random = np.random.default_rng(seed)
    scores = random.choice(levels, rows)
    truth = 0.03 + 0.8 * scores**1.3
    return (random.random(rows) < truth).astype(float), scores


def log_odds(scores: Any) -> Any:
    risks = np.clip(scores, LEAST, 1 - LEAST)
    return np.log(risks / (1 - risks))


def logistic(y: Any, design: Any, **options: Any) -> Any:
    import statsmodels.api as sm

    return sm.GLM(y, design, family=sm.families.Binomial(), **options).fit(
        tol=1e-14, maxiter=200, tol_criterion="params"
    )


def test_slope_and_intercept_are_those_of_statsmodels() -> None:
    y, scores = sample()
    rows, odds = levels_of(y, scores), log_odds(scores)
    slope = logistic(y, np.column_stack([np.ones_like(odds), odds]))
    ours = slope_of(rows)
    assert ours.value == pytest.approx(slope.params[1], abs=1e-9)
    assert (ours.low, ours.high) == pytest.approx(tuple(slope.conf_int()[1]), abs=1e-9)
    assert 0.3 < ours.value < 1
    offset = logistic(y, np.ones((len(y), 1)), offset=odds)
    ours = intercept_of(rows)
    assert ours.value == pytest.approx(offset.params[0], abs=1e-9)
    assert (ours.low, ours.high) == pytest.approx(tuple(offset.conf_int()[0]), abs=1e-9)


def test_weights_are_frequencies_in_the_estimates() -> None:
    y, scores = sample(rows=400)
    w = np.random.default_rng(1).integers(1, 5, len(y)).astype(float)
    weighted, repeated = (
        levels_of(y, scores, w),
        levels_of(np.repeat(y, w.astype(int)), np.repeat(scores, w.astype(int))),
    )
    for estimate in (slope_of, intercept_of, observed_over_expected):
        assert estimate(weighted).value == pytest.approx(estimate(repeated).value, abs=1e-9)
        width = [e.high - e.low for e in (estimate(weighted), estimate(repeated))]
        assert width[0] > width[1]  # fewer rows are less sure


def lowess(y: Any, scores: Any) -> Any:
    from statsmodels.nonparametric.smoothers_lowess import lowess as smooth

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return smooth(y, scores, frac=SPAN, it=0, delta=0.0, return_sorted=False)


def test_the_smooth_curve_and_its_distance_are_those_of_lowess() -> None:
    for seed, levels in [(2, LEVELS), (3, np.random.default_rng(9).random(80))]:
        y, scores = sample(seed, 1500, levels)
        rows, fitted = levels_of(y, scores), lowess(y, scores)
        index = float(np.mean(np.abs(scores - fitted)))
        assert integrated_index(rows) == pytest.approx(index, abs=1e-9)
        xs, ours = smooth_curve(rows)
        by_level = {round(float(s), 12): float(f) for s, f in zip(scores, fitted)}
        np.testing.assert_allclose(
            ours, [by_level[round(float(x), 12)] for x in xs], rtol=0, atol=1e-9
        )
        assert index > 0.01


def test_most_rows_may_share_one_score() -> None:
    y = np.array([0.0] * 90 + [1.0] * 10)
    scores = np.array([0.05] * 95 + [0.6] * 5)
    xs, fitted = smooth_curve(levels_of(y, scores))
    assert xs.tolist() == pytest.approx([0.05, 0.6])
    assert fitted[0] == pytest.approx(5 / 95)


def test_observed_over_expected() -> None:
    y, scores = sample(4)
    ratio = observed_over_expected(levels_of(y, scores))
    assert ratio.value == pytest.approx(y.sum() / scores.sum(), abs=1e-12)
    error = math.sqrt((1 - y.mean()) / y.sum())
    assert ratio.high == pytest.approx(ratio.value * math.exp(1.959963984540054 * error))


def test_without_events_or_with_one_score_there_is_no_slope() -> None:
    y, scores = sample(5, 200)
    assert math.isnan(slope_of(levels_of(np.zeros(200), scores)).value)
    assert math.isnan(slope_of(levels_of(y, np.full(200, 0.2))).value)
    separated = levels_of(np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.1, 0.2, 0.8, 0.9]))
    assert math.isnan(slope_of(separated).value)
    assert math.isfinite(intercept_of(levels_of(y, np.full(200, 0.2))).value)


def test_very_many_scores_are_merged_and_little_is_lost() -> None:
    random = np.random.default_rng(6)
    scores = random.random(8000)
    y = (random.random(8000) < scores).astype(float)
    line = calibration_line(levels_of(y, scores))
    assert line["slope"] == pytest.approx(1.0, abs=0.1)
    assert line["ici"] == pytest.approx(
        float(np.mean(np.abs(scores - lowess(y, scores)))), abs=2e-3
    )


def test_net_benefit_is_that_of_dcurves() -> None:
    import dcurves

    y, scores = sample(7, 800)
    limits = [0.001, 0.02, 0.05, 0.07, 0.3, 0.42, 0.5, 0.9, 0.99]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = dcurves.dca(
            data=pd.DataFrame({"y": y, "p": scores}), outcome="y", modelnames=["p"],
            thresholds=limits,
        )  # fmt: skip
    curve = decision_curve_of(levels_of(y, scores), limits)
    for name, ours in (("p", curve.model), ("all", curve.all)):
        theirs = table[table["model"] == name].sort_values("threshold")["net_benefit"]
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


def test_a_threshold_of_0_or_1_is_refused() -> None:
    with pytest.raises(ValueError, match="thresholds has 1: a threshold lies above 0 and below 1"):
        decision_curve_of(levels_of(*sample(8, 50)), [0.5, 1.0])


def test_figures_are_those_of_scikit_learn() -> None:
    y, scores = sample(9)
    line = of_score(levels_of(y, scores))
    assert line["auc"] == pytest.approx(roc_auc_score(y, scores), abs=1e-9)
    assert line["brier"] == pytest.approx(brier_score_loss(y, scores), abs=1e-9)


def test_of_a_thousand_patients() -> None:
    y, scores = sample(10)
    counts = per_thousand(at_threshold(levels_of(y, scores), 0.1))
    flagged = scores > 0.1
    assert counts["flagged"] == pytest.approx(1000 * flagged.mean())
    assert counts["fn"] == pytest.approx(1000 * np.mean(~flagged & (y == 1)))
    assert sum(counts[name] for name in ("tp", "fp", "tn", "fn")) == pytest.approx(1000)
