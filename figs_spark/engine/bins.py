"""Features to bins: at most 255 per feature, and one for missing.

A feature with at most `max_bins` distinct values is binned exactly: one bin per value, cut at the
midpoints. Any other numeric feature is cut at quantiles of a sample of its rows. With m rows in
the sample the rank of a cut is off by at most sqrt(ln(2/0.05) / (2 m)) of the rows, with 95%
confidence: 0.4% for 100,000 rows.

Values are compared as float64: float32 would merge neighbouring Unix timestamps.

A categorical feature has a bin for each of its categories and, if some rows have other values, one
for all of these. Text and booleans are given as positions among the categories.

If only some cuts of a feature are allowed, they are its edges, and no split can have another one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.histograms import CODE_DTYPE, CODES, Floats
from figs_spark.engine.kernels import encode, jit
from figs_spark.engine.kernels.records import EdgeArrays, Grids
from figs_spark.engine.splits import BinSplit
from figs_spark.treesum import Feature, Split
from figs_spark.treesum.nodes import CODE, Category

LEGIBLE = 6  # categories in a list that is read as a whole
CutRule = tuple[float, ...] | float  # the cuts that are allowed, or the unit they are rounded to


@dataclass(frozen=True)
class FeatureBins:
    """Bin b holds the values in (edges[b - 1], edges[b]]; `values` has the one value of each bin
    where the feature is binned exactly. With `other` there is a last bin for all other values."""

    edges: Floats
    values: Floats | None
    other: bool = False

    @property
    def count(self) -> int:
        return len(self.edges) + 1 + self.other

    def cut(self, left: int, right: int) -> tuple[float, int]:
        """Threshold between two bins that hold rows, and the last bin on its left.

        The bins between the two are empty in the leaf: the cut is put in the middle of the gap.
        """
        if self.values is None:
            last = (left + right - 1) // 2
            return float(self.edges[last]), last
        threshold = _midpoint(float(self.values[left]), float(self.values[right]))
        return threshold, int(self.values.searchsorted(threshold, "right")) - 1


@dataclass(frozen=True)
class Bins:
    """The bins of all features, and the features as the model will describe them."""

    described: tuple[Feature, ...]
    features: tuple[FeatureBins, ...]

    @property
    def widths(self) -> tuple[int, ...]:
        """Codes per feature; the last one of each is missing."""
        return tuple(feature.count + 1 for feature in self.features)

    @property
    def categorical(self) -> list[bool]:
        """Which features are split as sets; ordered categories are cut as numbers are."""
        return [f.categories is not None and not f.ordered for f in self.described]

    def some(self, features: slice) -> Bins:
        """Those of some features."""
        if features.stop - features.start == len(self.features):
            return self
        known, place = self._parts, (features.start, features.stop)
        if place not in known:
            known[place] = Bins(self.described[features], self.features[features])
        return known[place]

    @cached_property
    def _parts(self) -> dict[tuple[int, int], Bins]:
        return {}

    def encode(self, table: Floats) -> tuple[NDArray[np.uint8], dict[int, Floats]]:
        """The bin codes of a float64 table (rows, features), row-major, and the values of exactly
        binned features that have no bin of their own, by feature. The table lies in memory by rows
        or by columns."""
        table = np.require(table, np.float64, "F" if table.flags.fnc else "C")
        codes = np.empty(table.shape, dtype=CODE_DTYPE)
        strangers = np.zeros(len(self.features), dtype=np.int64)
        if jit.available():
            encode.encode(table, self._arrays, self._grids, codes, strangers)
        else:
            encode.encode_plain(table, self._arrays, codes, strangers)
        return codes, {int(j): self._unknown(int(j), table) for j in np.flatnonzero(strangers)}

    def _unknown(self, j: int, table: Floats) -> Floats:
        column = table[:, j]
        values = self.features[j].values
        assert values is not None
        known = np.isin(column, values) | np.isnan(column)
        return np.unique(column[~known])

    def widened(
        self, unseen: dict[int, Floats], described: Sequence[Feature], max_bins: int
    ) -> Bins:
        """These bins with a bin for each unseen value, or cut evenly where that is too many."""
        features = list(self.features)
        for j, values in unseen.items():
            both = np.union1d(features[j].values, values)  # type: ignore[arg-type]
            features[j] = bin_feature(both, described[j], max_bins)
        return Bins(self.described, tuple(features))

    def split(self, feature: int, chosen: BinSplit, step: int) -> tuple[Split, NDArray[np.bool_]]:
        """A split chosen over bins as one over values, and the side of each code."""
        goes_left = np.zeros(CODES, bool)
        categories = self.described[feature].categories
        if categories is None:
            bins = self.features[feature]
            left = int(chosen.left_bins[-1])
            threshold, last = np.inf, bins.count - 1
            if len(chosen.right_bins):
                threshold, last = bins.cut(left, int(chosen.right_bins[0]))
            goes_left[: last + 1] = True
            goes_left[bins.count] = chosen.missing_left
            return Split(feature, step, chosen.gain, chosen.missing_left, threshold), goes_left
        if self.described[feature].ordered:
            first = int(chosen.right_bins[0]) if len(chosen.right_bins) else len(categories)
            listed_left, listed = False, np.arange(first, len(categories))
        else:
            listed_left = self._lists_left(feature, chosen)
            listed = chosen.left_bins if listed_left else chosen.right_bins
        goes_left[:] = not listed_left
        goes_left[listed] = listed_left
        goes_left[self.features[feature].count] = chosen.missing_left
        names = tuple(categories[b] for b in _in_reading_order(listed.tolist(), chosen))
        split = Split(feature, step, chosen.gain, chosen.missing_left, None, names, listed_left)
        return split, goes_left

    def _lists_left(self, feature: int, chosen: BinSplit) -> bool:
        """Whether the left side of a split is the one whose categories are listed.

        Other values have no name, so it is the side without them; else the shorter one, if the
        other is too long to be read, or the lighter one.
        """
        if self.features[feature].other:
            other = self.features[feature].count - 1
            if other in chosen.left_bins or other in chosen.right_bins:
                return other in chosen.right_bins
        left, right = len(chosen.left_bins), len(chosen.right_bins)
        if max(left, right) > LEGIBLE and left != right:
            return left < right
        return not chosen.left.outweighs(chosen.right)

    @cached_property
    def _arrays(self) -> EdgeArrays:
        """As the kernel takes them."""
        counts = [len(f.edges) + 1 for f in self.features]
        lengths = zip(counts, self.features, strict=True)
        values = [np.zeros(n) if f.values is None else f.values for n, f in lengths]
        return EdgeArrays(
            edges=np.concatenate([np.append(f.edges, np.inf) for f in self.features]),
            starts=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
            values=np.concatenate(values),
            exact=np.array([f.values is not None for f in self.features], dtype=np.uint8),
            other=np.array([f.other for f in self.features], dtype=np.uint8),
        )

    @cached_property
    def _grids(self) -> Grids:
        grids = encode.empty_grids(len(self.features))
        encode.lay_grids(self._arrays.edges, self._arrays.starts, grids)
        return grids


def _in_reading_order(listed: list[int], chosen: BinSplit) -> list[int]:
    """A long list begins with what most rows of the leaf have; a short one is in order."""
    rows = chosen.rows
    if rows is None or len(listed) <= LEGIBLE:
        return sorted(listed)
    return sorted(listed, key=lambda b: (-int(rows[b]), b))


def make_bins(
    sample: Floats,
    described: Sequence[Feature],
    max_bins: int,
    threads: int = 2,
    cuts: Mapping[int, CutRule] | None = None,
) -> Bins:
    """Bins from a table of all rows, or of a sample of them; NaN is missing."""

    def one(j: int) -> FeatureBins:
        own = bin_feature(sample[:, j], described[j], max_bins)
        return own if cuts is None or j not in cuts else _with_cuts(own, cuts[j])

    with ThreadPoolExecutor(threads) as pool:  # sorting releases the interpreter lock
        return Bins(tuple(described), tuple(pool.map(one, range(len(described)))))


def _with_cuts(bins: FeatureBins, rule: CutRule) -> FeatureBins:
    """Cut at the given values; or, if one number is given, at its multiples next to the edges."""
    if isinstance(rule, float):
        return FeatureBins(np.unique(np.round(bins.edges / rule) * rule + 0.0), None)
    return FeatureBins(np.array(sorted(set(rule))), None)


def bin_feature(column: Floats, described: Feature, max_bins: int) -> FeatureBins:
    if described.categories is not None:
        return _category_bins(described, described.categories)
    ordered = np.sort(column[~np.isnan(column)])
    distinct = ordered[np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]]
    if len(distinct) == 0:
        distinct = np.zeros(1)  # all missing: one bin that stays empty
    if len(distinct) <= max_bins:
        return FeatureBins(midpoints(distinct), distinct)
    return FeatureBins(_quantile_cuts(ordered, max_bins), None)


def _category_bins(described: Feature, categories: Sequence[Category]) -> FeatureBins:
    if not categories:  # one bin that stays empty: nothing is equal to NaN
        values = np.array([np.nan])
    elif described.kind == CODE:
        values = np.array(categories, dtype=np.float64)
    else:
        values = np.arange(len(categories), dtype=np.float64)
    return FeatureBins(midpoints(values), values, described.others > 0)


def _quantile_cuts(ordered: Floats, max_bins: int) -> Floats:
    """Cuts between equal shares of the rows; one inside a run of equal values goes to its nearer
    end, so that a value most rows have is set apart from what lies below and above it."""
    ranks = np.arange(1, max_bins) * len(ordered) // max_bins
    first = np.searchsorted(ordered, ordered[ranks], "left")
    end = np.searchsorted(ordered, ordered[ranks], "right")
    ranks = np.unique(np.where(ranks - first <= end - ranks, first, end))
    ranks = ranks[(ranks > 0) & (ranks < len(ordered))]
    return midpoints(np.stack([ordered[ranks - 1], ordered[ranks]]))[0]


def midpoints(values: Floats) -> Floats:
    """Between neighbours, without overflow; the lower one where no number lies between."""
    low, high = values[:-1], values[1:]
    with np.errstate(invalid="ignore"):
        middle = low / 2 + high / 2
    return np.where((middle < high) & np.isfinite(middle), middle, low)


def _midpoint(low: float, high: float) -> float:
    """Of two values what `midpoints` finds."""
    middle = low / 2 + high / 2
    return middle if middle < high and math.isfinite(middle) else low
