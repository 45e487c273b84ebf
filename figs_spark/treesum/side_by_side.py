"""Sums with the same splits as one sum, with a value for each of them in every node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from figs_spark.treesum.nodes import Node, TreeSum, Value


def side_by_side(sums: Sequence[TreeSum]) -> TreeSum | None:
    """One sum with as many outputs as there are sums; None if their splits differ.

    It is for reading. Its rows are those that all sums were grown on.
    """
    first = sums[0]
    if any(one.outputs > 1 or _shape(one) != _shape(first) for one in sums):
        return None
    trees = tuple(_joined(nodes) for nodes in zip(*(one.trees for one in sums), strict=True))
    remarks = tuple(dict.fromkeys(remark for one in sums for remark in one.remarks))
    constant = _values([one.constant for one in sums])
    return replace(first, trees=trees, constant=constant, path=None, samples=None, remarks=remarks)


def _shape(one: TreeSum) -> object:
    """What two sums must share to be read together."""
    return one.features, one.link, [[node.split for node in tree.walk()] for tree in one.trees]


def _joined(nodes: Sequence[Node]) -> Node:
    first = replace(nodes[0], value=_values([node.value for node in nodes]), own_rows=None)
    if first.branches is None:
        return first
    children = [node.branches[1:] for node in nodes if node.branches is not None]
    left, right = (_joined(side) for side in zip(*children, strict=True))
    return replace(first, left=left, right=right)


def _values(values: Sequence[Value]) -> Value:
    return tuple(value[0] for value in values)
