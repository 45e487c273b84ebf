"""The nodes of trees while they grow, and the trees as plain data once they are done."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.histograms import CODES, Floats
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


def frozen(
    nodes: Sequence[LearningNode], roots: Sequence[int], centre: Floats, spread: float
) -> tuple[Node, ...]:
    """The trees; the first one takes the centre back, which the target was moved by.

    Values are rounded to a 1e-12th or so of the spread of the target, so that leaves with the same
    mean have the same value: of rows that score the same, none shall come first.
    """
    if not roots:
        return ()
    decimals = 12 - math.floor(math.log10(spread or 1.0))

    def tree(index: int) -> Node:
        node = nodes[index]
        value = np.round(node.value, decimals) + (centre if node.tree == 0 else 0.0)
        return Node(
            value=tuple(value.tolist()),
            rows=node.rows,
            weight=node.weight,
            split=node.split,
            left=tree(node.left) if node.left >= 0 else None,
            right=tree(node.right) if node.right >= 0 else None,
        )

    return tuple(map(tree, roots))
