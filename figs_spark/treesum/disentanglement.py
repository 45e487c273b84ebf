"""Does each tree of a sum tell its own story? Which features share it, and what it explains.

All of it is read from the fitted model: a leaf knows the weight of its training rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

from figs_spark.treesum.nodes import Node, Split, TreeSum

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Disentanglement:
    """How the features and the variance of a score are spread over the trees of a model.

    `trees` has one row per tree: its features, its splits, how many of them are repeated, the
    `variance` of what it adds on the training rows, its `share` of the variances of all trees, and
    the share of the gain of all splits. Trees whose values are independent of one another add up:
    then `share` is the part of the variance of the score. With blocks, `in_one_block` says whether
    the features of the tree lie in one block. `together` counts, for each pair of features, the
    trees that split on both. `repeated_splits` is the share of the splits that have a twin: the
    same feature, cut at nearly the same place. `in_one_block` is the share of trees, None without
    blocks or without a split.
    """

    __module__ = "figs_spark"

    trees: pd.DataFrame
    together: pd.DataFrame
    repeated_splits: float
    in_one_block: float | None


def disentanglement(
    model: Any, blocks: Sequence[Sequence[str]] | None = None, tolerance: float = 0.01
) -> Disentanglement:
    """Which features share a tree, repeated splits, and what each tree explains, of a fitted model.

    `model` is a fitted FIGS model, one of the `models` of a G-FIGS, or a TreeSum. `blocks` are
    lists of names of features; a feature in no list is a block of its own. Thresholds on one
    feature that differ by no more than `tolerance` are the same cut.
    """
    import pandas as pd

    sums = _tree_sum(model)
    block_of = _block_of(sums, blocks or ())
    repeated = _repeated(sums.splits, tolerance)
    trees = [tree for tree in sums.trees if tree.split is not None]
    rows = [_row(sums, tree, repeated, block_of) for tree in trees]
    names = ["features", "splits", "repeated", "variance", "gain", "in_one_block"]
    table = pd.DataFrame(rows, columns=names)
    table.insert(4, "share", _shares(table["variance"]))
    table["gain"] = _shares(table["gain"])
    pairs = Counter(pair for row in rows for pair in combinations(row[0], 2))
    together = [(*pair, count) for pair, count in pairs.most_common()]
    known = blocks is not None and len(rows) > 0
    return Disentanglement(
        table if blocks is not None else table.drop(columns="in_one_block"),
        pd.DataFrame(together, columns=["feature", "other", "trees"]),
        len(repeated) / len(sums.splits) if sums.splits else 0.0,
        float(table["in_one_block"].mean()) if known else None,
    )


def _tree_sum(model: Any) -> TreeSum:
    sums = model if isinstance(model, TreeSum) else getattr(model, "treeSum", None)
    if not isinstance(sums, TreeSum):
        raise ValueError(
            f"A fitted FIGS model or a TreeSum is needed, got {type(model).__name__}. Of a G-FIGS "
            f"take one of its models: model.models[group]."
        )
    return sums


def _block_of(sums: TreeSum, blocks: Sequence[Sequence[str]]) -> dict[str, Hashable]:
    """The number of the block of each feature; the name itself for a feature in no block."""
    names = sums.feature_names
    listed = [name for block in blocks for name in block]
    unknown = sorted(set(listed) - set(names))
    if unknown:
        raise ValueError(
            f"blocks name {len(unknown)} features that the model lacks: {unknown}. It has {names}."
        )
    twice = sorted(name for name, count in Counter(listed).items() if count > 1)
    if twice:
        raise ValueError(f"{twice} are listed more than once in blocks. List each feature once.")
    own: dict[str, Hashable] = {name: name for name in names}
    return own | {name: k for k, block in enumerate(blocks) for name in block}


def _repeated(splits: Sequence[Split], tolerance: float) -> set[int]:
    """The steps of the splits that have a twin."""
    twins = [(a, b) for a, b in combinations(splits, 2) if _same_cut(a, b, tolerance)]
    return {split.step for pair in twins for split in pair}


def _same_cut(one: Split, other: Split, tolerance: float) -> bool:
    if one.feature != other.feature:
        return False
    if one.threshold is None or other.threshold is None:
        return one.categories == other.categories
    return one.threshold == other.threshold or abs(one.threshold - other.threshold) <= tolerance


def _row(
    sums: TreeSum, tree: Node, repeated: set[int], block_of: dict[str, Hashable]
) -> tuple[tuple[str, ...], int, int, float, float, bool]:
    splits = [node.split for node in tree.walk() if node.split is not None]
    features = tuple(sums.features[j].name for j in sorted({split.feature for split in splits}))
    return (
        features,
        len(splits),
        sum(split.step in repeated for split in splits),
        _variance(tree),
        sum(split.gain for split in splits),
        len({block_of[name] for name in features}) == 1,
    )


def _variance(tree: Node) -> float:
    """Of what the tree adds, over the training rows; of several outputs the sum."""
    leaves = list(tree.leaves())
    total = sum(leaf.weight for leaf in leaves)
    variance = 0.0
    for output in range(len(tree.value)):
        mean = sum(leaf.weight * leaf.value[output] for leaf in leaves) / total
        squares = (leaf.weight * (leaf.value[output] - mean) ** 2 for leaf in leaves)
        variance += sum(squares) / total
    return variance


def _shares(column: pd.Series) -> pd.Series:
    total = column.sum()
    return column / total if total > 0 else column
