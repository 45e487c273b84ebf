"""The whole file: sections in order, with style, script and data inside.

A policy in the head forbids everything but this one style sheet and this one script, which it knows
by their digests: no network, no other script, no form that is sent. So even a text that became
markup by mistake could do nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from figs_spark.exports.page.markup import NOTHING, Html, data_block, element, joined
from figs_spark.pictures import colours
from figs_spark.pictures.shapes import Drawing
from figs_spark.pictures.svg import to_svg

PROGRAM, REPORT = "figs-program", "figs-report"  # blocks of data

_VARIABLES = {
    colours.INK: "ink",
    colours.PALE_INK: "pale",
    colours.PAPER: "paper",
    colours.CARD: "card",
    colours.EDGE: "edge",
    colours.TRACK: "card",
    colours.LINE: "line",
    colours.RAISES: "raises",
    colours.LOWERS: "lowers",
}


@dataclass(frozen=True)
class Section:
    """A part of the page that the menu leads to."""

    id: str
    title: str
    short: str  # in the menu
    content: Html
    on_screen_only: bool = False
    on_own_page: bool = False  # on paper


def document(
    title: str,
    subtitle: str,
    sections: Sequence[Section],
    program: Any,
    report: Any,
    footer: str,
) -> str:
    """The file as text."""
    style, script = style_sheet(), _own_file("calculator.js")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(style, script)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("meta", name="generator", content=footer),
        element("title", title),
        Html(f"<style>{style}</style>"),
    )
    links = [element("li", element("a", s.short, href=f"#{s.id}")) for s in sections]
    body = element(
        "body",
        element("a", "To the content", href="#content", class_="skip"),
        element("header", element("h1", title), element("p", subtitle) if subtitle else NOTHING),
        element("nav", element("ul", *links), aria_label="Sections"),
        element("main", *map(_section, sections), id="content"),
        element("footer", element("p", footer)),
        data_block(PROGRAM, program),
        data_block(REPORT, report),
        Html(f"<script>{script}</script>"),
    )
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en').markup}\n"


def _section(section: Section) -> Html:
    names = [
        "screen" if section.on_screen_only else "",
        "own-page" if section.on_own_page else "",
    ]
    return element(
        "section",
        element("h2", section.title, id=f"{section.id}-title"),
        section.content,
        id=section.id,
        class_=" ".join(filter(None, names)) or None,
        aria_labelledby=f"{section.id}-title",
    )


def picture(drawing: Drawing, caption: str = "", wide: bool = False) -> Html:
    """A drawing with its caption; the style sheet gives it the colours of day or night."""
    inside = element("div", Html(to_svg(drawing)), class_="picture wide" if wide else "picture")
    words = element("figcaption", caption) if caption else NOTHING
    return element("figure", inside, words)


def style_sheet() -> str:
    """The style of the page, in which pictures follow the colours of the page."""
    rules = [
        f'svg [{kind}="{colour}"]{{{kind}:var(--{name})}}'
        for colour, name in _VARIABLES.items()
        for kind in ("fill", "stroke")
    ]
    return _own_file("page.css") + "\n".join(rules) + "\n"


def _own_file(name: str) -> str:
    return files("figs_spark.exports.page").joinpath(name).read_text("utf-8")


def policy(style: str, script: str = "") -> str:
    """What a page may load and run: this style, and this script if there is one."""
    scripts = f"'{_digest(script)}'" if script else "'none'"
    return (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src {scripts}; "
        f"base-uri 'none'; form-action 'none'"
    )


def _digest(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()


def figures(*pictures: Html) -> Html:
    """Pictures side by side if there is room."""
    return element("div", joined(pictures), class_="pictures")
