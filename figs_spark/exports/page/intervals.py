"""The values of all leaves with their bootstrap intervals, as a table of the page."""

from __future__ import annotations

from figs_spark.exports.page.markup import NOTHING, Html, table
from figs_spark.treesum import TreeSum
from figs_spark.treesum.intervals import SHOWN
from figs_spark.treesum.text import aligned, rules


def interval_table(model: TreeSum, small_cell: int) -> Html:
    """Nothing without samples. A leaf of few rows shows none: its width would tell how few."""
    if model.samples is None or model.outputs > 1:
        return NOTHING
    leaves = rules(model)
    shown = aligned([*leaves["value"], *leaves["low"], *leaves["high"]], "+")
    lines = []
    for leaf in leaves.itertuples():
        between = f"{shown(leaf.low)} to {shown(leaf.high)}"
        few = leaf.rows < small_cell
        lines.append((f"Tree {leaf.tree}: {leaf.path}", shown(leaf.value), "" if few else between))
    count = len(model.samples)
    caption = f"Values of the leaves; intervals by {count} bootstrap samples, for these splits"
    return table(caption, ("Leaf", "Value", SHOWN), lines, "numbers")
