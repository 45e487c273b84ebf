"""One model as one page: what it shows, from the model and from what is given about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from figs_spark.exports.instrument import Instrument
from figs_spark.exports.page.calculator import calculator, wording_of
from figs_spark.exports.page.card import paper_card
from figs_spark.exports.page.document import Section, document, picture
from figs_spark.exports.page.fields import Field, Range, Wording, make_fields
from figs_spark.exports.page.markup import Html, element, joined
from figs_spark.exports.page.program import make_program
from figs_spark.pictures.trees import draw_model
from figs_spark.treesum import TreeSum
from figs_spark.treesum.reading import Labels
from figs_spark.treesum.small_cells import STRICT

MOST_PICTURED = 60  # leaves of a sum that is drawn
PICTURE = 1000.0  # width of a row of trees


@dataclass(frozen=True)
class Page:
    """All that a page shows."""

    model: Instrument
    labels: Labels
    title: str = ""
    wordings: Mapping[str, Wording] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    signs: Sequence[str] = ()  # columns that are always 0 or 1
    small_cell: int = STRICT
    report: Mapping[str, Any] = field(default_factory=dict)  # data from which it is read again


def to_html(page: Page) -> str:
    """The file as text."""
    model = page.model
    fields = make_fields(model, page.wordings, page.ranges, page.signs)
    group = wording_of(page.wordings, model.group_column)
    sections = [
        Section(
            "calculator", "Calculator", "Calculator",
            calculator(model, list(fields.values()), group), on_screen_only=True,
        ),
        Section("model", "The model", "Model", _model(page, fields)),
    ]  # fmt: skip
    return document(
        page.title or model.subject,
        model.subject if page.title else "",
        sections,
        make_program(model, fields),
        dict(page.report),
        f"Made by figs_spark {model.version}. Fingerprint {model.fingerprint}",
    )


def _model(page: Page, fields: Mapping[int, Field]) -> Html:
    """The card, and a picture of each sum."""
    headings = _headings(page)
    parts = [paper_card(page.model, fields, headings)]
    if page.model.kind == "mean":
        words = f"The mean of {len(page.model.sums)} sums of trees; a page cannot show them all."
        return element("p", words)
    for heading, one in zip(headings, page.model.sums, strict=True):
        leaves = sum(1 for tree in one.trees for _ in tree.leaves())
        if leaves <= MOST_PICTURED:
            labels = replace(page.labels, small_cell=page.small_cell)
            drawing = draw_model(_worded(one, fields), labels, PICTURE, heading)
            parts.append(picture(drawing, wide=True))
    parts += [element("p", note, class_="quiet") for note in page.model.notes]
    return joined(parts)


def _headings(page: Page) -> list[str]:
    model = page.model
    if model.kind != "groups":
        return [""] * len(model.sums)
    wording = wording_of(page.wordings, model.group_column) or Wording()
    name = wording.name or str(model.group_column)
    return [f"{name}: {wording.labels.get(str(group), str(group))}" for group in model.groups]


def _worded(one: TreeSum, fields: Mapping[int, Field]) -> TreeSum:
    features = tuple(
        fields[j].feature if j in fields else feature for j, feature in enumerate(one.features)
    )
    return replace(one, features=features)
