"""Growing by the logistic loss: the score of two classes is log odds, of more there is one each.

With p = 1 / (1 + exp(-f)), or the softmax of several f, a step adds up for every candidate, feature
and bin

    G = sum w (y - p)       the gradient, for each score
    H = sum w h             a curvature by which a parabola bounds the loss from above, so that a
                            step cannot overshoot (`kernels.gradients`)

and takes the split with the largest gain, a ridge included (`kernels.joint_split`). Its children
move by G / H. All p change in the rows of the leaf, and nothing can be kept up to date by its
difference: each pass adds up all candidates afresh, but for the largest leaf of each tree, which is
all rows less the other leaves. The values are fitted together at the end, by
logistic regression (`refitting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from figs_spark.engine.bins import Bins
from figs_spark.engine.candidates import NEW_ROOT
from figs_spark.engine.grower import Growth, GrowthRules
from figs_spark.engine.histograms import Floats, Layout, Request, Sums
from figs_spark.engine.kernels.gradients import probabilities
from figs_spark.engine.kernels.records import Slots
from figs_spark.engine.logistic_fit import scores_of
from figs_spark.engine.permissions import Permissions
from figs_spark.engine.splits import Cut, Side

RIDGE = 30.0  # unless another is given; times the variance of the outcome


class LogisticGrowth(Growth):
    """One model of log odds, or of log weights of classes, while it grows."""

    def __init__(self, bins: Bins, layout: Layout, rules: GrowthRules, *others: Any):
        super().__init__(bins, replace(layout, curved=True), rules, *others)
        self._given_ridge = RIDGE if rules.ridge is None else rules.ridge
        self._start = np.zeros(layout.outputs)
        self._rests: dict[int, list[int]] = {}  # of the pass that is asked for
        self._slot_of: dict[int, int] = {}

    @property
    def ridges(self) -> list[float]:
        return [self._given_ridge] * (self.steps + 1)

    @property
    def _adds_up_afresh(self) -> bool:
        return True

    def request(self) -> Request:
        self._rests = self._largest_leaves()
        return replace(super().request(), start=self._start)

    def _largest_leaves(self) -> dict[int, list[int]]:
        """The leaves that a pass need not add up, with the other leaves of their trees; none if the
        pass does not add up all rows, or not all candidates."""
        if NEW_ROOT not in self._to_add_up or len(self.trees.nodes) >= self._room:
            return {}
        leaves: dict[int, list[int]] = {}
        for k, node in enumerate(self.trees.nodes):
            if node.split is None:
                leaves.setdefault(node.tree, []).append(k)
        rests = {}
        for own in leaves.values():
            largest = max(own, key=lambda k: self.trees.nodes[k].rows)
            if largest in self._to_add_up:
                rests[largest] = [k for k in own if k != largest]
        return rests

    def _fresh_slots(self) -> Slots:
        """Without slots for the largest leaves; all others of their trees have one."""
        slots = super()._fresh_slots()
        if not self._rests:
            return slots
        full, root = np.full_like(slots.full, -1), 0
        others = {k for rest in self._rests.values() for k in rest} | set(self._to_add_up)
        for slot, k in enumerate(sorted(others - {NEW_ROOT} - set(self._rests)), start=1):
            full[k] = slot
        self._slot_of = {int(k): int(full[k]) for k in np.flatnonzero(full >= 0)} | {NEW_ROOT: root}
        return slots._replace(full=full, root=root)

    def absorb(self, sums: Sums) -> None:
        super().absorb(replace(sums, full=self._all(sums.full)) if self._rests else sums)

    def _all(self, full: Floats) -> Floats:
        """The histograms of all candidates that were to be added up, in their order."""
        found = np.empty((len(self._to_add_up), *full.shape[1:]))
        for place, candidate in enumerate(self._to_add_up):
            if candidate in self._rests:
                found[place] = full[self._slot_of[NEW_ROOT]]
                for other in self._rests[candidate]:
                    found[place] -= full[self._slot_of[other]]
                found[place][found[place][:, -1] < 0.5] = 0.0
            else:
                found[place] = full[self._slot_of[candidate]]
        return found

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
        limits = self._cut_limits(self.weight * variance, self.weight)
        self._limits = limits._replace(noise=limits.noise / curvature)  # in units of this gain

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
            )
            for candidate, histogram in zip(candidates, histograms, strict=True)
        ]

    def _move(self, side: Side) -> Floats:
        return side.g / side.curvature
