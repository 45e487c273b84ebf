"""Where the boxes go: a tree from the root down, and cards of trees in rows, like words on a page.

A tree is packed tightly: two subtrees move together until, at some depth, their boxes are one gap
apart. All boxes of one depth begin at the same height, so boxes of different depths cannot touch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

GAP = 14.0  # between boxes side by side
DROP = 42.0  # between boxes above one another: room for a line and the answer on it


@dataclass(frozen=True)
class Box:
    """A box to be placed, and the two below it, if any."""

    width: float
    height: float
    below: tuple[Box, ...] = ()
    content: Any = None


@dataclass(frozen=True)
class Placed:
    """A box with its top left corner."""

    x: float
    y: float
    box: Box
    below: tuple[Placed, ...] = ()

    @property
    def middle(self) -> float:
        return self.x + self.box.width / 2

    @property
    def bottom(self) -> float:
        return self.y + self.box.height

    def walk(self) -> Iterator[Placed]:
        yield self
        for placed in self.below:
            yield from placed.walk()


@dataclass(frozen=True)
class _Spread:
    """A subtree seen from the middle of its root; `outline` is (left, right) at each depth."""

    box: Box
    outline: list[tuple[float, float]]
    apart: float = 0.0  # distance between the middles of the two below
    below: tuple[_Spread, ...] = ()


def tree_size(box: Box) -> tuple[float, float]:
    """Width and height of a placed tree."""
    left, right = _extent(_spread(box).outline)
    heights = _heights([box])
    return right - left, sum(heights) + DROP * (len(heights) - 1)


def place_tree(box: Box, x: float, y: float) -> Placed:
    """The tree with its leftmost box at x and its root at y."""
    spread = _spread(box)
    tops = [y]
    for height in _heights([box]):
        tops.append(tops[-1] + height + DROP)
    return _settled(spread, x - _extent(spread.outline)[0], tops, 0)


def rows_of(widths: Sequence[float], limit: float) -> list[list[int]]:
    """The indices of cards, in as few rows as the limit allows, and rows of similar width.

    If a card is wider than the limit, its width is the limit.
    """
    smallest = max(widths)
    limit = max(limit, smallest)
    fewest = len(_filled(widths, limit))
    while limit - smallest > 1.0:
        middle = (smallest + limit) / 2
        if len(_filled(widths, middle)) > fewest:
            smallest = middle
        else:
            limit = middle
    return _filled(widths, limit)


def _filled(widths: Sequence[float], limit: float) -> list[list[int]]:
    rows: list[list[int]] = [[]]
    for k, width in enumerate(widths):
        taken = sum(widths[i] for i in rows[-1])
        if rows[-1] and taken + width > limit:
            rows.append([])
        rows[-1].append(k)
    return rows


def _spread(box: Box) -> _Spread:
    edges = (-box.width / 2, box.width / 2)
    if not box.below:
        return _Spread(box, [edges])
    left, right = (_spread(child) for child in box.below)
    apart = GAP + max(a[1] - b[0] for a, b in zip(left.outline, right.outline))
    outline = [edges]
    for a, b in zip_longest(left.outline, right.outline):
        first, last = a or b, b or a
        starts = first[0] + (-apart if a else apart) / 2
        ends = last[1] + (apart if b else -apart) / 2
        outline.append((starts, ends))
    return _Spread(box, outline, apart, (left, right))


def _settled(spread: _Spread, middle: float, tops: Sequence[float], depth: int) -> Placed:
    sides = zip(spread.below, (-spread.apart / 2, spread.apart / 2))
    below = tuple(_settled(child, middle + shift, tops, depth + 1) for child, shift in sides)
    return Placed(middle - spread.box.width / 2, tops[depth], spread.box, below)


def _extent(outline: Sequence[tuple[float, float]]) -> tuple[float, float]:
    return min(left for left, _ in outline), max(right for _, right in outline)


def _heights(boxes: Sequence[Box]) -> list[float]:
    """The height of the tallest box at each depth, these boxes first."""
    heights = []
    while boxes:
        heights.append(max(box.height for box in boxes))
        boxes = [child for box in boxes for child in box.below]
    return heights
