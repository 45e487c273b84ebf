"""What a picture is made of: rectangles, lines and text, in pixels from the top left corner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from figs_spark.pictures.colours import INK, LINE, PAPER


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
    """One line of text.

    (x, y) is the start, middle or end of its baseline.
    """

    x: float
    y: float
    text: str
    size: float = 12.0
    colour: str = INK
    bold: bool = False
    anchor: str = "start"


@dataclass(frozen=True)
class Compound:
    """Shapes that belong together; `tip` is the full text of what the picture may shorten."""

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
    """The drawings below one another, as one drawing."""
    width = max(drawing.width for drawing in drawings)
    height, shapes = 0.0, list[Shape]()
    for drawing in drawings:
        shapes += [lowered(shape, height) for shape in drawing.shapes]
        height += drawing.height
    return Drawing(title, width, height, (Rect(0, 0, width, height, fill=PAPER), *shapes))


def lowered(shape: Shape, by: float) -> Shape:
    """The shape, moved down."""
    if isinstance(shape, Compound):
        return replace(shape, shapes=tuple(lowered(inner, by) for inner in shape.shapes))
    if isinstance(shape, Line):
        return replace(shape, points=tuple((x, y + by) for x, y in shape.points))
    return replace(shape, y=shape.y + by)
