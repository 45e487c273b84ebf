"""FIGS in plain NumPy: the oracle that the engine must equal on small data."""

from __future__ import annotations

import numpy as np


def figs(X, y, w=None, max_splits=12, max_trees=None, max_depth=None, min_rows=1):
    """The splits in order, each (tree, feature, threshold, left value, right value)."""
    n = len(y)
    w = np.ones(n) if w is None else np.asarray(w, float)
    X, y, w = X[w > 0], np.asarray(y, float).reshape(n, -1)[w > 0], w[w > 0]
    mean = w @ y / w.sum()
    residual, tie = y - mean, 1e-9 * (w @ (y - mean) ** 2).sum()
    leaves, trees, splits = [], 0, []  # a leaf is (tree, rows, value, depth)
    while len(splits) < max_splits:
        candidates = [leaf for leaf in leaves if max_depth is None or leaf[3] < max_depth]
        candidates.sort(key=lambda leaf: leaf[0])
        if max_trees is None or trees < max_trees:
            candidates.append((trees, np.arange(len(y)), 0 * mean if trees else mean, 0))
        found = [best_cut(X[r], residual[r], w[r], min_rows, tie) for _, r, _, _ in candidates]
        gains = np.array([f[0] for f in found])
        if not len(gains) or gains.max() <= tie:
            break
        k = np.argmax(gains >= gains.max() - tie)
        (tree, rows, value, depth), (_, j, cut) = candidates[k], found[k]
        sides = [rows[X[rows, j] <= cut], rows[X[rows, j] > cut]]
        means = [w[s] @ residual[s] / w[s].sum() for s in sides]
        splits.append((tree, j, cut, value + means[0], value + means[1]))
        leaves = [leaf for leaf in leaves if leaf[1] is not rows]
        for side, m in zip(sides, means, strict=True):
            residual[side] -= m
            leaves.append((tree, side, value + m, depth + 1))
        trees = max(trees, tree + 1)
    return splits


def best_cut(X, r, w, min_rows, tie):
    """(gain, feature, threshold) of the best cut; the first of equal ones."""
    score = lambda s: (((w[s] @ r[s]) ** 2).sum() / w[s].sum())  # noqa: E731
    all_rows, cuts = score(np.ones(len(w), bool)), []
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for cut in (values[:-1] + values[1:]) / 2:
            left = X[:, j] <= cut
            if min(left.sum(), (~left).sum()) >= min_rows:
                cuts.append((score(left) + score(~left) - all_rows, j, cut))
    top = max((c[0] for c in cuts), default=-np.inf)
    return next((c for c in cuts if c[0] >= top - tie), (-np.inf, 0, 0.0))
