"""The grower: the greedy loop of FIGS.

A FIGS model is a sum of trees. Every step looks at each leaf of each tree, and at one new root
that holds all rows, and makes the one split that lowers the squared error most:

    repeat until maxSplits:
        executors   add up, per candidate leaf, feature and bin, the weighted residuals and weights
        driver      choose the split with the largest gain over all candidates
                        gain = GL^2/WL + GR^2/WR - G^2/W      G = sum w r,  W = sum w
                    add to both children the mean residual of their rows

Only the rows of the leaf that was split change their residuals. So a pass adds up little more than
the smaller child; `candidates` keeps the histograms of all others current.

A step may be restricted to a random subset of the features (Bagging-FIGS). The histograms of that
subset are then added up afresh from all rows, which is cheaper than keeping all features current.

Many models grow together: one pass serves the whole batch, each model with its own weights. The
target is centred before it gets here, so that large offsets cost no precision; the first tree takes
the mean back.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from figs_spark.engine.bins import Bins
from figs_spark.engine.candidates import (
    NEW_ROOT,
    CandidateHistograms,
    driver_bytes,
    histogram_room,
)
from figs_spark.engine.constraints import Constraints
from figs_spark.engine.growing_trees import GrowingTrees
from figs_spark.engine.histograms import Floats, Layout, Request, Sums
from figs_spark.engine.kernels.records import CutLimits, Slots
from figs_spark.engine.leaf_targets import LeafTargets
from figs_spark.engine.permissions import Constrained
from figs_spark.engine.progress import QUIET
from figs_spark.engine.splits import TINY, BinSplit, Cut, Cuts, Side
from figs_spark.treesum import Node, Split, TreeSum
from figs_spark.treesum.nodes import BOOLEAN, IDENTITY, Coefficients
from figs_spark.treesum.text import condition
from figs_spark.treesum.visible import visible_name

TIE = 1e-9  # gains closer than this share of the total sum of squares are equal
ROUNDING = 1e-9  # share of a sum that rounding may cost; a constant target varies by less
UNLIMITED_SPLITS = 64  # how many to expect if there is no limit

log = logging.getLogger("figs_spark")

Requests = Sequence[tuple[int, Request]]  # by the number of the model


class Accumulates(Protocol):
    """All that growing asks of a backend."""

    def accumulate(self, requests: Requests) -> list[Sums]: ...


@dataclass(frozen=True)
class GrowthRules:
    """When growing stops, and what a valid split is. None means no limit."""

    max_splits: int | None = 12
    max_trees: int | None = None
    max_depth: int | None = None
    min_rows: int = 1
    min_weight_fraction: float = 0.0
    min_impurity_decrease: float = 0.0
    features_per_step: int | None = None
    seed: int = 0
    ridge: float | None = 0.0  # 0: the paper's algorithm; None: from the data
    joint: bool = True  # whether a ridge also means that all values are fitted together
    polish: bool = False  # whether weak splits are made again at the end
    logistic: bool = False  # whether splits lower the logistic loss, not the squared one
    constraints: Constraints | None = None
    category_smoothing: float = 0.0  # rows; above 0 a set also pays for its freedom


def grow(
    growths: Sequence[Growth], backend: Accumulates, stepped: Callable[[int], None] = QUIET
) -> list[TreeSum]:
    """Grow all models, one pass over the rows per greedy step; `stepped` is called after each with
    the number of models that grow."""
    active = [growth for growth in growths if not growth.done]
    while active:
        asked = [(growth, growth.requests()) for growth in active]
        passed = iter(
            backend.accumulate([(growth.member, one) for growth, own in asked for one in own])
        )
        for growth, own in asked:
            growth.absorb_all([next(passed) for _ in own])
            if growth.ready:
                growth.split()
        del passed  # before the next pass needs the memory
        stepped(len(active))
        active = [growth for growth in active if not growth.done]
    return [growth.model for growth in growths]


class Growth(Constrained):
    """One model while it grows. A greedy step: `request` a pass, `absorb` its sums, `split`."""

    def __init__(
        self,
        bins: Bins,
        layout: Layout,
        rules: GrowthRules,
        centre: Floats,
        member: int = 0,
        reported: bool = True,
    ):
        self.bins, self.layout, self.rules = bins, layout, rules
        self.centre, self.member, self.reported = centre, member, reported
        self.trees = GrowingTrees(layout.outputs)
        self.candidates = CandidateHistograms(layout, self.trees, self._may_split)
        self.losses: list[float] = []
        self.path: list[Floats] | None = None  # coefficients of each size, if fitted together
        self.link = IDENTITY
        self.remarks: tuple[str, ...] = ()
        self.freedoms: list[int] = []  # of each split: 1, or categories in the leaf less one
        self.steps = 0
        self.done = False
        self._best: dict[int, Cut | None] = {}  # by candidate
        self._to_add_up = [NEW_ROOT]  # candidates whose histograms the next passes add up
        self._choice = NEW_ROOT  # a candidate that is to be split and must be kept
        self._last = NEW_ROOT  # the node that the last step split, once there is one
        self.leaf_targets: dict[int, LeafTargets] = {}  # by candidate, once it was one
        self._categorical = bins.categorical
        self._all_cuts = Cuts(layout, self._categorical, rules.category_smoothing)
        self._permissions = self._asked_permissions()
        self._random = np.random.default_rng([rules.seed % 2**64, member])
        self._draw_features(rules.features_per_step)
        self._started = time.perf_counter()

    @property
    def features_per_step(self) -> int:
        return len(self._features)

    @property
    def most_steps(self) -> int:
        """The greedy steps to come; a guess if there is no limit."""
        return self.rules.max_splits or UNLIMITED_SPLITS

    @property
    def histogram_bytes(self) -> int:
        """About what the histograms of one step take when the model is large."""
        layout = self._cuts.layout
        leaves = min(self.most_steps + 2, histogram_room(layout))
        return layout.size * layout.channels * 8 * leaves

    @property
    def driver_bytes(self) -> int:
        """About the most that the driver needs for the histograms of this model."""
        return driver_bytes(self._cuts.layout, self.most_steps)

    # A greedy step

    def requests(self) -> list[Request]:
        """What the next pass adds up, perhaps in several parts."""
        return [self.request()]

    def absorb_all(self, passed: Sequence[Sums]) -> None:
        """Take what a pass added up, one set of sums for each request."""
        self.absorb(*passed)

    def request(self) -> Request:
        slots = self._fresh_slots() if self._to_add_up else self.candidates.slots(self._last)
        return Request(self._features, self._cuts.layout, self.trees.arrays(), slots)

    @property
    def ready(self) -> bool:
        """Whether the best cut of every candidate is known."""
        return not self._to_add_up

    def absorb(self, sums: Sums) -> None:
        """Bring the histograms of candidates up to date, and find the best cut of each."""
        if not self.trees:
            self._begin(sums)
        if self._to_add_up:
            fresh, self._to_add_up = self._to_add_up[: self._room], self._to_add_up[self._room :]
            self.candidates.put(fresh, sums.full)
            for candidate, moments in zip(fresh, sums.moments, strict=True):
                self._add_targets(candidate, moments)
            self._best |= zip(fresh, self._best_cuts(fresh, sums.full), strict=True)
        else:
            changed = self.candidates.update(self._last, sums)
            self._add_targets(self.trees.children(self._last)[0], sums.moments[0])
            self._divide_targets()
            if self._permissions is not None:  # a split may change what others are permitted
                changed = list(self.candidates)
            for candidate in changed:
                histograms = self.candidates[candidate][None]
                (self._best[candidate],) = self._best_cuts([candidate], histograms)
            self._best = {c: cut for c, cut in self._best.items() if self._may_split(c)}
            self._to_add_up = self._changed_and_dropped(changed)
        gains = {c: cut.gain for c, cut in self._best.items() if cut}
        self.candidates.keep_best(gains | {self._choice: math.inf}, self._room)

    def split(self) -> None:
        """Make the best split of all candidates, or be done."""
        choice = self._choose()
        if choice is None:
            self._widen_or_stop()
            return
        candidate, cut = choice
        if candidate not in self.candidates:
            self._choice, self._to_add_up = candidate, [candidate]
            return
        best = self._cuts.split(self.candidates[candidate], cut)
        self._best.pop(candidate)
        self._divide(self._plant() if candidate == NEW_ROOT else candidate, best)
        self.steps += 1
        limit = self.rules.max_splits
        self.done = limit is not None and self.steps >= limit
        self._draw_features(self.rules.features_per_step)
        if self._adds_up_afresh:
            self._start_afresh()

    @property
    def _adds_up_afresh(self) -> bool:
        """Whether no histogram of one step is of use in the next."""
        return self.rules.features_per_step is not None

    def _best_cuts(self, candidates: Sequence[int], histograms: Floats) -> list[Cut | None]:
        """The best cut of each candidate."""
        if self._permissions is None:
            noises = [self.noise(candidate) for candidate in candidates]
            return self._cuts.best(histograms, self._limits, noises)
        return [
            self._cuts.best_allowed(
                histogram, self._limits, self._bargain(candidate), self.noise(candidate)
            )
            for candidate, histogram in zip(candidates, histograms, strict=True)
        ]

    def _add_targets(self, candidate: int, moments: Floats) -> None:
        """Keep what a pass added up of the targets in a leaf."""
        totals = self if candidate == NEW_ROOT else self.trees.nodes[candidate]
        self.leaf_targets[candidate] = LeafTargets(moments.copy(), totals.weight, totals.rows)

    def _divide_targets(self) -> None:
        """Those of the larger child of the last split, from those of the smaller one."""
        small, large = self.trees.children(self._last)
        whole = self.leaf_targets[self._bound_of(self._last)]
        self.leaf_targets[large] = whole.without(self.leaf_targets[small])

    def noise(self, node: int) -> float:
        """What a category adds to the gain of a set in this leaf by chance; 0: sets are free."""
        free = not self.rules.category_smoothing
        return 0.0 if free else self.leaf_targets[self._bound_of(node)].noise

    def _choose(self) -> tuple[int, Cut] | None:
        """The candidate with the largest gain; of equal ones the first by tree and leaf."""
        valid = [(c, cut) for c, cut in self._in_order() if cut is not None]
        if not valid or self.rules.max_splits == 0:
            return None
        top = max(cut.gain for _, cut in valid)
        forced = self._permissions is not None and self._permissions.forced(self._splits_left)
        small = top <= self._limits.tie or top / self.weight <= self.rules.min_impurity_decrease
        if small and not forced:
            return None
        return next((c, cut) for c, cut in valid if cut.gain >= top - self._limits.tie)

    def _in_order(self) -> list[tuple[int, Cut | None]]:
        def order(item: tuple[int, Cut | None]) -> tuple[int, int]:
            leaf = item[0]
            new_root = leaf == NEW_ROOT
            return (len(self.trees), 0) if new_root else (self.trees.nodes[leaf].tree, leaf)

        return sorted(self._best.items(), key=order)

    def _plant(self) -> int:
        """A new tree; the first one starts from the mean."""
        value = np.zeros(self.layout.outputs) if self.trees else self.mean.copy()
        return self.trees.plant(value, self.rows, self.weight)

    def _divide(self, leaf: int, best: BinSplit) -> None:
        feature, sides = int(self._features[best.feature]), (best.left, best.right)
        split, goes_left = self.bins.split(feature, best, self.steps)
        moves = [self._permitted_move(leaf, side) for side in sides]
        self.trees.divide(leaf, split, goes_left, sides, moves)
        self._note(leaf)
        lowered = sum(float(side.g @ move) for side, move in zip(sides, moves, strict=True))
        if self._limits.ridge or self._permissions is not None:  # a side may keep a mean residual
            left_over = (side.g - side.weight * move for side, move in zip(sides, moves))
            lowered += sum(float(rest @ move) for rest, move in zip(left_over, moves))
        self.losses.append(max(self.losses[-1] - lowered / self.weight, 0.0))
        self.freedoms.append(best.freedom if self._categorical[feature] else 1)
        self._last = leaf
        level = logging.INFO if self.reported else logging.DEBUG
        if log.isEnabledFor(level):
            log.log(
                level,
                "%ssplit %d: tree %d, %s, gain %.6g, %.2f s",
                "" if self.reported else f"model {self.member}, ",
                self.steps + 1,
                self.trees.nodes[leaf].tree + 1,
                self._shown(split),
                best.gain,
                time.perf_counter() - self._started,
            )

    def _move(self, side: Side) -> Floats:
        """By how much a new leaf differs from its parent: the mean residual of its rows."""
        return side.g / (side.weight + self._limits.ridge)

    def _shown(self, split: Split) -> str:
        """A split for the log, which names no category of text or codes."""
        feature = self.bins.described[split.feature]
        if feature.categories is None or feature.kind == BOOLEAN:
            return condition(feature, split, True)
        name = visible_name(feature.name)
        return f"{name} by its order" if feature.ordered else f"a set of {name}"

    # The first pass, and fresh ones

    def _begin(self, sums: Sums) -> None:
        """The totals of this model's rows, from the histogram of all of them."""
        outputs = self.layout.outputs
        root = sums.full[0]
        total = root[: self.layout.widths[self._features[0]]].sum(axis=0)
        self.weight, self.rows = float(total[outputs]), round(float(total[-1]))
        self._check_weight()
        self.mean = total[:outputs] / self.weight
        root[:, :outputs] -= self.mean * root[:, outputs : outputs + 1]
        raw = float(sums.moments[0, -1])
        squares = max(raw - self.weight * float(self.mean @ self.mean), 0.0)
        self.losses = [squares / self.weight]
        self._limits = self._cut_limits(squares, raw)

    def _check_weight(self) -> None:
        if self.weight <= 0:
            raise ValueError(
                f"Model {self.member} has no row with positive weight: its sample or its folds "
                f"leave none. Raise subsamplingRate, or name an idCol or foldCol with more values."
            )

    def _cut_limits(self, squares: float, raw: float) -> CutLimits:
        """`squares` is the sum of squares of the target, `raw` that before it was centred."""
        rules = self.rules
        return CutLimits(
            min_rows=max(1, rules.min_rows),
            min_weight=rules.min_weight_fraction * self.weight * (1 - ROUNDING),
            empty=TINY * self.weight,
            tie=TIE * max(squares, ROUNDING * raw),
            ridge=0.0 if rules.joint else rules.ridge or 0.0,
        )

    @property
    def _room(self) -> int:
        return histogram_room(self._cuts.layout)

    def _changed_and_dropped(self, changed: Sequence[int]) -> list[int]:
        """The candidates in other trees than the last split whose histograms were dropped."""
        nodes, grown = self.trees.nodes, self.trees.nodes[self._last].tree
        if self._permissions is not None:
            return [c for c in self._best if c not in changed]
        others = (c for c in self._best if c != NEW_ROOT and nodes[c].tree != grown)
        return [c for c in others if c not in changed]

    def _fresh_slots(self) -> Slots:
        """A slot for each candidate to add up, as many as there is room for."""
        full, none = (np.full(len(self.trees.nodes), -1, np.int32) for _ in range(2))
        root = -1
        for slot, candidate in enumerate(self._to_add_up[: self._room]):
            if candidate == NEW_ROOT:
                root = slot
            else:
                full[candidate] = slot
        return Slots(full, none, none, root, grown=-1)

    def _widen_or_stop(self) -> None:
        """A random subset without a valid split is drawn again, twice as large."""
        if len(self._features) == len(self.layout.widths):
            self.done = not self._must_go_on()
            if not self.done:
                self._start_afresh()
        else:
            self._draw_features(2 * len(self._features))
            self._start_afresh()

    def _start_afresh(self) -> None:
        """Other features than before: nothing that was added up is of use."""
        self.candidates.clear()
        self._best = {}
        self._to_add_up = self._open_candidates()
        self.done = self.done or not self._to_add_up

    def _draw_features(self, size: int | None) -> None:
        """The features that the next step may choose among, and their cuts."""
        every = len(self.layout.widths)
        forced = self._permissions.forced(self._splits_left) if self._permissions else []
        if size is None or size >= every or forced:
            self._features = np.arange(every, dtype=np.int32)
            self._cuts = self._all_cuts
        else:
            drawn = np.sort(self._random.choice(every, size, replace=False))
            self._features = drawn.astype(np.int32)
            categorical = [self._categorical[j] for j in drawn]
            smoothing = self.rules.category_smoothing
            self._cuts = Cuts(self.layout.subset(self._features), categorical, smoothing)

    # Which candidates still compete

    def _may_split(self, candidate: int) -> bool:
        rules = self.rules
        if candidate == NEW_ROOT:
            return rules.max_trees is None or len(self.trees) < rules.max_trees
        node, limits = self.trees.nodes[candidate], self._limits
        deep = rules.max_depth is not None and node.depth >= rules.max_depth
        enough = node.rows >= 2 * limits.min_rows and node.weight >= 2 * limits.min_weight
        return node.split is None and not deep and enough

    def _open_candidates(self) -> list[int]:
        every = (NEW_ROOT, *range(len(self.trees.nodes)))
        return [candidate for candidate in every if self._may_split(candidate)]

    # The model

    @property
    def ridges(self) -> list[float]:
        """The ridge that the values of each size are fitted with."""
        return [0.0] * (self.steps + 1)

    @property
    def model(self) -> TreeSum:
        """The model as plain data; the histograms are let go."""
        self.candidates.clear()
        constant = tuple((self.mean + self.centre).tolist())
        decimals = _decimals(math.sqrt(self.losses[0]) if self.link == IDENTITY else 1.0)
        trees = self.trees.frozen(self.centre, decimals)
        model = TreeSum(
            features=self.bins.described,
            trees=trees or (Node(constant, self.rows, self.weight),),
            constant=constant,
            losses=tuple(self.losses),
            link=self.link,
            remarks=self.remarks,
        )
        return model if self.path is None else model.with_path(self._frozen_path(decimals))

    def _frozen_path(self, decimals: int) -> tuple[Coefficients, ...]:
        """The path as plain data, rounded as values are; the constant takes back the centre."""
        sizes = []
        for fitted in self.path or []:
            coefficients = np.round(fitted, decimals)
            coefficients[0] += self.centre
            sizes.append(tuple(map(tuple, coefficients.tolist())))
        return tuple(sizes)


def _decimals(spread: float) -> int:
    """About a 1e-12th of the spread of the target: more is rounding."""
    return 12 - math.floor(math.log10(spread or 1.0)) if math.isfinite(spread) else 0
