"""The model on paper: of each tree its rules with what they add, to be ticked and summed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from figs_spark.exports.instrument import Instrument
from figs_spark.exports.page.fields import Field
from figs_spark.exports.page.markup import NOTHING, Html, element, joined
from figs_spark.exports.page.program import worded
from figs_spark.treesum import Node, TreeSum
from figs_spark.treesum.reading import Labels, Reading
from figs_spark.treesum.text import number

MOST_LEAVES = 150  # a longer card is not read by anybody


def paper_card(model: Instrument, fields: Mapping[int, Field], headings: list[str]) -> Html:
    """A card for each sum, under its heading; nothing for an ensemble or a very large model."""
    if model.kind == "mean" or model.leaves > MOST_LEAVES:
        return NOTHING
    parts = []
    for heading, one in zip(headings, model.sums, strict=True):
        title = element("h3", heading) if heading else NOTHING
        parts.append(element("div", title, _card(model, one, fields), class_="card"))
    return joined(parts)


def _card(model: Instrument, one: TreeSum, fields: Mapping[int, Field]) -> Html:
    labels = Labels("", "", model.classes > 0, model.score_labels or ("",))
    reading = Reading(one, labels)
    outputs = model.score_labels or ("adds",)
    width = len(outputs)
    start = element(
        "tr",
        element("th", "Start: the average", scope="row", colspan="2"),
        *(element("td", reading.absolute(value)) for value in one.constant),
    )
    bodies = [element("tbody", start)]
    for k, tree in enumerate(one.trees):
        bodies.append(element("tbody", *_tree(k, tree, reading, fields)))
    total = element(
        "tr",
        element("th", _total(model), scope="row", colspan="2"),
        *(element("td", class_="blank") for _ in range(width)),
    )
    names = ("Tree", "Tick the one line that fits", *outputs)
    head = element("tr", *(element("th", name, scope="col") for name in names))
    caption = element("caption", "In each tree one line fits. Add its value.")
    return element(
        "div",
        element(
            "table", caption, element("thead", head), *bodies, element("tbody", total),
            class_="rules",
        ),
        class_="scrolls", tabindex="0", role="region", aria_label="The model on paper",
    )  # fmt: skip


def _tree(k: int, tree: Node, reading: Reading, fields: Mapping[int, Field]) -> Iterator[Html]:
    leaves = list(_leaves(tree, fields))
    for place, (conditions, leaf) in enumerate(leaves):
        first = []
        if place == 0:
            first = [element("th", f"Tree {k + 1}", scope="rowgroup", rowspan=str(len(leaves)))]
        box = element("span", class_="tick", aria_hidden="true")
        words = "; and ".join(conditions) or "always"
        values = [element("td", reading.change(v)) for v in reading.added(k, leaf.value)]
        yield element("tr", *first, element("td", box, words, class_="when"), *values)


def _leaves(
    node: Node, fields: Mapping[int, Field], conditions: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], Node]]:
    if not (branches := node.branches):
        yield conditions, node
        return
    split, left, right = branches
    for child, is_left in ((left, True), (right, False)):
        words = worded(fields[split.feature], split, is_left)
        yield from _leaves(child, fields, (*conditions, words))


def _total(model: Instrument) -> str:
    if model.classes == 0:
        return "Sum: the prediction"
    if model.classes > 2:
        return "Sums: the largest is the class that fits best"
    words = "Sum: the risk, at least 0% and at most 100%."
    if model.thresholds is None and 0 <= model.threshold <= 1:
        words += f" Flag above {number(100 * model.threshold)}%."
    return words
