"""The joint gain of every cut of a histogram: compiled by numba, and the same in NumPy.

A cut adds a column, a in L and -b in R with a^2 = WR / WL and b^2 = WL / WR, and a coefficient. If
all coefficients are then fitted together, the penalised squared error falls by

    gain = (a GL - b GR)^2 / (W + R - |a ZL - b ZR|^2)      R = ridge * (a^2 + b^2) / 2

summed over the outputs. Z holds the overlaps with the splits of the other trees, in units in which
their part of the inverse of the normal matrix is the identity. A cut that is nearly a sum of splits
made before is not valid. If there are curvatures H, a^2 HL + b^2 HR takes the place of W: what a
logistic loss falls by, or more, if nothing else is fitted again. The shapes are those of
`histograms`.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine.kernels import jit

LEFT_OVER = 1e-3  # share of a cut that must be new


@jit.compiled
def joint_gains(histogram, overlaps, offsets, outputs, weight, ridge, limits, gains):
    """The gain of each cut: 2 * bin with missing values on the left, 2 * bin + 1 on the right.
    -inf if a cut is not valid. `weight` is the channel of weights; the one before it is that of
    curvatures if it is not an output."""
    rows, others = histogram.shape[1] - 1, overlaps.shape[1]
    total, total_z = np.zeros(histogram.shape[1]), np.zeros(others)
    for b in range(np.int64(offsets[1])):
        for c in range(len(total)):
            total[c] += histogram[b, c]
        for q in range(others):
            total_z[q] += overlaps[b, q]
    left, left_z = np.zeros(len(total)), np.zeros(others)
    gains[:] = -np.inf
    for j in range(len(offsets) - 1):
        last = np.int64(offsets[j + 1]) - 1  # the bin of missing values
        left[:] = 0.0
        left_z[:] = 0.0
        for b in range(np.int64(offsets[j]), last):
            if histogram[b, rows] <= 0.5:
                continue
            for c in range(len(left)):
                left[c] += histogram[b, c]
            for q in range(others):
                left_z[q] += overlaps[b, q]
            for side in range(0 if histogram[last, rows] > 0.0 else 1, 2):
                with_missing = 1.0 - side
                n = left[rows] + with_missing * histogram[last, rows]
                w = left[weight] + with_missing * histogram[last, weight]
                right = total[weight] - w
                lighter = min(w, right)
                if min(n, total[rows] - n) < limits.min_rows - 0.5:
                    continue
                if lighter < limits.min_weight or lighter <= limits.empty:
                    continue
                up, down = np.sqrt(right / w), np.sqrt(w / right)
                new = total[weight]
                if weight > outputs:
                    h = left[outputs] + with_missing * histogram[last, outputs]
                    new = up * up * h + down * down * (total[outputs] - h)
                for q in range(others):
                    z = left_z[q] + with_missing * overlaps[last, q]
                    shared = up * z - down * (total_z[q] - z)
                    new -= shared * shared
                if new < LEFT_OVER * total[weight]:
                    continue
                lowered = 0.0
                for c in range(outputs):
                    g = left[c] + with_missing * histogram[last, c]
                    difference = up * g - down * (total[c] - g)
                    lowered += difference * difference
                penalty = ridge * 0.5 * (up * up + down * down)
                gains[2 * b + side] = lowered / (new + penalty)


def joint_gains_plain(histogram, overlaps, offsets, outputs, weight, ridge, limits, gains):
    """The same in NumPy."""
    curved, others = weight > outputs, overlaps.shape[1]
    starts, last = offsets[:-1].astype(np.intp), offsets[1:].astype(np.intp) - 1
    feature = np.repeat(np.arange(len(starts)), last + 1 - starts)
    table = np.column_stack([overlaps, histogram])
    weight = others + weight
    total, missing = table[: last[0] + 1].sum(axis=0), table[last]
    steps = table.copy()
    used = steps[:, -1] > 0.5
    used[last] = False
    steps[~used] = 0.0
    steps[last] = -np.add.reduceat(steps, starts, axis=0)
    running = np.cumsum(steps, axis=0)
    by_side = np.full((len(table), 2), -np.inf)
    for side in (0, 1):
        left = running if side else running + missing[feature]
        right = total - left
        lighter = np.minimum(left[:, weight], right[:, weight])
        valid = np.minimum(left[:, -1], right[:, -1]) >= limits.min_rows - 0.5
        valid &= used & (lighter >= limits.min_weight) & (lighter > limits.empty)
        if not side:
            valid &= missing[feature, -1] > 0
        left, right = left[valid], right[valid]
        up = np.sqrt(right[:, weight] / left[:, weight])
        difference = up[:, None] * left - right / up[:, None]
        new = total[weight] - (difference[:, :others] ** 2).sum(axis=1)
        if curved:
            new = up**2 * left[:, weight - 1] + right[:, weight - 1] / up**2
        lowered = (difference[:, others : others + outputs] ** 2).sum(axis=1)
        gain = lowered / (new + ridge * 0.5 * (up**2 + 1 / up**2))
        by_side[valid, side] = np.where(new < LEFT_OVER * total[weight], -np.inf, gain)
    gains[:] = by_side.ravel()
