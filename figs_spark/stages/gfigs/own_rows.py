"""Counts, in the model of each group, the rows of the group itself: one pass for all groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from figs_spark.dataframes.expressions import leaf_columns
from figs_spark.stages.gfigs.membership import GROUP
from figs_spark.treesum import Feature, Node, TreeSum
from figs_spark.treesum.nodes import Category
from figs_spark.treesum.own_rows import with_own_rows


def with_counts_of_groups(frame: DataFrame, models: Sequence[TreeSum]) -> list[TreeSum]:
    """The model of each group with the group's own rows in every node.

    `frame` is the engine's table: the features in x, and the number of the group.
    """
    features = [F.col("x")[j] for j in range(len(models[0].features))]
    leaves = F.lit(None)
    for k, model in enumerate(models):
        trees = [leaf.cast("int") for leaf in leaf_columns(over_numbers(model), features)]
        leaves = F.when(F.col(GROUP) == k, F.array(*trees)).otherwise(leaves)
    reached = frame.select(GROUP, F.posexplode(leaves).alias("tree", "leaf"))
    rows = reached.groupBy(GROUP, "tree", "leaf").count().collect()
    counts = {(int(row[GROUP]), row["tree"], row["leaf"]): row["count"] for row in rows}
    return [
        with_own_rows(
            model,
            [
                [counts.get((k, t, leaf), 0) for leaf, _ in enumerate(tree.leaves())]
                for t, tree in enumerate(model.trees)
            ],
        )
        for k, model in enumerate(models)
    ]


def over_numbers(model: TreeSum) -> TreeSum:
    """The model over the engine's numbers, where text and booleans are positions."""
    trees = tuple(_numbered(tree, model.features) for tree in model.trees)
    return replace(model, features=tuple(map(_as_number, model.features)), trees=trees)


def _as_number(feature: Feature) -> Feature:
    return Feature(feature.name) if feature.categories is None else Feature(feature.name, (0.0,))


def _numbered(node: Node, features: Sequence[Feature]) -> Node:
    if not (branches := node.branches):
        return node
    split, left, right = branches
    feature = features[split.feature]
    if split.categories is not None and not feature.holds_numbers:
        known: Sequence[Category] = feature.categories or ()
        places = {category: float(k) for k, category in enumerate(known)}
        split = replace(split, categories=tuple(places[c] for c in split.categories))
    return replace(
        node, split=split, left=_numbered(left, features), right=_numbered(right, features)
    )
