"""Recutting: an inner split is made elsewhere, and what lies below it stays.

With the values as they are, a row in the node of an inner split would have one error under the left
subtree, and another under the right. Over the bins of every feature, the differences add up to what
each cut of the node would gain. One pass adds them up for all inner splits: in the node, the left
subtree is followed with a copy of the right one below each of its leaves, so that a row tells both
of its leaves, and its histograms are ordinary ones.

The best cut of each inner split is then tried with all values fitted again, from cells, and the one
that lowers the penalised squared error most is kept, if one does. There are at most four rounds, of
two passes each. The ridge stays as it was. A set pays for its freedom here, too.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from figs_spark.engine.backends import Backend
from figs_spark.engine.candidates import NEW_ROOT
from figs_spark.engine.cells import Cells, CellWork, all_cells
from figs_spark.engine.constraints import two_sides
from figs_spark.engine.grower import Growth
from figs_spark.engine.growing_trees import GrowingTrees
from figs_spark.engine.histograms import CODES, Floats, Layout, Request
from figs_spark.engine.kernels.records import Slots, TreeArrays
from figs_spark.engine.logistic_fit import solved
from figs_spark.engine.polishing import LEAST_GAIN, ROUNDS
from figs_spark.engine.refitting import Basis, fit_path
from figs_spark.engine.splits import Cut, Cuts
from figs_spark.treesum.nodes import IDENTITY

Leaves = list[tuple[int, int]]  # of the left and of the right subtree, for each slot


def recut(growth: Growth, backend: Backend) -> None:
    """Recut the inner splits of a model that was grown with a ridge, as long as that helps."""
    if not _inner(growth.trees):
        return
    changed = False
    current = _fitted(growth, backend, [growth.trees])[0]
    for _ in range(ROUNDS):
        alternatives = _alternatives(growth, backend, current.values)
        tried = _fitted(growth, backend, list(alternatives.values()))
        node, best = min(
            zip(alternatives, tried, strict=True),
            key=lambda pair: pair[1].objective,
            default=(NEW_ROOT, current),
        )
        if not best.objective < current.objective - LEAST_GAIN * abs(current.objective):
            break
        growth.trees, current, changed = best.trees, best, True
        for below in _below(growth.trees, node):  # they have other rows now
            growth.leaf_targets[below] = growth.leaf_targets[growth._bound_of(node)]
    if changed:
        basis = Basis(growth.trees.nodes)
        fitted = fit_path(current.cells, basis, growth.ridges, IDENTITY)
        growth.path, growth.losses = fitted.path, fitted.losses


@dataclass(frozen=True)
class _Fitted:
    """Trees with all values fitted together."""

    trees: GrowingTrees
    cells: Cells
    values: Floats  # the constant and the coefficients, (1 + splits, outputs)
    objective: float  # the penalised squared error


def _fitted(growth: Growth, backend: Backend, every: Sequence[GrowingTrees]) -> list[_Fitted]:
    """One pass for all trees."""
    if not every:
        return []
    work = CellWork([growth.member] * len(every), [t.arrays() for t in every], backend.weights)
    found = []
    for trees, *parts in zip(every, *backend.gather(work), strict=True):
        cells, basis = all_cells(parts), Basis(trees.nodes)
        columns = np.column_stack([np.ones(len(cells)), basis.of_cells(cells)])
        penalties = np.append(0.0, growth.ridges[-1] * basis.penalty)
        normal = (columns * cells.weight[:, None]).T @ columns + np.diag(penalties)
        targets = columns.T @ cells.target
        values = solved(normal, targets)
        found.append(_Fitted(trees, cells, values, cells.squares - float((values * targets).sum())))
    return found


def _alternatives(growth: Growth, backend: Backend, values: Floats) -> dict[int, GrowingTrees]:
    """The trees with the best cut of one inner split, by its node, if it is cut elsewhere."""
    inner, of_node = _inner(growth.trees), Basis(growth.trees.nodes).of_node @ values[1:]
    asked = [_doubled(growth, node, of_node) for node in inner]
    sums = backend.accumulate([(growth.member, request) for request, _ in asked])
    alternatives = {}
    for node, (_, leaves), own in zip(inner, asked, sums, strict=True):
        trees = _recut(growth, node, leaves, own.full, of_node, values[0])
        if trees is not None:
            alternatives[node] = trees
    return alternatives


def _inner(trees: GrowingTrees) -> list[int]:
    """The nodes whose split has another one below it."""
    nodes = trees.nodes
    splits = ((k, node) for k, node in enumerate(nodes) if node.split is not None)
    return [k for k, n in splits if nodes[n.left].split or nodes[n.right].split]


def _below(trees: GrowingTrees, node: int) -> list[int]:
    own = trees.nodes[node]
    if own.split is None:
        return []
    children = (own.left, own.right)
    return [*children, *(k for child in children for k in _below(trees, child))]


class _Built:
    """Trees as arrays, copied node by node; the children of a node follow one another."""

    def __init__(self, trees: GrowingTrees, values: Floats):
        self.trees, self.values = trees, values
        self.feature: list[int] = []
        self.first: list[int] = []
        self.goes_right: list[np.ndarray] = []
        self.value: list[Floats] = []

    def leaf(self) -> int:
        self.feature.append(0)
        self.first.append(len(self.first))
        self.goes_right.append(np.zeros(CODES, bool))
        self.value.append(np.zeros(self.trees.outputs))
        return len(self.first) - 1

    def copy(self, at: int, node: int, on_leaf: Callable[[int, int], int], stop: int = -1) -> int:
        """A node and what is below it, at a leaf; returns its depth. `stop` counts as a leaf."""
        original = self.trees.nodes[node]
        if original.split is None or node == stop:
            return on_leaf(at, node)
        children = self.leaf(), self.leaf()
        self.feature[at], self.first[at] = original.split.feature, children[0]
        self.goes_right[at] = original.goes_right
        below = zip(children, (original.left, original.right))
        return 1 + max(self.copy(child, own, on_leaf, stop) for child, own in below)


def _doubled(growth: Growth, node: int, values: Floats) -> tuple[Request, Leaves]:
    """What a pass adds up for an inner split: rows by their leaf in both of its subtrees, with
    residuals of the other trees."""
    trees, built = growth.trees, _Built(growth.trees, values)
    split, roots, depths, slots, leaves = trees.nodes[node], [], [], list[int](), Leaves()

    def keeps_value(at: int, own: int) -> int:
        if trees.nodes[own].tree != split.tree:
            built.value[at] = values[own]
        return 0

    def right_below(at: int, left: int) -> int:
        def both(at: int, right: int) -> int:
            slots.append(at)
            leaves.append((left, right))
            return 0

        return built.copy(at, split.right, both)

    def in_tree(at: int, own: int) -> int:
        return built.copy(at, split.left, right_below) if own == node else 0

    for tree, root in enumerate(trees.roots):
        roots.append(built.leaf())
        own_tree = tree == split.tree
        on_leaf, stop = (in_tree, node) if own_tree else (keeps_value, -1)
        depths.append(built.copy(roots[-1], root, on_leaf, stop))
    full, none = (np.full(len(built.first), -1, np.int32) for _ in range(2))
    full[slots] = np.arange(len(slots))
    arrays = TreeArrays(
        np.array(roots, np.int32),
        np.array(depths, np.int32),
        np.array(built.feature, np.int32),
        np.array(built.first, np.int32),
        np.array(built.goes_right, bool),
        np.array(built.value, np.float64),
    )
    every = np.arange(len(growth.layout.widths), dtype=np.int32)
    return Request(every, growth.layout, arrays, Slots(full, none, none, -1, -1)), leaves


def _recut(
    growth: Growth,
    node: int,
    leaves: Leaves,
    histograms: Floats,
    values: Floats,
    constant: Floats,
) -> GrowingTrees | None:
    """The trees with the best cut of a node; None if it is the one that is there."""
    layout, old = growth.layout, growth.trees.nodes[node]
    whole = np.zeros((layout.size, 2 + layout.counted))
    for (left, right), histogram in zip(leaves, histograms):
        whole += _gained(histogram, values[left], values[right], constant, layout)
    cuts = Cuts(Layout(layout.widths, 1, layout.counted), growth.bins.categorical)
    order = cuts._order(whole) if cuts.categorical else np.arange(layout.size)
    sides = two_sides(whole[order], cuts.layout)
    by_leaf = _rows_of_leaves(leaves, histograms[:, order, layout.weight :], cuts.layout)
    limits = growth._limits
    gains = np.where(_possible(whole[order], cuts.layout), -sides[0][:, 0], -np.inf)
    for counts in by_leaf.values():
        enough = counts[:, -1] >= limits.min_rows - 0.5
        enough &= (counts[:, 0] >= limits.min_weight) & (counts[:, 0] > limits.empty)
        gains = np.where(enough, gains, -np.inf)
    assert old.split is not None
    prices = cuts.prices(whole[None], [growth.noise(node)])[0]
    gains = gains - np.repeat(prices, 2 * np.array(layout.widths))
    start, stop = (int(o) for o in layout.offsets[old.split.feature : old.split.feature + 2])
    now = -float(whole[start:stop, 0][~old.goes_right[: stop - start]].sum())
    now -= float(prices[old.split.feature])
    if not gains.max() > now + limits.tie:
        return None
    best = int(np.argmax(gains >= gains.max() - limits.tie))
    made = cuts.split(whole, Cut(old.split.gain, best // 2, best % 2 == 0))
    split, goes_left = growth.bins.split(made.feature, made, old.split.step)
    trees = copy.deepcopy(growth.trees)
    trees.nodes[node] = replace(trees.nodes[node], split=split, goes_right=~goes_left)
    _count(trees, node, {leaf: counts[best] for leaf, counts in by_leaf.items()})
    return trees


def _gained(
    histogram: Floats, left: Floats, right: Floats, constant: Floats, layout: Layout
) -> Floats:
    """Minus what rows of each bin gain if they go left, their weights and, if counted, numbers."""
    weight = histogram[:, layout.weight]
    residual = histogram[:, : layout.outputs] - constant * weight[:, None]
    gained = (2 * residual - (left + right) * weight[:, None]) @ (left - right)
    return np.column_stack([-gained, histogram[:, layout.weight :]])


def _possible(histogram: Floats, layout: Layout) -> np.ndarray:
    """Which cuts are there: after a bin that has rows, with missing values left only if there are
    some."""
    last = layout.offsets[1:].astype(np.intp) - 1
    used = histogram[:, -1] > 0.5
    missing = np.repeat(used[last], layout.widths)
    used[last] = False
    return np.column_stack([used & missing, used]).ravel()


def _rows_of_leaves(leaves: Leaves, histograms: Floats, layout: Layout) -> dict[int, Floats]:
    """The weight and the number of rows that each cut leaves in each leaf below it."""
    found: dict[int, Floats] = {}
    for (left, right), histogram in zip(leaves, histograms):
        for leaf, side in zip((left, right), two_sides(histogram, layout)):
            found[leaf] = found.get(leaf, 0.0) + side
    return found


def _count(trees: GrowingTrees, node: int, counts: dict[int, Floats]) -> Floats:
    """Set the rows and weights of all nodes below; returns those of the node."""
    below = trees.nodes[node]
    own = counts.get(node)
    if own is None:
        own = _count(trees, below.left, counts) + _count(trees, below.right, counts)
    below.weight, below.rows = float(own[0]), round(float(own[-1]))
    return own
