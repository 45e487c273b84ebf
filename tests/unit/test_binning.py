"""From values to bins: exact where there are few, at quantiles where there are many."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from figs_spark.engine.bins import Bins, bin_feature, make_bins, midpoints
from figs_spark.engine.splits import BinSplit, Side
from figs_spark.treesum import Feature

nan, inf = math.nan, math.inf
ODD = [-inf, -1e300, -1.5, -5e-324, -0.0, 0.0, 5e-324, 0.1, 1.0, 1.6e9, 1.6e9 + 1, 1e300, inf, nan]


def bins_of(*columns: np.ndarray, max_bins: int = 255) -> Bins:
    described = [Feature(f"x{j}") for j in range(len(columns))]
    return make_bins(np.column_stack(columns), described, max_bins)


@pytest.mark.parametrize(
    ("column", "values", "edges"),
    [
        ([2.0, 0.0, 1.0, 0.0], [0, 1, 2], [0.5, 1.5]),
        ([7.0, 7.0], [7], []),
        ([nan, nan], [0], []),
        ([nan, 3.0, nan, 5.0], [3, 5], [4]),
        ([0.0, -0.0, 1.0], [0, 1], [0.5]),
        ([inf, -inf, 0.0], [-inf, 0, inf], [-inf, 0]),
        ([inf, -inf], [-inf, inf], [-inf]),
        ([-1.6e308, 0.0, 1.6e308], [-1.6e308, 0, 1.6e308], [-0.8e308, 0.8e308]),
        ([1e300, 1.6e308], [1e300, 1.6e308], [0.8e308 + 5e299]),
        ([1.6e9, 1.6e9 + 1], [1.6e9, 1.6e9 + 1], [1.6e9 + 0.5]),
        ([0.0, 5e-324, 1e-323], [0, 5e-324, 1e-323], [0, 5e-324]),
        ([1.0, np.nextafter(1, 2)], [1, np.nextafter(1, 2)], [1]),
    ],
)
def test_few_values_have_a_bin_each(
    column: list[float], values: list[float], edges: list[float]
) -> None:
    found = bin_feature(np.array(column), Feature("x"), max_bins=3)
    assert found.values is not None
    assert found.values.tolist() == values
    assert found.edges.tolist() == edges
    codes, unseen = bins_of(np.array(column), max_bins=3).encode(np.array(column)[:, None])
    expected = [values.index(v) if v == v else len(values) for v in column]
    assert codes[:, 0].tolist() == expected
    assert unseen == {}


@given(arrays(float, st.integers(2, 20), elements=st.floats(allow_nan=False), unique=True))
@settings(max_examples=200, deadline=None)
def test_a_midpoint_separates_its_neighbours(values: np.ndarray) -> None:
    values = np.unique(values)
    middle = midpoints(values)
    assert (values[:-1] <= middle).all()
    assert (middle < values[1:]).all()


@pytest.mark.parametrize("max_bins", [2, 16, 255])
@pytest.mark.parametrize("sample", ["normal", "lognormal", "random"])
def test_many_values_fall_into_bins_of_equal_size(max_bins: int, sample: str) -> None:
    rows = 10_000
    column = getattr(np.random.default_rng(0), sample)(size=rows)
    found = bin_feature(column, Feature("x"), max_bins)
    assert found.values is None
    assert found.count == max_bins
    assert (np.diff(found.edges) > 0).all()
    sizes = np.bincount(np.searchsorted(found.edges, column), minlength=max_bins)
    assert sizes.max() - sizes.min() <= 1


@pytest.mark.parametrize("max_bins", [3, 100])
@pytest.mark.parametrize(
    ("heavy", "expected"),
    [(-300.0, [99_800, 200]), (-0.5, [100, 99_800, 100]), (300.0, [200, 99_800])],
)
def test_a_value_that_most_rows_have_is_set_apart(
    heavy: float, expected: list[int], max_bins: int
) -> None:
    column = np.concatenate([np.full(99_800, heavy), np.arange(-100.0, 100.0)])
    edges = bin_feature(column, Feature("x"), max_bins).edges
    assert np.bincount(np.searchsorted(edges, column)).tolist() == expected


@given(
    values=arrays(float, (60, 2), elements=st.sampled_from(ODD) | st.floats(-9, 9, width=16)),
    max_bins=st.sampled_from([2, 5, 255]),
    split=st.integers(0, 60),
)
@settings(max_examples=150, deadline=None)
def test_codes_equal_a_search_among_the_edges(
    values: np.ndarray, max_bins: int, split: int
) -> None:
    """Bins from some of the rows, codes of all of them, with numba and without."""
    bins = bins_of(values[:split, 0], values[:split, 1], max_bins=max_bins)
    results = []
    for numba in ("1", "0"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FIGS_SPARK_NUMBA", numba)
            results.append(bins.encode(values))
    for codes, unseen in results:
        for j, feature in enumerate(bins.features):
            column = values[:, j]
            missing = np.isnan(column)
            expected = np.where(missing, feature.count, np.searchsorted(feature.edges, column))
            np.testing.assert_array_equal(codes[:, j], expected)
            if feature.values is not None:
                strange = column[~missing & ~np.isin(column, feature.values)]
                np.testing.assert_array_equal(unseen.get(j, []), np.unique(strange))
            else:
                assert j not in unseen


@pytest.mark.parametrize("numba", ["1", "0"])
@pytest.mark.parametrize("spread", [0.1, 1, 5, 40])
def test_crowded_edges_tell_neighbours_apart(
    spread: float, numba: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a large spread nearly all edges are in one cell of the grid."""
    monkeypatch.setenv("FIGS_SPARK_NUMBA", numba)
    values = np.exp(spread * np.random.default_rng(0).normal(size=(5000, 1)))
    bins = bins_of(values)
    edges = bins.features[0].edges
    assert len(edges) == 254
    odd = np.array([-inf, inf, nan])
    rows = np.concatenate([np.nextafter(edges, -inf), edges, np.nextafter(edges, inf), odd])
    codes, _ = bins.encode(rows[:, None])
    expected = np.where(np.isnan(rows), 255, np.searchsorted(edges, rows))
    np.testing.assert_array_equal(codes[:, 0], expected)


def test_bins_are_widened_by_the_values_they_lack() -> None:
    described = [Feature("exact"), Feature("full")]
    sample = np.array([[1.0, 1], [3, 2], [1, 3]])
    bins = make_bins(sample, described, max_bins=3)
    rows = np.array([[2.0, 9], [3, 1], [2, 8], [1, 7]])
    _, unseen = bins.encode(rows)
    assert {j: values.tolist() for j, values in unseen.items()} == {0: [2], 1: [7, 8, 9]}
    wide = bins.widened(unseen, described, max_bins=3)
    assert [f.values is not None for f in wide.features] == [True, False]
    assert wide.features[0].edges.tolist() == [1.5, 2.5]
    assert wide.features[1].edges.tolist() == [2.5, 7.5]
    codes, unseen = wide.encode(rows)
    assert codes.tolist() == [[1, 2], [2, 0], [1, 2], [0, 1]]
    assert unseen == {}


@pytest.mark.parametrize("numba", ["1", "0"])
@pytest.mark.parametrize(
    ("described", "column", "expected"),
    [
        (Feature("town", ("a", "b"), others=3), [0, 1, -1, nan, 1], [0, 1, 2, 3, 1]),
        (Feature("town", (), kind="text", others=3), [-1, -1, nan], [1, 1, 2]),
        (Feature("town", ("a", "b")), [1, nan, 0], [1, 2, 0]),
        (Feature("town", (), kind="text"), [nan, nan], [1, 1]),
        (
            Feature("code", (-2.0, 7.0), others=2),
            [7, 0, -2, 9, -9, nan, inf],
            [1, 2, 0, 2, 2, 3, 2],
        ),
        (Feature("code", (), others=2), [0, 1, nan], [1, 1, 2]),
        (Feature("flag", (False, True)), [1, 0, nan], [1, 0, 2]),
    ],
)
def test_values_that_are_no_category_share_a_bin(
    described: Feature,
    column: list[float],
    expected: list[int],
    numba: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FIGS_SPARK_NUMBA", numba)
    rows = np.array(column)[:, None]
    bins = make_bins(rows, [described], 255)
    codes, unseen = bins.encode(rows)
    assert codes[:, 0].tolist() == expected
    assert unseen == {}
    assert bins.widths == (max(1, len(described.categories or ())) + (described.others > 0) + 1,)


def test_the_side_of_other_values_is_never_the_listed_one() -> None:
    bins = make_bins(np.zeros((1, 1)), [Feature("town", ("a", "b", "c"), others=5)], 255)
    light, heavy = Side(np.zeros(1), 1.0, 1), Side(np.zeros(1), 9.0, 9)
    for left_bins, right_bins, listed in [
        ([3], [0, 1], ("a", "b")),
        ([0, 1], [3], ("a", "b")),
        ([2, 3], [0], ("a",)),
        ([3], [], ()),
    ]:
        for sides in [(light, heavy), (heavy, light)]:
            found = BinSplit(
                1.0, 0, np.array(left_bins, int), np.array(right_bins, int), False, *sides
            )
            split, goes_left = bins.split(0, found, 0)
            assert split.categories == listed
            assert goes_left[3] == (3 in left_bins) == (not split.listed_left)
    without = BinSplit(1.0, 0, np.array([1]), np.array([0, 2]), False, light, heavy)
    split, goes_left = bins.split(0, without, 0)
    assert (split.categories, split.listed_left, goes_left[3]) == (("b",), True, False)


@pytest.mark.parametrize(
    ("left", "right", "threshold", "last"),
    [(0, 1, 0.5, 0), (0, 2, 1.5, 1), (0, 3, 5, 2), (1, 3, 5.5, 2), (2, 3, 6.5, 2)],
)
def test_a_cut_lies_in_the_middle_of_the_gap_in_its_leaf(
    left: int, right: int, threshold: float, last: int
) -> None:
    exact = bin_feature(np.array([0.0, 1.0, 3.0, 10.0]), Feature("x"), 255)
    assert exact.cut(left, right) == (threshold, last)
    quantiles = bin_feature(np.arange(400.0), Feature("x"), 4)
    threshold, last = quantiles.cut(left, right)
    assert left <= last < right
    assert threshold == quantiles.edges[last]
