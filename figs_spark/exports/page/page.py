"""One model as one page: what it shows, from the model and from what is given about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from figs_spark.exports.instrument import Instrument
from figs_spark.exports.page.calculator import calculator, wording_of
from figs_spark.exports.page.card import paper_card
from figs_spark.exports.page.checklist import checklist_section
from figs_spark.exports.page.document import Section, document, picture
from figs_spark.exports.page.evaluated import Evaluated
from figs_spark.exports.page.evaluation import (
    before_and_after,
    calibration,
    discrimination,
    groups,
    rows_sentence,
)
from figs_spark.exports.page.facts import facts_section
from figs_spark.exports.page.fields import Field, Range, Wording, make_fields
from figs_spark.exports.page.growth import Growth, growth_section
from figs_spark.exports.page.intervals import interval_table
from figs_spark.exports.page.markup import Content, Html, element, joined
from figs_spark.exports.page.program import make_program
from figs_spark.exports.page.statement import Statement, definitions, statement_section
from figs_spark.pictures.trees import draw_model
from figs_spark.treesum import TreeSum
from figs_spark.treesum.points import Points
from figs_spark.treesum.reading import Labels
from figs_spark.treesum.small_cells import STRICT

MOST_PICTURED = 60  # leaves of a sum that is drawn
PICTURE = 1000.0  # width of a row of trees


@dataclass(frozen=True)
class Page:
    """All that a page shows."""

    model: Instrument
    labels: Labels
    statement: Statement = field(default_factory=Statement)
    wordings: Mapping[str, Wording] = field(default_factory=dict)
    ranges: Mapping[str, Range] = field(default_factory=dict)
    signs: Sequence[str] = ()  # columns that are always 0 or 1
    results: Evaluated | None = None
    before: Evaluated | None = None  # of the model that this one was made from
    growth: Growth | None = None
    points: Points | None = None  # if leaves add whole points
    settings: Mapping[str, str] = field(default_factory=dict)  # of the fit, and versions
    small_cell: int = STRICT
    report: Mapping[str, Any] = field(default_factory=dict)  # data from which it is read again

    @property
    def title(self) -> str:
        return "".join(self.statement.texts.get("title", ())[:1])


def to_html(page: Page) -> str:
    """The file as text."""
    model = page.model
    fields = make_fields(model, page.wordings, page.ranges, page.signs)
    return document(
        page.title or model.subject,
        model.subject if page.title else "",
        list(_sections(page, fields)),
        make_program(model, fields),
        dict(page.report),
        f"Made by figs_spark {model.version}. Fingerprint {model.fingerprint}",
    )


def _sections(page: Page, fields: Mapping[int, Field]) -> Iterator[Section]:
    sections = [*_of_model(page, fields), *_of_results(page)]
    if page.growth is not None:
        title = "Size and stability"
        sections.append(Section("size", title, title, growth_section(page.growth)))
    about = Section("statement", "Statement", "Statement", statement_section(page.statement))
    file = Section("file", "This file", "File", _file(page))
    titles = {section.id: section.title for section in (*sections, about, file)}
    items = checklist_section(page.statement, titles)
    yield from sections
    yield about
    yield Section("checklist", "Checklist: TRIPOD+AI", "Checklist", items)
    yield file


def _of_model(page: Page, fields: Mapping[int, Field]) -> Iterator[Section]:
    model = page.model
    facts = facts_section(
        model, fields, page.statement, page.results, page.small_cell, page.labels.remarks
    )
    yield Section("facts", "Model facts", "Facts", facts)
    group = wording_of(page.wordings, model.group_column)
    form = calculator(model, list(fields.values()), group)
    yield Section("calculator", "Calculator", "Calculator", form, on_screen_only=True)
    yield Section("model", "The model", "Model", _model(page, fields))


def _of_results(page: Page) -> Iterator[Section]:
    results = page.results
    if results is None:
        return
    rows = element("p", rows_sentence(results), class_="quiet")
    shown = rows + discrimination(results)
    if page.before is not None:
        shown += before_and_after(page.before, results)
    yield Section("performance", "Performance", "Performance", shown, on_own_page=True)
    yield Section("calibration", "Calibration", "Calibration", calibration(results))
    others = [name for name in results.columns if name not in results.over_time_and_place]
    if others:
        yield Section("groups", "Groups of patients", "Groups", groups(results, others))
    if results.over_time_and_place:
        shown = groups(results, results.over_time_and_place)
        yield Section("validation", "Other times and places", "Times and places", shown)


def _model(page: Page, fields: Mapping[int, Field]) -> Html:
    """The card, and a picture of each sum."""
    if page.model.kind == "mean":
        words = f"The mean of {len(page.model.sums)} sums of trees; a page cannot show them all."
        return element("p", words)
    headings = _headings(page)
    parts = [paper_card(page.model, fields, headings, page.points, page.results)]
    for heading, one in zip(headings, page.model.sums, strict=True):
        leaves = sum(1 for tree in one.trees for _ in tree.leaves())
        if leaves <= MOST_PICTURED:
            labels = replace(page.labels, small_cell=page.small_cell)
            drawing = draw_model(
                _worded(one, fields), labels, PICTURE, heading or page.labels.subject
            )
            parts.append(picture(drawing, wide=True))
        parts.append(interval_table(_worded(one, fields), page.small_cell))
    parts += [element("p", note, class_="quiet") for note in page.model.remarks]
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


def _file(page: Page) -> Html:
    model = page.model
    words = element(
        "p",
        "The file holds the model itself. ",
        element("code", "figs_spark.load_report(path)"),
        " gives it back.",
    )
    pairs: list[tuple[Content, Content]] = [
        ("Model", model.title),
        ("Fingerprint", element("code", model.fingerprint)),
        ("figs_spark", model.version),
        *page.settings.items(),
    ]
    return words + definitions(pairs)
