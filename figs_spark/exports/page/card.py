"""The model on paper: of each tree its rules with what they add, to be ticked and summed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from figs_spark.exports.instrument import Instrument
from figs_spark.exports.page.evaluated import Evaluated, Figure, Line
from figs_spark.exports.page.evaluation import with_interval
from figs_spark.exports.page.fields import Field
from figs_spark.exports.page.markup import NOTHING, Html, element, joined, table
from figs_spark.exports.page.program import worded
from figs_spark.treesum import Node, TreeSum
from figs_spark.treesum.nodes import LOGIT, SOFTMAX
from figs_spark.treesum.paths import merged, turns_to_leaves
from figs_spark.treesum.points import Points
from figs_spark.treesum.reading import MINUS, Labels, Reading
from figs_spark.treesum.small_cells import HIDDEN
from figs_spark.treesum.text import number

SAME_RISK = 1e-9
MOST_LEAVES = 150  # a longer card is not read by anybody


def paper_card(
    model: Instrument,
    fields: Mapping[int, Field],
    headings: list[str],
    points: Points | None = None,
    results: Evaluated | None = None,
) -> Html:
    """A card for each sum, under its heading; nothing for an ensemble or a very large model."""
    if model.kind == "mean" or model.leaves > MOST_LEAVES:
        return NOTHING
    parts = []
    for heading, one in zip(headings, model.sums, strict=True):
        title = element("h3", heading) if heading else NOTHING
        scale = Scale(model, one, points, results)
        parts.append(element("div", title, _card(scale, fields), class_="card"))
    return joined(parts)


@dataclass(frozen=True)
class Scale:
    """What the leaves of a sum add, as text: points, percentage points or amounts."""

    model: Instrument
    one: TreeSum
    points: Points | None = None
    results: Evaluated | None = None

    @property
    def reading(self) -> Reading:
        model = self.model
        names, weighted = model.score_labels or ("",), model.class_weights
        labels = Labels("", "", model.classes > 0, names, class_weights=weighted)
        return Reading(self.one, labels)

    @property
    def outputs(self) -> tuple[str, ...]:
        return self.model.score_labels or (("points",) if self.points else ("adds",))

    @property
    def start(self) -> tuple[str, list[str]]:
        if self.points:
            return "Start", ["0"]
        return f"Start: {self.reading.start}", [
            self.reading.absolute(value) for value in self.one.constant
        ]

    def added(self, tree: int, leaf: Node) -> list[str]:
        if self.points:
            return [str(self.points.of_leaf(tree, leaf.value[0]))]
        return [self.reading.change(v) for v in self.reading.added(tree, leaf.value)]


def _card(scale: Scale, fields: Mapping[int, Field]) -> Html:
    words, values = scale.start
    start = element(
        "tr",
        element("th", words, scope="row", colspan="2"),
        *(element("td", value) for value in values),
    )
    bodies = [element("tbody", start)]
    for k, tree in enumerate(scale.one.trees):
        bodies.append(element("tbody", *_tree(k, tree, scale, fields)))
    total = element(
        "tr",
        element("th", _total(scale.model, scale.points), scope="row", colspan="2"),
        *(element("td", class_="blank") for _ in scale.outputs),
    )
    names = ("Tree", "Tick the one line that fits", *scale.outputs)
    head = element("tr", *(element("th", name, scope="col") for name in names))
    caption = element("caption", "In each tree one line fits. Add its value.")
    inside = element(
        "table", caption, element("thead", head), *bodies, element("tbody", total), class_="rules"
    )
    label = "The model on paper"
    card = element("div", inside, class_="scrolls", tabindex="0", role="region", aria_label=label)
    if scale.points:
        return card + _risks(scale)
    return card + (_odds(scale) if scale.model.outcome.link == LOGIT else NOTHING)


def _odds(scale: Scale) -> Html:
    """What sums of log odds mean, in steps of a half."""
    ends = [
        sum(extreme(leaf.value[0] for leaf in tree.leaves()) for tree in scale.one.trees)
        for extreme in (min, max)
    ]
    sums = np.arange(math.floor(2 * ends[0]), math.ceil(2 * ends[1]) + 1) / 2
    risks = scale.model.outcome.expected([sums])[0]
    rows = [
        (f"{total:+.1f}".replace("-", MINUS), f"{100 * risk:.1f}%")
        for total, risk in zip(sums, risks)
    ]
    return table("What a sum of log odds means", ("Sum", "Risk"), rows, "numbers totals")


def _risks(scale: Scale) -> Html:
    """What each total means: what the model predicts, and what was observed in the evaluation."""
    assert scale.points is not None
    totals = range(scale.points.largest + 1)
    scores = [np.array([scale.points.score(total)]) for total in totals]
    risks = [float(scale.model.outcome.expected([score])[0][0]) for score in scores]
    header = ["Total", "Prediction"]
    rows = [
        [str(total), f"{100 * risk:.1f}%" if scale.model.classes else number(risk)]
        for total, risk in zip(totals, risks)
    ]
    if scale.results is not None:
        header.append("Observed, with 95% interval")
        for row, risk in zip(rows, risks):
            row.append(_observed(scale.results, risk))
    return table("What a total of points means", header, rows, "numbers totals")


def _observed(results: Evaluated, risk: float) -> str:
    """The rate among the rows with this risk; a dash if there are none."""
    for line in results.calibration:
        if all(isinstance(end, float) and abs(end - risk) < SAME_RISK for end in _ends(line)):
            known = line["observed"] is not None
            return with_interval(line, "observed", percent=True) if known else HIDDEN
    return "\u2013"


def _ends(line: Line) -> tuple[Figure, Figure]:
    return line["low"], line["high"]


def _tree(k: int, tree: Node, scale: Scale, fields: Mapping[int, Field]) -> Iterator[Html]:
    leaves = list(turns_to_leaves(tree))
    for place, (turns, leaf) in enumerate(leaves):
        first = []
        if place == 0:
            first = [element("th", f"Tree {k + 1}", scope="rowgroup", rowspan=str(len(leaves)))]
        box = element("span", class_="tick", aria_hidden="true")
        told = merged(scale.one.features, turns)
        words = "; and ".join(worded(fields[s.feature], s, left) for s, left in told) or "always"
        values = [element("td", text) for text in scale.added(k, leaf)]
        yield element("tr", *first, element("td", box, words, class_="when"), *values)


def _total(model: Instrument, points: Points | None) -> str:
    if points:
        words = "Total of points"
        if model.flags and 0 <= model.threshold <= 1:
            least = next((t for t in range(points.largest + 1) if _flags(model, points, t)), None)
            words += "" if least is None else f". Flag from {least} points on."
        return words
    if model.classes == 0:
        return "Sum: the prediction"
    if model.classes > 2:
        weights = "the log weights of the classes, and " if model.outcome.link == SOFTMAX else ""
        return f"Sums: {weights}the largest is the class that fits best"
    words = "Sum: the risk, at least 0% and at most 100%."
    if model.outcome.link == LOGIT:
        words = "Sum: the log odds; the table below has the risk."
    if model.flags and 0 <= model.threshold <= 1:
        words += f" Flag above {number(100 * model.threshold)}%."
    return words


def _flags(model: Instrument, points: Points, total: int) -> bool:
    risk = model.outcome.expected([np.array([points.score(total)])])[0][0]
    return bool(risk > model.threshold)
