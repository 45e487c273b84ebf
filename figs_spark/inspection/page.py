"""A first look as one HTML file: nothing is loaded, and no script is inside."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from figs_spark.exports.page.document import policy
from figs_spark.exports.page.markup import NOTHING, Html, element, table
from figs_spark.inspection.inspection import FrequentValue, InspectedColumn, Inspection
from figs_spark.inspection.text import headline, in_columns, outcome, share, use, values

MANY = 50  # different numbers: they are not shown one by one


def to_html(look: Inspection, title: str) -> str:
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(_style())),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        Html(f"<style>{_style()}</style>"),
    )
    body = element("body", _content(look, title))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en').markup}\n"


def fragment(look: Inspection) -> Html:
    """For a notebook."""
    return Html(f"<style>{_style()}</style>") + _content(look, "A first look")


def _style() -> str:
    return files("figs_spark.inspection").joinpath("inspection.css").read_text("utf-8")


def _content(look: Inspection, title: str) -> Html:
    kept = [c for c in look.columns if c.kept]
    out = [c for c in look.columns if not c.kept]
    items = [element("li", finding) for finding in look.findings]
    return element(
        "div",
        element("h1", title),
        element("p", headline(look)),
        element("h2", "Look at these first") if items else NOTHING,
        element("ul", *items, class_="first") if items else NOTHING,
        element("h2", f"Used: {in_columns(len(kept))}"),
        _used(kept, look) if kept else NOTHING,
        element("h2", f"Left out: {in_columns(len(out))}") if out else NOTHING,
        _left_out(out, look) if out else NOTHING,
        class_="figs-look",
    )


def _used(columns: Sequence[InspectedColumn], look: Inspection) -> Html:
    is_class = look._label.is_class
    measure = _measure(look)
    behind = f"share with {look.label}" if is_class else f"mean of {look.label}"
    caption = (
        f"Values that most rows have, with their share of the rows and, in red, the {behind}. "
        f"{measure}: what the column says about the label by itself, on these same rows."
    )
    header = ["Column", "Used as", "Missing", "Values", measure, "Most frequent, and remarks"]
    return table(caption, header, [_line(c, look) for c in columns])


def _line(c: InspectedColumn, look: Inspection) -> list[str | Html]:
    missing = element("span", share(c.missing / look.rows))
    if c.missing_label is not None:
        missing += element("span", outcome(c.missing_label, look), class_="quiet share")
    remarks = [element("span", note, class_="remark") for note in c.notes]
    return [
        element("span", c.name) + element("span", c.type, class_="quiet"),
        element("span", use(c), class_="use") + element("span", _reason(c), class_="quiet"),
        _labelled("missing", missing) if c.missing else "",
        _labelled("values", f"{c.distinct:,}"),
        _labelled(_measure(look), f"{c.strength:.3f}"),
        element("div", _values(c, look), *remarks),
    ]


def _labelled(name: str, content: str | Html) -> Html:
    """A cell with its name, which shows on a narrow screen: there the table has no header."""
    return element("span", f"{name} ", class_="narrow") + element("span", content)


def _measure(look: Inspection) -> str:
    return "AUC alone" if look._label.is_class else "R² alone"


def _reason(c: InspectedColumn) -> str:
    return "" if c.why == use(c) else c.why


def _values(c: InspectedColumn, look: Inspection) -> Html:
    spread = c.quantiles and c.distinct > 2 * len(c.quantiles)
    line = element("span", *values(c, look)) if spread else NOTHING
    rows = [_value(value, look) for value in c.frequent]
    if not rows or (spread and c.distinct > MANY):
        return line
    return line + element("table", element("tbody", *rows), class_="values")


def _value(value: FrequentValue, look: Inspection) -> Html:
    part = value.rows / look.rows
    return element(
        "tr",
        element("td", value.value, class_="name"),
        element("td", element("meter", value=f"{part:.4f}", min="0", max="1")),
        element("td", share(part), class_="number"),
        element("td", outcome(value.label, look), class_="number share"),
    )


def _left_out(columns: Sequence[InspectedColumn], look: Inspection) -> Html:
    lines: list[list[str | Html]] = [
        [
            element("span", c.name) + element("span", c.type, class_="quiet"),
            element("span", c.use, class_="use out"),
            _labelled("missing", share(c.missing / look.rows)) if c.missing else "",
            _labelled("values", f"{c.distinct:,}"),
            c.why,
        ]
        for c in columns
    ]
    return table("", ["Column", "Because", "Missing", "Values", "Why"], lines)
