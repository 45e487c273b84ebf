"""Small data sets packed in memory, to train on without Spark; and models as lists of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from figs_spark.engine.backends import DriverBackend
from figs_spark.engine.bins import Bins, make_bins
from figs_spark.engine.blocks import Block
from figs_spark.engine.grower import Growth, GrowthRules, grow
from figs_spark.engine.histograms import Layout
from figs_spark.engine.table import Target
from figs_spark.engine.training import growing
from figs_spark.engine.weights import OwnWeights
from figs_spark.treesum import Feature, TreeSum
from tests.support.oracle import Step


@dataclass(frozen=True)
class Data:
    """Arrays as the engine takes them. `held` has the model that does not train on each row, and
    `count` how many equal rows it stands for."""

    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None = None
    classes: int = 0
    categorical: Sequence[int] = ()
    held: np.ndarray | None = None
    count: np.ndarray | None = None
    max_bins: int = 255
    block_rows: int = 1000

    @cached_property
    def target(self) -> Target:
        return Target(self.classes, 0.0 if self.classes else float(np.mean(self.y)))

    @cached_property
    def bins(self) -> Bins:
        described = [self._feature(j) for j in range(self.X.shape[1])]
        return make_bins(self.X, described, self.max_bins)

    def _feature(self, j: int) -> Feature:
        if j not in self.categorical:
            return Feature(f"x{j}")
        values = self.X[:, j]
        return Feature(f"x{j}", tuple(np.unique(values[~np.isnan(values)]).tolist()))

    @cached_property
    def backend(self) -> DriverBackend:
        layout = Layout(self.bins.widths, self.target.outputs, self.weight is not None)
        return DriverBackend(self.blocks, layout, OwnWeights(self.target))

    @cached_property
    def blocks(self) -> list[Block]:
        codes, _ = self.bins.encode(self.X)
        columns = (codes, self.target.store(self.y), self.weight, self.held, self.count)

        def block(first: int) -> Block:
            stop = first + self.block_rows
            parts: list[Any] = [c if c is None else c[first:stop] for c in columns]
            return Block(first, *parts)

        return [block(first) for first in range(0, len(codes), self.block_rows)]

    def growth(self, member: int = 0, **rules: Any) -> Growth:
        layout = self.backend.layout
        return growing(self.bins, layout, GrowthRules(**rules), self.target.centres, member)

    def fit(self, **rules: Any) -> TreeSum:
        return grow([self.growth(**rules)], self.backend)[0]


def steps(model: TreeSum) -> list[Step]:
    """The splits of a model in the order in which they were made."""
    found = []
    for tree, root in enumerate(model.trees):
        for node in root.walk():
            if branches := node.branches:
                split, left, right = branches
                threshold = np.nan if split.threshold is None else split.threshold
                sides = np.array(left.value), np.array(right.value)
                step = Step(tree, split.feature, threshold, split.missing_left, *sides)
                found.append((split.step, step))
    return [step for _, step in sorted(found, key=lambda pair: pair[0])]


def assert_same_steps(found: Sequence[Step], expected: Sequence[Step]) -> None:
    """The same splits in the same order, and the same values in the leaves."""
    assert [step[:4] for step in found] == [step[:4] for step in expected]
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(mine.left, theirs.left, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(mine.right, theirs.right, rtol=1e-9, atol=1e-9)


def assert_same_model(found: TreeSum, expected: TreeSum) -> None:
    assert_same_steps(steps(found), steps(expected))
    mine, theirs = ([(s.categories, s.listed_left) for s in m.splits] for m in (found, expected))
    assert mine == theirs
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-9, atol=1e-12)
