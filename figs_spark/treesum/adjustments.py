"""Steps after a fit, such as a refit or a shrinkage of values: pure functions TreeSum -> TreeSum.

A step changes values, and no condition. A node keeps the value that it had as a leaf, and so a step
gives a value to every node, not only to the leaves of today: the model with k splits is inside the
changed model too, and `truncate(k)` finds it. A step also says what the changed models of all sizes
lose: the loss path is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from figs_spark.treesum.nodes import Coefficients, Node, TreeSum, Value, arms

Adjustment = Callable[[TreeSum], TreeSum]

# In remarks: what makes probabilities rates, of a model that grew under class weights.
WITHOUT_CLASS_WEIGHTS = "on rows without their class weights"
NEW_ROWS = "new rows"


def has_rates(model: TreeSum) -> bool:
    """Whether values were fitted to rows as they are, after the splits were made."""
    return any(w in text for text in model.remarks for w in (WITHOUT_CLASS_WEIGHTS, NEW_ROWS))


def revalued(
    model: TreeSum,
    value: Callable[[Node, Value | None], Value],
    constant: Value,
    losses: Sequence[float],
) -> TreeSum:
    """The model with other values. `value` gets a node and the new value of its parent, None for a
    root; so a value may depend on the way down to it, and on nothing that a later split made."""
    if len(losses) != len(model.losses):
        raise ValueError(
            f"The model has {len(model.losses)} sizes, and {len(losses)} losses were given. Give "
            f"the loss after 0, 1, 2, ... splits."
        )

    def changed(node: Node, parent: Value | None) -> Node:
        new = value(node, parent)
        node = replace(node, value=new)
        if not (branches := node.branches):
            return node
        return replace(node, left=changed(branches[1], new), right=changed(branches[2], new))

    trees = tuple(changed(tree, None) for tree in model.trees)
    return replace(
        model, trees=trees, constant=constant, losses=tuple(losses), path=None, samples=None
    )


def as_path(model: TreeSum) -> tuple[Coefficients, ...]:
    """The coefficients of every size, see `nodes`; of a nested model those that give its values."""
    if model.path is not None:
        return model.path
    return tuple(_coefficients(model.truncate(k)) for k in range(len(model.splits) + 1))


def _coefficients(model: TreeSum) -> Coefficients:
    found: dict[int, Value] = {}

    def constant(node: Node) -> Value:
        """The weighted mean of the leaves below a node; its splits take what is left."""
        if not (branches := node.branches):
            return node.value
        split, *children = branches
        left, right = map(constant, children)
        up, down = arms(*(child.weight for child in children))
        found[split.step] = tuple((a - b) / (up - down) for a, b in zip(left, right))
        return tuple((b * up - a * down) / (up - down) for a, b in zip(left, right))

    total = [sum(values) for values in zip(*map(constant, model.trees))]
    return (tuple(total), *(found[step] for step in sorted(found)))
