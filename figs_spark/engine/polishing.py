"""Polishing: when all splits are made, a weak one is taken back and the best is made in its place.

A split without others below it can be taken back without a pass over the rows: its row and column
leave the normal equations, and the histograms of its leaf are the sums of those of its children.
Then the best split of all candidates is made, if the penalised squared error is smaller than it
was. There are at most four such rounds, of one pass each. The ridge stays as it was.

The sizes of the polished model are those of its splits in their new order, the new ones last.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from figs_spark.engine.candidates import NEW_ROOT
from figs_spark.engine.growing_trees import GrowingTrees
from figs_spark.engine.histograms import Floats
from figs_spark.engine.joint_candidates import Candidate
from figs_spark.engine.joint_growth import JointGrowth
from figs_spark.engine.logistic_fit import solved
from figs_spark.engine.splits import Cut, Side

ROUNDS = 4
TRIES = 3  # weak splits that a round tries
LEAST_GAIN = 1e-6  # share of the penalised squared error that a round must gain


class PolishedGrowth(JointGrowth):
    """One model that grows with a ridge, and is polished at its full size."""

    def __init__(self, *args: Any, **options: Any):
        super().__init__(*args, **options)
        self._rounds = 0

    def split(self) -> None:
        if self.steps < (self.rules.max_splits or 0):
            super().split()
            return
        better = next((one for one in map(self._without, self._weakest()) if one is not None), None)
        if better is None:
            super()._end()
            return
        self.__dict__.update(better.__dict__)
        super().split()

    def _end(self) -> None:
        """The splits are made; the children of the last one are still to be added up."""
        self._automatic = False
        self._rounds += 1
        if self._rounds > ROUNDS or self._let_go:
            super()._end()

    def _keeps(self, candidate: int) -> bool:
        """All leaves, because a leaf comes back if the split above it is taken back."""
        return candidate == NEW_ROOT or self.trees.nodes[candidate].split is None

    def _best_cut(self, candidate: int, known: Candidate, inverse: Floats) -> Cut | None:
        return super()._best_cut(candidate, known, inverse) if self._may_split(candidate) else None

    # Taking a split back

    def _weakest(self) -> list[int]:
        """The splits, by their number, that cost least to take back, if none is below them."""
        nodes = self.trees.nodes
        ends = [
            step
            for step, node in enumerate(self._splits)
            if nodes[nodes[node].left].split is None and nodes[nodes[node].right].split is None
        ]
        costs = {step: self._objective(self._others(step)) for step in ends}
        return sorted(ends, key=lambda step: (costs[step], step))[:TRIES]

    def _others(self, step: int) -> list[int]:
        return [k for k in range(len(self._splits)) if k != step]

    def _objective(self, splits: Sequence[int]) -> float:
        """The penalised squared error of a model with these splits only."""
        at = np.ix_(splits, splits)
        normal = self._products[at] + np.diag(self._ridge * self._penalty[splits])
        values, targets = solved(normal, self._targets[splits]), self._targets[splits]
        return self.losses[0] * self.weight - float((values * targets).sum())

    def _without(self, step: int) -> PolishedGrowth | None:
        """This model without a split, if another one in its place makes it better."""
        everything = list(range(len(self._splits)))
        now, kept = self._objective(everything), self._others(step)
        changed = copy.copy(self)
        changed._take_back(step, kept)
        changed._evaluate()
        choice = changed._choose()
        if choice is None:
            return None
        then = self._objective(kept) - choice[1].gain
        return changed if then < now - LEAST_GAIN * abs(now) else None

    def _take_back(self, step: int, kept: list[int]) -> None:
        gone = self.trees.nodes[self._splits[step]]
        children = [self._known[child] for child in (gone.left, gone.right)]
        place = self._rebuilt(kept)
        leaf = place.get(self._splits[step])  # None if its whole tree is gone
        self._known = {
            place[c] if c != NEW_ROOT else c: Candidate(one.sums, one.overlaps[kept])
            for c, one in self._known.items()
            if c == NEW_ROOT or c in place
        }
        if leaf is not None:
            sums, overlaps = (
                sum(getattr(child, name) for child in children) for name in ("sums", "overlaps")
            )
            self._known[leaf] = Candidate(sums, overlaps[kept])
        self._products = self._products[np.ix_(kept, kept)]
        self._targets, self._penalty = self._targets[kept], self._penalty[kept]
        self._splits = [place[self._splits[k]] for k in kept]
        place[NEW_ROOT] = NEW_ROOT
        targets = self.leaf_targets.items()
        self.leaf_targets = {place[node]: own for node, own in targets if node in place}
        self._of_node = self._columns_of_nodes()
        self.freedoms = [self.freedoms[k] for k in kept]
        self.steps, self._let_go, self._last = len(kept), [], NEW_ROOT
        self._values = solved(self._products + np.diag(self._ridge * self._penalty), self._targets)
        self._fit_path()

    def _rebuilt(self, kept: Sequence[int]) -> dict[int, int]:
        """Make the trees of these splits; returns the new number of each node that is left."""
        old, trees, place = self.trees.nodes, GrowingTrees(self.layout.outputs), dict[int, int]()
        for number, step in enumerate(kept):
            node = self._splits[step]
            parent = old[node]
            if node in self.trees.roots:
                place[node] = trees.plant(parent.value, parent.rows, parent.weight)
            assert parent.split is not None
            children = [old[parent.left], old[parent.right]]
            none = np.zeros(self.layout.outputs)
            sides = [Side(none, child.weight, child.rows) for child in children]
            moves = [child.value - parent.value for child in children]
            split = replace(parent.split, step=number)
            trees.divide(place[node], split, ~parent.goes_right, sides, moves)
            made = trees.nodes[place[node]]
            place |= {parent.left: made.left, parent.right: made.right}
        self.trees = trees
        return place

    def _columns_of_nodes(self) -> Floats:
        nodes = self.trees.nodes
        columns = np.zeros((len(nodes), len(self._splits)))
        for step, node in enumerate(self._splits):
            for child, factor in zip((nodes[node].left, nodes[node].right), self._arms(node)):
                columns[child] = columns[node]
                columns[child, step] = factor
        return columns

    def _fit_path(self) -> None:
        """The coefficients and losses of every size, for the splits in their order."""
        ridges = [*self._ridges[: self.steps], self._ridge]
        self.path, self._ridges, losses = [self.mean[None]], ridges[:1], self.losses[:1]
        for k in range(1, self.steps + 1):
            products, targets = self._products[:k, :k], self._targets[:k]
            values = solved(products + np.diag(ridges[k] * self._penalty[:k]), targets)
            self.path.append(np.vstack([self.mean, values]))
            self._ridges.append(ridges[k])
            explained = 2 * (values * targets).sum() - (values * (products @ values)).sum()
            losses.append(max(self.losses[0] - float(explained) / self.weight, 0.0))
        self.losses = losses
