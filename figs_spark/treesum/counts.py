"""Which models tell small numbers of rows, and the same models without any such number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from figs_spark.treesum.nodes import Node, TreeSum


def tells_small_counts(models: Sequence[TreeSum], least: int) -> bool:
    """Whether some node of some tree has from 1 to `least` - 1 rows."""
    nodes = (node for model in models for tree in model.trees for node in tree.walk())
    return any(0 < node.rows < least for node in nodes)


def without_counts(model: TreeSum) -> TreeSum:
    """The model with 0 rows and weight 0 in every node: it predicts the same.

    Coefficients say nothing without the weights. The width of an interval would tell how few rows a
    leaf has.
    """
    trees = tuple(map(_uncounted, model.trees))
    return replace(model, trees=trees, path=None, samples=None)


def _uncounted(node: Node) -> Node:
    if not (branches := node.branches):
        return replace(node, rows=0, weight=0.0)
    _, left, right = branches
    return replace(node, rows=0, weight=0.0, left=_uncounted(left), right=_uncounted(right))
