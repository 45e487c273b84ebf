"""The model as text: what `str(model)` prints, the conditions of a split, a table of rules.

Text is for reading, so numbers are rounded (`number`, `aligned`); JSON has the exact ones.
"""

from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from figs_spark.treesum.code_systems import code_system
from figs_spark.treesum.intervals import SHOWN, leaf_intervals
from figs_spark.treesum.nodes import BOOLEAN, CODE, Category, Feature, Node, Split, TreeSum
from figs_spark.treesum.paths import Turn, merged, shorter, turns_to_leaves
from figs_spark.treesum.small_cells import hidden
from figs_spark.treesum.small_cells import shown as shown_count
from figs_spark.treesum.times import shown_time

if TYPE_CHECKING:
    import pandas as pd

CATEGORIES_SHOWN = 6  # of a set; the count of the others is shown
WIDTH = 100  # characters of a printed line
NARROWEST = 40  # of these for conditions, at least


def describe(
    model: TreeSum,
    title: str,
    outcome: str,
    outputs: Sequence[str] | None = None,
    small_cell: int | None = None,
) -> str:
    """Every tree with its conditions, values, rows and weights, and how to read it.

    `outcome` ends the sentence "the sum is ...". `outputs` are the names of several outputs. Counts
    below `small_cell` are hidden, see `row_texts`.
    """
    lines = [f"{title}: {_size(model)}", *_instruction([model], outcome), ""]
    lines += _table(model, _output_names(model, outputs), small_cell)
    return "\n".join([*lines, *_other_values([model]), *_full_sets([model])])


def describe_each(
    models: Mapping[str, TreeSum],
    title: str,
    outcome: str,
    outputs: Sequence[str] | None = None,
    small_cell: int | None = None,
) -> str:
    """Models for different rows on one page, each with a heading that says which rows it is for."""
    lines = [title, *_instruction(list(models.values()), outcome)]
    for heading, model in models.items():
        lines += ["", f"{heading}: {_size(model)}", ""]
        lines += _table(model, _output_names(model, outputs), small_cell)
    every = list(models.values())
    return "\n".join([*lines, *_other_values(every), *_full_sets(every)])


def _size(model: TreeSum) -> str:
    return f"{_count(len(model.trees), 'tree')}, {_count(len(model.splits), 'split')}"


def _instruction(models: Sequence[TreeSum], outcome: str) -> list[str]:
    several = "s" if models[0].outputs > 1 else ""
    start = f"Start at 0; in each tree follow the conditions to a leaf and add its value{several};"
    end = f"the sum is {outcome}."
    short = len(start) + len(end) < WIDTH
    lines = [f"{start} {end}"] if short else [start, *textwrap.wrap(end, WIDTH)]
    if any(model.splits for model in models):
        lines.append("Values in parentheses belong to nodes that are split further: not added.")
    if any(tree.own_rows is not None for model in models for tree in model.trees):
        lines.append("Rows are the group's own; the weight has the share of other groups' rows.")
    remarks = dict.fromkeys(remark for model in models for remark in model.remarks)
    return [*lines, *(part for remark in remarks for part in textwrap.wrap(f"{remark}.", WIDTH))]


def _full_sets(models: Sequence[TreeSum]) -> list[str]:
    """The sets that the trees show in part, each once."""
    texts = [
        _of_values(model.features[split.feature], split, split.listed_left, None)
        for model in models
        for split in model.splits
        if _is_cut(model.features[split.feature], split)
    ]
    if not texts:
        return []
    wrapper = textwrap.TextWrapper(WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8)
    lines = map(wrapper.wrap, dict.fromkeys(texts))
    return ["", "Sets in full:", *(line for part in lines for line in part)]


def _is_cut(feature: Feature, split: Split) -> bool:
    listed = _without_inner(feature, split.categories or ())
    return not feature.ordered and len(listed) > CATEGORIES_SHOWN


def _other_values(models: Sequence[TreeSum]) -> list[str]:
    """Which features in use had values that are not categories of their own."""
    used = sorted({split.feature for model in models for split in model.splits})
    features = [feature for j in used if (feature := models[0].features[j]).others]
    if not features:
        return []
    head = "Other: values too rare in training, or beyond the most frequent, to be told apart;"
    lines = ["", head, "no {...} lists them, nor values that training did not see:"]
    for feature in features:
        noun = "code" if feature.kind == CODE else "value"
        lines.append(f"    {_quoted(feature.name)}: other ({_count(feature.others, noun)})")
    return lines


def rules(model: TreeSum, outputs: Sequence[str] | None = None, full: bool = False) -> pd.DataFrame:
    """One row per leaf: tree (from 1), leaf (from 0, left to right), path, value, rows, weight.

    With several outputs there is a column `value_<output>` for each. With bootstrap samples and one
    output, `low` and `high` are the ends of the interval of the value. A large set shows its most
    frequent categories and the count of the others, unless `full`.
    """
    import pandas as pd

    names = ["value"]
    if model.outputs > 1:
        names = [f"value_{name}" for name in _output_names(model, outputs)]
    shown = None if full else CATEGORIES_SHOWN
    records = [
        [k, leaf, path_text(model, turns, shown), *node.value, node.shown_rows, node.weight]
        for k, tree in enumerate(model.trees, start=1)
        for leaf, (turns, node) in enumerate(turns_to_leaves(tree))
    ]
    table = pd.DataFrame(records, columns=["tree", "leaf", "path", *names, "rows", "weight"])
    if model.samples is not None and model.outputs == 1:
        ends = [leaf[0] for of_tree in leaf_intervals(model) for leaf in of_tree]
        table.insert(4, "low", [low for low, _ in ends])
        table.insert(5, "high", [high for _, high in ends])
    return table


def path_text(model: TreeSum, turns: Sequence[Turn], shown: int | None) -> str:
    """The conditions on the way to a leaf."""
    texts = [
        condition(model.features[split.feature], split, left, shown)
        for split, left in merged(model.features, turns)
    ]
    return _joined(texts)


def condition(feature: Feature, split: Split, left: bool, shown: int | None = None) -> str:
    """The condition of one side of a split; a long list of categories is cut after `shown`."""
    text = _of_values(feature, split, left, shown)
    takes_missing = split.missing_left == left and not _only_missing(feature, split, left)
    return f"{text} or missing" if takes_missing else text


def question(feature: Feature, split: Split, shown: int | None = None) -> tuple[str, bool, str]:
    """A split as a question: the text, whether yes goes left, and the answer for a missing value.

    That answer is "yes" or "no", or "" if the question itself is about missing values. The question
    has no negation; for a boolean feature it is the name of the feature.
    """
    if _only_missing(feature, split, split.missing_left):
        return _of_values(feature, split, split.missing_left, shown), split.missing_left, ""
    left = split.threshold is not None or split.listed_left
    text = _of_values(feature, split, left, shown)
    if _is_boolean(feature) and split.categories and len(split.categories) == 1:
        left = split.listed_left == split.categories[0]
        text = _quoted(feature.name)
    return text, left, "yes" if split.missing_left == left else "no"


def _of_values(feature: Feature, split: Split, left: bool, shown: int | None) -> str:
    """The condition of one side, without "or missing"."""
    name = _quoted(feature.name)
    if _only_missing(feature, split, left):
        return f"{name} is missing"
    if _only_missing(feature, split, not left):
        return f"{name} is not missing"
    if split.threshold is not None:
        return f"{name} {'<=' if left else '>'} {value_text(feature, split.threshold)}"
    return f"{name} {_membership(feature, split, left, shown)}"


def value_text(feature: Feature, value: float) -> str:
    """A number of a feature as text: a date if it stands for one."""
    return shown_time(feature.kind, value) if feature.is_time else number(value)


def number(value: float) -> str:
    """Six significant digits or three decimals, whichever shows more: 3.2, but 1600000000.5.

    So rounding cannot move the midpoint of two integers, even of timestamps or long ids.
    """
    if value == 0 or not 1e-300 < abs(value) < 1e15:
        return str(value).removesuffix(".0")
    decimals = max(3, 5 - math.floor(math.log10(abs(value))))
    return str(round(value, decimals)).removesuffix(".0")


def _membership(feature: Feature, split: Split, left: bool, shown: int | None) -> str:
    listed: Sequence[Category] = split.categories or ()
    inside = left == split.listed_left
    if _is_boolean(feature) and len(listed) == 1:
        return "is true" if listed[0] == inside else "is false"
    if feature.ordered and feature.categories is not None:
        first = min(listed, key=feature.categories.index)
        return f"{'>=' if inside else '<'} {_quoted(feature.label(first))}"
    listed = _without_inner(feature, listed)
    if len(listed) == 1 and _is_level(feature, listed[0]):
        return f"{'in' if inside else 'not in'} {feature.label(listed[0])}"
    labels = [_quoted(feature.label(category)) for category in listed]
    if shown is not None and len(labels) > shown:
        labels[shown:] = [f"... {len(labels) - shown} more"]
    return f"{'in' if inside else 'not in'} {{{', '.join(labels)}}}"


def _is_level(feature: Feature, category: Category) -> bool:
    return bool(feature.system) and code_system(feature.system).is_level(str(category))


def _without_inner(feature: Feature, listed: Sequence[Category]) -> Sequence[Category]:
    """The listed categories without those that a listed level holds."""
    levels = [str(category) for category in listed if _is_level(feature, category)]
    if not levels:
        return listed
    system = code_system(feature.system)
    return [
        category
        for category in listed
        if not any(key != category and system.holds(key, str(category)) for key in levels)
    ]


def _only_missing(feature: Feature, split: Split, left: bool) -> bool:
    """Whether only missing values can go to this side."""
    if split.missing_left != left:
        return False
    if split.threshold is not None:
        return not left and split.threshold == math.inf
    if left == split.listed_left:
        return not split.categories
    return _is_boolean(feature) and len(split.categories or ()) == 2


def _is_boolean(feature: Feature) -> bool:
    return feature.kind == BOOLEAN and feature.labels is None


def _joined(conditions: Sequence[str]) -> str:
    if len(conditions) < 2:
        return "".join(conditions) or "always"
    return " and ".join(f"({c})" if c.endswith(" or missing") else c for c in conditions)


def row_texts(tree: Node, small_cell: int | None) -> Callable[[Node], str]:
    """The number of rows in a node of this tree, as text.

    With `small_cell` only leaves show it, and no leaf with fewer rows; from the counts of inner
    nodes those of their leaves could be told.
    """
    if small_cell is None:
        return lambda node: f"{node.shown_rows:,}"
    leaves, least = list(tree.leaves()), small_cell
    is_hidden = hidden([leaf.shown_rows for leaf in leaves], least)
    texts = {id(leaf): shown_count(leaf.shown_rows, h, least) for leaf, h in zip(leaves, is_hidden)}
    return lambda node: texts.get(id(node), "")


def _table(model: TreeSum, outputs: Sequence[str], small_cell: int | None) -> list[str]:
    nodes = [node for tree in model.trees for node in tree.walk()]
    value = aligned([v for node in nodes for v in node.value], sign="+")
    weight = aligned([node.weight for node in nodes if not _unweighted(node)])

    def cells(node: Node, rows: Callable[[Node], str]) -> list[str]:
        values = [f"({value(v)})" if node.split else f"{value(v)} " for v in node.value]
        unshown = small_cell is not None or _unweighted(node)
        if intervals:
            values.append(intervals.get(id(node), ""))
        return [*values, rows(node), "" if unshown else weight(node.weight)]

    intervals = _interval_texts(model, value) if small_cell is None else {}
    outputs = [*outputs, *([SHOWN] if intervals else [])]
    table = [["", *(f"{name} " for name in outputs), "rows", "weight"]]
    for k, tree in enumerate(model.trees, start=1):
        if k > 1:
            table.append(["+", *[""] * (len(outputs) + 2)])
        outline = _outline(model, tree, f"Tree {k} (all rows)", "    ")
        rows = row_texts(tree, small_cell)
        table += [[label, *cells(node, rows)] for label, node in outline]
    if not any(row[-1] for row in table[1:]):
        table = [row[:-1] for row in table]
    first, *widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    first = min(first, max(NARROWEST, WIDTH - sum(width + 2 for width in widths)))
    return [line for row in table for line in _justified(row, [first, *widths])]


def _interval_texts(model: TreeSum, value: Callable[[float], str]) -> dict[int, str]:
    """The interval of each leaf as text, by its identity; a small leaf could be told by it."""
    if model.samples is None or model.outputs > 1:
        return {}
    leaves = [leaf for tree in model.trees for leaf in tree.leaves()]
    ends = [leaf[0] for of_tree in leaf_intervals(model) for leaf in of_tree]
    return {id(n): f"{value(low)} to {value(high)}" for n, (low, high) in zip(leaves, ends)}


def _unweighted(node: Node) -> bool:
    return math.isclose(node.weight, node.shown_rows, rel_tol=1e-9)


def _outline(
    model: TreeSum, node: Node, label: str, indent: str, turns: tuple[Turn, ...] = ()
) -> Iterator[tuple[str, Node]]:
    yield label, node
    if branches := node.branches:
        split, *children = branches
        feature = model.features[split.feature]
        for child, left in zip(children, (True, False), strict=True):
            text = condition(feature, shorter(feature, split, turns), left, CATEGORIES_SHOWN)
            below = (*turns, (split, left))
            yield from _outline(model, child, indent + text, indent + "|   ", below)


def _justified(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    """A line with its cells; what is too long for the first one continues below."""
    label, *others = row
    cells = [cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True)]
    first, *more = _broken(label, widths[0])
    return ["  ".join([first.ljust(widths[0]), *cells]).rstrip(), *more]


def _broken(label: str, width: int) -> list[str]:
    """A label in lines of this width, broken at spaces; lines of the tree go on."""
    if len(label) <= width:
        return [label]
    start = label[: len(label) - len(label.lstrip(" |"))]
    parts = textwrap.wrap(label[len(start) :], max(20, width - len(start) - 4))
    return [start + parts[0], *(f"{start}    {part}" for part in parts[1:])]


def aligned(values: Sequence[float], sign: str = "", digits: int = 4) -> Callable[[float], str]:
    """A format with the same number of decimals for all values; whole numbers have none.

    The decimals show `digits` significant digits of the largest value and two fewer of the
    smallest, but at most `digits` + 2 of the largest.
    """
    sizes = [abs(v) for v in values if v != 0 and math.isfinite(v)]
    if all(size.is_integer() and size < 1e15 for size in sizes):
        return lambda value: f"{value + 0.0:{sign},.0f}"
    largest, smallest = (math.floor(math.log10(size)) for size in (max(sizes), min(sizes)))
    decimals = max(0, digits + min(max(-3 - smallest, -1 - largest), 1 - largest))
    if largest >= 15 or decimals > 9:
        return lambda value: f"{value:{sign}.3e}"
    return lambda value: f"{round(value, decimals) + 0.0:{sign},.{decimals}f}"


def _output_names(model: TreeSum, outputs: Sequence[str] | None) -> list[str]:
    if outputs is None:
        outputs = ["value"] if model.outputs == 1 else [str(c) for c in range(model.outputs)]
    if len(outputs) != model.outputs:
        raise ValueError(f"The model has {model.outputs} outputs, but got {len(outputs)} names.")
    return list(outputs)


def _quoted(text: str) -> str:
    """The text, in quotes if it could be misread or would break the line."""
    if text and text == text.strip() and text.isprintable() and not set(text) & set(',{}"'):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
