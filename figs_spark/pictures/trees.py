"""The picture of a model: start + tree + tree + ... = prediction, one card for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from figs_spark.pictures.colours import CARD, EDGE, INK, LINE, LOWERS, PALE_INK, PAPER, RAISES
from figs_spark.pictures.layout import DROP, Box, Placed, place_tree, rows_of, tree_size
from figs_spark.pictures.lettering import BOLD, LEADING, paragraph, text_width, wrapped
from figs_spark.pictures.nodes import answers, node_box, node_shapes, values_box, values_shapes
from figs_spark.pictures.shapes import Compound, Drawing, Line, Rect, Shape, Text
from figs_spark.treesum import TreeSum
from figs_spark.treesum.reading import Labels, Reading

WIDTH = 1080.0  # of a page, unless a tree is wider
NARROWEST = 560.0
MARGIN, PAD = 18.0, 14.0
HEADER = 28.0  # of a card
SIGN = 30.0  # room for a plus or equals sign
STRETCH = 1.0  # a card may grow by this share of its width to fill a row


@dataclass(frozen=True)
class Card:
    """A card to be placed: the average, a tree, or the prediction."""

    sign: str
    title: str
    width: float
    height: float
    reading: Reading
    tree: Box | None = None

    @property
    def room(self) -> float:
        return self.width + (SIGN if self.sign else 0.0)


def draw_model(model: TreeSum, labels: Labels, width: float = WIDTH, heading: str = "") -> Drawing:
    """The trees side by side, in rows of at most this width unless a single tree is wider.

    `heading` is for a model that is part of another one and is not printed by itself.
    """
    reading = Reading(model, labels)
    cards = list(_cards(reading))
    rows = [[cards[k] for k in row] for row in rows_of([c.room for c in cards], width - 2 * MARGIN)]
    inner = max(NARROWEST, *(sum(card.room for card in row) for row in rows))
    title = heading or labels.subject
    shapes, y = _heading(reading, title, inner)
    for row in rows:
        height = max(card.height for card in row)
        shapes += _row(row, y, inner, height)
        y += height + MARGIN
    legend, y = _legend(reading, y, inner, is_printed=not heading)
    size = inner + 2 * MARGIN, y + MARGIN / 2
    return Drawing(title, *size, (Rect(0, 0, *size, fill=PAPER), *shapes, *legend))


def _cards(reading: Reading) -> Iterator[Card]:
    start = values_box(reading)
    yield Card("", "Start", start[0] + 2 * PAD, start[1] + HEADER + PAD, reading)
    for k in range(len(reading.model.trees)):
        tree = node_box(reading, k)
        width, height = tree_size(tree)
        yield Card("+", f"Tree {k + 1}", width + 2 * PAD, height + HEADER + PAD, reading, tree)
    lines = _outcome(reading)
    width = max(text_width(line, 12) for line in lines) + 2 * PAD
    height = HEADER + len(lines) * 12 * LEADING + PAD
    yield Card("=", "Prediction", max(width, 110), height, reading)


def _outcome(reading: Reading) -> list[str]:
    lines = wrapped(reading.labels.outcome, 12, 130, lines=6)
    if reading.threshold is not None:
        rule = f"Above {reading.threshold[1]}: predict {reading.labels.decision}"
        lines += ["", *wrapped(rule, 12, 130, lines=4)]
    return lines


def _row(row: Sequence[Card], y: float, width: float, height: float) -> list[Shape]:
    spare = width - sum(card.room for card in row)
    growing = sum(card.width for card in row if card.tree is not None)
    stretch = min(STRETCH, spare / growing) if growing else 0.0
    shapes: list[Shape] = []
    x = MARGIN
    for card in row:
        if card.sign:
            shapes.append(
                Text(x + SIGN / 2, y + height / 2 + 8, card.sign, 22, INK, True, "middle")
            )
            x += SIGN
        wide = card.width * (1 + stretch) if card.tree is not None else card.width
        high = height if card.tree is not None else card.height
        shapes.append(_card(card, x, y + (height - high) / 2, wide, high))
        x += wide
    return shapes


def _card(card: Card, x: float, y: float, width: float, height: float) -> Compound:
    back = Rect(x, y, width, height, fill=CARD, stroke=EDGE, radius=8)
    title = Text(x + PAD, y + 19, card.title, 12, PALE_INK, bold=True)
    top = y + HEADER
    if card.tree is not None:
        placed = place_tree(card.tree, x + (width - tree_size(card.tree)[0]) / 2, top)
        return Compound("tree", (back, title, *_branches(placed), *_nodes(placed)))
    middle = x + width / 2
    if not card.sign:
        inside = values_shapes(card.reading, middle, top + (height - HEADER - PAD) / 2)
        return Compound("start", (back, title, *inside))
    lines = _outcome(card.reading)
    return Compound("prediction", (back, title, *paragraph(x + PAD, top, lines)))


def _branches(placed: Placed) -> Iterator[Shape]:
    """Lines from each split to the two boxes below it, with the answers on them."""
    for split in placed.walk():
        for below, answer in zip(split.below, answers(split.box)):
            bend = below.y - DROP + DROP * 0.28
            start, end = (split.middle, split.bottom), (below.middle, below.y)
            yield Line((start, (split.middle, bend), (below.middle, bend), end), LINE)
            wide = text_width(answer, 10.5) + 6
            yield Rect(below.middle - wide / 2, bend + 5, wide, 15, fill=CARD)
            yield Text(below.middle, bend + 16.5, answer, 10.5, PALE_INK, anchor="middle")


def _nodes(placed: Placed) -> Iterator[Shape]:
    for node in placed.walk():
        yield node_shapes(node)


def _heading(reading: Reading, title: str, width: float) -> tuple[list[Shape], float]:
    model = reading.model
    several = "s" if model.outputs > 1 else ""
    how = (
        f"Start at {reading.start}{several}. In each tree, answer the questions from the top down "
        f"to a leaf and add its value{several}. The sum is {reading.labels.outcome}."
    )
    titles, lines = wrapped(title, 18 * BOLD, width), wrapped(how, 12, width)
    for remark in (*(f"{remark}." for remark in model.remarks), *reading.labels.remarks):
        lines += wrapped(remark, 12, width)
    top = MARGIN - 2 + len(titles) * 18 * LEADING
    shapes = paragraph(MARGIN, MARGIN - 4, titles, 18, bold=True)
    shapes += paragraph(MARGIN, top, lines, 12, PALE_INK)
    return list(shapes), top + len(lines) * 12 * LEADING + 12


def _legend(
    reading: Reading, y: float, width: float, is_printed: bool
) -> tuple[list[Shape], float]:
    """What the colours and numbers mean, and the height at which the legend ends."""
    shapes: list[Shape] = []
    x = MARGIN
    for fill, text in ((RAISES, "raises the prediction"), (LOWERS, "lowers it")):
        shapes += [
            Rect(x, y + 2, 12, 9, fill=fill, radius=2),
            Text(x + 18, y + 11, text, 11, PALE_INK),
        ]
        x += text_width(text, 11) + 30
    own = any(tree.own_rows is not None for tree in reading.model.trees)
    notes = ["n: training rows of the group" if own else "n: training rows"]
    if reading.in_percent:
        notes.insert(0, "pp: percentage points")
    if reading.in_logarithms:
        notes.insert(0, f"values: {reading.scale}")
    if reading.model.splits:
        notes.insert(0, "full bar: " + reading.change(reading.largest).removeprefix("+"))
        notes += ["print(model) counts the average in tree 1"] if is_printed else []
    y += 11 * LEADING + 3
    lines = wrapped("  ·  ".join(notes), 11, width)
    shapes += paragraph(MARGIN, y, lines, 11, PALE_INK)
    return [Compound("legend", tuple(shapes))], y + len(lines) * 11 * LEADING
