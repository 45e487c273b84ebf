"""What a picture is made of: rectangles, lines and text, in pixels from the top left corner.

Nothing here can measure a font, so `text_width` estimates; it errs on the wide side.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from figs_spark.treesum.reading import MINUS

INK, PALE_INK = "#1f2933", "#66717f"
PAPER, CARD, EDGE, LINE = "#ffffff", "#f5f7f9", "#dde2e8", "#9aa5b1"
RAISES, LOWERS, NEUTRAL = "#c2452d", "#2a6ca6", "#66717f"
BOLD = 1.12  # width of bold letters
LEADING = 1.3  # height of a line of text, in font sizes

_WIDTHS = {  # of letters in font sizes, as in DejaVu Sans, which is wider than most
    0.345: " iIjl.,:;'|",
    0.42: "!()[]tfr/\\-",
    0.62: "acekosvxyz_?",
    0.84: "+=<>≤~" + MINUS,
    1.02: "mwMW@%",
}
_WIDTH = {character: width for width, characters in _WIDTHS.items() for character in characters}


@dataclass(frozen=True)
class Rect:
    x: float
    y: float
    width: float
    height: float
    fill: str = "none"
    stroke: str = "none"
    radius: float = 0.0
    role: str = ""  # what it stands for: "bar"


@dataclass(frozen=True)
class Line:
    points: tuple[tuple[float, float], ...]
    colour: str = LINE
    width: float = 1.2
    dashed: bool = False


@dataclass(frozen=True)
class Text:
    """One line of text; (x, y) is the start, middle or end of its baseline."""

    x: float
    y: float
    text: str
    size: float = 12.0
    colour: str = INK
    bold: bool = False
    anchor: str = "start"


@dataclass(frozen=True)
class Compound:
    """Shapes that belong together; `tip` says in full what may be shortened in the picture."""

    role: str
    shapes: tuple[Shape, ...]
    tip: str = ""


Shape = Rect | Line | Text | Compound


@dataclass(frozen=True)
class Drawing:
    title: str
    width: float
    height: float
    shapes: tuple[Shape, ...]


def stacked(title: str, drawings: Sequence[Drawing]) -> Drawing:
    """The drawings below one another, as one."""
    width = max(drawing.width for drawing in drawings)
    height, shapes = 0.0, list[Shape]()
    for drawing in drawings:
        shapes += [lowered(shape, height) for shape in drawing.shapes]
        height += drawing.height
    return Drawing(title, width, height, (Rect(0, 0, width, height, fill=PAPER), *shapes))


def lowered(shape: Shape, by: float) -> Shape:
    """The shape, further down."""
    if isinstance(shape, Compound):
        return replace(shape, shapes=tuple(lowered(inner, by) for inner in shape.shapes))
    if isinstance(shape, Line):
        return replace(shape, points=tuple((x, y + by) for x, y in shape.points))
    return replace(shape, y=shape.y + by)


def text_width(text: str, size: float, bold: bool = False) -> float:
    return sum(map(_character_width, text)) * size * (BOLD if bold else 1.0)


def _character_width(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.3
    return _WIDTH.get(character, 0.79 if character.isupper() else 0.645)


def wrapped(text: str, size: float, width: float, lines: int = 99) -> list[str]:
    """The text in lines of at most this width, with an ellipsis for what is too much.

    It is broken at spaces; a word too long for a line after underscores and the like; and where
    there are none, anywhere.
    """
    found = [""]
    for piece in _pieces(text, size, width):
        if found[-1] and text_width((found[-1] + piece).rstrip(), size) > width:
            found.append("")
        found[-1] += piece
    found = [line.strip() for line in found]
    if len(found) <= lines:
        return found
    return [*found[: lines - 1], shortened(found[lines - 1] + "…", size, width)]


def pretty(condition: str) -> str:
    """A condition as it is drawn: with a sign for `<=` that stays with its number."""
    for sign, drawn in ((" <= ", " ≤\u00a0"), (" > ", " >\u00a0")):
        condition = condition.replace(sign, drawn)
    return condition


def shortened(text: str, size: float, width: float) -> str:
    """The text, with an ellipsis for what is too wide."""
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
    """Pieces that fit on a line, as long as can be without a space inside."""
    for word in re.findall(r"[^ ]* *", text):
        if text_width(word.rstrip(), size) <= width:
            yield word
            continue
        for part in re.findall(r"[^_\-/.,]*[_\-/.,]*", word):
            fits = text_width(part.rstrip(), size) <= width
            yield from [part] if fits else part


def colour(value: float) -> str:
    return RAISES if value > 0 else LOWERS if value < 0 else NEUTRAL
