"""The model of a group that also learned from other groups' rows: what is the group's own in it.

Every node is told how many rows of the group itself it has. A branch that none of them reaches says
nothing about the group, so it is left out: no row of the group is scored otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from figs_spark.treesum.nodes import Node, TreeSum


def with_own_rows(model: TreeSum, leaf_rows: Sequence[Sequence[int]]) -> TreeSum:
    """The model with the group's own rows in every node; given are those of each tree's leaves,
    from left to right."""
    trees = []
    for tree, rows in zip(model.trees, leaf_rows, strict=True):
        left_to_right = iter(rows)
        trees.append(_counted(tree, left_to_right))
    return replace(model, trees=tuple(trees))


def _counted(node: Node, rows: Iterator[int]) -> Node:
    if not (branches := node.branches):
        return replace(node, own_rows=next(rows))
    left, right = (_counted(child, rows) for child in branches[1:])
    own = (left.own_rows or 0) + (right.own_rows or 0)
    return replace(node, own_rows=own, left=left, right=right)


def without_empty_branches(model: TreeSum) -> TreeSum:
    """The model without branches that have no own rows; a tree that is one leaf then is added to
    the others.

    The splits that are left are numbered again, each with the loss that the model had after it.
    Values that were fitted together stay as they are: those of smaller sizes need all splits.
    """
    if model.path is not None:
        return model
    trees = [_reached(tree) for tree in model.trees]
    if trees == list(model.trees):
        return model
    kept = sorted({n.split.step for tree in trees for n in tree.walk() if n.split is not None})
    steps = {step: k for k, step in enumerate(kept)}
    growing = [_renumbered(tree, steps) for tree in trees if tree.split is not None]
    still = [tree for tree in trees if tree.split is None]
    if not growing:
        growing, still = still[:1], still[1:]
    for tree in still:
        growing[0] = _raised(growing[0], tree.value)
    losses = (model.losses[0], *(model.losses[step + 1] for step in kept))
    return replace(model, trees=tuple(growing), losses=losses, samples=None)


def _reached(node: Node) -> Node:
    if not (branches := node.branches):
        return node
    left, right = branches[1:]
    if not left.own_rows or not right.own_rows:
        return _reached(left if left.own_rows else right)
    return replace(node, left=_reached(left), right=_reached(right))


def _renumbered(node: Node, steps: dict[int, int]) -> Node:
    if not (branches := node.branches):
        return node
    split, left, right = branches
    return replace(
        node,
        split=replace(split, step=steps[split.step]),
        left=_renumbered(left, steps),
        right=_renumbered(right, steps),
    )


def _raised(node: Node, value: tuple[float, ...]) -> Node:
    """Every node below with this value added."""
    node = replace(node, value=tuple(a + b for a, b in zip(node.value, value, strict=True)))
    if not (branches := node.branches):
        return node
    return replace(node, left=_raised(branches[1], value), right=_raised(branches[2], value))
