"""The model as SQL text for Spark."""

from __future__ import annotations

from collections.abc import Sequence

from figs_spark.treesum.cases import cases, takes_listed
from figs_spark.treesum.nodes import Category, Feature, Node, Split, TreeSum, add_in_runs


def to_sql(model: TreeSum, output: int = 0) -> str:
    """The raw score as a SQL expression; columns have the names of the features."""
    return add_in_runs([_tree_sql(model, tree, output, "\n") for tree in model.trees], _sum_sql)


def _tree_sql(model: TreeSum, node: Node, output: int, newline: str) -> str:
    clauses, last = cases(node)
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
    inside = takes_listed(split, left)
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

    A dollar sign is written as its code, since Spark replaces `${x}` by a setting before parsing.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
        return f"'{escaped}'"
    if abs(value) == float("inf"):
        return f"CAST('{'-' if value < 0 else ''}Infinity' AS DOUBLE)"
    return f"{value}D"
