"""Growing by the logistic loss: the score of two classes is log odds, of more there is one each.

With p = 1 / (1 + exp(-f)), or the softmax of several f, a step adds up for every candidate, feature
and bin

    G = sum w (y - p)       the gradient, for each score
    H = sum w h             a curvature by which a parabola bounds the loss from above, so that a
                            step cannot overshoot (`kernels.accumulate`)

and takes the split with the largest gain, a ridge included (`kernels.joint_split`). Its children
move by G / H. All p change in the rows of the leaf, and nothing can be kept up to date by its
difference: each pass adds up all candidates afresh. It leaves out what follows from the rest: the
leaves of one tree together are all rows, and the largest leaf of any other tree is all rows less
its other leaves. The values are fitted together at the end, by logistic regression (`refitting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from figs_spark.engine.bins import Bins
from figs_spark.engine.candidates import NEW_ROOT
from figs_spark.engine.grower import Growth, GrowthRules
from figs_spark.engine.histograms import Floats, Layout, Request, Sums
from figs_spark.engine.kernels.accumulate import probabilities
from figs_spark.engine.kernels.records import Slots
from figs_spark.engine.logistic_fit import scores_of
from figs_spark.engine.permissions import Permissions
from figs_spark.engine.splits import Cut, Side

RIDGE = 30.0  # unless another is given; times the variance of the outcome


@dataclass(frozen=True)
class _Pass:
    """A pass over all rows: which leaves it adds up, and what follows from them."""

    whole: list[int]  # the leaves of one tree
    rests: dict[int, list[int]]  # by the largest leaf of any other tree: its other leaves
    slots: dict[int, int]  # by leaf

    def completed(self, sums: Sums, candidates: Sequence[int]) -> Sums:
        """Those of all candidates, in their order."""
        full = self._of_each(sums.full, candidates)
        full[full[:, :, -1] < 0.5] = 0.0
        return replace(sums, full=full, moments=self._of_each(sums.moments, candidates))

    def _of_each(self, sums: Floats, candidates: Sequence[int]) -> Floats:
        root = sum(sums[self.slots[leaf]] for leaf in self.whole)
        every = np.empty((len(candidates), *sums.shape[1:]))
        for place, candidate in enumerate(candidates):
            if candidate == NEW_ROOT:
                every[place] = root
            elif candidate in self.rests:
                every[place] = root - sum(sums[self.slots[k]] for k in self.rests[candidate])
            else:
                every[place] = sums[self.slots[candidate]]
        return every


class LogisticGrowth(Growth):
    """One model of log odds, or of log weights of classes, while it grows."""

    def __init__(self, bins: Bins, layout: Layout, rules: GrowthRules, *others: Any):
        super().__init__(bins, replace(layout, curved=True), rules, *others)
        self._given_ridge = RIDGE if rules.ridge is None else rules.ridge
        self._start = np.zeros(layout.outputs)
        self._pass: _Pass | None = None  # that is asked for

    @property
    def ridges(self) -> list[float]:
        return [self._given_ridge] * (self.steps + 1)

    @property
    def _adds_up_afresh(self) -> bool:
        return True

    def request(self) -> Request:
        self._pass = self._thrifty_pass()
        return replace(super().request(), start=self._start)

    def _thrifty_pass(self) -> _Pass | None:
        """A pass that leaves out what follows from the rest; None if it could not add up all
        candidates at once, or all rows are not among them."""
        nodes = self.trees.nodes
        if not nodes or NEW_ROOT not in self._to_add_up or len(nodes) >= self._room:
            return None
        leaves: list[list[int]] = [[] for _ in self.trees.roots]
        for k, node in enumerate(nodes):
            if node.split is None:
                leaves[node.tree].append(k)
        largest = [max(own, key=lambda k: (nodes[k].rows, -k)) for own in leaves]
        whole = min(range(len(leaves)), key=lambda tree: nodes[largest[tree]].rows)
        rests = {
            top: [k for k in own if k != top]
            for tree, (top, own) in enumerate(zip(largest, leaves))
            if tree != whole and top in self._to_add_up
        }
        asked = {*leaves[whole], *self._to_add_up, *(k for rest in rests.values() for k in rest)}
        asked -= {NEW_ROOT, *rests}
        return _Pass(leaves[whole], rests, {k: slot for slot, k in enumerate(sorted(asked))})

    def _fresh_slots(self) -> Slots:
        slots = super()._fresh_slots()
        if self._pass is None:
            return slots
        full = np.full_like(slots.full, -1)
        full[list(self._pass.slots)] = list(self._pass.slots.values())
        return slots._replace(full=full, root=-1)

    def absorb(self, sums: Sums) -> None:
        if self._pass is not None:
            sums = self._pass.completed(sums, self._to_add_up)
        super().absorb(sums)

    def _begin(self, sums: Sums) -> None:
        """The scores of all rows; until now they were `start`, 0 in the first pass."""
        root, weight, outputs = sums.full[0], self.layout.weight, self.layout.outputs
        total = root[: self._cuts.layout.widths[0]].sum(axis=0)
        self.weight, self.rows = float(total[weight]), round(float(total[-1]))
        self._check_weight()
        before = probabilities(self._start[None])[0][0]
        self.mean = total[:outputs] / self.weight + before
        mean = np.clip(self.mean, 0.5 / (self.weight + 1), 1 - 0.5 / (self.weight + 1))
        self._start = scores_of(mean)
        (mean,), ((curvature,),) = probabilities(self._start[None])
        root[:, :outputs] += (before - mean) * root[:, weight : weight + 1]
        root[:, outputs] = curvature * root[:, weight]
        variance = float(mean @ (1 - mean))
        self.losses = [variance]
        self._ridge = self._given_ridge * variance
        self._limits = self._cut_limits(self.weight * variance, self.weight)

    def _plant(self) -> int:
        return self.trees.plant(np.zeros(self.layout.outputs), self.rows, self.weight)

    def _asked_permissions(self, bounded: bool = False) -> Permissions | None:
        return super()._asked_permissions(bounded)

    def _best_cuts(self, candidates: Sequence[int], histograms: Floats) -> list[Cut | None]:
        none = np.zeros((self._cuts.layout.size, 0))
        return [
            self._cuts.best_joint(
                histogram,
                none,
                self._ridge,
                self._limits,
                self._bargain(candidate) if self._permissions is not None else None,
                self.noise(candidate) / self._curvature(histogram),
            )
            for candidate, histogram in zip(candidates, histograms, strict=True)
        ]

    def _curvature(self, histogram: Floats) -> float:
        """The mean of the rows of a leaf."""
        layout = self._cuts.layout
        total = histogram[: layout.widths[0]].sum(axis=0)
        return float(total[layout.outputs] / total[layout.weight])

    def _move(self, side: Side) -> Floats:
        return side.g / side.curvature
