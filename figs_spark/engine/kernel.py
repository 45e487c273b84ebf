"""The inner loops, compiled by numba, and the same in NumPy where numba is absent.

Rows are taken in chunks that stay in the processor's cache, in two phases: first every row of the
chunk finds its leaves and its residual, then each histogram takes its rows in one tight loop.
Both versions add up the same numbers; see `histograms` for what they mean and for the shapes.
Indices are unsigned, which spares the compiled code a test for negative ones.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine import jit

CHUNK = 2048


@jit.compiled
def _route(
    codes, target, weight, count, start, stop,
    roots, feature, left, right, goes_left, value, moved, grown,
    rows, leaves, shares, squares,
):  # fmt: skip
    """Leaves and w * residual of the rows start..stop that count; returns how many do."""
    found = 0
    outputs = target.shape[1]
    for i in range(start, stop):
        if count[i] == 0.0:
            continue
        for t in range(len(roots)):
            k = (t + max(grown, 0)) % len(roots)  # the grown tree first
            node = roots[k]
            while left[node] >= 0:
                if goes_left[node, codes[i, feature[node]]]:
                    node = left[node]
                else:
                    node = right[node]
            leaves[k, found] = node
            if k == grown and not moved[node]:
                break
        else:
            rows[found] = i
            w = weight[i]
            for c in range(outputs):
                r = target[i, c]
                for k in range(len(roots)):
                    r -= value[leaves[k, found], c]
                squares[0] += w * r * r
                shares[found, c] = w * r
            found += 1
    return found


@jit.compiled
def _add_full(bins, rows, found, node, leaves, shares, weight, count, offsets, counted, full, slot):
    """The rows in `node` into one histogram: w * r, w and, where counted, the number of rows."""
    outputs = shares.shape[1]
    for m in range(found):
        if node >= 0 and leaves[m] != node:
            continue
        i = np.uint64(rows[m])
        w = weight[i]
        if outputs == 1:
            g = shares[m, 0]
            if counted:
                for j in range(bins.shape[1]):
                    b = offsets[j] + bins[i, j]
                    full[slot, b, 0] += g
                    full[slot, b, 1] += w
                    full[slot, b, 2] += count[i]
            else:
                for j in range(bins.shape[1]):
                    b = offsets[j] + bins[i, j]
                    full[slot, b, 0] += g
                    full[slot, b, 1] += w
        else:
            for j in range(bins.shape[1]):
                b = offsets[j] + bins[i, j]
                for c in range(outputs):
                    full[slot, b, c] += shares[m, c]
                full[slot, b, outputs] += w
                if counted:
                    full[slot, b, outputs + 1] += count[i]


@jit.compiled
def _add_change(bins, rows, found, node, leaves, by, weight, offsets, delta, change, slot):
    """The rows in `node` moved by delta[by]: -w * delta into one histogram."""
    outputs = delta.shape[1]
    for m in range(found):
        if leaves[m] != node:
            continue
        i = np.uint64(rows[m])
        if outputs == 1:
            g = -weight[i] * delta[by[m], 0]
            for j in range(bins.shape[1]):
                change[slot, offsets[j] + bins[i, j], 0] += g
        else:
            for j in range(bins.shape[1]):
                b = offsets[j] + bins[i, j]
                for c in range(outputs):
                    change[slot, b, c] -= weight[i] * delta[by[m], c]


@jit.compiled
def accumulate(
    codes, bins, target, weight, count, offsets,
    roots, feature, left, right, tree, goes_left, value, moved, delta,
    full_slot, change_slot, root_slot, grown, counted,
    full, change, squares,
):  # fmt: skip
    rows = np.zeros(CHUNK, dtype=np.int64)
    leaves = np.zeros((len(roots) + 1, CHUNK), dtype=np.int32)
    shares = np.zeros((CHUNK, target.shape[1]))
    for start in range(0, codes.shape[0], CHUNK):
        found = _route(
            codes, target, weight, count, start, min(start + CHUNK, codes.shape[0]),
            roots, feature, left, right, goes_left, value, moved, grown,
            rows, leaves, shares, squares,
        )  # fmt: skip
        if root_slot >= 0:
            _add_full(
                bins, rows, found, -1, leaves[0], shares, weight, count,
                offsets, counted, full, np.uint64(root_slot),
            )  # fmt: skip
        for node in range(len(left)):
            at = leaves[tree[node]]
            if full_slot[node] >= 0:
                _add_full(
                    bins, rows, found, node, at, shares, weight, count,
                    offsets, counted, full, np.uint64(full_slot[node]),
                )  # fmt: skip
            if change_slot[node] >= 0:
                _add_change(
                    bins, rows, found, node, at, leaves[grown], weight,
                    offsets, delta, change, np.uint64(change_slot[node]),
                )  # fmt: skip


def accumulate_plain(
    codes, bins, target, weight, count, offsets,
    roots, feature, left, right, tree, goes_left, value, moved, delta,
    full_slot, change_slot, root_slot, grown, counted,
    full, change, squares,
):  # fmt: skip
    leaves = np.empty((len(roots), len(codes)), dtype=np.int32)
    for k, root in enumerate(roots):
        at = np.full(len(codes), root, dtype=np.int32)
        while (inner := left[at] >= 0).any():
            here = at[inner]
            side = goes_left[here, codes[inner, feature[here]]]
            at[inner] = np.where(side, left[here], right[here])
        leaves[k] = at
    kept = count > 0
    if grown >= 0:
        kept &= moved[leaves[grown]] != 0
    leaves, bins, weight, count = leaves[:, kept], bins[kept], weight[kept], count[kept]
    residual = target[kept] - value[leaves].sum(axis=0)
    squares[0] += (weight[:, None] * residual**2).sum()
    channels = np.column_stack([residual * weight[:, None], weight] + [count] * bool(counted))
    if root_slot >= 0:
        _bincount(bins, offsets, channels, full[root_slot])
    for node in range(len(left)):
        if full_slot[node] >= 0:
            here = leaves[tree[node]] == node
            _bincount(bins[here], offsets, channels[here], full[full_slot[node]])
        if change_slot[node] >= 0:
            here = leaves[tree[node]] == node
            shift = -weight[here, None] * delta[leaves[grown, here]]
            _bincount(bins[here], offsets, shift, change[change_slot[node]])


def _bincount(bins, offsets, channels, into):
    for j in range(bins.shape[1]):
        start, stop = int(offsets[j]), int(offsets[j + 1])
        for c in range(channels.shape[1]):
            into[start:stop, c] += np.bincount(bins[:, j], channels[:, c], stop - start)


@jit.compiled
def encode(table, edges, starts, values, exact, codes, strangers):
    """Bin codes by binary search; counts the values that an exactly binned feature has no bin for.

    The rows of a batch go down the search together: no branch depends on the data, so the
    processor never guesses wrong, and one step of all rows is one vector operation.
    """
    batch = 64
    v = np.zeros(batch)
    at = np.zeros(batch, dtype=np.int32)
    for first in range(0, table.shape[0], batch):
        rows = min(batch, table.shape[0] - first)
        for j in range(table.shape[1]):
            cuts = edges[starts[j] : starts[j + 1]]
            length = len(cuts)
            for q in range(rows):
                v[q] = table[first + q, j]
            at[:] = 0
            while length > 1:
                half = length >> 1
                for q in range(batch):
                    at[q] += np.int32(half) * np.int32(cuts[at[q] + half - 1] < v[q])
                length -= half
            if length == 1:
                for q in range(batch):
                    at[q] += np.int32(cuts[at[q]] < v[q])
            for q in range(rows):
                codes[first + q, j] = at[q] if v[q] == v[q] else len(cuts) + 1
            if exact[j]:
                for q in range(rows):
                    if v[q] == v[q] and values[starts[j] + j + at[q]] != v[q]:
                        strangers[j] += 1


def encode_plain(table, edges, starts, values, exact, codes, strangers):
    for j in range(table.shape[1]):
        column = table[:, j]
        cuts = edges[starts[j] : starts[j + 1]]
        found = np.searchsorted(cuts, column, "left")
        missing = np.isnan(column)
        codes[:, j] = np.where(missing, len(cuts) + 1, found)
        if exact[j]:
            strangers[j] += np.sum((values[starts[j] + j + found] != column) & ~missing)


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
