"""Constraints while a model grows: what each leaf is permitted, and what must still come."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from figs_spark.engine.bins import Bins
from figs_spark.engine.candidates import NEW_ROOT
from figs_spark.engine.constraints import Bargain, Bounds, Constraints, members
from figs_spark.engine.growing_trees import GrowingTrees
from figs_spark.engine.histograms import Floats, Layout
from figs_spark.engine.kernels.records import Ints
from figs_spark.engine.splits import Side

if TYPE_CHECKING:
    from figs_spark.engine.grower import GrowthRules


class Permissions:
    """What constraints permit in each leaf of one model, as it grows."""

    def __init__(self, constraints: Constraints, features: int, bounded: bool, ridge: float):
        self.constraints, self.features, self.ridge = constraints, features, ridge
        self.bounded = bounded and constraints.ordered
        self.used: set[int] = set()
        self.forcing = False  # whether the next split must be on a required feature
        self._in_tree: dict[int, set[int]] = {}
        self._limits: dict[int, tuple[float, float]] = {}  # by node

    def unused(self) -> list[int]:
        return self.constraints.unused(self.used)

    def forced(self, splits_left: float) -> list[int]:
        """The features one of which must be split next."""
        if self.forcing:
            return self.unused()
        return self.constraints.must_use(self.used, splits_left)

    def bargain(
        self, node: int, tree: int, value: float, squares: float, splits_left: float
    ) -> Bargain:
        """For a leaf of this value in this tree; `squares` is the sum of squares of the target."""
        size, constraints = self.features, self.constraints
        allowed = constraints.allowed(size, self.used, self._in_tree.get(tree, set()))
        factor, cost = constraints.penalties(size, self.used)
        if forced := self.forced(splits_left):
            allowed &= members(size, set(forced))
            factor, cost = np.ones(size), np.zeros(size)
        sign = np.array(constraints.monotone or (0,) * size)
        bounds = None
        if self.bounded:
            bounds = Bounds(value, *self._limits.get(node, (-np.inf, np.inf)), self.ridge)
        return Bargain(allowed, factor, cost * squares, sign, bounds)

    def made(
        self, feature: int, tree: int, node: int, children: tuple[int, int], values: Sequence[float]
    ) -> None:
        """Take note of a split of a node into children with these values."""
        self.used.add(feature)
        self._in_tree.setdefault(tree, set()).add(feature)
        self.forcing = False
        low, high = self._limits.get(node, (-np.inf, np.inf))
        own = dict.fromkeys(children, (low, high))
        if sign := self.constraints.sign(feature):
            below, above = children if sign > 0 else children[::-1]
            middle = sum(values) / 2
            own = {below: (low, min(high, middle)), above: (max(low, middle), high)}
        self._limits |= own

    def bounded_value(self, node: int, value: float) -> float:
        low, high = self._limits.get(node, (-np.inf, np.inf))
        return min(max(value, low), high) if self.bounded else value


class Constrained(ABC):
    """The part of a growing model that keeps constraints."""

    rules: GrowthRules
    layout: Layout
    bins: Bins
    trees: GrowingTrees
    member: int
    steps: int
    mean: Floats
    weight: float
    losses: list[float]
    _features: Ints
    _permissions: Permissions | None

    @abstractmethod
    def _move(self, side: Side) -> Floats:
        """By how much a new leaf differs from its parent, if nothing bounds it."""

    def _asked_permissions(self, bounded: bool = True) -> Permissions | None:
        rules = self.rules
        if rules.constraints is None:
            return None
        ridge = 0.0 if rules.joint else rules.ridge or 0.0
        return Permissions(rules.constraints, len(self.layout.widths), bounded, ridge)

    @property
    def _splits_left(self) -> float:
        limit = self.rules.max_splits
        return math.inf if limit is None else limit - self.steps

    def _bargain(self, candidate: int) -> Bargain:
        """What constraints make of the cuts of a candidate."""
        assert self._permissions is not None
        tree, value = len(self.trees), 0.0 if self.trees else float(self.mean[0])
        if candidate != NEW_ROOT:
            node = self.trees.nodes[candidate]
            tree, value = node.tree, float(node.value[0])
        squares = self.losses[0] * self.weight
        whole = self._permissions.bargain(candidate, tree, value, squares, self._splits_left)
        return whole.of_features(self._features)

    def _must_go_on(self) -> bool:
        """Whether a required feature is still to be split; ValueError if none can be."""
        permissions = self._permissions
        if permissions is None or self.rules.max_splits == 0 or not (left := permissions.unused()):
            return False
        if permissions.forced(self._splits_left):
            names = ", ".join(repr(self.bins.described[j].name) for j in left)
            raise ValueError(
                f"required names {names}, and no split on it is valid in model {self.member}: its "
                f"values do not differ in any leaf, or other constraints forbid it. Take it off "
                f"the list, or relax the others."
            )
        permissions.forcing = True
        return True

    def _permitted_move(self, leaf: int, side: Side) -> Floats:
        move = self._move(side)
        if self._permissions is None or not self._permissions.bounded:
            return move
        value = self.trees.nodes[leaf].value
        bounded = self._permissions.bounded_value(self._bound_of(leaf), float((value + move)[0]))
        return np.array([bounded]) - value

    def _bound_of(self, leaf: int) -> int:
        """Under which name the bounds of a leaf are known; a root has none."""
        return NEW_ROOT if leaf in self.trees.roots else leaf

    def _note(self, leaf: int) -> None:
        """Tell the constraints of a split."""
        if self._permissions is None:
            return
        node, nodes = self.trees.nodes[leaf], self.trees.nodes
        assert node.split is not None
        children = (node.left, node.right)
        values = [float(nodes[child].value[0]) for child in children]
        where = self._bound_of(leaf)
        self._permissions.made(node.split.feature, node.tree, where, children, values)
