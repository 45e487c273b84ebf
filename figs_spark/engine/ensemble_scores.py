"""Scoring of many tree sums at once, on numbers, with a compiled kernel.

A large ensemble makes too large an expression for Spark; its trees travel as flat arrays instead.
Text is given as the position of its category, -1 where the model has never seen it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from figs_spark.engine.histograms import Floats, NDArray
from figs_spark.engine.kernels import jit, score
from figs_spark.engine.kernels.records import EnsembleArrays
from figs_spark.engine.weights import BootstrapWeights
from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.intervals import between
from figs_spark.treesum.prediction import Outcome


@dataclass(frozen=True)
class Ensemble:
    """The trees of all members as flat arrays, and what their scores stand for."""

    outcome: Outcome
    trees: EnsembleArrays

    @classmethod
    def of(cls, members: Sequence[TreeSum], outcome: Outcome) -> Ensemble:
        features = members[0].features
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
        splits = [node.split or Split(0, 0, 0.0, False, 0.0) for node in nodes]
        listed = [_listed(features[split.feature], split) for split in splits]
        thresholds = [np.nan if s.threshold is None else s.threshold for s in splits]
        arrays = EnsembleArrays(
            member_roots=np.cumsum([0, *map(len, roots)]).astype(np.int32),
            roots=np.array([root for each in roots for root in each], np.int32),
            feature=np.array([s.feature for s in splits], np.int32),
            threshold=np.array(thresholds),
            listed_start=np.cumsum([0, *map(len, listed)]).astype(np.int32),
            listed=np.array([value for values in listed for value in values], np.float64),
            listed_left=np.array([s.listed_left for s in splits], np.uint8),
            missing_left=np.array([s.missing_left for s in splits], np.uint8),
            left=np.array([left for left, _ in children], np.int32),
            right=np.array([right for _, right in children], np.int32),
            value=np.array([node.value for node in nodes]),
        )
        return cls(outcome, arrays)

    def member_scores(self, table: Floats) -> Floats:
        """The raw score of each member, (rows, members, outputs)."""
        trees = self.trees
        scores = np.zeros((len(table), len(trees.member_roots) - 1, trees.value.shape[1]))
        run = score.score if jit.available() else score.score_plain
        run(np.ascontiguousarray(table, dtype=np.float64), trees, scores)
        return scores

    def first_scores(self, table: Floats) -> Floats:
        """The raw scores of the first member, (rows, outputs)."""
        return self.member_scores(table)[:, 0]

    def predict(self, table: Floats) -> Floats:
        """The mean over the members of what each predicts, (rows, outputs)."""
        scores = self.member_scores(table)
        total = np.zeros((len(table), scores.shape[2]))
        for member in range(scores.shape[1]):
            total += self.outcome.expected_table(scores[:, member])
        return total / scores.shape[1]

    def interval(self, table: Floats) -> Floats:
        """The ends of the interval of what the members expect in their one output, (rows, 2)."""
        scores = self.member_scores(table)
        members = range(scores.shape[1])
        expected = [self.outcome.expected_table(scores[:, member])[:, 0] for member in members]
        return np.column_stack(between(np.array(expected)))

    def predict_held(
        self, weights: BootstrapWeights, table: Floats, ids: NDArray[np.int64]
    ) -> Floats:
        """The mean over the members that left out the row; NaN where none did."""
        scores = self.member_scores(table)
        total, times = np.zeros((len(table), scores.shape[2])), np.zeros((len(table), 1))
        for member in range(scores.shape[1]):
            held = weights.times(ids, member)[:, None] == 0
            total += np.where(held, self.outcome.expected_table(scores[:, member]), 0.0)
            times += held
        with np.errstate(invalid="ignore"):
            return total / times


def _listed(feature: Feature, split: Split) -> list[float]:
    """The listed categories as the numbers that stand for them."""
    if split.categories is None or feature.categories is None:
        return []
    if feature.holds_numbers:
        return [float(category) for category in split.categories]
    return [float(feature.categories.index(category)) for category in split.categories]
