"""A tree as one CASE expression, for SQL and for Spark Columns.

A WHEN clause takes the smaller side of each split, and the larger side continues in the same CASE.
So a chain of splits is flat and a bushy tree is nested only a little. Spark Connect refuses
expressions that are nested more than about 50 deep.
"""

from __future__ import annotations

from figs_spark.treesum.nodes import Node, Split


def cases(node: Node) -> tuple[list[tuple[Split, bool, Node]], Node]:
    """Split, side and subtree of each WHEN, and the leaf of the ELSE."""
    clauses = []
    while branches := node.branches:
        split, left, right = branches
        small_left = _size(left) <= _size(right)
        small, node = (left, right) if small_left else (right, left)
        clauses.append((split, small_left, small))
    return clauses, node


def takes_listed(split: Split, left: bool) -> bool:
    """Whether this is the side of `x <= t` or `x IN (...)`."""
    return left if split.threshold is not None else left == split.listed_left


def _size(node: Node) -> int:
    return sum(1 for _ in node.leaves())
