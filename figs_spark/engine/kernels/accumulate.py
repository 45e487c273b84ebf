"""The inner loops, compiled by numba, and the same in NumPy where numba is absent.

Rows are taken in chunks that stay in the processor's cache: first every row of the chunk finds its
leaves and its residual, then the rows are put in the order of their leaves, tree by tree, so that
each histogram takes its rows in one tight loop. What depends on the data is done without branches
as far as possible, because the processor cannot guess them. Both versions add up the same numbers;
see `histograms` for what they mean and for the shapes. Indices are unsigned where that spares the
compiled code a test for negative ones.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine.kernels import jit

CHUNK = 2048
LEVELS = 8  # of a tree that are walked down by all rows together, those that arrived included


@jit.compiled
def _walk(codes, rows, found, root, levels, feature, first, goes_right, leaves):
    """The leaf of each row in one tree. A leaf leads to itself."""
    for m in range(found):
        i = rows[m]
        node = root
        for _ in range(min(levels, LEVELS)):
            node = first[node] + goes_right[node, codes[i, feature[node]]]
        while first[node] != node:
            node = first[node] + goes_right[node, codes[i, feature[node]]]
        leaves[m] = node


@jit.compiled
def _counting(count, start, stop, rows):
    """The rows start..stop that count; returns how many."""
    found = 0
    for i in range(start, stop):
        rows[found] = i
        found += count[i] > 0.0
    return found


@jit.compiled
def _moved(child_of, rows, found, leaves):
    """Of the rows those whose leaf is a child to look at; returns how many."""
    kept = 0
    for m in range(found):
        leaf = leaves[m]
        rows[kept], leaves[kept] = rows[m], leaf
        kept += child_of[leaf] >= 0
    return kept


@jit.compiled
def _residuals(target, weight, rows, found, leaves, trees, value, shares, squares):
    """w * residual of each row."""
    for m in range(found):
        i = rows[m]
        w = weight[i]
        for c in range(target.shape[1]):
            r = target[i, c]
            for k in range(trees):
                r -= value[leaves[k, m], c]
            squares[0] += w * r * r
            shares[m, c] = w * r


@jit.compiled
def _sort(leaves, found, counts, order, seen, ends):
    """Rows in the order of their leaves; returns the number of leaves. `counts` stays zero."""
    distinct = 0
    for m in range(found):
        leaf = leaves[m]
        if counts[leaf] == 0:
            seen[distinct] = leaf
            distinct += 1
        counts[leaf] += 1
    at = 0
    for q in range(distinct):
        size = counts[seen[q]]
        counts[seen[q]] = at
        at += size
        ends[q] = at
    for m in range(found):
        leaf = leaves[m]
        order[counts[leaf]] = m
        counts[leaf] += 1
    for q in range(distinct):
        counts[seen[q]] = 0
    return distinct


@jit.compiled
def _add_full(bins, rows, order, shares, weight, count, offsets, counted, full, slot):
    """Rows into one histogram: w * r, w and, where counted, the number of rows."""
    outputs = shares.shape[1]
    for m in order:
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
def _add_overlap(bins, rows, order, leaves, child_of, weight, offsets, overlap, slot, others):
    """Rows into the histogram of weights that their leaf shares with the child they are in."""
    for m in order:
        i = np.uint64(rows[m])
        into = np.uint64(slot + child_of[leaves[m]] * others)
        w = weight[i]
        for j in range(bins.shape[1]):
            overlap[into, offsets[j] + bins[i, j]] += w


@jit.compiled
def accumulate(
    codes, bins, target, weight, count, offsets,
    roots, levels, feature, first, goes_right, value, child_of,
    full_slot, overlap_slot, root_slot, grown, counted,
    full, overlap, squares,
):  # fmt: skip
    rows = np.zeros(CHUNK, dtype=np.int64)
    leaves = np.zeros((len(roots) + 1, CHUNK), dtype=np.int32)
    shares = np.zeros((CHUNK, target.shape[1]))
    counts = np.zeros(len(first), dtype=np.int32)
    order, ends, seen = np.arange(CHUNK), np.arange(CHUNK), np.arange(CHUNK)
    every = np.arange(CHUNK)
    turns = (feature, first, goes_right)
    others = 0
    for slot in overlap_slot:
        others = max(others, slot + 1)
    for start in range(0, codes.shape[0], CHUNK):
        found = _counting(count, start, min(start + CHUNK, codes.shape[0]), rows)
        if grown >= 0:
            _walk(codes, rows, found, roots[grown], levels[grown], *turns, leaves[grown])
            found = _moved(child_of, rows, found, leaves[grown])
        for k in range(len(roots)):
            if k != grown:
                _walk(codes, rows, found, roots[k], levels[k], *turns, leaves[k])
        _residuals(target, weight, rows, found, leaves, len(roots), value, shares, squares)
        if root_slot >= 0:
            _add_full(
                bins, rows, every[:found], shares, weight, count,
                offsets, counted, full, np.uint64(root_slot),
            )  # fmt: skip
        for k in range(len(roots)):
            distinct = _sort(leaves[k], found, counts, order, seen, ends)
            at = 0
            for q in range(distinct):
                some = order[at : ends[q]]
                at = ends[q]
                node = seen[q]
                if full_slot[node] >= 0:
                    _add_full(
                        bins, rows, some, shares, weight, count,
                        offsets, counted, full, np.uint64(full_slot[node]),
                    )  # fmt: skip
                if overlap_slot[node] >= 0:
                    _add_overlap(
                        bins, rows, some, leaves[grown], child_of, weight,
                        offsets, overlap, overlap_slot[node], others,
                    )  # fmt: skip


def accumulate_plain(
    codes, bins, target, weight, count, offsets,
    roots, levels, feature, first, goes_right, value, child_of,
    full_slot, overlap_slot, root_slot, grown, counted,
    full, overlap, squares,
):  # fmt: skip
    leaves = np.empty((len(roots), len(codes)), dtype=np.int32)
    for k, root in enumerate(roots):
        at = np.full(len(codes), root, dtype=np.int32)
        for _ in range(levels[k]):
            at = first[at] + goes_right[at, codes[np.arange(len(codes)), feature[at]]]
        leaves[k] = at
    kept = count > 0
    if grown >= 0:
        kept &= child_of[leaves[grown]] >= 0
    leaves, bins, weight, count = leaves[:, kept], bins[kept], weight[kept], count[kept]
    residual = target[kept] - value[leaves].sum(axis=0)
    squares[0] += (weight[:, None] * residual**2).sum()
    channels = np.column_stack([residual * weight[:, None], weight] + [count] * bool(counted))
    if root_slot >= 0:
        _bincount(bins, offsets, channels, full[root_slot])
    others = overlap_slot.max(initial=-1) + 1
    for at in leaves:
        for node in np.unique(at):
            here = at == node
            if full_slot[node] >= 0:
                _bincount(bins[here], offsets, channels[here], full[full_slot[node]])
            if overlap_slot[node] >= 0:
                for child in range(len(overlap) // others):
                    shared = here & (child_of[leaves[grown]] == child)
                    into = overlap[overlap_slot[node] + child * others]
                    _bincount(bins[shared], offsets, weight[shared, None], into[:, None])


def _bincount(bins, offsets, channels, into):
    for j in range(bins.shape[1]):
        start, stop = int(offsets[j]), int(offsets[j + 1])
        for c in range(channels.shape[1]):
            into[start:stop, c] += np.bincount(bins[:, j], channels[:, c], stop - start)
