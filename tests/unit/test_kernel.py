"""The compiled kernel and the plain one against loops that spell out what they add up."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.engine.histograms import CODES, Layout, Request, Rows, Sums, accumulate
from figs_spark.engine.kernels import accumulate as kernel
from figs_spark.engine.kernels import jit
from figs_spark.engine.kernels.records import Slots, TreeArrays

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def random_rows(random: np.random.Generator, count: int, layout: Layout) -> Rows:
    """With counts, rows have weights of their own and may be left out; else each counts as 1."""
    widths, shape = np.array(layout.widths), (count, len(layout.widths))
    codes = (random.random(shape) * widths).astype(np.uint8)
    target = random.normal(size=(count, layout.outputs))
    kept = (random.random(count) < 0.8).astype(float)
    weight = kept * random.uniform(0.1, 3, count) if layout.counted else kept
    return Rows(codes, target, weight, kept)


def random_request(random: np.random.Generator, layout: Layout, trees: int) -> Request:
    """Random trees; every leaf and the root may have a slot, in no particular order."""
    features = len(layout.widths)
    roots: list[int] = []
    tree: list[int] = []
    first: list[int] = []
    depth: list[int] = []
    for k in range(trees):
        roots.append(len(first))
        leaves = [len(first)]
        tree, first, depth = [*tree, k], [*first, len(first)], [*depth, 0]
        for _ in range(random.integers(0, 14)):
            node = leaves.pop(random.integers(len(leaves)))
            children = [len(first), len(first) + 1]
            first[node] = children[0]
            leaves += children
            tree, first = [*tree, k, k], [*first, *children]
            depth += [depth[node] + 1] * 2
    count = len(first)
    is_leaf = np.array(first, int) == np.arange(count)
    grown = int(random.integers(-1, trees))
    at = random.permutation(np.flatnonzero(is_leaf))
    full, overlap = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
    asked = at[: random.integers(0, len(at) + 1)]
    full[asked] = np.arange(len(asked))
    if grown >= 0:
        others = [leaf for leaf in at if tree[leaf] != grown]
        overlap[others] = np.arange(len(others))
    chosen = np.sort(random.choice(features, random.integers(1, features + 1), replace=False))
    depths = [max(d for d, t in zip(depth, tree, strict=True) if t == k) for k in range(trees)]
    return Request(
        features=chosen.astype(np.int32),
        layout=layout.subset(chosen.tolist()),
        trees=TreeArrays(
            roots=np.array(roots, np.int32),
            depths=np.array(depths, np.int32),
            feature=random.integers(0, features, count).astype(np.int32),
            first=np.array(first, np.int32),
            goes_right=(random.random((count, CODES)) < 0.5) & ~is_leaf[:, None],
            value=random.normal(size=(count, layout.outputs)),
        ),
        slots=Slots(
            full=full,
            overlap=overlap,
            child=random.integers(-1, 2, count).astype(np.int32),
            root=len(asked) if random.random() < 0.5 else -1,
            grown=grown,
        ),
    )


def add_up_row_by_row(rows: Rows, request: Request) -> Sums:
    sums, trees, slots = Sums.zeros(request), request.trees, request.slots
    offsets = request.layout.offsets.astype(int)
    for codes, target, weight, count in zip(
        rows.codes, rows.target, rows.weight, rows.count, strict=True
    ):
        leaves = []
        for node in trees.roots:
            while trees.first[node] != node:
                node = trees.first[node] + trees.goes_right[node, codes[trees.feature[node]]]
            leaves.append(node)
        if count == 0 or (slots.grown >= 0 and slots.child[leaves[slots.grown]] < 0):
            continue
        residual = target - sum(trees.value[leaf] for leaf in leaves)
        moments = weight * np.append(target, target @ target)
        added = [*(weight * residual), weight] + [count] * request.layout.counted
        bins = offsets[:-1] + codes[request.features]
        if slots.root >= 0:
            sums.full[slots.root, bins] += added
            sums.moments[slots.root] += moments
        for leaf in leaves:
            if slots.full[leaf] >= 0:
                sums.full[slots.full[leaf], bins] += added
                sums.moments[slots.full[leaf]] += moments
            if slots.overlap[leaf] >= 0:
                child = slots.child[leaves[slots.grown]]
                others = slots.overlap.max() + 1
                sums.overlap[slots.overlap[leaf] + child * others, bins] += weight
    return sums


@given(
    random=seeds,
    count=st.sampled_from([0, 1, 30]),
    features=st.integers(1, 4),
    outputs=st.integers(1, 3),
    trees=st.integers(0, 3),
    counted=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_both_kernels_equal_plain_loops(
    random: np.random.Generator, count: int, features: int, outputs: int, trees: int, counted: bool
) -> None:
    layout = Layout(tuple(random.integers(2, 7, features)), outputs, counted)
    rows, request = random_rows(random, count, layout), random_request(random, layout, trees)
    expected = add_up_row_by_row(rows, request)
    for numba in ("1", "0"):
        found = Sums.zeros(request)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("FIGS_SPARK_NUMBA", numba)
            accumulate(rows, request, found)
        for mine, theirs in zip(found.arrays(), expected.arrays(), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


def test_more_rows_than_a_chunk() -> None:
    random = np.random.default_rng(0)
    layout = Layout((256, 3), 1, True)
    rows = random_rows(random, 2 * kernel.CHUNK + 5, layout)
    request = random_request(random, layout, 2)
    found = Sums.zeros(request)
    accumulate(rows, request, found)
    expected = add_up_row_by_row(rows, request)
    for mine, theirs in zip(found.arrays(), expected.arrays(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-9, atol=1e-9)


def test_sums_survive_being_flat() -> None:
    random = np.random.default_rng(1)
    layout = Layout((3, 4), 2, True)
    request = random_request(random, layout, 3)
    sums = Sums.zeros(request)
    for array in sums.arrays():
        array += random.normal(size=array.shape)
    flat = np.concatenate([array.ravel() for array in sums.arrays()])
    both = Sums.over([request, request], np.concatenate([flat, 2 * flat]))
    for factor, again in enumerate(both, start=1):
        for mine, theirs in zip(again.arrays(), sums.arrays(), strict=True):
            np.testing.assert_array_equal(mine, factor * theirs)
            assert np.shares_memory(mine, again.full.base)


def test_without_numba_the_plain_kernel_runs_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(jit, "numba", None)
    monkeypatch.setattr(jit, "_warned", False)
    assert not jit.available()
    assert not jit.available()
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "numba is not installed" in caplog.text
    assert jit.compiled(len) is len
