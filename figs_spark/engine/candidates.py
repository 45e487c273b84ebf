"""The histograms of all candidates for a split, kept current from pass to pass.

Candidates are the open leaves of all trees, and the new root. A split changes the residuals of the
rows of one leaf, and of all rows of a child by the same number. So a pass adds up just the smaller
child, and its sibling is the parent minus the child. In the leaves of the other trees

    G -= moved * overlap        moved: the change of value of a child,
                                overlap: the weights of the rows that it shares with the leaf

and the pass adds up the overlaps with the smaller child. Those with its sibling are the overlaps of
the parent minus these, as long as there is room to keep overlaps. The new root holds all rows, so
its overlap with a child is the weight histogram of the child itself: it needs no pass.

The memory of the driver is bounded: if there are more histograms than fit the budget, those of the
candidates with the smallest gains are dropped. When a later split changes a dropped candidate, its
histogram is added up again from its rows, to see what it gains now. What a pass added up is one
array; what is kept of it is copied, so that the array goes when the pass is over.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.growing_trees import GrowingTrees
from figs_spark.engine.histograms import Floats, Layout, Sums
from figs_spark.engine.kernels.records import Slots
from figs_spark.engine.narrow_numbers import narrowest

NEW_ROOT = -1  # the candidate that starts a new tree
OVERLAP_BYTES = 64 << 20  # of the overlaps that a model keeps while it grows
HISTOGRAM_BYTES = 256 << 20  # of the histograms that a model keeps
PASS_BYTES = 256 << 20  # of what a pass adds up, in all threads of the driver together
LEAST_ROOM = 4  # histograms: the new root, a parent and its children
CHILDREN = 2  # a pass may add up the overlaps of a leaf with both


class CandidateHistograms:
    """Histograms by candidate. `may_split` says which nodes still compete."""

    def __init__(self, layout: Layout, trees: GrowingTrees, may_split: Callable[[int], bool]):
        self.layout, self.trees, self.may_split = layout, trees, may_split
        self._histograms: dict[int, Floats] = {}
        self._overlaps: dict[tuple[int, int], NDArray[Any]] = {}  # of leaves of two trees
        self._overlap_bytes = OVERLAP_BYTES

    def __getitem__(self, candidate: int) -> Floats:
        return self._histograms[candidate]

    def __iter__(self) -> Iterator[int]:
        return iter(self._histograms)

    def __contains__(self, candidate: int) -> bool:
        return candidate in self._histograms

    def put(self, candidates: Sequence[int], histograms: Floats) -> None:
        """Take histograms that were added up from the rows."""
        self._histograms |= dict(zip(candidates, histograms, strict=True))

    def keep_best(self, gains: dict[int, float], room: int) -> None:
        """Drop the histograms with the smallest gains, as many as there is no room for."""
        surplus = max(0, len(self._histograms) - room)
        leaves = [c for c in self._histograms if c != NEW_ROOT]
        for leaf in sorted(leaves, key=lambda c: gains.get(c, -np.inf))[:surplus]:
            del self._histograms[leaf]
            self._overlaps = {pair: o for pair, o in self._overlaps.items() if leaf not in pair}
        self._histograms = {c: _own(histogram) for c, histogram in self._histograms.items()}

    def clear(self) -> None:
        self._histograms.clear()
        self._overlaps.clear()

    def slots(self, split: int) -> Slots:
        """What the pass after this split adds up."""
        count = len(self.trees.nodes)
        full, overlap, child = (np.full(count, -1, np.int32) for _ in range(3))
        small, large = self.trees.children(split)
        others = self._others(split)
        full[small] = child[small] = 0
        overlap[others] = np.arange(len(others))
        if any(self._shared(split, leaf) is None for leaf in others):
            child[large] = 1
        return Slots(full, overlap, child, root=-1, grown=self.trees.nodes[split].tree)

    def update(self, split: int, sums: Sums) -> list[int]:
        """Bring all histograms up to date; returns the candidates whose histogram changed."""
        nodes, outputs = self.trees.nodes, self.layout.outputs
        small, large = self.trees.children(split)
        others = self._others(split)
        moved = {child: nodes[child].value - nodes[split].value for child in (small, large)}
        self._move_others(split, others, sums.overlap, moved)
        fresh = sums.full[0]
        is_root = split in self.trees.roots
        parent = self._histograms[NEW_ROOT] if is_root else self._histograms.pop(split)
        sibling = parent - fresh
        sibling[:, :outputs] -= moved[small] * fresh[:, outputs : outputs + 1]
        sibling[:, :outputs] -= moved[large] * sibling[:, outputs : outputs + 1]
        sibling[sibling[:, -1] < 0.5] = 0.0
        if NEW_ROOT in self._histograms:
            root = self._histograms[NEW_ROOT]
            for child, histogram in ((small, fresh), (large, sibling)):
                root[:, :outputs] -= moved[child] * histogram[:, outputs : outputs + 1]
        self._histograms |= {small: fresh, large: sibling}
        for candidate in (small, large, NEW_ROOT):
            if not self.may_split(candidate):
                self._histograms.pop(candidate, None)
        return [c for c in (small, large, *others, NEW_ROOT) if c in self._histograms]

    def _others(self, split: int) -> list[int]:
        """The leaves with a histogram in the trees that the split is not in."""
        nodes = self.trees.nodes
        grown = nodes[split].tree
        return [c for c in self._histograms if c != NEW_ROOT and nodes[c].tree != grown]

    def _move_others(
        self, split: int, others: Sequence[int], overlaps: Floats, moved: dict[int, Floats]
    ) -> None:
        """The change of the leaves of the other trees. `overlaps` are those of the smaller child,
        then, if they were added up, those of its sibling."""
        small, large = moved
        for k, leaf in enumerate(others):
            shared, with_small = self._shared(split, leaf), overlaps[k]
            if shared is None or len(overlaps) > len(others):
                with_large = overlaps[len(others) + k]
            else:
                with_large = shared - with_small
            for child, overlap in ((small, with_small), (large, with_large)):
                self._histograms[leaf][:, : self.layout.outputs] -= np.outer(overlap, moved[child])
                if self.may_split(child):
                    self._keep(child, leaf, overlap)
            self._overlaps.pop((split, leaf), None)
            self._overlaps.pop((leaf, split), None)

    def _keep(self, child: int, leaf: int, overlap: Floats) -> None:
        """An overlap, if there is room; counts are narrow."""
        kept = _own(narrowest(overlap))
        if sum(other.nbytes for other in (kept, *self._overlaps.values())) <= self._overlap_bytes:
            self._overlaps[child, leaf] = kept

    def _shared(self, split: int, leaf: int) -> NDArray[Any] | None:
        """The weights of the rows that a leaf shares with the split node; None if not kept."""
        if split in self.trees.roots:
            return self._histograms[leaf][:, self.layout.outputs]
        overlap = self._overlaps.get((split, leaf))
        return self._overlaps.get((leaf, split)) if overlap is None else overlap


def _own(array: NDArray[Any]) -> NDArray[Any]:
    """The array itself; if it is a part of what a pass added up, a copy."""
    return array if array.base is None else array.copy()


def histogram_room(layout: Layout) -> int:
    """How many histograms a model may keep, and a pass may add up at once."""
    kept = HISTOGRAM_BYTES // (8 * layout.size * layout.channels)
    added_up = PASS_BYTES // (8 * layout.size * max(layout.channels, CHILDREN))
    return max(LEAST_ROOM, min(kept, added_up))


def driver_bytes(layout: Layout, splits: int) -> int:
    """About the most that the histograms of one model take in the driver while it grows."""
    candidates = min(splits + 2, histogram_room(layout))
    bin_bytes = 8 * layout.size
    kept, added_up = layout.channels, max(layout.channels, CHILDREN)
    overlaps = min(OVERLAP_BYTES, bin_bytes * candidates**2)
    return bin_bytes * (candidates * (kept + added_up) + 2 * layout.channels) + overlaps
