"""Random tree sums over features of every kind, the rows that try them, and a plain evaluator."""

from __future__ import annotations

import math
from dataclasses import replace
from random import Random
from typing import Any

from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.nodes import BOOLEAN

Row = tuple[Any, ...]

TEXTS = (
    "plain",
    "",
    " spaced ",
    "it's",
    '"double"',
    "a''b",
    "back\\slash",
    "\\u0041",
    "new\nline",
    "tab\tand nul\0",
    "100%_",
    "${env:HOME}",
    "größe 😀",
)
CODES = (0.0, 1.0, 2.5, -3.0, 1e300, math.inf)
FEATURES = (
    Feature("age"),
    Feature("blood.pressure (mmHg)"),
    Feature("tick`tick"),
    Feature("Größe 😀, ${x}"),
    Feature("site's \\name", TEXTS),
    Feature("hurt?", (False, True)),
    Feature("code", CODES),
)
NUMBERS = (-math.inf, -1e300, -2.5, -0.0, 5e-324, 0.1, 3.0, 1600000000.5, 1e300, math.inf)
VALUES = (0.1, 0.2, 0.3, -0.7, 1e-9, 1e9, 1 / 3)


def random_path(
    random: Random,
    splits: int = 6,
    outputs: int = 1,
    new_tree: float = 0.3,
    features: tuple[Feature, ...] = FEATURES,
) -> list[TreeSum]:
    """The models with 0, 1, ... splits that lie on one path; the last is the whole model."""
    constant = _values(random, outputs)
    losses = tuple(random.random() for _ in range(splits + 1))
    path = [TreeSum(features, (Node(constant, 100, 100.0),), constant, losses[:1])]
    trees: list[Node] = []
    for step in range(splits):
        k = len(trees) if not trees or random.random() < new_tree else random.randrange(len(trees))
        if k == len(trees):
            trees.append(Node((0.0,) * outputs, 100, 100.0))
        leaf = random.choice(list(trees[k].leaves()))
        trees[k] = _replaced(trees[k], leaf, _split(random, leaf, step, features))
        path.append(TreeSum(features, tuple(trees), constant, losses[: step + 2]))
    return path


def random_tree_sum(random: Random, splits: int = 6, outputs: int = 1) -> TreeSum:
    return random_path(random, splits, outputs)[-1]


def mild_tree_sum(random: Random, splits: int = 8) -> TreeSum:
    """Random trees whose values are all of similar size."""

    def changed(node: Node) -> Node:
        node = replace(node, value=(random.gauss(0, 1),))
        if not (branches := node.branches):
            return node
        return replace(node, left=changed(branches[1]), right=changed(branches[2]))

    one = random_tree_sum(random, splits)
    return replace(one, trees=tuple(map(changed, one.trees)))


def random_split(
    random: Random, feature: int, step: int = 0, features: tuple[Feature, ...] = FEATURES
) -> Split:
    categories = features[feature].categories
    split = Split(feature, step, random.random(), missing_left=random.random() < 0.5)
    if categories is None:
        return replace(split, threshold=random.choice([*NUMBERS, random.uniform(-9, 9)]))
    listed = random.sample(categories, random.randrange(len(categories) + 1))
    return replace(split, categories=tuple(listed), listed_left=random.random() < 0.5)


def chain(depth: int, leftwards: bool) -> TreeSum:
    """One tree in which each split has a leaf on one side and all later splits on the other."""
    node = Node((float(depth),), 1, 1.0)
    for step in reversed(range(depth)):
        leaf = Node((float(step),), 1, 1.0)
        left, right = (node, leaf) if leftwards else (leaf, node)
        threshold = float(depth - step if leftwards else step)
        split = Split(0, step, 1.0, missing_left=step % 3 == 0, threshold=threshold)
        node = Node((0.0,), 1, 1.0, split, left, right)
    return TreeSum(FEATURES, (node,), (0.0,), (0.0,) * (depth + 1))


def random_rows(random: Random, count: int, features: tuple[Feature, ...] = FEATURES) -> list[Row]:
    """Rows with missing values, infinities, values on the thresholds and unseen categories."""
    return [tuple(_cell(random, feature) for feature in features) for _ in range(count)]


def leaf_of(model: TreeSum, tree: Node, row: Row) -> Node:
    """The leaf a row falls in, spelled out for one row at a time."""
    if not (branches := tree.branches):
        return tree
    split, left, right = branches
    cell = row[split.feature]
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        goes_left = split.missing_left
    elif split.threshold is not None:
        goes_left = cell <= split.threshold
    elif cell in (split.categories or ()):
        goes_left = split.listed_left
    else:
        goes_left = not split.listed_left
    return leaf_of(model, left if goes_left else right, row)


def _values(random: Random, outputs: int) -> tuple[float, ...]:
    return tuple(random.choice([*VALUES, random.gauss(0, 1)]) for _ in range(outputs))


def _split(random: Random, leaf: Node, step: int, features: tuple[Feature, ...]) -> Node:
    outputs = len(leaf.value)
    left = Node(_values(random, outputs), random.randrange(1, 9999), random.uniform(0.1, 9))
    right = Node(_values(random, outputs), random.randrange(1, 9999), random.uniform(0.1, 9))
    split = random_split(random, random.randrange(len(features)), step, features)
    return replace(leaf, split=split, left=left, right=right)


def _replaced(node: Node, old: Node, new: Node) -> Node:
    if node is old:
        return new
    if not (branches := node.branches):
        return node
    _, left, right = branches
    return replace(node, left=_replaced(left, old, new), right=_replaced(right, old, new))


def _cell(random: Random, feature: Feature) -> Any:
    if random.random() < 0.2:
        return random.choice([None, math.nan]) if feature.holds_numbers else None
    if feature.categories is None:
        near = random.choice(NUMBERS)
        return random.choice([near, math.nextafter(near, 0.0), random.uniform(-9, 9)])
    if feature.kind == BOOLEAN:
        return random.random() < 0.5
    unseen = (-0.0, 77.0, -math.inf) if feature.holds_numbers else ("unseen", "PLAIN", "plain ")
    return random.choice([*feature.categories, *unseen])
