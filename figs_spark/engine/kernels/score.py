"""The scores of an ensemble: compiled by numba, and the same in NumPy."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine.kernels import jit


@jit.compiled
def score(
    table, member_roots, roots, feature, threshold, listed_start, listed, listed_left,
    missing_left, left, right, value, scores,
):  # fmt: skip
    """The score of every member of an ensemble for every row: leaf values, added up."""
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


def score_plain(
    table, member_roots, roots, feature, threshold, listed_start, listed, listed_left,
    missing_left, left, right, value, scores,
):  # fmt: skip
    for m in range(len(member_roots) - 1):
        for root in roots[member_roots[m] : member_roots[m + 1]]:
            pending = [(root, np.arange(len(table)))]
            while pending:
                node, rows = pending.pop()
                if left[node] < 0:
                    scores[rows, m] += value[node]
                    continue
                v = table[rows, feature[node]]
                if np.isnan(threshold[node]):
                    known = listed[listed_start[node] : listed_start[node + 1]]
                    side = np.isin(v, known) == bool(listed_left[node])
                else:
                    side = v <= threshold[node]
                side = np.where(np.isnan(v), missing_left[node] != 0, side)
                pending += [(left[node], rows[side]), (right[node], rows[~side])]
