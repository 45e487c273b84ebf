"""HTML that is built from elements, so that no text of a user can become markup."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from figs_spark.treesum.visible import visible

VOID = {"br", "hr", "input", "meta"}


@dataclass(frozen=True)
class Html:
    """Markup; whatever is a plain `str` is text instead, and gets escaped."""

    markup: str

    def __add__(self, other: Html) -> Html:
        return Html(self.markup + other.markup)


Content = str | Html
NOTHING = Html("")


def element(name: str, /, *content: Content, **attributes: str | bool | None) -> Html:
    """An element. `class_` is `class`, and `aria_label` is `aria-label`.

    An attribute that is True has no value; one that is None or False is left out.
    """
    start = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in VOID:
        return Html(f"<{start}>")
    return Html(f"<{start}>{joined(content).markup}</{name}>")


def joined(content: Iterable[Content]) -> Html:
    return Html("".join(part.markup if isinstance(part, Html) else text(part) for part in content))


def text(value: str) -> str:
    """Escaped; characters that cannot be seen, or turn the line around, are shown by their code."""
    return escape(visible(value))


def _attribute(key: str, value: str | bool | None) -> str:
    if value is None or value is False:
        return ""
    key = key.rstrip("_").replace("_", "-")
    return f" {key}" if value is True else f' {key}="{text(str(value))}"'


def table(
    caption: str, header: Sequence[Content], rows: Iterable[Sequence[Content]], class_: str = ""
) -> Html:
    """A table whose first column names its rows. On a narrow screen it scrolls by itself."""
    head = element("tr", *(element("th", cell, scope="col") for cell in header))
    lines = [
        element("tr", element("th", first, scope="row"), *(element("td", c) for c in others))
        for first, *others in rows
    ]
    inside = element(
        "table",
        element("caption", caption),
        element("thead", head),
        element("tbody", *lines),
        class_=class_ or None,
    )
    return element("div", inside, class_="scrolls", tabindex="0", role="region", aria_label=caption)


def data_block(name: str, data: Any) -> Html:
    """JSON inside the page. No `<` is left in it, so that nothing can end the block early."""
    content = json.dumps(data, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        content = content.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{name}">{content}</script>')
