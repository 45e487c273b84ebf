"""Text in a picture: how wide it is, and how it is broken into lines.

Nothing here can measure a font, so `text_width` is an estimate, rather too wide than too narrow.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from figs_spark.pictures.colours import INK
from figs_spark.pictures.shapes import Text
from figs_spark.treesum.reading import MINUS

BOLD = 1.12  # width of bold letters
LEADING = 1.3  # height of a line of text, in font sizes

_WIDTHS = {  # of letters, in font sizes: those of DejaVu Sans, which is wider than most
    0.345: " iIjl.,:;'|",
    0.42: "!()[]tfr/\\-",
    0.62: "acekosvxyz_?",
    0.84: "+=<>≤~" + MINUS,
    1.02: "mwMW@%",
}
_WIDTH = {character: width for width, characters in _WIDTHS.items() for character in characters}


def text_width(text: str, size: float, bold: bool = False) -> float:
    return sum(map(_character_width, text)) * size * (BOLD if bold else 1.0)


@lru_cache(4096)
def _character_width(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.3
    return _WIDTH.get(character, 0.79 if character.isupper() else 0.645)


def wrapped(text: str, size: float, width: float, lines: int = 99) -> list[str]:
    """The text in at most `lines` lines of at most this width; an ellipsis ends what is cut off.

    Lines break at spaces. A word too long for a line breaks after underscores and the like, and if
    it has none, anywhere.
    """
    broken = [""]
    for piece in _pieces(text, size, width):
        if broken[-1] and text_width((broken[-1] + piece).rstrip(), size) > width:
            broken.append("")
        broken[-1] += piece
    broken = [line.strip() for line in broken]
    if len(broken) <= lines:
        return broken
    return [*broken[: lines - 1], shortened(broken[lines - 1] + "…", size, width)]


def pretty(condition: str) -> str:
    """A condition as it is drawn: with the sign ≤, and signs that stay with their number."""
    for sign, drawn in ((" <= ", " ≤\u00a0"), (" > ", " >\u00a0")):
        condition = condition.replace(sign, drawn)
    return condition


def shortened(text: str, size: float, width: float) -> str:
    """The text, cut to this width with an ellipsis if it is too wide."""
    if text_width(text, size) <= width:
        return text
    while text and text_width(text + "…", size) > width:
        text = text[:-1]
    return text.rstrip() + "…"


def paragraph(
    x: float, y: float, lines: Sequence[str], size: float = 12.0, colour: str = INK,
    bold: bool = False, anchor: str = "start",
) -> tuple[Text, ...]:  # fmt: skip
    """Lines of text below one another; y is the top of the first."""
    return tuple(
        Text(x, y + size * (LEADING * k + 1.0), line, size, colour, bold, anchor)
        for k, line in enumerate(lines)
    )


def _pieces(text: str, size: float, width: float) -> Iterator[str]:
    """Pieces that fit on a line: words if they do, else parts of words."""
    for word in re.findall(r"[^ ]* *", text):
        if text_width(word.rstrip(), size) <= width:
            yield word
            continue
        for part in re.findall(r"[^_\-/.,]*[_\-/.,]*", word):
            fits = text_width(part.rstrip(), size) <= width
            yield from [part] if fits else part
