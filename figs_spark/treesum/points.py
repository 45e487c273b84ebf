"""A model in whole points, as risk scores on paper are: every leaf adds 0, 1, 2, ... points.

The score of a row is `base + unit * total`. The unit is searched so that the leaf values change
least: the mean squared change over the training rows in the leaves, among all units with which no
total exceeds the limit. Then base and unit are fitted to these points once more.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figs_spark.treesum.nodes import Node, TreeSum
from figs_spark.treesum.strict_json import Entry

Floats = NDArray[np.float64]
TRIED = 2000  # units, from the smallest possible one to that with which one point is left


@dataclass(frozen=True)
class Points:
    """How points become a score."""

    __module__ = "figs_spark"

    base: float  # the score of 0 points
    unit: float  # what a point adds
    largest: int  # possible total

    def total(self, score: float) -> int:
        return round((score - self.base) / self.unit) if self.unit > 0 else 0

    def score(self, total: int) -> float:
        return self.base + self.unit * total

    def of_leaf(self, tree: int, value: float) -> int:
        """The points of a leaf of this tree (from 0); the first tree holds the base."""
        return self.total(value if tree == 0 else value + self.base)

    def to_dict(self) -> dict[str, Any]:
        return {"base": self.base, "unit": self.unit, "largest": self.largest}

    @classmethod
    def from_entry(cls, entry: Entry) -> Points:
        """What `to_dict` gave, read strictly."""
        fields = entry.fields(("base", "unit", "largest"))
        unit = fields["unit"].number(low=0.0)
        return cls(fields["base"].number(), unit, fields["largest"].integer(0))


@dataclass(frozen=True)
class Tried:
    """A unit by which values were rounded, and the points with the unit that then fits best."""

    unit: float
    points: Points


def in_points(model: TreeSum, most: int) -> tuple[TreeSum, Points]:
    """The model whose leaves add whole points, with a total of at most `most`."""
    if model.outputs != 1:
        raise ValueError(
            f"Points are for one score, and the model has {model.outputs}. Take a model of two "
            f"classes or of a number."
        )
    if most < 1:
        raise ValueError(f"maxTotal must be at least 1, got {most}.")
    trees = [_leaves(tree) for tree in model.trees]
    ranges = sum(float(values.max() - values.min()) for values, _ in trees)
    if ranges == 0:
        base = sum(float(values[0]) for values, _ in trees)
        return model, Points(base, 0.0, 0)
    _, tried = min(_tried(trees, ranges, most), key=lambda pair: pair[0])
    points = tried.points
    rounded = tuple(
        _rounded(tree, float(values.min()), tried, points.base if k == 0 else 0.0)
        for k, (tree, (values, _)) in enumerate(zip(model.trees, trees))
    )
    losses = (math.inf,) * len(model.losses)
    return replace(model, trees=rounded, losses=losses, path=None, samples=None), points


def _leaves(tree: Node) -> tuple[Floats, Floats]:
    """The values of the leaves, and the training weight in each."""
    leaves = list(tree.leaves())
    weights = np.array([leaf.weight for leaf in leaves])
    return (
        np.array([leaf.value[0] for leaf in leaves]),
        weights if weights.sum() > 0 else np.ones(len(leaves)),
    )


def _tried(
    trees: Sequence[tuple[Floats, Floats]], ranges: float, most: int
) -> Iterator[tuple[float, Tried]]:
    """Each unit that is allowed, with its loss."""
    for unit in np.geomspace(ranges / (most + len(trees)), 2 * ranges, TRIED):
        points = [np.round((values - values.min()) / unit) for values, _ in trees]
        largest = int(sum(p.max() for p in points))
        if 1 <= largest <= most:
            loss, base, fitted = _fitted(trees, points)
            yield loss, Tried(float(unit), Points(base, fitted, largest))


def _fitted(
    trees: Sequence[tuple[Floats, Floats]], points: Sequence[Floats]
) -> tuple[float, float, float]:
    """Loss, base and unit that fit these points best, with an offset for each tree."""
    shares = [weights / weights.sum() for _, weights in trees]
    values = [v - w @ v for (v, _), w in zip(trees, shares)]
    centred = [p - w @ p for p, w in zip(points, shares)]
    spread = sum(float(w @ p**2) for p, w in zip(centred, shares))
    unit = sum(float(w @ (p * v)) for p, v, w in zip(centred, values, shares)) / spread
    loss = sum(float(w @ (v - unit * p) ** 2) for p, v, w in zip(centred, values, shares))
    base = sum(float(w @ (v - unit * p)) for (v, _), p, w in zip(trees, points, shares))
    return loss, base, unit


def _rounded(node: Node, low: float, tried: Tried, base: float) -> Node:
    """Values as whole points above the lowest leaf; inner nodes keep the meaning of a leaf."""
    count = max(0.0, float(np.round((node.value[0] - low) / tried.unit)))
    new = replace(node, value=(base + tried.points.unit * count,))
    if not (branches := new.branches):
        return new
    left, right = (_rounded(child, low, tried, base) for child in branches[1:])
    return replace(new, left=left, right=right)
