"""Growing for two classes by the logistic loss: the score is log odds.

With p = 1 / (1 + exp(-f)), a step adds up for every candidate, feature and bin

    G = sum w (y - p)       the gradient
    H = sum w (p - 1/2) / f     a curvature by which a parabola bounds the loss from above
                                (Jaakkola and Jordan), so that a step cannot overshoot

and takes the split with the largest gain, a ridge included (`kernels.joint_split`). Its children
move by G / H. All p change in the rows of the leaf, and nothing can be kept up to date by its
difference: each pass adds up all candidates afresh. The values are fitted together at the end, by
logistic regression (`refitting`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from figs_spark.engine.bins import Bins
from figs_spark.engine.grower import Growth, GrowthRules
from figs_spark.engine.histograms import Floats, Layout, Request, Sums
from figs_spark.engine.permissions import Permissions
from figs_spark.engine.splits import Cut, Side

RIDGE = 30.0  # unless another is given; times the variance of the outcome


class LogisticGrowth(Growth):
    """One model of log odds while it grows."""

    def __init__(self, bins: Bins, layout: Layout, rules: GrowthRules, *others: Any):
        super().__init__(bins, replace(layout, curved=True), rules, *others)
        self._given_ridge = RIDGE if rules.ridge is None else rules.ridge
        self._start = 0.0

    @property
    def ridges(self) -> list[float]:
        return [self._given_ridge] * (self.steps + 1)

    @property
    def _adds_up_afresh(self) -> bool:
        return True

    def request(self) -> Request:
        return replace(super().request(), start=self._start)

    def _begin(self, sums: Sums) -> None:
        """The log odds of all rows; until now they were `start`, 0 in the first pass."""
        root, weight = sums.full[0], self.layout.weight
        total = root[: self._cuts.layout.widths[0]].sum(axis=0)
        self.weight, self.rows = float(total[weight]), round(float(total[-1]))
        self._check_weight()
        before = 1 / (1 + math.exp(-self._start))
        self.mean = total[:1] / self.weight + before
        mean = min(max(float(self.mean[0]), 0.5 / (self.weight + 1)), 1 - 0.5 / (self.weight + 1))
        self._start = math.log(mean / (1 - mean))
        root[:, 0] += (before - mean) * root[:, weight]
        curvature = (mean - 0.5) / self._start if abs(self._start) > 1e-3 else 0.25
        root[:, 1] = curvature * root[:, weight]
        squares = self.weight * mean * (1 - mean)
        self.losses = [squares / self.weight]
        self._ridge = self._given_ridge * mean * (1 - mean)
        limits = self._cut_limits(squares, self.weight)
        self._limits = limits._replace(noise=limits.noise / curvature)  # in units of this gain

    def _plant(self) -> int:
        return self.trees.plant(np.zeros(1), self.rows, self.weight)

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
