"""Curves, areas and operating points against scikit-learn and SciPy, row by row and with ties."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn import metrics

from figs_spark.clinical.curves import EVERYONE, Curve, OperatingPoint, RowsByScore, wilson
from tests.support.scores import levels_of as by_score

SCORES = (0.0, 0.1, 0.1 + 0.2, 0.3, 0.5, math.nextafter(0.5, 1), 0.99, 1.0)
EXACT: Any = {"rtol": 1e-12, "atol": 1e-12}


@st.composite
def samples(draw: Any, weighted: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels of both classes, scores with ties and neighbours, weights."""
    weight = st.sampled_from([0.1, 0.5, 1.0, 3.7]) if weighted else st.just(1.0)
    row = st.tuples(st.integers(0, 1), st.sampled_from(SCORES), weight)
    rows = [(0, draw(st.sampled_from(SCORES)), 1.0), (1, draw(st.sampled_from(SCORES)), 1.0)]
    rows += draw(st.lists(row, max_size=40))
    labels, scores, weights = (np.array(cells) for cells in zip(*rows, strict=True))
    return labels, scores, weights


@given(samples())
@settings(max_examples=200, deadline=None)
def test_areas_and_errors_are_those_of_scikit_learn(sample: Any) -> None:
    y, s, w = sample
    found = by_score(y, s, w)
    area, _ = found.auc()
    np.testing.assert_allclose(area, metrics.roc_auc_score(y, s, sample_weight=w), **EXACT)
    precision = metrics.average_precision_score(y, s, sample_weight=w)
    np.testing.assert_allclose(found.average_precision(), precision, **EXACT)
    brier = metrics.brier_score_loss(y, s, sample_weight=w)
    np.testing.assert_allclose(found.brier(), brier, **EXACT)
    f1 = [metrics.f1_score(y, s >= t, sample_weight=w) for t in np.unique(s)]
    np.testing.assert_allclose(Curve(found).best_f1(), max(f1), **EXACT)


@given(samples())
@settings(max_examples=200, deadline=None)
def test_every_threshold_does_what_the_curve_says(sample: Any) -> None:
    y, s, w = sample
    curve = Curve(by_score(y, s, w))
    assert (curve.thresholds[0], curve.thresholds[-1]) == (np.inf, -np.inf)
    assert (curve.sensitivity[0], curve.specificity[0]) == (0, 1)
    assert (curve.sensitivity[-1], curve.specificity[-1]) == (1, 0)
    assert len(curve.thresholds) == len(np.unique(s)) + 1
    for k, threshold in enumerate(curve.thresholds):
        counts = metrics.confusion_matrix(y, s >= threshold, labels=[0, 1], sample_weight=w)
        expected = counts[1, 1], counts[0, 1]
        np.testing.assert_allclose((curve.tp[k], curve.fp[k]), expected, **EXACT)


@given(samples(), st.sampled_from([0.0, 0.5, 0.75, 0.9, 0.96, 1.0]))
@settings(max_examples=200, deadline=None)
def test_the_best_specificity_at_a_sensitivity(sample: Any, level: float) -> None:
    y, s, w = sample
    curve = Curve(by_score(y, s, w))
    point = curve.point(level)
    thresholds = [np.inf, *np.unique(s)]
    shares = [(w[(s >= t) & (y == 1)].sum() / w[y == 1].sum(), t) for t in thresholds]
    best = max(w[(s < t) & (y == 0)].sum() for share, t in shares if share >= level - 1e-12)
    assert point.sensitivity >= level
    assert point.tn <= best + 1e-9
    if set(w) == {1.0}:
        assert point.tn == best
    row = point.row()
    assert row["sensitivity"] == curve.sensitivity[curve.at_sensitivity(level)]
    counts = metrics.confusion_matrix(y, s >= point.threshold, labels=[0, 1], sample_weight=w)
    np.testing.assert_allclose([row[n] for n in ("tn", "fp", "fn", "tp")], counts.ravel(), **EXACT)
    opposite = curve.at_specificity(level)
    assert curve.specificity[opposite] >= level
    assert curve.sensitivity[opposite] == max(curve.sensitivity[curve.specificity >= level])


@given(samples(), st.sampled_from([0.0, 0.5, 0.9, 1.0]))
@settings(max_examples=200, deadline=None)
def test_a_param_flags_the_same_rows(sample: Any, level: float) -> None:
    """A model predicts 1 above its threshold, not at it; even where two scores are neighbours."""
    y, s, w = sample
    point = Curve(by_score(y, s, w)).point(level)
    strict = point.as_param().threshold
    assert strict == EVERYONE or 0 <= strict <= 1
    assert ((s > strict) == (s >= point.threshold)).all()


def test_a_threshold_lies_halfway() -> None:
    curve = Curve(by_score([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.6]))
    assert curve.thresholds.tolist() == [np.inf, 0.5, pytest.approx(0.3), -np.inf]
    # the level 0.4 has no negatives: it costs nothing to be more sensitive than asked
    assert curve.point(0.5).row()["sensitivity"] == 1
    assert curve.point(0.5).threshold == pytest.approx(0.3)


@given(samples(weighted=False))
@settings(max_examples=100, deadline=None)
def test_the_error_of_the_area_is_delongs(sample: Any) -> None:
    y, s, _ = sample
    p, n = s[y == 1], s[y == 0]
    above = (p[:, None] > n) + 0.5 * (p[:, None] == n)
    _, error = by_score(y, s).auc()
    if min(len(p), len(n)) < 2:
        assert math.isnan(error)
        return
    placements = above.mean(axis=1), above.mean(axis=0)
    expected = sum(np.var(v, ddof=1) / len(v) for v in placements)
    assert error**2 == pytest.approx(expected, abs=1e-12)


def test_equal_weights_change_no_uncertainty() -> None:
    random = np.random.default_rng(0)
    y, s = random.integers(0, 2, 200), random.integers(0, 9, 200) / 8
    plain, heavy = by_score(y, s), by_score(y, s, np.full(200, 7.5))
    assert heavy.auc() == pytest.approx(plain.auc(), abs=1e-12)
    one, other = (Curve(found).point(0.9) for found in (plain, heavy))
    assert other.sensitivity_interval == pytest.approx(one.sensitivity_interval, abs=1e-12)
    unequal = by_score(y, s, np.where(np.arange(200) < 20, 10.0, 1.0))
    assert unequal.auc()[1] > plain.auc()[1]


@pytest.mark.parametrize(("count", "rows"), [(0, 7), (7, 7), (3, 7), (960, 1000), (1, 1)])
def test_wilson(count: int, rows: int) -> None:
    expected = binomtest(count, rows).proportion_ci(method="wilson")
    assert wilson(count / rows, rows) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_ratios_of_an_operating_point() -> None:
    row = OperatingPoint(0.9, 0.3, 18, 40, 160, 2, (18, 40, 160, 2)).row()
    assert row["lrPositive"] == pytest.approx(0.9 / 0.2)
    assert row["lrNegative"] == pytest.approx(0.1 / 0.8)
    assert row["ppv"] == pytest.approx(18 / 58)
    assert row["npv"] == pytest.approx(160 / 162)
    assert row["f1"] == pytest.approx(36 / 78)
    expected = binomtest(18, 58).proportion_ci(method="wilson")
    assert (row["ppvLow"], row["ppvHigh"]) == pytest.approx((expected.low, expected.high))
    perfect = OperatingPoint(1.0, 0.3, 5, 0, 5, 0, (5, 0, 5, 0)).row()
    assert (perfect["lrPositive"], perfect["lrNegative"]) == (math.inf, 0)


def test_without_positives_there_is_no_operating_point() -> None:
    row = Curve(by_score([0, 0], [0.2, 0.4])).point(0.9).row()
    assert row.pop("level") == 0.9
    assert all(math.isnan(value) for value in row.values())
    lone = Curve(by_score([1, 1], [0.2, 0.4])).point(0.9).row()
    assert (lone["sensitivity"], lone["threshold"]) == (1, -math.inf)
    assert math.isnan(lone["specificity"])


def test_an_operating_point_goes_through_json() -> None:
    point = Curve(by_score([0, 1, 1], [0.1, 0.3, 0.7])).point(0.9).as_param()
    assert OperatingPoint.from_dict(json.loads(json.dumps(point.to_dict()))) == point


@given(samples(), st.integers(1, 12))
@settings(max_examples=100, deadline=None)
def test_bins_keep_equal_scores_together_and_in_order(sample: Any, most: int) -> None:
    y, s, w = sample
    found = by_score(y, s, w)
    numbers = found.bins(most)
    assert sorted(set(numbers)) == list(range(len(set(numbers))))
    assert (np.diff(numbers) <= 0).all()
    assert len(set(numbers)) <= most
    if len(found.low) <= most:
        assert len(set(numbers)) == len(found.low)


def test_bins_have_equal_weight() -> None:
    scores = np.arange(1000) / 1000
    numbers = by_score(scores > 0.5, scores).bins(10)
    assert np.bincount(numbers).tolist() == [100] * 10


def test_entries_of_equal_rank_are_added() -> None:
    found = RowsByScore.of(
        np.array([1.0, 2.0, 1.0]),
        {name: np.array([1.0, 5.0, 3.0]) for name in RowsByScore.__dataclass_fields__},
    )
    assert (found.low.tolist(), found.high.tolist()) == ([5.0, 1.0], [5.0, 3.0])
    assert found.rows.tolist() == [5.0, 4.0]


def test_an_interval_of_hardly_any_row_is_unknown() -> None:
    assert np.isnan(wilson(0.5, 5e-324)).all()
