"""Rows into histograms: the inner loop of a pass, compiled by numba and in NumPy.

Rows are taken in chunks that stay in the processor's cache. First every row of the chunk finds its
leaves and its residual. Then the rows are put in the order of their leaves, tree by tree, so that
each histogram takes its rows in one tight loop. What depends on the data is done without branches
as far as possible, because the processor cannot guess them. Both versions add up the same numbers;
see `histograms` for what they mean. Indices are unsigned where that spares the compiled code a test
for negative ones.

By the logistic loss a row adds its gradient and a curvature. With f the scores and p the
probabilities of a row, the loss of any other scores f + d is at most

    loss(f) - (y - p) d + h/2 |d|^2        one score: h = (p - 1/2) / f     (Jaakkola and Jordan)
                                           several:   h = 1/2               (Boehning)

so a step to the least of this parabola cannot overshoot. Two classes have one score, their log
odds; of more each class has one, and p is the softmax.

The compiled code of a kernel is kept until its own file changes. So kernels that call one another
are in one file.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine.kernels import jit

CHUNK = 2048
FEATURES = (
    256  # whose part of a histogram takes its rows before that of the next ones: it stays near
)
NEAR_ZERO = 1e-3  # log odds at which (p - 1/2) / f is its series
SEVERAL = 0.5  # the curvature with several scores
JOINT_STEPS = 8  # down a tree that all rows of a chunk take together, those that arrived included


@jit.compiled
def accumulate(packed, trees, slots, layout, sums):
    """Add the rows to the sums: `PackedRows`, `TreeArrays`, `Slots`, `BinArrays`, `SumArrays`."""
    codes, grown, total = packed.codes, slots.grown, len(trees.roots)
    rows = np.zeros(CHUNK, dtype=np.int64)
    leaves = np.zeros((total + 1, CHUNK), dtype=np.int32)
    shares = np.zeros((CHUNK, packed.target.shape[1] + layout.curved))
    counts = np.zeros(len(trees.first), dtype=np.int32)
    order, ends, seen = np.arange(CHUNK), np.arange(CHUNK), np.arange(CHUNK)
    every = np.arange(CHUNK)
    others = 0
    for slot in slots.overlap:
        others = max(others, slot + 1)
    for start in range(0, codes.shape[0], CHUNK):
        taken = _counted_rows(packed.times, start, min(start + CHUNK, codes.shape[0]), rows)
        if grown >= 0:
            _walk(codes, rows, taken, trees, grown, leaves[grown])
            taken = _rows_of_children(slots.child, rows, taken, leaves[grown])
        for k in range(total):
            if k != grown:
                _walk(codes, rows, taken, trees, k, leaves[k])
        if layout.curved:
            _gradients(packed, rows, taken, leaves, trees, layout.start, shares)
        else:
            _residuals(packed, rows, taken, leaves, trees, shares)
        if slots.root >= 0:
            _add_full(packed, rows, every[:taken], shares, layout, sums, np.uint64(slots.root))
        for k in range(total):
            distinct = _sort(leaves[k], taken, counts, order, seen, ends)
            at = 0
            for q in range(distinct):
                some = order[at : ends[q]]
                at = ends[q]
                node = seen[q]
                if slots.full[node] >= 0:
                    into = np.uint64(slots.full[node])
                    _add_full(packed, rows, some, shares, layout, sums, into)
                if slots.overlap[node] >= 0:
                    child = slots.child, leaves[grown]
                    _add_overlap(
                        packed, rows, some, child, layout, sums.overlap, slots.overlap[node], others
                    )


@jit.compiled
def _counted_rows(count, start, stop, rows):
    """The rows start..stop that count; returns how many."""
    taken = 0
    for i in range(start, stop):
        rows[taken] = i
        taken += count[i] > 0.0
    return taken


@jit.compiled
def _walk(codes, rows, taken, trees, k, leaves):
    """The leaf of each row in tree k. A leaf leads to itself."""
    feature, first, goes_right = trees.feature, trees.first, trees.goes_right
    root, steps = trees.roots[k], min(trees.depths[k], JOINT_STEPS)
    for m in range(taken):
        i = rows[m]
        node = root
        for _ in range(steps):
            node = first[node] + goes_right[node, codes[i, feature[node]]]
        while first[node] != node:
            node = first[node] + goes_right[node, codes[i, feature[node]]]
        leaves[m] = node


@jit.compiled
def _rows_of_children(child, rows, taken, leaves):
    """Keep the rows whose leaf is a child to look at; returns how many."""
    kept = 0
    for m in range(taken):
        leaf = leaves[m]
        rows[kept], leaves[kept] = rows[m], leaf
        kept += child[leaf] >= 0
    return kept


@jit.compiled
def _residuals(packed, rows, taken, leaves, trees, shares):
    """w * residual of each row."""
    target, weight, value, total = packed.target, packed.weight, trees.value, len(trees.roots)
    for m in range(taken):
        i = rows[m]
        w = weight[i]
        for c in range(target.shape[1]):
            r = target[i, c]
            for k in range(total):
                r -= value[leaves[k, m], c]
            shares[m, c] = w * r


@jit.compiled
def _gradients(packed, rows, taken, leaves, trees, start, shares):
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


@jit.compiled
def _sort(leaves, taken, counts, order, seen, ends):
    """Rows in the order of their leaves; returns the number of leaves. `counts` stays zero."""
    distinct = 0
    for m in range(taken):
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
    for m in range(taken):
        leaf = leaves[m]
        order[counts[leaf]] = m
        counts[leaf] += 1
    for q in range(distinct):
        counts[seen[q]] = 0
    return distinct


@jit.compiled
def _add_full(packed, rows, order, shares, layout, sums, slot):
    """Rows into one histogram: w * r, w and, if they are counted, the number of rows; and the
    moments of their targets."""
    _add_moments(packed, rows, order, sums.moments[slot])
    for start in range(0, packed.bins.shape[1], FEATURES):
        stop = min(start + FEATURES, packed.bins.shape[1])
        _add_features(
            packed, rows, order, shares, layout, sums.full, slot, np.uint64(start), np.uint64(stop)
        )


@jit.compiled
def _add_moments(packed, rows, order, moments):
    target, weight = packed.target, packed.weight
    outputs = target.shape[1]
    for m in order:
        i = rows[m]
        for c in range(outputs):
            share = weight[i] * target[i, c]
            moments[c] += share
            moments[outputs] += share * target[i, c]


@jit.compiled
def _add_features(packed, rows, order, shares, layout, full, slot, start, stop):
    """The same for the features from start to stop."""
    bins, weight, count = packed.bins, packed.weight, packed.times
    offsets, counted, outputs = layout.offsets, layout.counted, shares.shape[1]
    for m in order:
        i = np.uint64(rows[m])
        w = weight[i]
        if outputs == 1:
            g = shares[m, 0]
            if counted:
                for j in range(start, stop):
                    b = offsets[j] + bins[i, j]
                    full[slot, b, 0] += g
                    full[slot, b, 1] += w
                    full[slot, b, 2] += count[i]
            else:
                for j in range(start, stop):
                    b = offsets[j] + bins[i, j]
                    full[slot, b, 0] += g
                    full[slot, b, 1] += w
        elif outputs == 2:  # a gradient and a curvature
            g, h = shares[m, 0], shares[m, 1]
            for j in range(start, stop):
                b = offsets[j] + bins[i, j]
                full[slot, b, 0] += g
                full[slot, b, 1] += h
                full[slot, b, 2] += w
                if counted:
                    full[slot, b, 3] += count[i]
        else:
            for j in range(start, stop):
                b = offsets[j] + bins[i, j]
                for c in range(outputs):
                    full[slot, b, c] += shares[m, c]
                full[slot, b, outputs] += w
                if counted:
                    full[slot, b, outputs + 1] += count[i]


@jit.compiled
def _add_overlap(packed, rows, order, child_of, layout, overlap, slot, others):
    """Rows into the histogram of weights that their leaf shares with the child they are in."""
    child, leaves = child_of
    bins, weight, offsets = packed.bins, packed.weight, layout.offsets
    for start in range(0, bins.shape[1], FEATURES):
        first, stop = np.uint64(start), np.uint64(min(start + FEATURES, bins.shape[1]))
        for m in order:
            i = np.uint64(rows[m])
            into = np.uint64(slot + child[leaves[m]] * others)
            w = weight[i]
            for j in range(first, stop):
                overlap[into, offsets[j] + bins[i, j]] += w


@jit.compiled
def find_leaves(codes, trees, leaves):
    """The leaf of each row in each tree, into `leaves` (trees, rows)."""
    rows = np.arange(codes.shape[0])
    for k in range(len(trees.roots)):
        _walk(codes, rows, codes.shape[0], trees, k, leaves[k])


def find_leaves_plain(codes, trees, leaves):
    """The same in NumPy."""
    rows = np.arange(len(codes))
    for k, root in enumerate(trees.roots):
        at = np.full(len(rows), root, dtype=np.int32)
        for _ in range(trees.depths[k]):
            at = trees.first[at] + trees.goes_right[at, codes[rows, trees.feature[at]]]
        leaves[k] = at


def accumulate_plain(packed, trees, slots, layout, sums):
    """The same in NumPy."""
    leaves = np.empty((len(trees.roots), len(packed.codes)), dtype=np.int32)
    find_leaves_plain(packed.codes, trees, leaves)
    kept = packed.times > 0
    if slots.grown >= 0:
        kept &= slots.child[leaves[slots.grown]] >= 0
    leaves, bins = leaves[:, kept], packed.bins[kept]
    weight, count = packed.weight[kept], packed.times[kept]
    expected, shares = trees.value[leaves].sum(axis=0), []
    if layout.curved:
        expected, curvature = probabilities(expected + layout.start)
        shares = [curvature * weight[:, None]]
    residual = packed.target[kept] - expected
    channels = [residual * weight[:, None], *shares, weight] + [count] * bool(layout.counted)
    stacked, target = np.column_stack(channels), packed.target[kept]
    moments = weight[:, None] * np.column_stack([target, (target**2).sum(axis=1)])
    if slots.root >= 0:
        _bincount(bins, layout.offsets, stacked, sums.full[slots.root])
        sums.moments[slots.root] += moments.sum(axis=0)
    for at in leaves:
        for node in np.unique(at):
            here = at == node
            if slots.full[node] >= 0:
                into = sums.full[slots.full[node]]
                _bincount(bins[here], layout.offsets, stacked[here], into)
                sums.moments[slots.full[node]] += moments[here].sum(axis=0)
            if slots.overlap[node] >= 0:
                child = slots.child[leaves[slots.grown]]
                _overlaps_plain(bins, weight, here, child, slots, layout, sums.overlap, node)


def _overlaps_plain(bins, weight, here, child, slots, layout, overlap, node):
    others = slots.overlap.max(initial=-1) + 1
    for number in range(len(overlap) // others):
        shared = here & (child == number)
        into = overlap[slots.overlap[node] + number * others]
        _bincount(bins[shared], layout.offsets, weight[shared, None], into[:, None])


def _bincount(bins, offsets, channels, into):
    for j in range(bins.shape[1]):
        start, stop = int(offsets[j]), int(offsets[j + 1])
        for c in range(channels.shape[1]):
            into[start:stop, c] += np.bincount(bins[:, j], channels[:, c], stop - start)


def probabilities(scores):
    """Of scores (rows, outputs) the probabilities (rows, outputs), and the curvatures (rows, 1)."""
    if scores.shape[1] == 1:
        small, p = np.abs(scores) < NEAR_ZERO, 1.0 / (1.0 + np.exp(-scores))
        series, safe = 0.25 - scores**2 / 48.0, np.where(small, 1.0, scores)
        return p, np.where(small, series, (p - 0.5) / safe)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True), np.full((len(scores), 1), SEVERAL)
