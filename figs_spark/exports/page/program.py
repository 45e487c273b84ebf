"""The model as the data that calculator.js computes with.

A node is either {v: values} or {f, t or c and in, m, texts, l, r}: the number of the
field, the threshold or the listed categories with the side they go to, whether missing goes left,
and the conditions of both sides as text. Categories are numbers: their places in the options.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from figs_spark.exports.instrument import Instrument
from figs_spark.exports.page.fields import Field, Option
from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.nodes import IDENTITY, LOGIT, SOFTMAX
from figs_spark.treesum.prediction import Outcome
from figs_spark.treesum.reading import average
from figs_spark.treesum.strict_json import plain
from figs_spark.treesum.text import value_text
from figs_spark.treesum.times import DATE, DAY

COMPARISONS = "≤>≥<"  # of numbers, then of texts with an order
LINKS = (IDENTITY, LOGIT, SOFTMAX)  # that calculator.js knows


def make_program(model: Instrument, fields: Mapping[int, Field]) -> dict[str, Any]:
    """All that the page's script needs, as JSON."""
    places = {j: place for place, j in enumerate(fields)}
    return {
        "kind": model.kind,
        "link": link_of(model.outcome),
        "average": average(model.class_weights),
        "classes": model.classes,
        "labels": list(model.labels),
        "threshold": model.threshold,
        "flags": model.flags,
        "thresholds": None if model.thresholds is None else list(model.thresholds),
        "groups": [str(group) for group in model.groups],
        "fields": [_field(field) for field in fields.values()],
        "sums": [_sum(one, model, fields, places) for one in model.sums],
    }


def link_of(outcome: Outcome) -> str:
    """How a sum becomes a probability."""
    link = str(getattr(outcome, "link", "identity"))
    if link not in LINKS:
        raise ValueError(
            f"The page knows the links {', '.join(LINKS)}, and the model has '{link}'. Use "
            f"another export."
        )
    return link


def _field(field: Field) -> dict[str, Any]:
    about: dict[str, Any] = {"id": field.id, "kind": field.kind, "name": field.name}
    if field.unit:
        about["unit"] = field.unit
    if field.range is not None:
        about |= {"range": list(field.range), "usual": field.usual}
    if field.kind == "time":
        about["milliseconds"] = 1000 * (DAY if field.feature.kind == DATE else 1)
    return about


def _sum(
    one: TreeSum, model: Instrument, fields: Mapping[int, Field], places: Mapping[int, int]
) -> dict[str, Any]:
    with_texts = model.kind != "mean"  # an ensemble shows no rules
    trees = [_node(tree, fields, places, with_texts) for tree in one.trees]
    return {"constant": list(one.constant), "trees": trees}


def _node(
    node: Node, fields: Mapping[int, Field], places: Mapping[int, int], with_texts: bool
) -> dict[str, Any]:
    if not (branches := node.branches):
        return {"v": list(node.value)}
    split, left, right = branches
    field = fields[split.feature]
    data: dict[str, Any] = {"f": places[split.feature], "m": split.missing_left}
    data |= _test(field.feature, split)
    if with_texts:
        data["texts"] = [worded(field, split, True), worded(field, split, False)]
    return data | {
        "l": _node(left, fields, places, with_texts),
        "r": _node(right, fields, places, with_texts),
    }


def _test(feature: Feature, split: Split) -> dict[str, Any]:
    if split.threshold is not None:
        return {"t": plain(split.threshold)}
    known = feature.categories or ()
    listed = [known.index(category) for category in split.categories or ()]
    return {"c": listed, "in": split.listed_left}


def worded(field: Field, split: Split, left: bool) -> str:
    """The condition of one side as people read it: `pain: yes or not known`, `age > 65 years`."""
    met = [_values(field, split, left), "not known" if split.missing_left == left else ""]
    words = " or ".join(filter(None, met)) or "nothing"
    return f"{field.name}{'' if words[0] in COMPARISONS else ':'} {words}"


def _values(field: Field, split: Split, left: bool) -> str:
    """The values that go to one side, without what is not known; "" if there are none."""
    if field.kind == "sign":
        met = [o.label.lower() for o in field.options if _goes_left(split, o) == left]
        return " or ".join(met)
    if split.threshold is not None:
        if math.isinf(split.threshold):  # then all known values go to one side
            return "any value" if left == (split.threshold > 0) else ""
        unit = f" {field.unit}" if field.unit else ""
        return f"{COMPARISONS[0 if left else 1]} {value_text(field.feature, split.threshold)}{unit}"
    if field.feature.ordered and field.feature.categories is not None:
        first = min(split.categories or (), key=field.feature.categories.index)
        sign = COMPARISONS[2 if left == split.listed_left else 3]
        return f"{sign} {field.feature.label(first)}"
    labels = [field.feature.label(category) for category in split.categories or ()]
    if left == split.listed_left:
        return " or ".join(labels)
    return f"none of {', '.join(labels)}" if labels else "any value"


def _goes_left(split: Split, option: Option) -> bool:
    if split.threshold is not None:
        return option.value <= split.threshold
    return (option.category in (split.categories or ())) == split.listed_left
