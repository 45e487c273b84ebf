"""The best split of a histogram against every split there is."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from figs_spark.engine.histograms import Layout
from figs_spark.engine.kernels.records import CutLimits
from figs_spark.engine.splits import TINY, BinSplit, Cuts

BINS = 4  # and one for missing
WEIGHTS = (0.25, 1 / 3, 1.0, 2.5)


@pytest.fixture(scope="module", autouse=True, params=["1", "0"], ids=["numba", "numpy"])
def kernel(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FIGS_SPARK_NUMBA", request.param)
        yield


class Leaf(NamedTuple):
    """The rows of one leaf: bin codes, residuals and weights."""

    codes: np.ndarray
    residual: np.ndarray
    weight: np.ndarray

    @property
    def layout(self) -> Layout:
        return Layout((BINS + 1,) * self.codes.shape[1], self.residual.shape[1], True)

    def histogram(self) -> np.ndarray:
        layout = self.layout
        table = np.zeros((layout.size, layout.channels))
        for codes, r, w in zip(self.codes, self.residual, self.weight, strict=True):
            table[layout.offsets[:-1].astype(int) + codes] += [*(w * r), w, 1.0]
        return table

    def best(self, limits: CutLimits, categorical: bool = False) -> BinSplit | None:
        cuts = Cuts(self.layout, [categorical] * self.codes.shape[1])
        (cut,) = cuts.best(self.histogram()[None], limits)
        return None if cut is None else cuts.split(self.histogram(), cut)

    def gain(self, left: np.ndarray, limits: CutLimits) -> float | None:
        """What a split gains, or None where it is not valid."""
        score, sides = -self._score(np.full(len(left), True)), (left, ~left)
        if min(side.sum() for side in sides) < max(1, limits.min_rows):
            return None
        if min(self.weight[side].sum() for side in sides) < limits.min_weight:
            return None
        return score + sum(self._score(side) for side in sides)

    def _score(self, rows: np.ndarray) -> float:
        g = self.weight[rows] @ self.residual[rows]
        return float(g @ g / self.weight[rows].sum())

    def all_splits(
        self, limits: CutLimits, categorical: bool = False
    ) -> Iterator[tuple[float, int, set[int], bool]]:
        """(gain, feature, bins on the left, missing left) of every valid split, in order."""
        for j, codes in enumerate(self.codes.T):
            seen = sorted(set(codes.tolist()) - {BINS})
            sizes = range(1, len(seen) + 1)
            if categorical:
                sets = [set(s) for k in sizes for s in combinations(seen, k)]
            else:
                sets = [set(seen[:k]) for k in sizes]
            for bins in sets:
                for missing_left in (True, False) if (codes == BINS).any() else (False,):
                    left = np.isin(codes, [*bins, BINS] if missing_left else list(bins))
                    gain = self.gain(left, limits)
                    if gain is not None:
                        yield gain, j, bins, missing_left


@st.composite
def leaves(draw: st.DrawFn, outputs: int = 1) -> Leaf:
    rows, features = draw(st.integers(1, 14)), draw(st.integers(1, 3))
    last = draw(st.sampled_from([BINS - 1, BINS]))  # without missing, or with
    return Leaf(
        codes=draw(arrays(np.uint8, (rows, features), elements=st.integers(0, last))),
        residual=draw(arrays(float, (rows, outputs), elements=st.sampled_from([-1.0, 0, 0.5, 3]))),
        weight=draw(arrays(float, rows, elements=st.sampled_from(WEIGHTS))),
    )


def limits_for(leaf: Leaf, min_rows: int = 1, share: float = 0.0) -> CutLimits:
    total = float(leaf.weight.sum())
    return CutLimits(min_rows, share * total * (1 - 1e-9), TINY * total, tie=1e-9)


bounds = st.tuples(st.integers(1, 4), st.sampled_from([0.0, 0.1, 0.25, 0.5]))


@given(leaves() | leaves(outputs=3), bounds)
@settings(max_examples=300, deadline=None)
def test_a_cut_is_the_first_of_the_best(leaf: Leaf, bounds: tuple[int, float]) -> None:
    """Over all features, thresholds and sides for missing, in this order."""
    limits = limits_for(leaf, *bounds)
    splits = list(leaf.all_splits(limits))
    found = leaf.best(limits)
    if not splits:
        assert found is None
        return
    assert found is not None
    top = max(gain for gain, *_ in splits)
    _, feature, bins, missing_left = next(s for s in splits if s[0] >= top - limits.tie)
    assert found.gain == pytest.approx(top, abs=1e-9)
    assert (found.feature, set(found.left_bins.tolist())) == (feature, bins)
    if (leaf.codes[:, feature] == BINS).any():
        assert found.missing_left == missing_left
    else:
        assert found.missing_left == found.left.outweighs(found.right)
    assert_sides_add_up(found, leaf)


@given(leaves(), bounds)
@settings(max_examples=300, deadline=None)
def test_a_set_of_categories_is_the_best_of_all_sets(leaf: Leaf, bounds: tuple[int, float]) -> None:
    """Where limits bind, the best set need not be an interval of means: it is a bound then."""
    limits = limits_for(leaf, *bounds)
    splits = list(leaf.all_splits(limits, categorical=True))
    found = leaf.best(limits, categorical=True)
    top = max((gain for gain, *_ in splits), default=-np.inf)
    if bounds == (1, 0.0):
        assert (found is None) == (not splits)
        assert found is None or found.gain == pytest.approx(top, abs=1e-9)
    if found is not None:
        assert found.gain <= top + 1e-9
        assert_sides_add_up(found, leaf)


@given(leaves(outputs=3))
@settings(max_examples=150, deadline=None)
def test_a_set_of_categories_with_several_outputs_gains_what_it_says(leaf: Leaf) -> None:
    limits = limits_for(leaf)
    splits = list(leaf.all_splits(limits, categorical=True))
    found = leaf.best(limits, categorical=True)
    assert (found is None) == (not splits)
    if found is not None:
        assert found.gain <= max(gain for gain, *_ in splits) + 1e-9
        assert_sides_add_up(found, leaf)


def assert_sides_add_up(found: BinSplit, leaf: Leaf) -> None:
    """The sums of both sides are those of their rows, and they gain what the split says."""
    codes = leaf.codes[:, found.feature]
    seen = (codes == BINS).any()
    left = np.isin(codes, found.left_bins) | (seen & found.missing_left & (codes == BINS))
    right = np.isin(codes, found.right_bins) | (~left & (codes == BINS))
    assert (left ^ right).all()
    for side, rows in ((found.left, left), (found.right, right)):
        np.testing.assert_allclose(side.g, leaf.weight[rows] @ leaf.residual[rows], atol=1e-12)
        assert side.weight == pytest.approx(leaf.weight[rows].sum())
        assert side.rows == rows.sum()
    gain = leaf.gain(left, limits_for(leaf))
    assert found.gain == pytest.approx(gain, abs=1e-8)


def leaf_of(codes: list[Any], residual: list[float], weight: float = 1.0) -> Leaf:
    table = np.array(codes, np.uint8).reshape(len(residual), -1)
    return Leaf(table, np.array(residual, float)[:, None], np.full(len(residual), weight))


@pytest.mark.parametrize(
    ("codes", "residual", "feature", "left", "missing_left"),
    [
        ([[0, 0], [0, 0], [1, 1], [1, 1]], [0, 0, 1, 1], 0, [0], True),
        ([[0, 0], [0, 0], [0, 1], [1, 1]], [0, 0, 1, 1], 1, [0], True),
        ([0, 1, 2, 3], [0, 1, 1, 0], 0, [0], False),
        ([0, 0, 1, 1, BINS], [0, 0, 2, 2, 1], 0, [0], True),
        ([0, 0, 1, 1, BINS], [0, 0, 2, 2, 2], 0, [0], False),
        ([0, 1, 2, BINS, BINS], [0, 0, 0, 1, 1], 0, [0, 1, 2], False),
        ([3, 3, BINS], [1, 1, 0], 0, [3], False),
    ],
    ids=[
        "equal features",
        "the better feature",
        "equal thresholds",
        "equal sides for missing",
        "missing right",
        "missing against the rest",
        "one value or missing",
    ],
)
def test_ties_and_missing_values(
    codes: list[Any], residual: list[float], feature: int, left: list[int], missing_left: bool
) -> None:
    leaf = leaf_of(codes, residual)
    found = leaf.best(limits_for(leaf))
    assert found is not None
    assert (found.feature, found.left_bins.tolist()) == (feature, left)
    assert found.missing_left == missing_left


@pytest.mark.parametrize(
    ("codes", "residual", "outputs"),
    [
        ([2, 2, 2], [0, 1, 2], 1),
        ([BINS, BINS], [0, 1], 1),
        ([BINS, BINS], [0, 1], 3),
    ],
    ids=["one value", "all missing", "all missing, several outputs"],
)
@pytest.mark.parametrize("categorical", [False, True])
@pytest.mark.filterwarnings("error")
def test_no_split_where_there_is_nothing_to_choose(
    codes: list[Any], residual: list[float], outputs: int, categorical: bool
) -> None:
    leaf = leaf_of(codes, residual)
    leaf = leaf._replace(residual=np.tile(leaf.residual, (1, outputs)))
    assert leaf.best(limits_for(leaf), categorical) is None


def test_many_leaves_at_once_equal_one_by_one() -> None:
    random = np.random.default_rng(0)
    leaves = [
        Leaf(random.integers(0, 5, (9, 2), np.uint8), random.normal(size=(9, 1)), np.ones(9))
        for _ in range(7)
    ]
    cuts, limits = Cuts(leaves[0].layout, [False, True]), limits_for(leaves[0])
    stacked = np.stack([leaf.histogram() for leaf in leaves])
    alone = [cuts.best(stacked[k : k + 1], limits)[0] for k in range(len(leaves))]
    assert len(set(map(str, alone))) == len(leaves)
    assert cuts.best(stacked, limits) == alone
