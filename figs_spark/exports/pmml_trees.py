"""Trees in PMML: nodes, predicates, and the text of XML."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from xml.sax.saxutils import escape, quoteattr

from figs_spark.exports.dialects import shortened
from figs_spark.exports.instrument import Group, Instrument
from figs_spark.treesum import Feature, Node, Split
from figs_spark.treesum.nodes import Category

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def tree_model(model: Instrument, tree: Node, output: int) -> list[str]:
    numbers = {id(node): str(k) for k, node in enumerate(tree.walk(), start=1)}
    head = '<TreeModel functionName="regression" missingValueStrategy="defaultChild" '
    return [
        f'{head}splitCharacteristic="binarySplit">',
        *schema(model),
        *indented(_node(model, tree, "<True/>", numbers, lambda node: node.value[output])),
        "</TreeModel>",
    ]


def _node(
    model: Instrument,
    node: Node,
    predicate: str,
    numbers: dict[int, str],
    value: Callable[[Node], float],
) -> list[str]:
    number = numbers[id(node)]
    if not (branches := node.branches):
        return [f'<Node id="{number}" score="{value(node)!r}">', f"  {predicate}", "</Node>"]
    split, left, right = branches
    default = numbers[id(left if split.missing_left else right)]
    feature, column = model.features[split.feature], model.columns[split.feature]
    lines = [f'<Node id="{number}" defaultChild="{default}">', f"  {predicate}"]
    for child, is_left in ((left, True), (right, False)):
        test = _predicate(feature, column, split, is_left)
        lines += indented(_node(model, child, test, numbers, value))
    return [*lines, "</Node>"]


def _predicate(feature: Feature, column: str, split: Split, left: bool) -> str:
    """What holds on a side; a missing value makes it unknown, and goes to the default child."""
    if split.threshold is None:
        return _listing(column, split.categories or (), left == split.listed_left)
    return simple(column, "lessOrEqual" if left else "greaterThan", split.threshold)


def simple(column: str, operator: str, value: Group | Category) -> str:
    shown = attribute(_value(value))
    return f'<SimplePredicate field={attribute(column)} operator="{operator}" value={shown}/>'


def _value(value: Group | Category) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and math.isinf(value):
        return "INF" if value > 0 else "-INF"
    return value if isinstance(value, str) else repr(value)


def _listing(column: str, listed: Sequence[Category], inside: bool) -> str:
    """A set; or single comparisons if the syntax of a list cannot hold a value safely."""
    if any(_is_awkward(category) for category in listed):
        tests = [simple(column, "equal" if inside else "notEqual", c) for c in listed]
        if len(tests) == 1:
            return tests[0]
        joined = "or" if inside else "and"
        return f'<CompoundPredicate booleanOperator="{joined}">{"".join(tests)}</CompoundPredicate>'
    numbers = bool(listed) and not isinstance(listed[0], (str, bool))
    values = [_value(c) if numbers else f'"{content(_in_list(c))}"' for c in listed]
    kind = "real" if numbers else "string"
    array = f'<Array type="{kind}" n="{len(values)}">{" ".join(values)}</Array>'
    operator = "isIn" if inside else "isNotIn"
    head = f'<SimpleSetPredicate field={attribute(column)} booleanOperator="{operator}">'
    return f"{head}{array}</SimpleSetPredicate>"


def _is_awkward(category: Category) -> bool:
    if isinstance(category, str):
        return "\\" in category
    return not isinstance(category, bool) and math.isinf(category)


def _in_list(category: Category) -> str:
    return _value(category).replace('"', '\\"')


def schema(model: Instrument) -> list[str]:
    names = [*model.inputs, *([model.group_column] if model.group_column is not None else [])]
    fields = [
        f'    <MiningField name={attribute(name)} invalidValueTreatment="asIs"/>' for name in names
    ]
    return ["  <MiningSchema>", *fields, "  </MiningSchema>"]


# XML


def content(text: str) -> str:
    _check(text)
    return escape(text).replace("\r", "&#13;")


def attribute(text: str) -> str:
    _check(text)
    return quoteattr(text)


def _check(text: str) -> None:
    if lost := NOT_IN_XML.search(text):
        raise ValueError(
            f"The text {shortened(text)} cannot be written in PMML: XML cannot hold the character "
            f"{lost[0]!r}. Rename the column, or recode the category."
        )


def indented(lines: Sequence[str], levels: int = 1) -> list[str]:
    return ["  " * levels + line for line in lines]
