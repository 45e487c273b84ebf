"""Growing: the greedy loop of FIGS.

A FIGS model is a sum of trees. Every step looks at each leaf of each tree, and at one new root
that holds all rows, and makes the one split that lowers the squared error most:

    repeat until maxSplits:
        executors   add up, per candidate leaf, feature and bin, the weighted residuals and weights
        driver      choose the split with the largest gain over all candidates
                        gain = GL^2/WL + GR^2/WR - G^2/W      G = sum w r,  W = sum w
                    add to both children the mean residual of their rows

Only the rows of the leaf that was split change their residuals, and all rows of a child by the same
number. So a pass adds up just the smaller child (its sibling is parent minus child) and the weights
of the rows that it has in common with the leaves of the other trees: these tell how the residuals
there change. What the sibling has in common with them is parent minus child again, as long as the
driver has room to keep these overlaps. The new root follows from both children without a pass.

A step may be restricted to a random subset of the features (Bagging-FIGS). The histograms of that
subset are then added up afresh from all rows, which is cheaper than keeping all features current.

Many models are grown together: one pass serves the whole batch, each model with its own weights.
The target is centred before it gets here, so that large offsets cost no precision; the first tree
takes the mean back.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from figs_spark.engine.backends import Accumulates
from figs_spark.engine.bins import Bins
from figs_spark.engine.histograms import CODES, Floats, Layout, Program, Sums
from figs_spark.engine.learning_nodes import LearningNode, frozen
from figs_spark.engine.splits import Cut, Cuts, Found, Limits
from figs_spark.treesum import Node, TreeSum
from figs_spark.treesum.text import condition

TIE = 1e-9  # gains closer than this share of the total sum of squares are equal
ROUNDING = 1e-9  # share of a sum that rounding may cost; a constant target varies by less
NEW_ROOT = -1  # the candidate that starts a new tree
OVERLAP_BYTES = 64 << 20  # of the overlaps of leaves that a model keeps while it grows

log = logging.getLogger("figs_spark")


@dataclass(frozen=True)
class Settings:
    """When growing stops, and what a valid split is. None means no limit."""

    max_splits: int | None = 12
    max_trees: int | None = None
    max_depth: int | None = None
    min_rows: int = 1
    min_weight_fraction: float = 0.0
    min_impurity_decrease: float = 0.0
    features_per_step: int | None = None
    seed: int = 0


def grow(
    growths: Sequence[Growth],
    backend: Accumulates,
    progress: Callable[[int], None] = lambda n: None,
) -> list[TreeSum]:
    """Grow all models, one pass over the rows per greedy step."""
    active = [growth for growth in growths if not growth.done]
    while active:
        passed = backend.accumulate([(growth.member, growth.program()) for growth in active])
        for growth, sums in zip(active, passed, strict=True):
            growth.absorb(sums)
            growth.split()
        progress(len(active))
        active = [growth for growth in active if not growth.done]
    return [growth.model for growth in growths]


class Growth:
    """One model while it grows: its nodes, and the histograms of the leaves still open."""

    def __init__(
        self, bins: Bins, layout: Layout, settings: Settings, centre: Floats, member: int = 0
    ):
        self.bins, self.layout, self.settings = bins, layout, settings
        self.centre, self.member = centre, member
        self.nodes: list[LearningNode] = []
        self.roots: list[int] = []
        self._levels: list[int] = []  # of splits in each tree
        self.steps = 0
        self.losses: list[float] = []
        self.done = False
        self._categorical = bins.categorical
        self._all_cuts = Cuts(layout, self._categorical)
        self._histograms: dict[int, Floats] = {}
        self._overlaps: dict[tuple[int, int], Floats] = {}  # of a leaf with one of another tree
        self._best: dict[int, Cut | None] = {}
        self._overlaps_kept = OVERLAP_BYTES // (8 * layout.size)
        self._last = NEW_ROOT  # the node that the last step split, once there is one
        self._random = np.random.default_rng([settings.seed % 2**64, member])
        self._draw(settings.features_per_step)
        self._started = time.perf_counter()

    @property
    def features_per_step(self) -> int:
        return len(self._features)

    @property
    def most_steps(self) -> int:
        """The greedy steps to come, about, where there is no limit."""
        return self.settings.max_splits or 64

    @property
    def histogram_bytes(self) -> int:
        """What the histograms of one step take, about, when the model is large."""
        per_leaf = self._cuts.layout.size * self.layout.channels * 8
        return per_leaf * (self.most_steps + 2)

    # What the next pass shall add up

    def program(self) -> Program:
        count = len(self.nodes)
        full_slot = np.full(count, -1, np.int32)
        overlap_slot = np.full(count, -1, np.int32)
        child = np.full(count, -1, np.int32)
        grown, root_slot = -1, -1
        if self._afresh:
            for slot, leaf in enumerate(self._candidates()):
                if leaf == NEW_ROOT:
                    root_slot = slot
                else:
                    full_slot[leaf] = slot
        else:
            grown = self.nodes[self._last].tree
            small, large = self._children()
            others = self._others()
            full_slot[small] = child[small] = 0
            overlap_slot[others] = np.arange(len(others))
            if any(self._shared(leaf) is None for leaf in others):
                child[large] = 1
        value = np.array([node.value for node in self.nodes]).reshape(count, self.layout.outputs)
        return Program(
            features=self._features,
            layout=self._cuts.layout,
            roots=np.array(self.roots, np.int32),
            levels=np.array(self._levels, np.int32),
            feature=np.array([n.split.feature if n.split else 0 for n in self.nodes], np.int32),
            first=np.array([n.left if n.split else k for k, n in enumerate(self.nodes)], np.int32),
            goes_right=np.array([n.goes_right for n in self.nodes], bool).reshape(count, CODES),
            value=value,
            child=child,
            full_slot=full_slot,
            overlap_slot=overlap_slot,
            root_slot=root_slot,
            grown=grown,
        )

    @property
    def _afresh(self) -> bool:
        """Whether this step's histograms are built from all rows, not from the last step's."""
        return not self.nodes or self.settings.features_per_step is not None

    # What a pass added up

    def absorb(self, sums: Sums) -> None:
        """Bring the histograms of all candidates up to date, and find the best split of each."""
        if not self.nodes:
            self._begin(sums)
        if self._afresh:
            self._histograms = dict(zip(self._candidates(), sums.full, strict=True))
            cuts = self._cuts.best(sums.full, self._limits)
            self._best = dict(zip(self._histograms, cuts, strict=True))
            return
        for leaf in self._update(sums):
            (self._best[leaf],) = self._cuts.best(self._histograms[leaf][None], self._limits)

    def _begin(self, sums: Sums) -> None:
        """The totals of this model's rows, from the histogram of all of them."""
        outputs = self.layout.outputs
        root = sums.full[0]
        total = root[: self.layout.widths[self._features[0]]].sum(axis=0)
        self.weight, self.rows = float(total[outputs]), round(float(total[-1]))
        if self.weight <= 0:
            raise ValueError(f"Model {self.member} has no row with positive weight.")
        self.mean = total[:outputs] / self.weight
        root[:, :outputs] -= self.mean * root[:, outputs : outputs + 1]
        raw = float(sums.squares[0])
        squares = max(raw - self.weight * float(self.mean @ self.mean), 0.0)
        self.losses = [squares / self.weight]
        self._limits = Limits(
            min_rows=max(1, self.settings.min_rows),
            min_weight=self.settings.min_weight_fraction * self.weight * (1 - ROUNDING),
            total_weight=self.weight,
            tie=TIE * max(squares, ROUNDING * raw),
        )

    def _update(self, sums: Sums) -> list[int]:
        """Parent minus child, and the change in the other trees. Returns what is not current."""
        outputs = self.layout.outputs
        split = self.nodes[self._last]
        small, large = self._children()
        others = self._others()
        moved = {child: self.nodes[child].value - split.value for child in (small, large)}
        self._move_others(others, sums.overlap, moved)
        fresh = sums.full[0]
        is_root = self._last in self.roots
        parent = self._histograms[NEW_ROOT] if is_root else self._histograms.pop(self._last)
        sibling = parent - fresh
        sibling[:, :outputs] -= moved[small] * fresh[:, outputs : outputs + 1]
        sibling[:, :outputs] -= moved[large] * sibling[:, outputs : outputs + 1]
        sibling[sibling[:, -1] < 0.5] = 0.0
        if NEW_ROOT in self._histograms:
            root = self._histograms[NEW_ROOT]
            for child, histogram in ((small, fresh), (large, sibling)):
                root[:, :outputs] -= moved[child] * histogram[:, outputs : outputs + 1]
        self._histograms |= {small: fresh, large: sibling}
        for leaf in (small, large, NEW_ROOT):
            if not self._may_split(leaf):
                self._histograms.pop(leaf, None)
                self._best.pop(leaf, None)
        return [leaf for leaf in (small, large, *others, NEW_ROOT) if leaf in self._histograms]

    def _move_others(
        self, others: Sequence[int], overlaps: Floats, moved: dict[int, Floats]
    ) -> None:
        """What the moved rows change in the leaves of the other trees; `overlaps` are those of the
        smaller child, then those of its sibling, unless they follow."""
        small, large = moved
        for k, leaf in enumerate(others):
            shared, with_small = self._shared(leaf), overlaps[k]
            if shared is None or len(overlaps) > len(others):
                with_large = overlaps[len(others) + k]
            else:
                with_large = shared - with_small
            for child, overlap in ((small, with_small), (large, with_large)):
                self._histograms[leaf][:, : self.layout.outputs] -= np.outer(overlap, moved[child])
                if self._may_split(child) and len(self._overlaps) < self._overlaps_kept:
                    self._overlaps[child, leaf] = overlap
            self._overlaps.pop((self._last, leaf), None)
            self._overlaps.pop((leaf, self._last), None)

    def _shared(self, leaf: int) -> Floats | None:
        """Weights of the rows that a leaf has in common with the one that the last step split."""
        if self._last in self.roots:
            return self._histograms[leaf][:, self.layout.outputs]
        found = self._overlaps.get((self._last, leaf))
        return self._overlaps.get((leaf, self._last)) if found is None else found

    # The step itself

    def split(self) -> None:
        """Make the best split of all, or be done."""
        choice = self._choose()
        if choice is None:
            self._widen_or_stop()
            return
        leaf, cut = choice
        found = self._cuts.split(self._histograms[leaf], cut)
        self._best.pop(leaf)
        self._divide(self._plant() if leaf == NEW_ROOT else leaf, found)
        self.steps += 1
        limit = self.settings.max_splits
        self.done = limit is not None and self.steps >= limit
        self._draw(self.settings.features_per_step)

    def _choose(self) -> tuple[int, Cut] | None:
        """The candidate with the largest gain; of equal ones the first by tree and leaf."""
        found = [(leaf, best) for leaf, best in self._in_order() if best is not None]
        if not found or self.settings.max_splits == 0:
            return None
        top = max(best.gain for _, best in found)
        if top <= self._limits.tie or top / self.weight <= self.settings.min_impurity_decrease:
            return None
        return next((leaf, best) for leaf, best in found if best.gain >= top - self._limits.tie)

    def _in_order(self) -> list[tuple[int, Cut | None]]:
        def order(item: tuple[int, Cut | None]) -> tuple[int, int]:
            leaf = item[0]
            return (len(self.roots), 0) if leaf == NEW_ROOT else (self.nodes[leaf].tree, leaf)

        return sorted(self._best.items(), key=order)

    def _plant(self) -> int:
        """A new tree of one leaf that holds all rows; the first one starts from the mean."""
        value = np.zeros(self.layout.outputs) if self.roots else self.mean.copy()
        self.roots.append(len(self.nodes))
        self._levels.append(0)
        self.nodes.append(LearningNode(len(self.roots) - 1, 0, value, self.rows, self.weight))
        return self.roots[-1]

    def _divide(self, leaf: int, found: Found) -> None:
        node = self.nodes[leaf]
        feature = int(self._features[found.feature])
        node.split, goes_left = self.bins.split(feature, found, self.steps)
        node.goes_right = ~goes_left
        node.left, node.right = len(self.nodes), len(self.nodes) + 1
        self._levels[node.tree] = max(self._levels[node.tree], node.depth + 1)
        for side in (found.left, found.right):
            value = node.value + side.mean
            child = LearningNode(node.tree, node.depth + 1, value, side.rows, side.weight)
            self.nodes.append(child)
        lowered = sum(float(side.g @ side.mean) for side in (found.left, found.right))
        self.losses.append(max(self.losses[-1] - lowered / self.weight, 0.0))
        self._last = leaf
        level = logging.DEBUG if self.member else logging.INFO
        if log.isEnabledFor(level):
            log.log(
                level,
                "split %d: tree %d, %s, gain %.6g, %.2f s",
                self.steps + 1,
                node.tree + 1,
                condition(self.bins.described[feature], node.split, True),
                found.gain,
                time.perf_counter() - self._started,
            )

    def _widen_or_stop(self) -> None:
        """A random subset without a valid split is drawn again, twice as large."""
        if len(self._features) == len(self.layout.widths):
            self.done = True
        else:
            self._draw(2 * len(self._features))

    def _draw(self, size: int | None) -> None:
        """The features that the next step may choose among, and their cuts."""
        every = len(self.layout.widths)
        if size is None or size >= every:
            self._features = np.arange(every, dtype=np.int32)
            self._cuts = self._all_cuts
        else:
            drawn = np.sort(self._random.choice(every, size, replace=False))
            self._features = drawn.astype(np.int32)
            categorical = [self._categorical[j] for j in drawn]
            self._cuts = Cuts(self.layout.subset(self._features), categorical)

    # Which leaves still compete

    def _may_split(self, leaf: int) -> bool:
        if leaf == NEW_ROOT:
            limit = self.settings.max_trees
            return limit is None or len(self.roots) < limit
        node, limits = self.nodes[leaf], self._limits
        deep = self.settings.max_depth is not None and node.depth >= self.settings.max_depth
        enough = node.rows >= 2 * limits.min_rows and node.weight >= 2 * limits.min_weight
        return node.split is None and not deep and enough

    def _candidates(self) -> list[int]:
        return [leaf for leaf in (NEW_ROOT, *range(len(self.nodes))) if self._may_split(leaf)]

    def _others(self) -> list[int]:
        """The open leaves of the trees that the last step did not split."""
        grown = self.nodes[self._last].tree
        return [n for n in self._histograms if n != NEW_ROOT and self.nodes[n].tree != grown]

    def _children(self) -> tuple[int, int]:
        """The children of the last split, the one with fewer rows first."""
        split = self.nodes[self._last]
        if self.nodes[split.left].rows <= self.nodes[split.right].rows:
            return split.left, split.right
        return split.right, split.left

    # The model

    @cached_property
    def model(self) -> TreeSum:
        """The model as plain data; the histograms are let go."""
        self._histograms.clear()
        self._overlaps.clear()
        constant = tuple((self.mean + self.centre).tolist())
        trees = frozen(self.nodes, self.roots, self.centre, math.sqrt(self.losses[0]))
        return TreeSum(
            features=self.bins.described,
            trees=trees or (Node(constant, self.rows, self.weight),),
            constant=constant,
            losses=tuple(self.losses),
        )
