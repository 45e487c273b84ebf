"""The scores of an ensemble: compiled by numba, and the same in NumPy."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine.kernels import jit

BATCH = 64  # rows that go through a tree together
SMALL_TREE = 32  # nodes: in a larger tree each row takes its own way down


@jit.compiled
def score(table, trees, scores):
    """The score of every member of an ensemble for every row: leaf values, added up.

    `scores` is (members, outputs, rows). Some rows go through a tree together, from its last node
    to its root: a node chooses for each row between the values of its children. No branch depends
    on the data, and one choice for all rows is a few vector operations.
    """
    columns = np.zeros((table.shape[1], BATCH))
    total = np.zeros(BATCH)
    for first in range(0, table.shape[0], BATCH):
        rows = min(BATCH, table.shape[0] - first)
        for q in range(rows):
            for j in range(table.shape[1]):
                columns[j, q] = table[first + q, j]
        for c in range(scores.shape[1]):
            _score_batch(columns, trees, c, total, scores[:, c, first : first + rows])


@jit.compiled
def _score_batch(columns, trees, c, total, scores):
    """The scores of some rows, (members, rows), for one output."""
    left, right, value, threshold = trees.left, trees.right, trees.value, trees.threshold
    values = np.zeros((SMALL_TREE, BATCH))
    listed = np.zeros(BATCH, dtype=np.bool_)
    for m in range(scores.shape[0]):
        for q in range(BATCH):
            total[q] = 0.0
        for k in range(trees.member_roots[m], trees.member_roots[m + 1]):
            root = trees.roots[k]
            if trees.ends[k] - root > SMALL_TREE:
                _walk(columns, trees, root, c, total)
                continue
            for node in range(trees.ends[k] - 1, root - 1, -1):
                at = np.uint64(node - root)
                if left[node] < 0:
                    leaf = value[node, c]
                    for q in range(BATCH):
                        values[at, q] = leaf
                    continue
                low, high = np.uint64(left[node] - root), np.uint64(right[node] - root)
                j, cut = np.uint64(trees.feature[node]), threshold[node]
                if cut == cut:
                    missing_left = trees.missing_left[node] != 0
                    _choose(columns, j, cut, missing_left, values, at, low, high)
                else:
                    _listed(columns, j, trees, node, listed)
                    _choose_listed(listed, values, at, low, high)
            for q in range(BATCH):
                total[q] += values[0, q]
        for q in range(scores.shape[1]):
            scores[m, q] = total[q]


@jit.compiled
def _choose(columns, j, cut, missing_left, values, at, low, high):
    """For each row the value of one child. Both are read first: else there is no vector operation.
    A comparison with NaN is false."""
    if missing_left:
        for q in range(BATCH):
            left, right = values[low, q], values[high, q]
            values[at, q] = right if columns[j, q] > cut else left
    else:
        for q in range(BATCH):
            left, right = values[low, q], values[high, q]
            values[at, q] = left if columns[j, q] <= cut else right


@jit.compiled
def _choose_listed(goes_left, values, at, low, high):
    for q in range(BATCH):
        left, right = values[low, q], values[high, q]
        values[at, q] = left if goes_left[q] else right


@jit.compiled
def _listed(columns, j, trees, node, goes_left):
    """Whether each row goes to the left of a split that lists categories."""
    inside, missing = trees.listed_left[node] != 0, trees.missing_left[node] != 0
    for q in range(BATCH):
        goes_left[q] = not inside
    for place in range(trees.listed_start[node], trees.listed_start[node + 1]):
        for q in range(BATCH):
            if columns[j, q] == trees.listed[place]:
                goes_left[q] = inside
    for q in range(BATCH):
        if columns[j, q] != columns[j, q]:
            goes_left[q] = missing


@jit.compiled
def _walk(columns, trees, root, c, total):
    """Add the value of the leaf of each row, which it finds by itself."""
    left, right, threshold = trees.left, trees.right, trees.threshold
    for q in range(BATCH):
        node = root
        while left[node] >= 0:
            v = columns[trees.feature[node], q]
            if v != v:
                goes_left = trees.missing_left[node] != 0
            elif threshold[node] == threshold[node]:
                goes_left = v <= threshold[node]
            else:
                goes_left = trees.listed_left[node] == 0
                for place in range(trees.listed_start[node], trees.listed_start[node + 1]):
                    if trees.listed[place] == v:
                        goes_left = trees.listed_left[node] != 0
            node = left[node] if goes_left else right[node]
        total[q] += trees.value[node, c]


def score_plain(table, trees, scores):
    """The same in NumPy."""
    for m in range(len(trees.member_roots) - 1):
        for root in trees.roots[trees.member_roots[m] : trees.member_roots[m + 1]]:
            pending = [(root, np.arange(len(table)))]
            while pending:
                node, rows = pending.pop()
                if trees.left[node] < 0:
                    scores[m][:, rows] += trees.value[node][:, None]
                    continue
                v = table[rows, trees.feature[node]]
                if np.isnan(trees.threshold[node]):
                    known = trees.listed[trees.listed_start[node] : trees.listed_start[node + 1]]
                    side = np.isin(v, known) == bool(trees.listed_left[node])
                else:
                    side = v <= trees.threshold[node]
                side = np.where(np.isnan(v), trees.missing_left[node] != 0, side)
                pending += [(trees.left[node], rows[side]), (trees.right[node], rows[~side])]
