"""The ledger of histograms, by its own interface: what it keeps equals a sum over all rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.engine import candidates
from figs_spark.engine.candidates import NEW_ROOT, CandidateHistograms
from figs_spark.engine.grower import Growth
from figs_spark.engine.histograms import Request
from figs_spark.engine.kernels.records import Slots
from tests.support.small import Data, assert_same_model
from tests.unit.test_growing import data_sets, limits


def from_scratch(ledger: CandidateHistograms, growth: Growth, data: Data) -> np.ndarray:
    """The histograms of the ledger's candidates, added up from all rows."""
    full = np.full(len(growth.trees.nodes), -1, np.int32)
    kept, root = list(ledger), -1
    for slot, candidate in enumerate(kept):
        if candidate == NEW_ROOT:
            root = slot
        else:
            full[candidate] = slot
    none = np.full_like(full, -1)
    every = np.arange(len(growth.layout.widths), dtype=np.int32)
    slots = Slots(full, none, none, root, grown=-1)
    request = Request(every, growth.layout, growth.trees.arrays(), slots)
    return data.backend.accumulate([(growth.member, request)])[0].full


@given(data_sets(), limits(), st.sampled_from([0, 2, 8, 1 << 30]))
@settings(max_examples=60, deadline=None)
def test_incremental_histograms_equal_those_from_scratch(
    data: Data, limits: dict[str, Any], overlaps: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "OVERLAP_BYTES", overlaps * 2 * data.backend.layout.size)
        growth = data.growth(joint=False, **limits)
    while not growth.done:
        growth.absorb(data.backend.accumulate([(0, growth.request())])[0])
        ledger = growth.candidates
        if growth.trees:
            fresh = from_scratch(ledger, growth, data)
            for candidate, expected in zip(ledger, fresh, strict=True):
                np.testing.assert_allclose(ledger[candidate], expected, atol=1e-9)
        growth.split()


@given(data_sets(), limits(), st.sampled_from([None, 1, 2]))
@settings(max_examples=60, deadline=None)
def test_little_room_for_histograms_gives_the_same_model(
    data: Data, limits: dict[str, Any], features: int | None
) -> None:
    rules = {**limits, "max_splits": 8, "features_per_step": features, "joint": False}
    expected = data.fit(**rules)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(candidates, "HISTOGRAM_BYTES", 0)
        growth = data.growth(**rules)
        while not growth.done:
            growth.absorb(data.backend.accumulate([(0, growth.request())])[0])
            assert len(list(growth.candidates)) <= candidates.LEAST_ROOM
            if growth.ready:
                growth.split()
    assert_same_model(growth.model, expected)


def test_a_pass_adds_up_the_smaller_child_and_its_overlaps_with_other_trees() -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(400, 3))
    data = Data(x, x[:, 0] + 0.8 * (x[:, 1] > 0) + random.normal(size=400) / 10)
    growth = data.growth()
    while len(growth.trees) < 2:
        growth.absorb(data.backend.accumulate([(0, growth.request())])[0])
        growth.split()
    slots = growth.candidates.slots(split=growth.trees.roots[1])
    nodes = growth.trees.nodes
    left, right = len(nodes) - 2, len(nodes) - 1
    smaller = left if nodes[left].rows <= nodes[right].rows else right
    assert np.flatnonzero(slots.full >= 0).tolist() == [smaller]
    leaves = [k for k, node in enumerate(nodes) if node.tree == 0 and node.split is None]
    assert np.flatnonzero(slots.overlap >= 0).tolist() == leaves
    assert (slots.grown, slots.root) == (1, -1)
