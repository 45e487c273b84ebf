"""Levels of codes in a model. While it grows, each level is a feature of its own, beside the codes.
In the fitted model the codes are one feature, and a split lists levels or codes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from figs_spark.treesum.code_systems import CodeSystem, code_system
from figs_spark.treesum.nodes import Category, Feature, Node, Split, TreeSum, only_named


@dataclass(frozen=True)
class LevelFeature(Feature):
    """A level of the codes in the column `source`; 0 is the broadest."""

    source: str = ""
    depth: int = 0


def as_fitted(models: Sequence[TreeSum]) -> list[TreeSum]:
    """Models as they grew, with levels as categories of their codes and only the categories that
    some split lists."""
    if not models or not any(isinstance(f, LevelFeature) for f in models[0].features):
        return only_named(models)
    return closed(only_named([_folded(model) for model in models]))


def _folded(model: TreeSum) -> TreeSum:
    """The model without level features: their splits list the levels of the codes."""
    kept = [f for f in model.features if not isinstance(f, LevelFeature)]
    place = {feature.name: j for j, feature in enumerate(kept)}
    places = {
        j: place[f.source if isinstance(f, LevelFeature) else f.name]
        for j, f in enumerate(model.features)
    }
    levels: dict[int, tuple[Category, ...]] = {}
    for j, f in enumerate(model.features):
        if isinstance(f, LevelFeature):
            levels[places[j]] = (*levels.get(places[j], ()), *(f.categories or ()))
    features = tuple(
        replace(f, categories=tuple(dict.fromkeys((*(f.categories or ()), *levels.get(j, ())))))
        if f.system
        else f
        for j, f in enumerate(kept)
    )

    def moved(split: Split) -> Split:
        return replace(split, feature=places[split.feature])

    trees = tuple(_with_splits(tree, moved) for tree in model.trees)
    return replace(model, features=features, trees=trees)


def closed(models: Sequence[TreeSum]) -> list[TreeSum]:
    """Splits that list a level list all categories in it, too: so a value that is one of the
    categories can be looked up in the list alone, which is all that some exports can do."""
    known = {
        j: (code_system(f.system), f.categories or ())
        for j, f in enumerate(models[0].features)
        if f.system
    }

    def widened(split: Split) -> Split:
        if split.feature not in known or split.categories is None:
            return split
        system, categories = known[split.feature]
        return replace(split, categories=_with_inner(system, split.categories, categories))

    return [
        replace(model, trees=tuple(_with_splits(tree, widened) for tree in model.trees))
        for model in models
    ]


def _with_inner(
    system: CodeSystem, listed: Sequence[Category], known: Sequence[Category]
) -> tuple[Category, ...]:
    levels = [str(c) for c in listed if system.is_level(str(c))]
    inner = (c for c in known if any(system.holds(level, str(c)) for level in levels))
    return tuple(dict.fromkeys((*listed, *inner)))


def _with_splits(node: Node, change: Callable[[Split], Split]) -> Node:
    if not (branches := node.branches):
        return node
    split, left, right = branches
    return replace(
        node,
        split=change(split),
        left=_with_splits(left, change),
        right=_with_splits(right, change),
    )
