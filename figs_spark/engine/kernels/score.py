"""The scores of an ensemble: compiled by numba, and the same in NumPy."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine.kernels import jit

BATCH = 64  # rows that go through a tree together
FEW_CUTS = 64  # of a feature: fewer are counted one by one, as vector operations
SMALL_TREE = 32  # nodes: in a larger tree each row takes its own way down


@jit.compiled
def score(cells, trees, scores):
    """The score of every member of an ensemble for every row: leaf values, added up.

    `cells` is (features, rows), and `scores` is (members, outputs, rows). Some rows go through a
    tree together, from its last node to its root: a node chooses for each row between the leaves
    that its children found. No branch depends on the data, and numbers of two bytes make one choice
    for all rows a few vector operations: values are compared with all cuts of their feature once,
    and nodes compare places among these.
    """
    columns = np.zeros((cells.shape[0], BATCH))
    places = np.zeros((2 * cells.shape[0], BATCH), dtype=trees.rank.dtype)
    leaves = np.zeros((2 * SMALL_TREE, BATCH), dtype=trees.rank.dtype)
    for leaf in range(SMALL_TREE):
        for q in range(BATCH):
            leaves[leaf, q] = leaf
    for first in range(0, cells.shape[1], BATCH):
        rows = min(BATCH, cells.shape[1] - first)
        for j in range(cells.shape[0]):
            for q in range(rows):
                columns[j, q] = cells[j, first + q]
        _find_places(columns, trees.cut_start, trees.cuts, places)
        _score_batch(columns, places, trees, leaves, scores[:, :, first : first + rows])


@jit.compiled
def _find_places(columns, cut_start, cuts, places):
    """How many cuts of its feature lie below each value. A missing value has place 0, as if below
    all cuts; and in the second half of the table one beyond all places, as if above."""
    width = np.uint64(columns.shape[0])
    below = np.zeros(BATCH, dtype=np.int64)
    for j in range(np.uint64(cut_start.shape[0] - 1)):
        start, stop = np.uint64(cut_start[j]), np.uint64(cut_start[j + np.uint64(1)])
        if stop - start <= FEW_CUTS:
            for q in range(BATCH):
                below[q] = 0
            for place in range(start, stop):
                cut = cuts[place]
                for q in range(BATCH):
                    below[q] += cut < columns[j, q]
        else:
            for q in range(BATCH):
                below[q] = np.searchsorted(cuts[start:stop], columns[j, q])
                if columns[j, q] != columns[j, q]:
                    below[q] = 0
        beyond = np.int64(stop - start + np.uint64(1))
        for q in range(BATCH):
            places[j, q] = below[q]
            places[width + j, q] = below[q] if columns[j, q] == columns[j, q] else beyond


@jit.compiled
def _score_batch(columns, places, trees, leaves, scores):
    """The scores of some rows, (members, outputs, rows). The loops stand in one function, as a call
    for every node would take longer than they do."""
    roots, ends, left, value, rank = trees.roots, trees.ends, trees.left, trees.value, trees.rank
    place_row, low_slot, high_slot = trees.place_row, trees.low_slot, trees.high_slot
    outputs = scores.shape[1]
    total = np.zeros((outputs, BATCH))
    listed = np.zeros(BATCH, dtype=np.bool_)
    for m in range(scores.shape[0]):
        for c in range(outputs):
            for q in range(BATCH):
                total[c, q] = 0.0
        for k in range(trees.member_roots[m], trees.member_roots[m + 1]):
            root = roots[k]
            if ends[k] - root > SMALL_TREE:
                _walk(columns, trees, root, total)
                continue
            slot = np.uint64(0)
            for node in range(ends[k] - 1, root - 1, -1):
                if left[node] < 0:
                    continue
                slot = np.uint64(SMALL_TREE + node - root)
                low, high = np.uint64(low_slot[node]), np.uint64(high_slot[node])
                row = place_row[node]
                if row >= 0:
                    j, cut = np.uint64(row), rank[node]
                    for q in range(BATCH):
                        one, other = leaves[low, q], leaves[high, q]
                        leaves[slot, q] = one if places[j, q] <= cut else other
                else:
                    _listed(columns, trees, node, listed)
                    for q in range(BATCH):
                        one, other = leaves[low, q], leaves[high, q]
                        leaves[slot, q] = one if listed[q] else other
            for c in range(np.uint64(outputs)):
                for q in range(BATCH):
                    total[c, q] += value[np.uint64(root) + np.uint64(leaves[slot, q]), c]
        for c in range(outputs):
            for q in range(scores.shape[2]):
                scores[m, c, q] = total[c, q]


@jit.compiled
def _listed(columns, trees, node, goes_left):
    """Whether each row goes to the left of a split that lists categories."""
    j = trees.feature[node]
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
def _walk(columns, trees, root, total):
    """Add the values of the leaf of each row, which it finds by itself."""
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
        for c in range(total.shape[0]):
            total[c, q] += trees.value[node, c]


def score_plain(cells, trees, scores):
    """The same in NumPy."""
    for m in range(len(trees.member_roots) - 1):
        for root in trees.roots[trees.member_roots[m] : trees.member_roots[m + 1]]:
            pending = [(root, np.arange(cells.shape[1]))]
            while pending:
                node, rows = pending.pop()
                if trees.left[node] < 0:
                    scores[m][:, rows] += trees.value[node][:, None]
                    continue
                v = cells[trees.feature[node], rows]
                if np.isnan(trees.threshold[node]):
                    known = trees.listed[trees.listed_start[node] : trees.listed_start[node + 1]]
                    side = np.isin(v, known) == bool(trees.listed_left[node])
                else:
                    side = v <= trees.threshold[node]
                side = np.where(np.isnan(v), trees.missing_left[node] != 0, side)
                pending += [(trees.left[node], rows[side]), (trees.right[node], rows[~side])]
