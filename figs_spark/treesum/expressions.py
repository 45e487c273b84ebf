"""The model as native Spark Columns and as SQL text: no Python worker scores a row.

A tree is one CASE. Its WHEN clauses peel off the smaller side of each split, and the larger side
continues in the same CASE, so a chain of splits is flat and a bushy tree nests only a few levels:
Spark Connect refuses an expression of more than about 50 levels.

Spark sorts NaN above every number, so `NaN <= t` is false and `NaN > t` is true; a comparison
with null is null, which no WHEN accepts. So `x <= t` and `x IN (...)` never hold for a missing
value as they stand; on the other side of a split missing is let in or kept out by name.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from figs_spark.treesum.nodes import Category, Feature, Node, Split, TreeSum, add_in_runs


def score_columns(model: TreeSum, features: Sequence[Column]) -> list[Column]:
    """The raw score, one Column per output: `TreeSum.predict` to the last bit.

    `features[j]` holds feature j: double where it is numeric, else in the type of its categories.
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


def to_sql(model: TreeSum, output: int = 0) -> str:
    """The raw score as a SQL expression over columns named like the features."""
    return add_in_runs([_tree_sql(model, tree, output, "\n") for tree in model.trees], _sum_sql)


def _cases(node: Node) -> tuple[list[tuple[Split, bool, Node]], Node]:
    """A tree as one CASE: split, side and subtree of each WHEN, and the leaf of the ELSE."""
    clauses = []
    while branches := node.branches:
        split, left, right = branches
        small_left = _size(left) <= _size(right)
        small, node = (left, right) if small_left else (right, left)
        clauses.append((split, small_left, small))
    return clauses, node


def _size(node: Node) -> int:
    return sum(1 for _ in node.leaves())


def _tree_column(
    model: TreeSum, node: Node, features: Sequence[Column], value: Callable[[Node], Any]
) -> Column:
    clauses, last = _cases(node)
    case: Any = F
    for split, left, subtree in clauses:
        test = _test_column(model.features[split.feature], features[split.feature], split, left)
        case = case.when(test, _tree_column(model, subtree, features, value))
    return case.otherwise(F.lit(value(last))) if clauses else F.lit(value(last))


def _test_column(feature: Feature, x: Column, split: Split, left: bool) -> Column:
    inside = _inside(split, left)
    if split.threshold is not None:
        test = x <= split.threshold if inside else x > split.threshold
    else:
        listed = x.isin(list(split.categories)) if split.categories else F.lit(False)
        test = listed if inside else ~listed
    missing = x.isNull() | F.isnan(x) if feature.holds_numbers else x.isNull()
    if split.missing_left == left:
        return test | missing
    return test if inside else test & ~missing


def _inside(split: Split, left: bool) -> bool:
    """Whether this is the side of `x <= t` or `x IN (...)`."""
    return left if split.threshold is not None else left == split.listed_left


def _tree_sql(model: TreeSum, node: Node, output: int, newline: str) -> str:
    clauses, last = _cases(node)
    if not clauses:
        return _literal(last.value[output])
    lines = ["CASE"]
    for split, left, subtree in clauses:
        test = _test_sql(model.features[split.feature], split, left)
        value = _tree_sql(model, subtree, output, newline + "    ")
        lines.append(f"  WHEN {test} THEN {value}")
    return newline.join([*lines, f"  ELSE {_literal(last.value[output])}", "END"])


def _test_sql(feature: Feature, split: Split, left: bool) -> str:
    x = _name(feature.name)
    inside = _inside(split, left)
    if split.threshold is not None:
        test = f"{x} {'<=' if inside else '>'} {_literal(split.threshold)}"
    else:
        listed = ", ".join(map(_literal, split.categories or ()))
        test = f"{x} {'IN' if inside else 'NOT IN'} ({listed})" if listed else _literal(not inside)
    missing = f"{x} IS NULL OR isnan({x})" if feature.holds_numbers else f"{x} IS NULL"
    if split.missing_left == left:
        return f"{test} OR {missing}"
    return test if inside else f"{test} AND NOT ({missing})"


def _sum_sql(terms: Sequence[str]) -> str:
    return "(" + "\n+ ".join(terms) + ")" if len(terms) > 1 else terms[0]


def _name(name: str) -> str:
    quoted = "`" + name.replace("`", "``") + "`"
    return f"IDENTIFIER({_literal(quoted)})" if "${" in name else quoted


def _literal(value: Category) -> str:
    """An exact SQL literal under Spark's default rules for backslashes in text.

    A dollar is written by its code: Spark replaces `${x}` by a setting before it parses.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
        return f"'{escaped}'"
    if abs(value) == float("inf"):
        return f"CAST('{'-' if value < 0 else ''}Infinity' AS DOUBLE)"
    return f"{value}D"
