"""Growing by the logistic loss: the score of two classes is log odds, of more there is one each.

With p = 1 / (1 + exp(-f)), or the softmax of several f, a step adds up for every candidate, feature
and bin

    G = sum w (y - p)       the gradient, for each score
    H = sum w h             a curvature by which a parabola bounds the loss from above, so that a
                            step cannot overshoot (`kernels.gradients`)

and takes the split with the largest gain, a ridge included (`kernels.joint_split`). Its children
move by G / H. All p change in the rows of the leaf, each by its own amount, so each pass adds up G
and H of all candidates afresh. It leaves out what follows from the rest:

    the leaves of one tree together are all rows, and the largest leaf of any other tree is all rows
    less its other leaves;

    weights and rows do not change: those of the smaller child of the last split are added up, and
    its sibling has those of its parent less these.

The values are fitted together at the end, by logistic regression (`refitting`).
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
from figs_spark.engine.kernels.gradients import probabilities
from figs_spark.engine.kernels.records import Slots
from figs_spark.engine.logistic_fit import scores_of
from figs_spark.engine.permissions import Permissions
from figs_spark.engine.splits import Cut, Side

RIDGE = 30.0  # unless another is given; times the variance of the outcome


@dataclass(frozen=True)
class _Pass:
    """A pass over all rows: of which leaves it adds up G and H, and what follows from them."""

    whole: list[int]  # the leaves of one tree, if all rows are a candidate
    rests: dict[int, list[int]]  # by the largest leaf of any other tree: its other leaves
    slots: dict[int, int]  # by leaf

    def histograms(
        self, full: Floats, candidates: Sequence[int], weights: dict[int, Floats]
    ) -> Floats:
        """Of all candidates, in their order: G and H, and the weights that are known."""
        root = sum(full[self.slots[leaf]] for leaf in self.whole)
        every = []
        for candidate in candidates:
            own = root if candidate == NEW_ROOT else None
            if candidate in self.rests:
                own = root - sum(full[self.slots[k]] for k in self.rests[candidate])
                own[weights[candidate][:, -1] < 0.5] = 0.0
            elif own is None:
                own = full[self.slots[candidate]]
            every.append(np.hstack([own, weights[candidate]]))
        return np.stack(every)


class LogisticGrowth(Growth):
    """One model of log odds, or of log weights of classes, while it grows."""

    def __init__(self, bins: Bins, layout: Layout, rules: GrowthRules, *others: Any):
        super().__init__(bins, replace(layout, curved=True), rules, *others)
        self._given_ridge = RIDGE if rules.ridge is None else rules.ridge
        self._start = np.zeros(layout.outputs)
        self._weights: dict[int, Floats] = {}  # of candidates: (bins, weights and perhaps rows)
        self._weighed = 0  # the step after which they were
        self._pass: _Pass | None = None  # that is asked for

    @property
    def ridges(self) -> list[float]:
        return [self._given_ridge] * (self.steps + 1)

    @property
    def _adds_up_afresh(self) -> bool:
        return True

    # A pass

    def requests(self) -> list[Request]:
        request, self._pass = self.request(), None
        if not self.trees:
            return [replace(request, layout=replace(request.layout, curved=False))]
        request = replace(request, start=self._start)
        if not self._weights or len(self.trees.nodes) >= self._room:
            self._weights = {}
            return [request]
        self._pass = self._thrifty_pass()
        full = np.full_like(request.slots.full, -1)
        full[list(self._pass.slots)] = list(self._pass.slots.values())
        slots, layout = request.slots._replace(full=full, root=-1), request.layout
        thrifty = replace(request, slots=slots, layout=replace(layout, weighed=False))
        return [thrifty, *([self._smaller_child()] if self._weighed < self.steps else [])]

    def _thrifty_pass(self) -> _Pass:
        """A pass that leaves out what follows from the rest."""
        candidates = set(self._to_add_up)
        if NEW_ROOT not in candidates:
            return _Pass([], {}, {k: slot for slot, k in enumerate(sorted(candidates))})
        nodes = self.trees.nodes
        leaves: list[list[int]] = [[] for _ in self.trees.roots]
        for k, node in enumerate(nodes):
            if node.split is None:
                leaves[node.tree].append(k)
        largest = [max(own, key=lambda k: (nodes[k].rows, -k)) for own in leaves]
        whole = min(range(len(leaves)), key=lambda tree: nodes[largest[tree]].rows)
        rests = {
            top: [k for k in own if k != top]
            for tree, (top, own) in enumerate(zip(largest, leaves))
            if tree != whole and top in candidates
        }
        asked = {*leaves[whole], *candidates, *(k for rest in rests.values() for k in rest)}
        asked -= {NEW_ROOT, *rests}
        return _Pass(leaves[whole], rests, {k: slot for slot, k in enumerate(sorted(asked))})

    def _smaller_child(self) -> Request:
        """Of the last split: the weights of its rows; they need no other tree."""
        small, _ = self.trees.children(self._last)
        tree, trees = self.trees.nodes[small].tree, self.trees.arrays()
        own = trees._replace(roots=trees.roots[[tree]], depths=trees.depths[[tree]])
        none, slot = (np.full(len(self.trees.nodes), -1, np.int32) for _ in range(2))
        slot[small] = 0
        slots = Slots(full=slot, overlap=none, child=slot, root=-1, grown=0)
        return Request(self._features, replace(self._cuts.layout, curved=False), own, slots)

    def absorb_all(self, passed: Sequence[Sums]) -> None:
        sums = passed[0]
        if self._pass is not None:
            for own in passed[1:]:
                self._take_weights(own.full[0][:, self.layout.outputs :])
            full = self._pass.histograms(sums.full, self._to_add_up, self._weights)
            sums = replace(sums, full=full)
        elif not self.trees:
            sums = replace(sums, full=np.insert(sums.full, self.layout.outputs, 0.0, axis=2))
        self.absorb(sums)

    def _take_weights(self, of_small: Floats) -> None:
        """The weights of both children, from those of the smaller one and of their parent."""
        small, large = self.trees.children(self._last)
        parent = NEW_ROOT if self._last in self.trees.roots else self._last
        of_large = self._weights[parent] - of_small
        of_large[of_large[:, -1] < 0.5] = 0.0
        self._weights |= {small: of_small.copy(), large: of_large}
        self._weights = {c: own for c, own in self._weights.items() if self._may_split(c)}
        self._weighed = self.steps

    def _begin(self, sums: Sums) -> None:
        """The scores of all rows, and from the sums of w y their G and H."""
        root, weight, outputs = sums.full[0], self.layout.weight, self.layout.outputs
        total = root[: self._cuts.layout.widths[0]].sum(axis=0)
        self.weight, self.rows = float(total[weight]), round(float(total[-1]))
        self._check_weight()
        self.mean = total[:outputs] / self.weight
        mean = np.clip(self.mean, 0.5 / (self.weight + 1), 1 - 0.5 / (self.weight + 1))
        self._start = scores_of(mean)
        (mean,), ((curvature,),) = probabilities(self._start[None])
        root[:, :outputs] -= mean * root[:, weight : weight + 1]
        root[:, outputs] = curvature * root[:, weight]
        if self.rules.features_per_step is None:
            self._weights = {NEW_ROOT: root[:, weight:].copy()}
        variance = float(mean @ (1 - mean))
        self.losses = [variance]
        self._ridge = self._given_ridge * variance
        limits = self._cut_limits(self.weight * variance, self.weight)
        self._limits = limits._replace(noise=limits.noise / curvature)  # in units of this gain

    def split(self) -> None:
        super().split()
        if self.done:
            self._weights = {}

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
