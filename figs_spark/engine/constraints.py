"""What a model may look like: which features it may split on, and in which direction.

A constraint on features is decided candidate by candidate: it forbids features in a leaf, or lowers
the gains of their cuts (`Bargain`). A monotone feature keeps each tree, and so their sum, in order:
of a split on it, no leaf on the lower side may have a value above one on the higher side. Values
that grow keep it by bounds, halfway between the two sides; values that are fitted together by
`ordered`, least squares under inequalities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.histograms import Floats, Layout

if TYPE_CHECKING:
    from figs_spark.engine.growing_trees import LearningNode

MARGIN = 1e-9  # by which values are kept apart, as a share of their spread; more than rounding
STEPS = 3  # of the active set, per inequality


@dataclass(frozen=True)
class Constraints:
    """By the number of a feature; all None or empty: no constraint."""

    monotone: tuple[int, ...] = ()  # 1 up, -1 down, 0 free; for each feature
    forbidden: frozenset[int] = frozenset()
    required: tuple[int, ...] = ()
    groups: tuple[frozenset[int], ...] = ()  # features that may share a tree
    costs: tuple[float, ...] = ()  # of the first use of each feature, as a share of the variance
    new_feature_penalty: float = 0.0
    max_features: int | None = None

    @property
    def ordered(self) -> bool:
        """Whether some feature is monotone."""
        return any(self.monotone)

    def sign(self, feature: int) -> int:
        return self.monotone[feature] if self.monotone else 0

    def unused(self, used: set[int]) -> list[int]:
        """The required features that no split uses yet."""
        return [j for j in self.required if j not in used]

    def must_use(self, used: set[int], splits_left: float) -> list[int]:
        """The features that the next split must be on one of; none if it is free."""
        unused = self.unused(used)
        return unused if len(unused) >= splits_left else []

    def allowed(self, features: int, used: set[int], in_tree: set[int]) -> NDArray[np.bool_]:
        """Which features a leaf may be split on, in a tree that has splits on `in_tree`."""
        allowed = np.ones(features, bool)
        allowed[list(self.forbidden)] = False
        if self.max_features is not None:
            reserved = self.unused(used)
            if len(used) + len(reserved) >= self.max_features:
                allowed &= members(features, used | set(reserved))
        if self.groups and in_tree:
            listed = frozenset().union(*self.groups)
            fitting = [group for group in self.groups if in_tree <= group]
            alone = in_tree if not in_tree & listed else frozenset()
            allowed &= members(features, frozenset().union(alone, *fitting))
        return allowed

    def penalties(self, features: int, used: set[int]) -> tuple[Floats, Floats]:
        """Of each feature the factor of its gains, and what is taken off them as a share of the
        variance of the target."""
        factor, cost = np.ones(features), np.zeros(features)
        new = ~members(features, used)
        if self.new_feature_penalty and used:
            factor[new] -= self.new_feature_penalty
        if self.costs:
            cost[new] = np.array(self.costs)[new]
        return factor, cost


def members(features: int, some: set[int] | frozenset[int]) -> NDArray[np.bool_]:
    is_member = np.zeros(features, bool)
    is_member[list(some)] = True
    return is_member


@dataclass(frozen=True)
class Bounds:
    """The value of a leaf, and those between which the values of its children must lie."""

    value: float
    low: float
    high: float
    ridge: float

    def moves(self, side: Floats, layout: Layout) -> Floats:
        """By how much the children of cuts may differ from the leaf; `side` has their sums."""
        free = self.value + side[:, 0] / (side[:, layout.weight] + self.ridge)
        moves: Floats = np.clip(free, self.low, self.high) - self.value
        return moves

    def gains(self, left: Floats, right: Floats, layout: Layout) -> Floats:
        total = (left + right)[0]
        lowered = -(total[0] ** 2) / (total[layout.weight] + self.ridge)
        for side in (left, right):
            move, weight = self.moves(side, layout), side[:, layout.weight] + self.ridge
            lowered = lowered + move * (2 * side[:, 0] - move * weight)
        return np.asarray(lowered)


@dataclass(frozen=True)
class Bargain:
    """What constraints make of the gains of the cuts of one leaf, by place among the features."""

    allowed: NDArray[np.bool_]
    factor: Floats
    cost: Floats  # in units of gain
    sign: NDArray[np.int_]  # 1 or -1 for monotone features
    bounds: Bounds | None = None  # of values that grow and stay

    def of_features(self, features: NDArray[np.int32]) -> Bargain:
        """For some of the features."""
        names = ("allowed", "factor", "cost", "sign")
        return replace(self, **{name: getattr(self, name)[features] for name in names})

    def apply(self, gains: Floats, histogram: Floats, layout: Layout) -> tuple[Floats, Floats]:
        """The gains as they compete, and as they are; -inf for a cut that is not allowed. There are
        two for each bin, see `kernels.split`."""
        widths = 2 * np.array(layout.widths)
        own = np.where(np.repeat(self.allowed, widths), gains, -np.inf)
        if self.bounds is not None or self.sign.any():
            own = self._in_order(own, histogram, layout, np.repeat(self.sign, widths))
        with np.errstate(invalid="ignore"):
            competing = own * np.repeat(self.factor, widths) - np.repeat(self.cost, widths)
        return np.where(own > -np.inf, competing, -np.inf), own

    def _in_order(
        self, gains: Floats, histogram: Floats, layout: Layout, sign: NDArray[np.int_]
    ) -> Floats:
        left, right = two_sides(histogram, layout)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.bounds is None:
                low, high = (side[:, 0] / side[:, layout.weight] for side in (left, right))
            else:
                low, high = (self.bounds.moves(side, layout) for side in (left, right))
                gains = np.where(gains > -np.inf, self.bounds.gains(left, right, layout), gains)
            return np.where(sign * (high - low) >= 0, gains, -np.inf)


def two_sides(histogram: Floats, layout: Layout) -> tuple[Floats, Floats]:
    """The sums on the left and on the right of each cut, (2 * bins, channels), as in `gains`."""
    offsets = layout.offsets.astype(np.intp)
    last = offsets[1:] - 1
    feature = np.repeat(np.arange(len(layout.widths)), layout.widths)
    total, missing = histogram[: offsets[1]].sum(axis=0), histogram[last]
    steps = histogram.copy()
    steps[steps[:, -1] <= 0.5] = 0.0
    steps[last] = 0.0
    steps[last] = -np.add.reduceat(steps, offsets[:-1], axis=0)
    running = np.cumsum(steps, axis=0)
    left = np.stack([running + missing[feature], running], axis=1).reshape(-1, histogram.shape[1])
    return left, total - left


# Values in order


def order_rows(nodes: Sequence[LearningNode], columns: Floats, sign: Sequence[int]) -> Floats:
    """For each pair of leaves in order the coefficients of lower minus higher, which is to be
    negative; `columns` is what each coefficient adds in each node. Nodes that are split by later
    steps than there are columns count as leaves."""
    size, rows = columns.shape[1], [np.zeros((0, columns.shape[1]))]

    def leaves(k: int) -> list[int]:
        node = nodes[k]
        if node.split is None or node.split.step >= size:
            return [k]
        left, right = leaves(node.left), leaves(node.right)
        if direction := sign[node.split.feature]:
            below, above = (left, right) if direction > 0 else (right, left)
            pairs = columns[below][:, None, :] - columns[above][None, :, :]
            rows.append(pairs.reshape(-1, size))
        return left + right

    children = {c for n in nodes if n.split is not None for c in (n.left, n.right)}
    for root in (k for k in range(len(nodes)) if k not in children):
        leaves(root)
    return np.concatenate(rows)


def ordered(products: Floats, targets: Floats, rows: Floats, margin: float) -> Floats:
    """The b of least b' A b - 2 t' b with rows @ b <= -margin; A has its full rank."""
    lower = np.linalg.cholesky(products + np.diag(1e-12 * np.diag(products)))
    free = np.linalg.solve(lower, targets)  # in units in which A is the identity
    if not len(rows):
        return np.linalg.solve(lower.T, free)
    sides = np.linalg.solve(lower, rows.T).T
    moved = free + _least_distance(-sides, sides @ free + margin)
    return np.linalg.solve(lower.T, moved)


def _least_distance(rows: Floats, limits: Floats) -> Floats:
    """The shortest z with rows @ z >= limits (Lawson and Hanson, chapter 23)."""
    if (limits <= 0).all():
        return np.zeros(rows.shape[1])
    scale = np.abs(limits).max()
    table = np.vstack([rows.T, limits / scale])
    goal = np.append(np.zeros(rows.shape[1]), 1.0)
    rest = table @ _non_negative(table, goal) - goal
    return -scale * rest[:-1] / rest[-1]


def _non_negative(table: Floats, goal: Floats) -> Floats:
    """The u >= 0 of least |table @ u - goal|, by an active set."""
    size = table.shape[1]
    solution, active = np.zeros(size), np.zeros(size, bool)
    tolerance = 1e-12 * np.abs(table).max() * max(table.shape)
    for _ in range(STEPS * size + 10):
        slope = table.T @ (goal - table @ solution)
        slope[active] = -np.inf
        best = int(np.argmax(slope))
        if slope[best] <= tolerance:
            break
        active[best] = True
        while True:
            trial = np.zeros(size)
            trial[active] = np.linalg.lstsq(table[:, active], goal, rcond=None)[0]
            if trial[active].min() > 0:
                break
            falling = active & (trial <= 0)
            share = (solution[falling] / (solution[falling] - trial[falling])).min()
            solution = solution + share * (trial - solution)
            active &= solution > 1e-14 * np.abs(solution).max()
            if not active.any():
                trial = np.zeros(size)
                break
        solution = trial
    return solution
