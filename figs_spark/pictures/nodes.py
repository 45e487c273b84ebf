"""The boxes of a tree: a split asks its question, a leaf shows its values as bars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from figs_spark.pictures.colours import EDGE, INK, LINE, PALE_INK, PAPER, colour
from figs_spark.pictures.colours import TRACK as BEHIND
from figs_spark.pictures.layout import Box, Placed
from figs_spark.pictures.lettering import LEADING, paragraph, pretty, shortened, text_width, wrapped
from figs_spark.pictures.shapes import Compound, Rect, Shape, Text
from figs_spark.treesum import Node
from figs_spark.treesum.reading import Reading
from figs_spark.treesum.text import CATEGORIES_SHOWN, question, row_texts

QUESTION = 164.0  # widest line of a question
LINES = 6
PAD = 10.0
TRACK, BAR = 72.0, 9.0  # width of the room for a bar, to both sides; its height
NAME, ROW = 92.0, 17.0  # of an output, if there are several
SMALL = 10.5


@dataclass(frozen=True)
class Asked:
    """What a split shows."""

    lines: tuple[str, ...]
    rows: str
    answers: tuple[str, str]
    tip: str


@dataclass(frozen=True)
class Answered:
    """What a leaf shows."""

    values: tuple[float, ...]
    rows: str
    reading: Reading


def node_box(reading: Reading, tree: int) -> Box:
    """The tree as boxes to be placed; the answer yes leads to the left."""
    root = reading.model.trees[tree]
    return _box(reading, tree, root, row_texts(root, reading.labels.small_cell))


def answers(box: Box) -> tuple[str, str]:
    """The words on the two lines that leave a split."""
    return box.content.answers if isinstance(box.content, Asked) else ("", "")


def node_shapes(placed: Placed) -> Compound:
    if isinstance(placed.box.content, Asked):
        return _asked(placed, placed.box.content)
    return _answered(placed, placed.box.content)


def values_box(reading: Reading) -> tuple[float, float]:
    """Width and height of the averages."""
    texts = [reading.absolute(v) for v in reading.model.constant]
    words = text_width(_start(reading), SMALL)
    if len(texts) == 1:
        return max(text_width(texts[0], 16, bold=True), words), 40.0
    wide = max(text_width(text, 11, bold=True) for text in texts)
    return max(_name_width(reading) + 8 + wide, words), len(texts) * ROW + 18


def _start(reading: Reading) -> str:
    return reading.start + "s" * (reading.model.outputs > 1)


def values_shapes(reading: Reading, middle: float, centre: float) -> Iterator[Shape]:
    """The average of each output, centred on this point."""
    width, height = values_box(reading)
    top, texts = centre - height / 2, [reading.absolute(v) for v in reading.model.constant]
    if len(texts) == 1:
        yield Text(middle, top + 18, texts[0], 16, INK, True, "middle")
    else:
        for k, (name, text) in enumerate(zip(reading.labels.outputs, texts)):
            y = top + ROW * k + 12
            yield Text(middle - width / 2, y, shortened(name, 11, NAME), 11, PALE_INK)
            yield Text(middle + width / 2, y, text, 11, INK, True, "end")
    yield Text(middle, top + height - 6, _start(reading), SMALL, PALE_INK, anchor="middle")


def _box(reading: Reading, tree: int, node: Node, rows: Callable[[Node], str]) -> Box:
    if not (branches := node.branches):
        return _leaf_box(reading, Answered(reading.added(tree, node.value), rows(node), reading))
    split, left, right = branches
    feature = reading.model.features[split.feature]
    text, yes_left, missing = question(feature, split, CATEGORIES_SHOWN)
    yes, no = (left, right) if yes_left else (right, left)
    words = tuple(f"{word} or missing" if word == missing else word for word in ("yes", "no"))
    lines = tuple(wrapped(pretty(text) + "?", 12, QUESTION, LINES))
    asked = Asked(lines, rows(node), (words[0], words[1]), question(feature, split)[0])
    count = text_width(_count(asked.rows), SMALL)
    width = max(count, *(text_width(line, 12) for line in lines)) + 2 * PAD
    height = len(lines) * 12 * LEADING + SMALL * LEADING + PAD
    boxes = (_box(reading, tree, yes, rows), _box(reading, tree, no, rows))
    return Box(width, height, boxes, asked)


def _leaf_box(reading: Reading, leaf: Answered) -> Box:
    texts = [reading.change(v) for v in leaf.values]
    count = text_width(_count(leaf.rows), SMALL)
    if len(texts) == 1:
        width = max(TRACK, count, text_width(texts[0], 13, bold=True))
        return Box(width + PAD, 58.0, content=leaf)
    wide = _name_width(reading) + 6 + TRACK + 6 + _change_width(reading, texts)
    return Box(max(wide, count) + 2 * PAD, len(texts) * ROW + 26, content=leaf)


def _asked(placed: Placed, asked: Asked) -> Compound:
    box, middle = placed.box, placed.middle
    shapes: tuple[Shape, ...] = (
        Rect(placed.x, placed.y, box.width, box.height, fill=PAPER, stroke=LINE, radius=6),
        *paragraph(middle, placed.y + PAD / 2 - 1, asked.lines, 12, anchor="middle"),
        Text(middle, placed.bottom - 7, _count(asked.rows), SMALL, PALE_INK, anchor="middle"),
    )
    return Compound("split", shapes, asked.tip)


def _answered(placed: Placed, leaf: Answered) -> Compound:
    box, reading = placed.box, leaf.reading
    texts = [reading.change(v) for v in leaf.values]
    back = Rect(placed.x, placed.y, box.width, box.height, fill=PAPER, stroke=EDGE, radius=6)
    count = Text(
        placed.middle, placed.bottom - 7, _count(leaf.rows), SMALL, PALE_INK, anchor="middle"
    )
    if len(texts) == 1:
        value = leaf.values[0]
        head = Text(placed.middle, placed.y + 18, texts[0], 13, colour(value), True, "middle")
        bar = _bar(reading, value, placed.middle, placed.y + 26)
        return Compound("leaf", (back, head, *bar, count))
    return Compound("leaf", (back, *_table(placed, leaf, texts), count))


def _table(placed: Placed, leaf: Answered, texts: Sequence[str]) -> Iterator[Shape]:
    """A row per output: its name, the bar, the value."""
    reading = leaf.reading
    middle = placed.x + PAD + _name_width(reading) + 6 + TRACK / 2
    for k, (name, value, text) in enumerate(zip(reading.labels.outputs, leaf.values, texts)):
        y = placed.y + 5 + ROW * k
        yield Text(placed.x + PAD, y + 12, shortened(name, 11, NAME), 11, INK)
        yield from _bar(reading, value, middle, y + 4)
        right = placed.x + placed.box.width - PAD
        yield Text(right, y + 12, text, 11, colour(value), True, "end")


def _bar(reading: Reading, value: float, middle: float, y: float) -> Iterator[Shape]:
    """A bar to the right if the value raises the prediction, to the left if it lowers it."""
    yield Rect(middle - TRACK / 2, y, TRACK, BAR, fill=BEHIND, radius=2)
    share = min(1.0, abs(value) / reading.largest)
    length = max(1.5, share * TRACK / 2)
    yield Rect(middle - 0.5, y - 2, 1, BAR + 4, fill=LINE)
    start = middle if value >= 0 else middle - length
    yield Rect(start, y, length, BAR, fill=colour(value), role="bar")


def _name_width(reading: Reading) -> float:
    return min(NAME, max(text_width(name, 11) for name in reading.labels.outputs))


def _change_width(reading: Reading, texts: Sequence[str]) -> float:
    return max(text_width(text, 11, bold=True) for text in texts)


def _count(rows: str) -> str:
    return f"n = {rows}" if rows else ""
