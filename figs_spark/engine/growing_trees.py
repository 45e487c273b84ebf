"""The trees of one model while they grow, and as plain data once they are done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.histograms import CODES, Floats
from figs_spark.engine.kernels.records import TreeArrays
from figs_spark.engine.splits import Side
from figs_spark.treesum import Node, Split


@dataclass
class LearningNode:
    """A node while its tree grows."""

    tree: int
    depth: int
    value: Floats
    rows: int
    weight: float
    split: Split | None = None
    left: int = -1
    right: int = -1
    goes_right: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(CODES, bool))


class GrowingTrees:
    """Nodes are numbered in the order they are made; the two children of a split follow another."""

    def __init__(self, outputs: int):
        self.outputs = outputs
        self.nodes: list[LearningNode] = []
        self.roots: list[int] = []
        self._depths: list[int] = []

    def __len__(self) -> int:
        return len(self.roots)

    def plant(self, value: Floats, rows: int, weight: float) -> int:
        """A new tree of one leaf that holds all rows."""
        self.roots.append(len(self.nodes))
        self._depths.append(0)
        self.nodes.append(LearningNode(len(self.roots) - 1, 0, value, rows, weight))
        return self.roots[-1]

    def divide(
        self,
        leaf: int,
        split: Split,
        goes_left: NDArray[np.bool_],
        sides: Sequence[Side],
        moves: Sequence[Floats],
    ) -> None:
        """Two children take the place of a leaf; each moves the value of its side."""
        node = self.nodes[leaf]
        node.split, node.goes_right = split, ~goes_left
        node.left, node.right = len(self.nodes), len(self.nodes) + 1
        depth = node.depth + 1
        self._depths[node.tree] = max(self._depths[node.tree], depth)
        for side, move in zip(sides, moves, strict=True):
            value = node.value + move
            self.nodes.append(LearningNode(node.tree, depth, value, side.rows, side.weight))

    def children(self, parent: int) -> tuple[int, int]:
        """The children of a node, the one with fewer rows first."""
        left, right = self.nodes[parent].left, self.nodes[parent].right
        if self.nodes[left].rows <= self.nodes[right].rows:
            return left, right
        return right, left

    def arrays(self) -> TreeArrays:
        """As the kernel takes them."""
        nodes, count = self.nodes, len(self.nodes)
        return TreeArrays(
            roots=np.array(self.roots, np.int32),
            depths=np.array(self._depths, np.int32),
            feature=np.array([n.split.feature if n.split else 0 for n in nodes], np.int32),
            first=np.array([n.left if n.split else k for k, n in enumerate(nodes)], np.int32),
            goes_right=np.array([n.goes_right for n in nodes], bool).reshape(count, CODES),
            value=np.array([n.value for n in nodes], np.float64).reshape(count, self.outputs),
        )

    def frozen(self, centre: Floats, decimals: int) -> tuple[Node, ...]:
        """The trees as plain data; the first one takes back the centre of the target.

        Values are rounded to these decimals. So leaves with the same mean have the same value, and
        rows that score the same are ties.
        """

        def tree(index: int) -> Node:
            node = self.nodes[index]
            value = np.round(node.value, decimals) + (centre if node.tree == 0 else 0.0)
            return Node(
                value=tuple(value.tolist()),
                rows=node.rows,
                weight=node.weight,
                split=node.split,
                left=tree(node.left) if node.left >= 0 else None,
                right=tree(node.right) if node.right >= 0 else None,
            )

        return tuple(map(tree, self.roots))
