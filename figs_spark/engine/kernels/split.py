"""The gain of every cut of a histogram: compiled by numba, and the same in NumPy.

    gain = GL^2/WL + GR^2/WR - G^2/W      G = sum w r,  W = sum w, plus the ridge if there is one

summed over the outputs. The left side of a cut is a running sum over the bins of its feature. If
the leaf has missing values, they are tried on either side. The shapes are those of `histograms`.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine.kernels import jit


@jit.compiled
def best_cuts(histograms, offsets, outputs, limits, prices, tops, cuts):
    """The largest gain of a cut of each histogram, and the first cut that gains as much: 2 * bin
    with missing values on the left, 2 * bin + 1 on the right. -inf if no cut is valid.

    `prices` (histograms, features) are taken off the gains of a feature."""
    gains = np.zeros(2 * histograms.shape[1])
    for k in range(histograms.shape[0]):
        gains[:] = -np.inf
        _gains(histograms[k], offsets, outputs, limits, gains)
        for j in range(prices.shape[1]):
            if prices[k, j] > 0.0:
                for b in range(2 * np.int64(offsets[j]), 2 * np.int64(offsets[j + 1])):
                    gains[b] -= prices[k, j]
        tops[k] = gains.max()
        while gains[cuts[k]] < tops[k] - limits.tie:
            cuts[k] += 1


@jit.compiled
def all_gains(histogram, offsets, outputs, limits, gains):
    """The gain of every cut of one histogram, as in `best_cuts`; -inf if it is not valid."""
    gains[:] = -np.inf
    _gains(histogram, offsets, outputs, limits, gains)


def all_gains_plain(histogram, offsets, outputs, limits, gains):
    """The same in NumPy."""
    gains[:] = _gains_plain(histogram, offsets, outputs, limits)


@jit.compiled
def _gains(histogram, offsets, outputs, limits, gains):
    weight, rows = outputs, histogram.shape[1] - 1
    total = np.zeros(histogram.shape[1])
    for b in range(np.int64(offsets[1])):
        for c in range(len(total)):
            total[c] += histogram[b, c]
    score, ridge = 0.0, limits.ridge
    for c in range(outputs):
        score += total[c] * total[c] / (total[weight] + ridge)
    left = np.zeros(len(total))
    for j in range(len(offsets) - 1):
        last = np.int64(offsets[j + 1]) - 1  # the bin of missing values
        left[:] = 0.0
        for b in range(np.int64(offsets[j]), last):
            if histogram[b, rows] <= 0.5:
                continue
            for c in range(len(left)):
                left[c] += histogram[b, c]
            for side in range(0 if histogram[last, rows] > 0.0 else 1, 2):
                with_missing = 1.0 - side
                n = left[rows] + with_missing * histogram[last, rows]
                w = left[weight] + with_missing * histogram[last, weight]
                lighter = min(w, total[weight] - w)
                if min(n, total[rows] - n) < limits.min_rows - 0.5:
                    continue
                if lighter < limits.min_weight or lighter <= limits.empty:
                    continue
                gain = -score
                for c in range(outputs):
                    g = left[c] + with_missing * histogram[last, c]
                    other = total[c] - g
                    gain += g * g / (w + ridge) + other * other / (total[weight] - w + ridge)
                gains[2 * b + side] = gain


def best_cuts_plain(histograms, offsets, outputs, limits, prices, tops, cuts):
    """The same in NumPy."""
    bins = 2 * np.diff(offsets.astype(np.intp))
    for k, histogram in enumerate(histograms):
        gains = _gains_plain(histogram, offsets, outputs, limits) - np.repeat(prices[k], bins)
        tops[k] = gains.max()
        cuts[k] = np.argmax(gains >= tops[k] - limits.tie)


def _gains_plain(histogram, offsets, outputs, limits):
    starts, last = offsets[:-1].astype(np.intp), offsets[1:].astype(np.intp) - 1
    feature = np.repeat(np.arange(len(starts)), last + 1 - starts)
    total, missing = histogram[: last[0] + 1].sum(axis=0), histogram[last]
    steps = histogram.copy()  # each feature ends where it began, so that rounding does not grow
    steps[last] = 0.0
    used = steps[:, -1] > 0.5
    steps[last] = -np.add.reduceat(steps, starts, axis=0)
    running = np.cumsum(steps, axis=0)
    gains = np.full((len(histogram), 2), -np.inf)
    for side in (0, 1):
        left = running if side else running + missing[feature]
        right = total - left
        lighter = np.minimum(left[:, outputs], right[:, outputs])
        valid = np.minimum(left[:, -1], right[:, -1]) >= limits.min_rows - 0.5
        valid &= used & (lighter >= limits.min_weight) & (lighter > limits.empty)
        if not side:
            valid &= missing[feature, -1] > 0
        ridge = limits.ridge
        gain = _scores(left[valid], outputs, ridge) + _scores(right[valid], outputs, ridge)
        gains[valid, side] = gain - _scores(total, outputs, ridge)
    return gains.ravel()


def _scores(sums, outputs, ridge):
    return (sums[..., :outputs] ** 2).sum(axis=-1) / (sums[..., outputs] + ridge)
