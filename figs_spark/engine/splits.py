"""The histogram of a candidate leaf -> its best split.

All cuts of all features are tried: the bins of a feature lie in a row, so the left side of each cut
is a running sum. Categories are first put in the order of their mean residual, where the best set
of categories is again a cut. Missing values try both sides.

A set of many categories would win by its freedom. Let a leaf have K categories without any effect,
n rows each, and targets of variance v. The means of the categories then vary by v/n. Those above
the middle differ from it by sqrt(2/pi * v/n) on average, those below by as much. So the best set
gains

    K n * 2/pi * v/n = 2/pi * K v

by chance, and loses as much again on new rows. The means are therefore drawn to that of the leaf
before they are put in order. And before it competes, a set pays twice that gain, for each category
that the leaf has but one. The variance is that of the leaf: of two classes it is p (1 - p), 0.25
where half have the outcome, and 0.1 where one in nine has. Few categories cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.histograms import Floats, Layout
from figs_spark.engine.kernels import jit
from figs_spark.engine.kernels import joint_split as joint_kernel
from figs_spark.engine.kernels import split as kernel
from figs_spark.engine.kernels.records import CutLimits

if TYPE_CHECKING:
    from figs_spark.engine.constraints import Bargain

TINY = 1e-12  # a child with a smaller share of the weight counts as empty
FREE_GAIN = 2 / math.pi  # by a category without effect, on the side where chance put it
PRICE = 2 * FREE_GAIN  # what it gains by chance, and what it loses on new rows
FEW = 16  # categories that a set has for nothing; means of so few are not smoothed


@dataclass(frozen=True)
class Side:
    """Sums over one side of a split."""

    g: Floats  # (outputs,) sum of w * r
    weight: float
    rows: int
    curvature: float = 0.0  # of the logistic loss

    @property
    def mean(self) -> Floats:
        return self.g / self.weight

    def outweighs(self, other: Side) -> bool:
        """Or weighs the same, but for rounding."""
        return self.weight >= other.weight * (1 - 1e-9)


@dataclass(frozen=True)
class Cut:
    """The best cut of one leaf: after which bin, in the order of its histogram."""

    gain: float  # by which cuts compete, less the price of a set
    position: int
    missing_left: bool
    lowered: float | None = None  # the gain itself, if constraints changed it
    price: float = 0.0


@dataclass(frozen=True)
class BinSplit:
    """The split that a cut makes, in terms of bins."""

    gain: float
    feature: int  # position among the features looked at
    left_bins: NDArray[np.intp]  # bins of the feature that go left, and hold rows
    right_bins: NDArray[np.intp]
    missing_left: bool
    left: Side
    right: Side
    rows: NDArray[np.int64] | None = None  # of each bin of the feature

    @property
    def freedom(self) -> int:
        """Of a set of categories: each that the leaf has could go to either side, but for one."""
        return max(1, len(self.left_bins) + len(self.right_bins) - 1)


class Cuts:
    """Where cuts can be made, for a layout and the features that are categorical."""

    def __init__(self, layout: Layout, categorical: Sequence[bool], smoothing: float = 0.0):
        self.layout, self.smoothing = layout, smoothing
        self.categorical = [j for j, yes in enumerate(categorical) if yes]

    def best(
        self, histograms: Floats, limits: CutLimits, noises: Sequence[float] | None = None
    ) -> list[Cut | None]:
        """The best valid cut of each histogram (leaves, bins, channels). `noises` are what a row
        without any effect adds to the gain of a set, if it were free, in each leaf; None: all sets
        are free."""
        if self.categorical:
            histograms = np.stack([h[self._order(h)] for h in histograms])
        gains = np.empty(len(histograms))
        cuts = np.zeros(len(histograms), np.int64)
        prices = self.prices(histograms, np.zeros(len(histograms)) if noises is None else noises)
        run: Any = kernel.best_cuts if jit.available() else kernel.best_cuts_plain
        run(histograms, self.layout.offsets, self.layout.outputs, limits, prices, gains, cuts)
        features = np.searchsorted(self.layout.offsets, cuts // 2, "right") - 1
        paid = prices[np.arange(len(histograms)), features]
        return [
            Cut(gain, cut // 2, cut % 2 == 0, price=price) if gain > -np.inf else None
            for gain, cut, price in zip(gains.tolist(), cuts.tolist(), paid.tolist(), strict=True)
        ]

    def best_allowed(
        self, histogram: Floats, limits: CutLimits, bargain: Bargain, noise: float = 0.0
    ) -> Cut | None:
        """The best cut of one histogram that constraints allow."""
        if self.categorical:
            histogram = histogram[self._order(histogram)]
        gains = np.empty(2 * len(histogram))
        run: Any = kernel.all_gains if jit.available() else kernel.all_gains_plain
        run(histogram, self.layout.offsets, self.layout.outputs, limits, gains)
        return self._first_best(gains, histogram, limits, bargain, noise)

    def best_joint(
        self,
        histogram: Floats,
        overlaps: Floats,
        ridge: float,
        limits: CutLimits,
        bargain: Bargain | None = None,
        noise: float = 0.0,
    ) -> Cut | None:
        """The best valid cut by its joint gain, see `kernels.joint_split`."""
        if self.categorical:
            order = self._order(histogram)
            histogram, overlaps = histogram[order], overlaps[order]
        gains = np.empty(2 * len(histogram))
        run: Any = joint_kernel.joint_gains if jit.available() else joint_kernel.joint_gains_plain
        overlaps, layout = np.ascontiguousarray(overlaps), self.layout
        where = layout.offsets, layout.outputs, layout.weight
        run(histogram, overlaps, *where, ridge, limits, gains)
        return self._first_best(gains, histogram, limits, bargain, noise)

    def _first_best(
        self,
        gains: Floats,
        histogram: Floats,
        limits: CutLimits,
        bargain: Bargain | None,
        noise: float,
    ) -> Cut | None:
        """The first of the cuts that gain most, once sets have paid their price."""
        prices = self.prices(histogram[None], [noise])[0]
        paid = np.repeat(prices, 2 * np.array(self.layout.widths))
        own = gains
        if bargain is not None:
            gains, own = bargain.apply(gains, histogram, self.layout)
        gains = gains - paid
        top = float(gains.max(initial=-np.inf))
        if top == -np.inf:
            return None
        cut = int(np.argmax(gains >= top - limits.tie))
        lowered = None if bargain is None else float(own[cut])
        return Cut(top, cut // 2, cut % 2 == 0, lowered, float(paid[cut]))

    def prices(self, histograms: Floats, noises: Sequence[float] | Floats) -> Floats:
        """What a set of each feature pays in each leaf, for the categories that the leaf has."""
        prices, noise = np.zeros((len(histograms), len(self.layout.widths))), np.asarray(noises)
        for j in self.categorical if noise.any() else ():
            start, missing = self._span(j)
            if missing - start > FEW:
                present = (histograms[:, start:missing, -1] > 0.5).sum(axis=1)
                prices[:, j] = PRICE * noise * np.maximum(present - 1, 0)
        return prices

    def _order(self, histogram: Floats) -> NDArray[np.intp]:
        """Bins with the categories sorted by mean residual, empty ones last."""
        outputs = self.layout.outputs
        order = np.arange(self.layout.size)
        for j in self.categorical:
            start, missing = self._span(j)
            bins = histogram[start:missing]
            smoothing = self.smoothing if missing - start > FEW else 0.0
            order[start:missing] = start + _rank(bins[:, :outputs], bins[:, outputs:], smoothing)
        return order

    def _span(self, feature: int) -> tuple[int, int]:
        """The first bin of a feature, and the one of missing values."""
        start, stop = self.layout.offsets[feature : feature + 2].tolist()
        return start, stop - 1

    def split(self, histogram: Floats, cut: Cut) -> BinSplit:
        """What a cut of this histogram does, the sums of both sides taken afresh from it."""
        j = int(np.searchsorted(self.layout.offsets, cut.position, "right")) - 1
        start, missing = self._span(j)
        bins = self._order(histogram)[start:missing]
        seen = histogram[:, -1] > 0.5
        at = cut.position + 1 - start
        left, right = bins[:at][seen[bins[:at]]], bins[at:][seen[bins[at:]]]
        missing_left, gone = cut.missing_left, np.array([missing])
        left_side = self._side(histogram, np.concatenate([left, gone]) if missing_left else left)
        right_side = self._side(histogram, right if missing_left else np.concatenate([right, gone]))
        if not seen[missing]:
            missing_left = left_side.outweighs(right_side)
        gain = cut.gain + cut.price if cut.lowered is None else cut.lowered
        left, right = left - start, right - start
        rows = np.rint(histogram[start:missing, -1]).astype(np.int64)
        return BinSplit(gain, j, left, right, missing_left, left_side, right_side, rows)

    def _side(self, histogram: Floats, bins: NDArray[np.intp]) -> Side:
        sums, layout = histogram[bins].sum(axis=0), self.layout
        curvature = float(sums[layout.outputs]) if layout.curved else 0.0
        weight, rows = float(sums[layout.weight]), round(float(sums[-1]))
        return Side(sums[: layout.outputs], weight, rows, curvature)


def _rank(g: Floats, weights: Floats, smoothing: float = 0.0) -> NDArray[np.intp]:
    """Categories by mean residual; with several outputs along the direction they vary most in.

    The means are those of the category's rows and of `smoothing` more rows like those of the leaf.

    Means that differ by rounding alone are equal, so that the order does not depend on how the
    rows were partitioned.
    """
    rows = weights[:, -1] > 0.5
    if not rows.any():
        return np.arange(len(rows))
    weight = np.where(rows, weights[:, 0], 1.0)
    if smoothing:
        total = weights[rows].sum(axis=0)
        more = smoothing * total[0] / total[-1]
        g = g + more * g[rows].sum(axis=0) / total[0]
        weight = weight + more
    means = np.where(rows[:, None], g / weight[:, None], 0.0)
    if means.shape[1] == 1:
        along = means[:, 0]
    else:
        share = np.where(rows, weight, 0.0)[:, None]
        centred = (means - (means * share).sum(axis=0) / share.sum()) * rows[:, None]
        spread = (centred * share).T @ centred
        spread = np.round(spread / (np.abs(spread).max() or 1.0), 9)
        direction = np.linalg.eigh(spread)[1][:, -1]
        direction = direction * np.sign(direction[np.argmax(np.abs(direction).round(9))])
        along = centred @ direction
    scale = np.abs(along).max(initial=0.0) or 1.0
    return np.argsort(np.where(rows, np.round(along / scale, 9), np.inf), kind="stable")
