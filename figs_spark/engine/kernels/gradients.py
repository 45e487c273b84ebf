"""The gradient of the logistic loss in each row, and a curvature: compiled, and in NumPy.

With f the scores and p the probabilities of a row, the loss of any other scores f + d is at most

    loss(f) - (y - p) d + h/2 |d|^2        one score: h = (p - 1/2) / f     (Jaakkola and Jordan)
                                           several:   h = 1/2               (Boehning)

so a step to the least of this parabola cannot overshoot. Two classes have one score, their log
odds; of more each class has one, and p is the softmax.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine.kernels import jit

NEAR_ZERO = 1e-3  # log odds at which (p - 1/2) / f is its series
SEVERAL = 0.5  # the curvature with several scores


@jit.compiled
def gradients(packed, rows, taken, leaves, trees, start, shares):
    """Of each row w * (y - p) by output, and then w * h."""
    target, weight, value, total = packed.target, packed.weight, trees.value, len(trees.roots)
    outputs = target.shape[1]
    for m in range(taken):
        i = rows[m]
        for c in range(outputs):
            f = start[c]
            for k in range(total):
                f += value[leaves[k, m], c]
            shares[m, c] = f
        shares[m, outputs] = weight[i] * _to_probabilities(shares[m, :outputs])
        for c in range(outputs):
            shares[m, c] = weight[i] * (target[i, c] - shares[m, c])


@jit.compiled
def _to_probabilities(scores):
    """Scores become probabilities, where they are; returns the curvature."""
    if len(scores) == 1:
        f = scores[0]
        scores[0] = 1.0 / (1.0 + np.exp(-f))
        return 0.25 - f * f / 48.0 if abs(f) < NEAR_ZERO else (scores[0] - 0.5) / f
    largest, total = scores.max(), 0.0
    for c in range(len(scores)):
        scores[c] = np.exp(scores[c] - largest)
        total += scores[c]
    for c in range(len(scores)):
        scores[c] /= total
    return SEVERAL


def probabilities(scores):
    """The same in NumPy: the probabilities (rows, outputs), and the curvatures (rows, 1)."""
    if scores.shape[1] == 1:
        small, p = np.abs(scores) < NEAR_ZERO, 1.0 / (1.0 + np.exp(-scores))
        series, safe = 0.25 - scores**2 / 48.0, np.where(small, 1.0, scores)
        return p, np.where(small, series, (p - 0.5) / safe)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True), np.full((len(scores), 1), SEVERAL)
