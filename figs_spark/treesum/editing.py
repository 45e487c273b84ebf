"""Changes that people make to a model, and who made them, when and why.

A split is named by its step, from 0; a leaf by its tree (from 1) and its number in it (from 0), as
in `rules()`. An edited model has no loss path: what it loses on the training rows was not
measured, and counts as infinite. Values that were fitted together stay as they are, but those of
smaller sizes are gone: `truncate` finds nodes with the values that they have now.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from figs_spark.treesum.nodes import Category, Node, Split, TreeSum
from figs_spark.treesum.strict_json import Entry
from figs_spark.treesum.text import number, question

Leaf = tuple[int, int]  # tree from 1, leaf from 0


@dataclass(frozen=True)
class Edit:
    """A change of a model by a person."""

    __module__ = "figs_spark"

    by: str
    when: str  # a date
    why: str
    changes: tuple[str, ...]

    def __str__(self) -> str:
        return f"Edited by {self.by} on {self.when}: {'; '.join(self.changes)} ({self.why})."

    def to_dict(self) -> dict[str, Any]:
        return {"by": self.by, "when": self.when, "why": self.why, "changes": list(self.changes)}

    @classmethod
    def from_entry(cls, entry: Entry) -> Edit:
        """What `to_dict` gave, read strictly."""
        fields = entry.fields(("by", "when", "why", "changes"))
        changes = tuple(item.text() for item in fields["changes"].items())
        return cls(fields["by"].text(), fields["when"].text(), fields["why"].text(), changes)


@dataclass(frozen=True)
class Changes:
    """What is to be changed in one sum of trees."""

    thresholds: Mapping[int, float] = field(default_factory=dict)  # by step
    categories: Mapping[int, Sequence[Category]] = field(default_factory=dict)  # listed, by step
    missing_left: Mapping[int, bool] = field(default_factory=dict)  # by step
    values: Mapping[Leaf, float | Sequence[float]] = field(default_factory=dict)
    without_trees: Sequence[int] = ()  # from 1


def edited(model: TreeSum, changes: Changes) -> tuple[TreeSum, tuple[str, ...]]:
    """The changed model, and the changes in words; a ValueError names all that cannot be."""
    problems = [*_wrong_splits(model, changes), *_wrong_leaves(model, changes)]
    if problems:
        raise ValueError(f"The model cannot be edited so: {'; '.join(problems)}.")
    said = tuple(_said(model, changes))
    if not said:
        raise ValueError("Nothing is changed. Give new thresholds, categories, sides or values.")
    trees = [
        _tree(k, tree, changes)
        for k, tree in enumerate(model.trees, start=1)
        if k not in changes.without_trees
    ]
    if not trees:
        trees = [replace(model.trees[0], value=model.constant, split=None, left=None, right=None)]
    elif 1 in changes.without_trees:  # the first tree holds the average
        trees[0] = _raised(trees[0], model.constant)
    trees = _renumbered(trees)
    splits = sum(node.split is not None for tree in trees for node in tree.walk())
    losses = (math.inf,) * (splits + 1)
    return replace(model, trees=tuple(trees), losses=losses, path=None, samples=None), said


def _tree(number_of: int, tree: Node, changes: Changes) -> Node:
    leaf = -1

    def changed(node: Node) -> Node:
        nonlocal leaf
        if not (branches := node.branches):
            leaf += 1
            new = changes.values.get((number_of, leaf))
            return node if new is None else replace(node, value=_as_values(new))
        split, left, right = branches
        return replace(node, split=_split(split, changes), left=changed(left), right=changed(right))

    return changed(tree)


def _split(split: Split, changes: Changes) -> Split:
    step = split.step
    if step in changes.thresholds:
        split = replace(split, threshold=float(changes.thresholds[step]))
    if step in changes.categories:
        split = replace(split, categories=tuple(changes.categories[step]))
    if step in changes.missing_left:
        split = replace(split, missing_left=changes.missing_left[step])
    return split


def _as_values(value: float | Sequence[float]) -> tuple[float, ...]:
    if isinstance(value, (int, float)):
        return (float(value),)
    return tuple(map(float, value))


def _raised(tree: Node, by: tuple[float, ...]) -> Node:
    value = tuple(v + b for v, b in zip(tree.value, by, strict=True))
    if not (branches := tree.branches):
        return replace(tree, value=value)
    return replace(tree, value=value, left=_raised(branches[1], by), right=_raised(branches[2], by))


def _renumbered(trees: Sequence[Node]) -> list[Node]:
    """With steps 0, 1, 2, ... in the same order, after splits were removed."""
    steps = sorted(n.split.step for tree in trees for n in tree.walk() if n.split is not None)
    places = {step: place for place, step in enumerate(steps)}

    def changed(node: Node) -> Node:
        if not (branches := node.branches):
            return node
        split, left, right = branches
        split = replace(split, step=places[split.step])
        return replace(node, split=split, left=changed(left), right=changed(right))

    return list(map(changed, trees))


# What cannot be, and what was done


def _wrong_splits(model: TreeSum, changes: Changes) -> list[str]:
    splits = {split.step: split for split in model.splits}
    problems = []
    named = {*changes.thresholds, *changes.categories, *changes.missing_left}
    problems += [f"there is no split {step}" for step in sorted(named - set(splits))]
    for step, value in changes.thresholds.items():
        if step in splits and (splits[step].threshold is None or not math.isfinite(value)):
            problems.append(f"split {step} takes no threshold {value!r}")
    for step, listed in changes.categories.items():
        if step not in splits:
            continue
        feature = model.features[splits[step].feature]
        if feature.categories is None:
            problems.append(f"split {step} is on the number '{feature.name}'")
        elif unknown := [c for c in listed if c not in feature.categories]:
            problems.append(f"'{feature.name}' has no category {unknown[0]!r}")
    return problems


def _wrong_leaves(model: TreeSum, changes: Changes) -> list[str]:
    problems = []
    leaves = [len(list(tree.leaves())) for tree in model.trees]
    for (tree, leaf), value in changes.values.items():
        if not 1 <= tree <= len(leaves) or not 0 <= leaf < leaves[tree - 1]:
            problems.append(f"there is no leaf {leaf} in tree {tree}")
        elif len(_as_values(value)) != model.outputs or not all(
            map(math.isfinite, _as_values(value))
        ):
            problems.append(f"leaf {leaf} of tree {tree} needs {model.outputs} finite value(s)")
    problems += [
        f"there is no tree {k}" for k in changes.without_trees if not 1 <= k <= len(leaves)
    ]
    return problems


def _said(model: TreeSum, changes: Changes) -> list[str]:
    """Each change in words, with what was before."""
    splits = {split.step: split for split in model.splits}
    said = [_moved(model, splits[step], value) for step, value in changes.thresholds.items()]
    for step, listed in changes.categories.items():
        new = replace(splits[step], categories=tuple(listed))
        said.append(f"'{_asked(model, splits[step])}' is now '{_asked(model, new)}'")
    for step, left in changes.missing_left.items():
        side = "left" if left else "right"
        said.append(f"missing goes {side} at '{_asked(model, splits[step])}'")
    for (tree, leaf), value in changes.values.items():
        before = _numbers(list(model.trees[tree - 1].leaves())[leaf].value)
        said.append(f"leaf {leaf} of tree {tree} is {_numbers(_as_values(value))}, not {before}")
    said += [f"tree {k} is removed" for k in changes.without_trees]
    return said


def _moved(model: TreeSum, split: Split, threshold: float) -> str:
    name, before = model.features[split.feature].name, number(split.threshold or 0.0)
    return f"threshold of {name} is {number(float(threshold))}, not {before}"


def _asked(model: TreeSum, split: Split) -> str:
    return question(model.features[split.feature], split)[0]


def _numbers(values: Sequence[float]) -> str:
    return ", ".join(map(number, values))
