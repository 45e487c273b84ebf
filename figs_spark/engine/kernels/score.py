"""The scores of an ensemble: compiled by numba, and the same in NumPy."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine.kernels import jit


@jit.compiled
def score(table, trees, scores):
    """The score of every member of an ensemble for every row: leaf values, added up."""
    member_roots, roots, feature, threshold = (
        trees.member_roots, trees.roots, trees.feature, trees.threshold,
    )  # fmt: skip
    listed_start, listed, listed_left = trees.listed_start, trees.listed, trees.listed_left
    missing_left, left, right, value = trees.missing_left, trees.left, trees.right, trees.value
    for i in range(table.shape[0]):
        for m in range(len(member_roots) - 1):
            for k in range(member_roots[m], member_roots[m + 1]):
                node = roots[k]
                while left[node] >= 0:
                    v = table[i, feature[node]]
                    if v != v:
                        goes_left = missing_left[node] != 0
                    elif threshold[node] == threshold[node]:
                        goes_left = v <= threshold[node]
                    else:
                        goes_left = listed_left[node] == 0
                        for c in range(listed_start[node], listed_start[node + 1]):
                            if listed[c] == v:
                                goes_left = listed_left[node] != 0
                    node = left[node] if goes_left else right[node]
                for c in range(value.shape[1]):
                    scores[i, m, c] += value[node, c]


def score_plain(table, trees, scores):
    """The same in NumPy."""
    for m in range(len(trees.member_roots) - 1):
        for root in trees.roots[trees.member_roots[m] : trees.member_roots[m + 1]]:
            pending = [(root, np.arange(len(table)))]
            while pending:
                node, rows = pending.pop()
                if trees.left[node] < 0:
                    scores[rows, m] += trees.value[node]
                    continue
                v = table[rows, trees.feature[node]]
                if np.isnan(trees.threshold[node]):
                    known = trees.listed[trees.listed_start[node] : trees.listed_start[node + 1]]
                    side = np.isin(v, known) == bool(trees.listed_left[node])
                else:
                    side = v <= trees.threshold[node]
                side = np.where(np.isnan(v), trees.missing_left[node] != 0, side)
                pending += [(trees.left[node], rows[side]), (trees.right[node], rows[~side])]
