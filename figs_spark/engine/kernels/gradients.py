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
    for c in range(outputs):
        shares[:taken, c] = start[c]
        for k in range(total):
            for m in range(taken):
                shares[m, c] += value[leaves[k, m], c]
    for m in range(taken):
        w = weight[rows[m]]
        if outputs == 1:  # without a view of the scores, which takes long
            f = shares[m, 0]
            shares[m, 0] = 1.0 / (1.0 + np.exp(-f))
            shares[m, 1] = w * _curvature(f, shares[m, 0])
        else:
            _to_probabilities(shares[m, :outputs])
            shares[m, outputs] = w * SEVERAL
        for c in range(outputs):
            shares[m, c] = w * (target[rows[m], c] - shares[m, c])


@jit.compiled
def _curvature(f, p):
    """Of log odds f, which are the probability p."""
    return 0.25 - f * f / 48.0 if abs(f) < NEAR_ZERO else (p - 0.5) / f


@jit.compiled
def _to_probabilities(scores):
    """The scores of several classes become probabilities, where they are."""
    largest, total = scores.max(), 0.0
    for c in range(len(scores)):
        scores[c] = np.exp(scores[c] - largest)
        total += scores[c]
    for c in range(len(scores)):
        scores[c] /= total


def probabilities(scores):
    """The same in NumPy: the probabilities (rows, outputs), and the curvatures (rows, 1)."""
    if scores.shape[1] == 1:
        small, p = np.abs(scores) < NEAR_ZERO, 1.0 / (1.0 + np.exp(-scores))
        series, safe = 0.25 - scores**2 / 48.0, np.where(small, 1.0, scores)
        return p, np.where(small, series, (p - 0.5) / safe)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True), np.full((len(scores), 1), SEVERAL)
