"""Scoring of many tree sums at once, on numbers, with a compiled kernel.

A large ensemble makes too large an expression for Spark; its trees travel as flat arrays instead.
Only the features that a split uses are read. Text is given as the position of its category, -1 if
the model has never seen it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from figs_spark.engine.histograms import Floats, NDArray
from figs_spark.engine.kernels import jit, score
from figs_spark.engine.kernels.records import EnsembleArrays
from figs_spark.engine.weights import BootstrapWeights
from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.intervals import between
from figs_spark.treesum.prediction import Outcome

ROWS = 1024  # whose scores by all members stay in the processor's cache
LEAF = Split(-1, 0, 0.0, False, 0.0)  # in the place of the split that a leaf lacks


@dataclass(frozen=True)
class Ensemble:
    """The trees of all members as flat arrays, and what their scores stand for."""

    outcome: Outcome
    used: tuple[int, ...]  # the features that a table to score has, in this order
    trees: EnsembleArrays

    @classmethod
    def of(cls, members: Sequence[TreeSum], outcome: Outcome) -> Ensemble:
        features = members[0].features
        used = sorted({split.feature for member in members for split in member.splits})
        places = dict(zip(used, range(len(used)))) | {LEAF.feature: 0}
        nodes: list[Node] = []
        children: list[tuple[int, int]] = []

        def add(node: Node) -> int:
            at = len(nodes)
            nodes.append(node)
            children.append((-1, -1))
            if branches := node.branches:
                children[at] = (add(branches[1]), add(branches[2]))
            return at

        roots = [[add(tree) for tree in member.trees] for member in members]
        starts = [root for each in roots for root in each]
        splits = [node.split or LEAF for node in nodes]
        listed = [[] if s is LEAF else _listed(features[s.feature], s) for s in splits]
        thresholds = np.array([np.nan if s.threshold is None else s.threshold for s in splits])
        feature = np.array([places[s.feature] for s in splits], np.int32)
        left, right = (np.array(side, np.int32) for side in zip(*children))
        first = np.repeat(starts, np.diff([*starts, len(nodes)]))
        rank, cut_start, cuts = _ranked(feature, np.where(left < 0, np.nan, thresholds), len(used))
        missing_left = np.array([s.missing_left for s in splits], np.uint8)
        above = np.where(missing_left, 0, max(1, len(used)))
        arrays = EnsembleArrays(
            member_roots=np.cumsum([0, *map(len, roots)]).astype(np.int32),
            roots=np.array(starts, np.int32),
            ends=np.array([*starts[1:], len(nodes)], np.int32),
            feature=feature,
            threshold=thresholds,
            listed_start=np.cumsum([0, *map(len, listed)]).astype(np.int32),
            listed=np.array([value for values in listed for value in values], np.float64),
            listed_left=np.array([s.listed_left for s in splits], np.uint8),
            missing_left=missing_left,
            left=left,
            right=right,
            value=np.array([node.value for node in nodes]),
            rank=rank,
            cut_start=cut_start,
            cuts=cuts,
            place_row=np.where(np.isnan(thresholds), -1, feature + above).astype(np.int32),
            low_slot=_slots(left, left, first),
            high_slot=_slots(right, left, first),
        )
        return cls(outcome, tuple(used), arrays)

    @property
    def width(self) -> int:
        """Columns of a table to score; one that is not read if the members have no split."""
        return max(1, len(self.used))

    @property
    def outputs(self) -> int:
        return int(self.trees.value.shape[1])

    @property
    def members(self) -> int:
        return len(self.trees.member_roots) - 1

    def member_scores(self, table: Floats) -> Floats:
        """The raw score of each member, (members, outputs, rows)."""
        trees = self.trees
        scores = np.zeros((self.members, trees.value.shape[1], len(table)))
        run = score.score if jit.available() else score.score_plain
        run(np.ascontiguousarray(table.T, dtype=np.float64), trees, scores)
        return scores

    def first_scores(self, table: Floats) -> Floats:
        """The raw scores of the first member, (rows, outputs)."""
        return np.ascontiguousarray(self.member_scores(table)[0].T)

    def predict(self, table: Floats) -> Floats:
        """The mean over the members of what each predicts, (rows, outputs)."""
        mean = np.empty((len(table), self.trees.value.shape[1]))
        for first in range(0, len(table), ROWS):
            scores = self.member_scores(table[first : first + ROWS])
            expected = self.outcome.expected(list(scores.swapaxes(0, 1)))
            total = [by_member.sum(axis=0) for by_member in expected]
            mean[first : first + ROWS] = np.array(total).T / self.members
        return mean

    def interval(self, table: Floats) -> Floats:
        """The ends of the interval of what the members expect in their one output, (rows, 2)."""
        expected = [self.outcome.expected(list(one))[0] for one in self.member_scores(table)]
        return np.column_stack(between(np.array(expected)))

    def predict_held(
        self, weights: BootstrapWeights, table: Floats, ids: NDArray[np.int64]
    ) -> Floats:
        """The mean over the members that left out the row; NaN where none did."""
        scores = self.member_scores(table)
        total, times = np.zeros(scores.shape[1:]), np.zeros(len(table))
        for number, member in enumerate(scores):
            held = weights.times(ids, number) == 0
            total += np.where(held, self.outcome.expected(list(member)), 0.0)
            times += held
        with np.errstate(invalid="ignore"):
            return np.ascontiguousarray((total / times).T)


def _listed(feature: Feature, split: Split) -> list[float]:
    """The listed categories as the numbers that stand for them."""
    if split.categories is None or feature.categories is None:
        return []
    if feature.holds_numbers:
        return [float(category) for category in split.categories]
    return [float(feature.categories.index(category)) for category in split.categories]


def _ranked(
    feature: NDArray[np.int32], thresholds: Floats, width: int
) -> tuple[NDArray[Any], NDArray[np.int32], Floats]:
    """The place of each threshold among those of its feature; where the cuts of each feature begin,
    and the cuts."""
    ranks, cuts = np.zeros(len(thresholds), np.uint32), []
    for j in range(width):
        here = (feature == j) & ~np.isnan(thresholds)
        known = np.unique(thresholds[here])
        ranks[here] = np.searchsorted(known, thresholds[here])
        cuts.append(known)
    starts = np.cumsum([0, *map(len, cuts)]).astype(np.int32)
    places = max((len(each) + 2 for each in cuts), default=0)
    kind = np.uint16 if places <= np.iinfo(np.uint16).max else np.uint32
    return ranks.astype(kind), starts, np.concatenate([*cuts, np.zeros(0)])


def _slots(
    child: NDArray[np.int32], left: NDArray[np.int32], first: NDArray[np.int32]
) -> NDArray[np.int32]:
    """Where the leaf of a child is found: at its own number if it is a leaf, else further on."""
    inner = (child >= 0) & (left[child] >= 0)
    return (child - first + np.where(inner, score.SMALL_TREE, 0)).astype(np.int32)
