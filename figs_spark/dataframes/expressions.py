"""The model as native Spark Columns: no Python worker scores a row.

Spark sorts NaN above every number, so `NaN <= t` is false and `NaN > t` is true. A comparison with
null is null, which counts as false in a WHEN. So `x <= t` and `x IN (...)` are never true for a
missing value, and need no test for it to keep it out. Every other test names missing values.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from figs_spark.treesum.cases import cases, takes_listed
from figs_spark.treesum.nodes import Feature, Node, Split, TreeSum, add_in_runs


def score_columns(model: TreeSum, features: Sequence[Column]) -> list[Column]:
    """The raw score, one Column per output: `TreeSum.predict` to the last bit.

    `features[j]` is feature j: a double if it is numeric, else of the type of its categories.
    """
    trees = contribution_columns(model, features)
    by_output = zip(*trees, strict=True)
    return [add_in_runs(parts, partial(reduce, operator.add)) for parts in by_output]


def contribution_columns(model: TreeSum, features: Sequence[Column]) -> list[list[Column]]:
    """What each tree adds to the score: a list per tree with one Column per output."""

    def column(tree: Node, output: int) -> Column:
        return _tree_column(model, tree, features, lambda leaf: leaf.value[output])

    return [[column(tree, c) for c in range(model.outputs)] for tree in model.trees]


def leaf_columns(model: TreeSum, features: Sequence[Column]) -> list[Column]:
    """The index of the leaf, from left to right, that a row falls in: one Column per tree."""

    def column(tree: Node) -> Column:
        index = {id(leaf): i for i, leaf in enumerate(tree.leaves())}
        return _tree_column(model, tree, features, lambda leaf: index[id(leaf)])

    return [column(tree) for tree in model.trees]


def _tree_column(
    model: TreeSum, node: Node, features: Sequence[Column], value: Callable[[Node], Any]
) -> Column:
    clauses, last = cases(node)
    case: Any = F
    for split, left, subtree in clauses:
        test = _test_column(model.features[split.feature], features[split.feature], split, left)
        case = case.when(test, _tree_column(model, subtree, features, value))
    return case.otherwise(F.lit(value(last))) if clauses else F.lit(value(last))


def _test_column(feature: Feature, x: Column, split: Split, left: bool) -> Column:
    inside = takes_listed(split, left)
    if split.threshold is not None:
        test = x <= split.threshold if inside else x > split.threshold
    else:
        listed = x.isin(list(split.categories)) if split.categories else F.lit(False)
        test = listed if inside else ~listed
    missing = x.isNull() | F.isnan(x) if feature.holds_numbers else x.isNull()
    if split.missing_left == left:
        return test | missing
    return test if inside else test & ~missing


class ColumnAlgebra:
    """The operations that `treesum.prediction` needs, on Spark Columns."""

    def clipped(self, value: Column) -> Column:
        return F.greatest(F.lit(0.0), F.least(F.lit(1.0), value))

    def logistic(self, value: Column) -> Column:
        return F.lit(1.0) / (F.lit(1.0) + F.exp(-value))

    def power(self, value: Column) -> Column:
        return F.exp(value)

    def log_weight(self, probability: Column) -> Column:
        """What `power` makes the probability of."""
        return F.log(F.greatest(F.lit(1e-16), probability))

    def log_odds(self, probability: Column) -> Column:
        """What `logistic` makes the probability of; 0 and 1, which it never makes, are near it."""
        inside = F.greatest(F.lit(1e-16), F.least(F.lit(1 - 1e-16), probability))
        return F.log(inside) - F.log1p(-inside)

    def choose(self, condition: Column, yes: Column, no: Column) -> Column:
        return F.when(condition, yes).otherwise(no)

    def ratio(self, part: Column, total: Column, otherwise: float) -> Column:
        return F.when(total > 0, part / total).otherwise(otherwise)

    def number(self, value: float) -> Column:
        return F.lit(value)

    def largest(self, values: Sequence[Column]) -> Column:
        every = F.array(*values)
        first = F.call_function("array_position", every, F.array_max(every))
        return (first - 1).cast("double")


COLUMNS = ColumnAlgebra()
