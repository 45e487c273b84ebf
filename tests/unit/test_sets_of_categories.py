"""A set of many categories does not win by its freedom; ordered categories are cut as numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.engine.bins import make_bins
from figs_spark.engine.constraints import Constraints
from figs_spark.engine.grower import grow
from figs_spark.engine.kernels import split as kernel
from figs_spark.engine.kernels.records import CutLimits
from figs_spark.engine.splits import FREE_GAIN, Cuts, _rank
from figs_spark.stages.cross_validation import fold_losses, size_table
from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.serialization import from_json, to_json
from figs_spark.treesum.text import rules
from tests.support.oracle import figs
from tests.support.small import Data, steps

ROWS = 2_000
WEAK = 0.15  # what the number adds


@pytest.fixture(scope="module")
def data() -> Data:
    """A number with a weak effect, 100 categories without any, and a sign that is rare."""
    random = np.random.default_rng(0)
    number, code = random.integers(0, 10, ROWS), random.integers(0, 100, ROWS)
    sign = random.random(ROWS) < 0.05
    y = WEAK * (number > 4) + 0.3 * sign + random.normal(0, 0.5, ROWS)
    return Data(np.column_stack([number, code, sign]).astype(float), y, categorical=(1, 2))


def test_a_set_wins_by_its_freedom_unless_it_pays_for_it(data: Data) -> None:
    free, fair = (data.fit(max_splits=1, category_smoothing=s).splits[0] for s in (0.0, 20.0))
    assert (free.feature, fair.feature) == (1, 0)
    assert [s.feature for s in data.fit(max_splits=2, category_smoothing=20.0).splits] == [0, 2]
    spread = float(np.var(data.y))
    assert free.gain == pytest.approx(FREE_GAIN * 100 * spread, rel=0.25)


def test_the_gain_of_a_set_is_its_own(data: Data) -> None:
    """The price decides which split wins; what is recorded is what the split gains."""
    only_codes = Data(data.X[:, 1:2], data.y + (data.X[:, 1] < 30), categorical=(0,))
    model = only_codes.fit(max_splits=1, category_smoothing=1e-9)
    lowered = (model.losses[0] - model.losses[1]) * ROWS
    assert model.splits[0].gain == pytest.approx(lowered, rel=1e-9)
    assert model.splits == only_codes.fit(max_splits=1).splits


@pytest.fixture(scope="module")
def risks() -> Data:
    """A rare sign of high risk, where half have the outcome; elsewhere few do. 60 categories have
    no effect, and a number has a weak one among those of high risk."""
    random = np.random.default_rng(4)
    high, code = random.random(3_000) < 0.15, random.integers(0, 60, 3_000)
    number = random.integers(0, 4, 3_000)
    risk = np.where(high, 0.4 + 0.06 * number, 0.02)
    y = (random.random(3_000) < risk).astype(float)
    X = np.column_stack([high, code, number]).astype(float)
    return Data(X, y, classes=2, categorical=(1,))


WAYS = {
    "greedy": {},
    "with a ridge": {"ridge": None},
    "polished": {"ridge": None, "polish": True},
    "by the logistic loss": {"logistic": True},
    "with drawn features": {"features_per_step": 2},
    "with constraints": {"constraints": Constraints(costs=(1e-9, 0.0, 0.0))},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_set_pays_by_the_variance_of_its_leaf(risks: Data, way: str) -> None:
    model = risks.fit(max_splits=3, category_smoothing=20.0, **WAYS[way])
    assert 0 in [split.feature for split in model.splits]
    assert 1 not in [split.feature for split in model.splits]


@given(seed=st.integers(0, 1 << 20), smoothing=st.sampled_from([0.0, 5.0]), weighted=st.booleans())
@settings(max_examples=25, deadline=None)
def test_sets_compete_as_in_the_oracle(seed: int, smoothing: float, weighted: bool) -> None:
    random = np.random.default_rng(seed)
    X = np.column_stack([random.integers(0, n, 150) for n in (3, 40, 5, 20)]).astype(float)
    risk = 0.05 + 0.5 * (X[:, 0] == 2) + 0.4 * (X[:, 1] < 8)
    y = (random.random(150) < risk) + random.normal(0, 0.01, 150)
    w = random.uniform(0.5, 2.0, 150) if weighted else None
    data = Data(X, y, weight=w, categorical=(1, 2, 3))
    model = data.fit(max_splits=5, category_smoothing=smoothing)
    expected = figs(X, y, w, max_splits=5, categorical=(1, 2, 3), smoothing=smoothing)
    assert [step[:2] for step in steps(model)] == [step[:2] for step in expected]
    for mine, theirs in zip(steps(model), expected, strict=True):
        np.testing.assert_allclose(mine.left, theirs.left, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(mine.right, theirs.right, rtol=1e-9, atol=1e-9)


def test_few_categories_pay_nothing() -> None:
    random = np.random.default_rng(1)
    X = random.integers(0, 16, (500, 3)).astype(float)
    y = X @ [0.03, 0.02, 0.01] + random.normal(0, 1, 500)
    data = Data(X, y, categorical=(0, 1, 2))
    assert data.fit(max_splits=4, category_smoothing=20.0) == data.fit(max_splits=4)


def test_means_are_drawn_to_that_of_the_leaf() -> None:
    g = np.array([[2.0], [60.0], [-50.0], [0.0]])
    weights = np.array([[2.0], [100.0], [100.0], [0.0]])
    assert _rank(g, weights).tolist() == [2, 1, 0, 3]  # two rows with a mean of 1 are the highest
    assert _rank(g, weights, smoothing=10.0).tolist() == [2, 0, 1, 3]


def test_the_compiled_prices_are_the_plain_ones(data: Data) -> None:
    layout = data.backend.layout
    cuts = Cuts(layout, data.bins.categorical)
    random = np.random.default_rng(2)
    histograms = np.concatenate(
        [random.normal(0, 3, (4, layout.size, 1)), random.integers(0, 9, (4, layout.size, 1))],
        axis=2,
    )
    histograms[histograms[:, :, 1] == 0] = 0.0
    for k in range(4):  # all features have the same rows
        for j in range(3):
            start, missing = cuts._span(j)
            total = histograms[k, start : missing + 1].sum(axis=0)
            histograms[k, missing] += [100.0, 3000.0] - total
    limits, noise = CutLimits(1, 0.0, 0.0, 1e-9), 0.25
    prices = cuts.prices(histograms, [noise] * 4)
    assert (prices[:, 0] == 0).all()
    assert (prices[:, 1] > 2 * FREE_GAIN * noise * 60).all()
    assert (prices[:, 2] == 0).all()
    found = []
    for run in (kernel.best_cuts, kernel.best_cuts_plain):
        gains, at = np.empty(4), np.zeros(4, np.int64)
        run(histograms, layout.offsets, 1, limits, prices, gains, at)
        found.append((gains, at))
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-9)
    np.testing.assert_array_equal(found[0][1], found[1][1])


def test_the_size_by_bic_counts_the_freedom_of_sets(data: Data) -> None:
    growth = data.growth(max_splits=2)
    grow([growth], data.backend)
    assert growth.freedoms[0] == 99  # 100 categories
    table = size_table(fold_losses([np.ones(2)] * 2, 2), (0.4, 0.3), ROWS, [99])
    expected = [ROWS * math.log(loss) + math.log(ROWS) * k for loss, k in ((0.4, 1), (0.3, 101))]
    assert table["bic"].tolist() == pytest.approx(expected)


# Ordered categories

BANDS = ("<20", "20-39", "40-59", "60-79", "80+")


@pytest.fixture(scope="module")
def by_age() -> TreeSum:
    """High in the middle: a set would take two bands, an order needs two cuts."""
    positions = np.tile([0.0, 1.0, 2.0, 3.0, 4.0, np.nan], 100)
    y = np.isin(positions, [2.0, 3.0]).astype(float)
    bins = make_bins(positions[:, None], [Feature("age", BANDS, ordered=True)], 255)
    assert bins.categorical == [False]
    data = Data(positions[:, None], y)
    data.__dict__["bins"] = bins
    return data.fit(max_splits=2)


def test_ordered_categories_are_cut_in_their_order(by_age: TreeSum) -> None:
    assert [split.categories for split in by_age.splits] == [BANDS[2:], BANDS[4:]]
    assert [split.listed_left for split in by_age.splits] == [False, False]
    assert rules(by_age)["path"].tolist() == [
        "age < 40-59 or missing",
        "age >= 40-59 and age < 80+",
        "age >= 80+",
    ]
    values = [[band] for band in (*BANDS, None, "unknown")]
    assert by_age.predict(values)[:, 0].tolist() == pytest.approx([0, 0, 1, 1, 0, 0, 0])
    assert from_json(to_json(by_age)) == by_age


def test_only_text_is_ordered() -> None:
    text = to_json(TreeSum((Feature("x", ("a",)),), (Node((0.0,), 1, 1.0),), (0.0,), (0.0,)))
    damaged = text.replace('"categories": ["a"]', '"categories": [1.0], "ordered": true')
    with pytest.raises(ValueError, match="ordered"):
        from_json(damaged)


def test_a_cut_lists_bands_that_its_leaf_has_not(by_age: TreeSum) -> None:
    split = Split(0, 0, 1.0, True, None, BANDS[3:], False)
    assert split.goes_left(np.array([*BANDS, None], dtype=object)).tolist() == [
        True, True, True, False, False, True,
    ]  # fmt: skip
