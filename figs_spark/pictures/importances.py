"""The picture of an ensemble: a sentence about it, and its features by their share of the gain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from figs_spark.pictures.colours import INK, PALE_INK, PAPER
from figs_spark.pictures.lettering import BOLD, LEADING, paragraph, shortened, text_width, wrapped
from figs_spark.pictures.shapes import Compound, Drawing, Rect, Shape, Text

SHOWN = 10
MARGIN, WIDTH = 18.0, 720.0
NAME, BARS, ROW = 280.0, 340.0, 22.0
FILL = "#5b7a99"


def draw_importances(
    title: str, notes: str, names: Sequence[str], shares: Sequence[float]
) -> Drawing:
    """The largest shares as bars, under a title and a sentence or two."""
    falling = np.argsort(-np.asarray(shares), kind="stable")[:SHOWN]
    order = [j for j in falling.tolist() if shares[j] > 0]
    titles = wrapped(title, 18 * BOLD, WIDTH - 2 * MARGIN)
    lines = wrapped(notes, 12, WIDTH - 2 * MARGIN)
    y = MARGIN - 2 + len(titles) * 18 * LEADING
    shapes: list[Shape] = [*paragraph(MARGIN, MARGIN - 4, titles, 18, bold=True)]
    shapes += paragraph(MARGIN, y, lines, 12, PALE_INK)
    y += len(lines) * 12 * LEADING + 14
    shapes.append(Text(MARGIN, y + 11, "Features by their share of the gain", 12, INK, True))
    y += 22
    widest = max((text_width(names[j], 12) for j in order), default=0.0)
    left = MARGIN + min(NAME, widest) + 12
    for j in order:
        shapes.append(_bar(names[j], shares[j], shares[j] / shares[order[0]], left, y))
        y += ROW
    back = Rect(0, 0, WIDTH, y + MARGIN, fill=PAPER)
    return Drawing(title, WIDTH, y + MARGIN, (back, *shapes))


def _bar(name: str, share: float, length: float, left: float, y: float) -> Compound:
    wide = max(1.5, length * BARS)
    shapes = (
        Text(left - 10, y + 14, shortened(name, 12, NAME), 12, INK, anchor="end"),
        Rect(left, y + 3, wide, ROW - 8, fill=FILL, role="bar"),
        Text(left + wide + 7, y + 14, f"{100 * share:.1f}%", 12, PALE_INK),
    )
    return Compound("feature", shapes, name)
