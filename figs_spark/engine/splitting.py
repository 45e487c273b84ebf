"""Histograms of candidate leaves -> the best split of each. NumPy only.

All cuts of all features of all leaves are tried at once: the bins of a feature lie in a row, so
the left side of each cut is a running sum. Categories are first put in the order of their mean
residual, where the best set of categories is again a cut. Missing values try both sides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.histograms import Floats, Layout

CELLS = 1 << 21  # bins looked at together, to bound memory
TINY = 1e-12  # a child with a smaller share of the weight counts as empty


@dataclass(frozen=True)
class Limits:
    """What makes a split valid. Gains closer than `tie` are equal."""

    min_rows: int
    min_weight: float
    total_weight: float
    tie: float


@dataclass(frozen=True)
class Side:
    """Sums over one side of a split."""

    g: Floats  # (outputs,) sum of w * r
    weight: float
    rows: int

    @property
    def mean(self) -> Floats:
        return self.g / self.weight

    def outweighs(self, other: Side) -> bool:
        """Or weighs the same, but for rounding."""
        return self.weight >= other.weight * (1 - 1e-9)


@dataclass(frozen=True)
class Cut:
    """The best cut of one leaf: after which bin, in the order of its histogram."""

    gain: float
    position: int
    missing_left: bool


@dataclass(frozen=True)
class Found:
    """The split that a cut makes, in terms of bins."""

    gain: float
    feature: int  # position among the features looked at
    left_bins: NDArray[np.intp]  # bins of the feature that go left, and hold rows
    right_bins: NDArray[np.intp]
    missing_left: bool
    left: Side
    right: Side


class Cuts:
    """Where cuts can be made, for a layout and the features that are categorical."""

    def __init__(self, layout: Layout, categorical: Sequence[bool]):
        self.layout = layout
        self.categorical = [j for j, yes in enumerate(categorical) if yes]

    @cached_property
    def feature(self) -> NDArray[np.intp]:
        return np.repeat(np.arange(len(self.layout.widths)), self.layout.widths)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        return self.layout.offsets[:-1].astype(np.intp)

    @cached_property
    def missing(self) -> NDArray[np.intp]:
        return self.layout.offsets[1:].astype(np.intp) - 1

    def best(self, histograms: Sequence[Floats], limits: Limits) -> list[Cut | None]:
        """The best valid cut of each histogram (bins, channels), or None."""
        step = max(1, CELLS // self.layout.size)
        found: list[Cut | None] = []
        for at in range(0, len(histograms), step):
            found += self._best(np.asarray(histograms[at : at + step]), limits)
        return found

    def _best(self, histograms: Floats, limits: Limits) -> Iterator[Cut | None]:
        order = self._order(histograms)
        if order is not None:
            histograms = np.take_along_axis(histograms, order[:, :, None], axis=1)
        gains = self._gains(histograms, limits).reshape(len(histograms), -1)
        tops = gains.max(axis=1)
        firsts = np.argmax(gains >= tops[:, None] - limits.tie, axis=1)
        for top, first in zip(tops.tolist(), firsts.tolist(), strict=True):
            position, right = divmod(first, 2)
            yield Cut(top, position, not right) if top > -np.inf else None

    def _gains(self, histograms: Floats, limits: Limits) -> Floats:
        """Gain of each cut after a bin, with missing left and right; shape (leaves, bins, 2)."""
        outputs = self.layout.outputs
        total = histograms[:, : self.layout.widths[0]].sum(axis=1)
        missing = histograms[:, self.missing]
        present = histograms.copy()
        present[:, self.missing] = 0.0
        steps = present.copy()  # each feature ends where it began, so that rounding does not grow
        steps[:, self.missing] = -np.add.reduceat(present, self.starts, axis=1)
        running = np.cumsum(steps, axis=1)
        score = np.sum(total[:, :outputs] ** 2, axis=1) / total[:, outputs]
        any_missing = missing[:, :, -1] > 0
        gains = np.full((*running.shape[:2], 2), -np.inf)
        for side in (0, 1) if any_missing.any() else (1,):  # missing left, missing right
            left = running + missing[:, self.feature] if side == 0 else running
            right = total[:, None, :] - left
            weight = np.minimum(left[:, :, outputs], right[:, :, outputs])
            valid = np.minimum(left[:, :, -1], right[:, :, -1]) >= limits.min_rows - 0.5
            valid &= weight >= limits.min_weight
            valid &= weight > TINY * limits.total_weight
            valid &= present[:, :, -1] > 0.5
            if side == 0:
                valid &= any_missing[:, self.feature]
            gain = np.zeros(valid.shape)
            for c in range(outputs):
                gain += left[:, :, c] ** 2 / np.where(valid, left[:, :, outputs], 1.0)
                gain += right[:, :, c] ** 2 / np.where(valid, right[:, :, outputs], 1.0)
            gains[:, :, side] = np.where(valid, gain - score[:, None], -np.inf)
        return gains

    def _order(self, histograms: Floats) -> NDArray[np.intp] | None:
        """Bins with the categories of each leaf sorted by mean residual, empty ones last."""
        if not self.categorical:
            return None
        outputs = self.layout.outputs
        order = np.tile(np.arange(self.layout.size), (len(histograms), 1))
        for j in self.categorical:
            start, missing = self.starts[j], self.missing[j]
            for k, histogram in enumerate(histograms):
                bins = histogram[start:missing]
                order[k, start:missing] = start + _rank(bins[:, :outputs], bins[:, outputs:])
        return order

    def split(self, histogram: Floats, cut: Cut) -> Found:
        """What a cut of this histogram does, the sums of both sides taken afresh from it."""
        j = int(self.feature[cut.position])
        start, missing = self.starts[j], self.missing[j]
        order = self._order(histogram[None])
        bins = np.arange(start, missing) if order is None else order[0, start:missing]
        seen = histogram[:, -1] > 0.5
        at = cut.position + 1 - start
        left, right = bins[:at][seen[bins[:at]]], bins[at:][seen[bins[at:]]]
        missing_left, gone = cut.missing_left, np.array([missing])
        left_side = self._side(histogram, np.concatenate([left, gone]) if missing_left else left)
        right_side = self._side(histogram, right if missing_left else np.concatenate([right, gone]))
        if not seen[missing]:
            missing_left = left_side.outweighs(right_side)
        return Found(cut.gain, j, left - start, right - start, missing_left, left_side, right_side)

    def _side(self, histogram: Floats, bins: NDArray[np.intp]) -> Side:
        sums = histogram[bins].sum(axis=0)
        outputs = self.layout.outputs
        return Side(sums[:outputs], float(sums[outputs]), round(float(sums[-1])))


def _rank(g: Floats, weights: Floats) -> NDArray[np.intp]:
    """Categories by mean residual; with several outputs along the direction they vary most in.

    Means that differ by rounding alone are equal, so that the order does not depend on how the
    rows were partitioned.
    """
    rows = weights[:, -1] > 0.5
    if not rows.any():
        return np.arange(len(rows))
    weight = np.where(rows, weights[:, 0], 1.0)
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
