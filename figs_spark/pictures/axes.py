"""A drawing on matplotlib axes. matplotlib is optional and imported only here."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from figs_spark.pictures.shapes import Compound, Drawing, Line, Rect, Shape, Text

PIXELS = 96.0  # per inch
POINTS = 72.0

_ALIGNED = {"start": "left", "middle": "center", "end": "right"}


def pyplot() -> Any:
    """matplotlib.pyplot, or an error that says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "A plot needs matplotlib, which is not installed. Install it with "
            "pip install 'figs_spark[plot]'."
        ) from error
    return plt


def to_axes(drawing: Drawing, ax: Any = None) -> Any:
    """Draw on the axes, or on a new figure of the right size; returns the axes.

    If axes are given, the picture is scaled to fit them, with its letters.
    """
    plt = pyplot()
    if ax is None:
        size = drawing.width / PIXELS, drawing.height / PIXELS
        ax = plt.figure(figsize=size).add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, drawing.width), ylim=(drawing.height, 0), aspect="equal")
    ax.set_axis_off()
    room = ax.get_window_extent()
    per_pixel = min(room.width / drawing.width, room.height / drawing.height) / ax.figure.dpi
    for order, shape in enumerate(_flat(drawing.shapes)):
        _draw(ax, shape, order, per_pixel * POINTS)
    return ax


def _flat(shapes: Iterable[Shape]) -> Iterator[Rect | Line | Text]:
    for shape in shapes:
        if isinstance(shape, Compound):
            yield from _flat(shape.shapes)
        else:
            yield shape


def _draw(ax: Any, shape: Rect | Line | Text, order: int, points: float) -> None:
    """Draw one shape on top of those before it; `points` is the size of a pixel."""
    if isinstance(shape, Text):
        ax.text(
            shape.x, shape.y, shape.text,
            fontsize=shape.size * points, color=shape.colour,
            fontweight="bold" if shape.bold else "normal",
            ha=_ALIGNED[shape.anchor], va="baseline", parse_math=False, zorder=order,
        )  # fmt: skip
    elif isinstance(shape, Line):
        style = (0, (3, 3)) if shape.dashed else "solid"
        xs, ys = zip(*shape.points)
        ax.plot(
            xs, ys, color=shape.colour, linewidth=shape.width * points, linestyle=style,
            zorder=order,
        )  # fmt: skip
    else:
        ax.add_patch(_patch(shape, order, points))


def _patch(rect: Rect, order: int, points: float) -> Any:
    from matplotlib.patches import FancyBboxPatch

    style = f"round,pad=0,rounding_size={rect.radius}" if rect.radius else "square,pad=0"
    return FancyBboxPatch(
        (rect.x, rect.y), rect.width, rect.height, boxstyle=style,
        facecolor=rect.fill, edgecolor=rect.stroke, linewidth=points, zorder=order,
        gid=rect.role or None,
    )  # fmt: skip
