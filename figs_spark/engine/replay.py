"""The loss of a model after 0, 1, 2, ... splits on the rows held out of its training.

One pass replays the greedy steps on every row, so a whole path of sizes costs what one costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from figs_spark.engine.blocks import Block
from figs_spark.engine.grower import Growth
from figs_spark.engine.histograms import CODES, Floats, Ints, NDArray
from figs_spark.engine.weights import Weights
from figs_spark.treesum.nodes import arms


@dataclass(frozen=True)
class Replay:
    """The splits of a model in the order they were made, over bin codes."""

    member: int
    start: Floats  # (outputs,) the prediction before the first split
    node: Ints  # (splits,) the leaf that was split; a root is split once
    tree: Ints
    root: Ints  # (trees,)
    feature: Ints
    left: Ints  # the left child; the right one follows it
    goes_right: NDArray[np.bool_]  # (splits, CODES)
    moves: Floats  # (splits, 2, outputs) what the left and the right child add
    factors: Floats  # (splits, 2) by what a coefficient is times in the two children
    path: tuple[Floats, ...] | None  # the coefficients of each size, if they were fitted together
    link: str

    @classmethod
    def of(cls, growth: Growth) -> Replay:
        made = [(n.split, k) for k, n in enumerate(growth.trees.nodes) if n.split is not None]
        order = [k for _, k in sorted(made, key=lambda pair: pair[0].step)]
        nodes = [growth.trees.nodes[k] for k in order]
        children = [(growth.trees.nodes[n.left], growth.trees.nodes[n.right]) for n in nodes]
        moves = [[child.value - n.value for child in pair] for n, pair in zip(nodes, children)]
        outputs = growth.layout.outputs
        return cls(
            member=growth.member,
            start=growth.mean,
            node=np.array(order, np.int32),
            tree=np.array([n.tree for n in nodes], np.int32),
            root=np.array(growth.trees.roots, np.int32),
            feature=np.array([n.split.feature for n in nodes if n.split], np.int32),
            left=np.array([n.left for n in nodes], np.int32),
            goes_right=np.array([n.goes_right for n in nodes], bool).reshape(-1, CODES),
            moves=np.array(moves).reshape(-1, 2, outputs),
            factors=np.array([arms(*(c.weight for c in pair)) for pair in children]).reshape(-1, 2),
            path=None if growth.path is None else tuple(growth.path),
            link=growth.link,
        )

    def __len__(self) -> int:
        return len(self.node)

    def scores(self, block_codes: NDArray[np.uint8]) -> Iterator[Floats]:
        """The raw scores (rows, outputs) after 0, 1, 2, ... splits; the array is used again."""
        if self.path is not None:
            yield from self._fitted_scores(block_codes, self.path)
            return
        score = np.tile(self.start, (len(block_codes), 1))
        yield score
        for step, (here, right) in enumerate(self._sides(block_codes)):
            score[here] += np.where(right[:, None], self.moves[step, 1], self.moves[step, 0])
            yield score

    def _fitted_scores(
        self, block_codes: NDArray[np.uint8], path: Sequence[Floats]
    ) -> Iterator[Floats]:
        columns = np.zeros((len(block_codes), 1 + len(self)))
        columns[:, 0] = 1.0
        yield columns[:, :1] @ path[0]
        for step, (here, right) in enumerate(self._sides(block_codes)):
            columns[here, 1 + step] = self.factors[step][right.astype(np.intp)]
            yield columns[:, : 2 + step] @ path[step + 1]

    def _sides(
        self, block_codes: NDArray[np.uint8]
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.bool_]]]:
        """Of each split the rows in its node, and which of them go right."""
        leaf = np.tile(self.root, (len(block_codes), 1))
        for step in range(len(self)):
            tree = self.tree[step]
            here = np.flatnonzero(leaf[:, tree] == self.node[step])
            right = self.goes_right[step][block_codes[here, self.feature[step]]]
            leaf[here, tree] = self.left[step] + right
            yield here, right


def held_out_losses(blocks: Iterator[Block], replays: Sequence[Replay], weights: Weights) -> Floats:
    """Per model, over the rows held out of it: the sum of w, then of w * loss after each size."""
    totals = [np.zeros(2 + len(replay)) for replay in replays]
    for block in blocks:
        for replay, total in zip(replays, totals, strict=True):
            outcome = replace(weights.target.outcome, link=replay.link)
            rows = weights.held_out_rows(block, replay.member)
            total[0] += rows.weight.sum()
            for k, score in enumerate(replay.scores(rows.codes)):
                loss = ((rows.target - outcome.expected_table(score)) ** 2).sum(axis=1)
                total[1 + k] += rows.weight @ loss
    return np.concatenate(totals)
