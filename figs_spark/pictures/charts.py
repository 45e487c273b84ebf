"""Charts: lines and points on two axes, and figures with intervals below one another."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from figs_spark.pictures.colours import EDGE, INK, LINE, LOWERS, PALE_INK, PAPER, RAISES
from figs_spark.pictures.lettering import shortened, text_width
from figs_spark.pictures.shapes import Compound, Drawing, Line, Rect, Shape, Text

WIDTH, HEIGHT = 460.0, 340.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 16.0, 46.0, 46.0
SIZE, SMALL = 12.0, 11.0
MARK = 3.5  # radius of a point
COLOURS = (LOWERS, RAISES, PALE_INK, LINE)
ROW, NAME, VALUE = 26.0, 104.0, 160.0  # of a forest plot

Points = Sequence[tuple[float, float]]


@dataclass(frozen=True)
class Axis:
    """What is on an axis, and from where to where."""

    title: str
    low: float
    high: float
    percent: bool = True

    def share(self, value: float) -> float:
        return (min(self.high, max(self.low, value)) - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        step = _step((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def text(self, value: float) -> str:
        shown = 100 * value if self.percent else value
        step = _step((self.high - self.low) / 5) * (100 if self.percent else 1)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        return f"{shown + 0.0:.{decimals}f}{'%' if self.percent else ''}".replace("-", "\u2212")


def _step(least: float) -> float:
    """The next of 1, 2, 5, 10, ... in any power of ten."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= least * (1 - 1e-9))


@dataclass(frozen=True)
class Mark:
    """A point with the interval around it, up and down."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None
    tip: str = ""


@dataclass(frozen=True)
class Series:
    """A line, or points with intervals, under a name."""

    name: str
    line: Points = ()
    marks: Sequence[Mark] = ()
    dashed: bool = False


def draw_chart(title: str, x: Axis, y: Axis, series: Sequence[Series]) -> Drawing:
    """The series in the order of COLOURS, with a legend above them."""
    inner = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM

    def at(point: tuple[float, float]) -> tuple[float, float]:
        return (
            LEFT + x.share(point[0]) * inner[0],
            TOP + (1 - y.share(point[1])) * inner[1],
        )

    shapes: list[Shape] = [Rect(0, 0, WIDTH, HEIGHT, fill=PAPER)]
    shapes += _grid(x, y, at)
    for one, colour in zip(series, COLOURS):
        if one.line:
            points = tuple(map(at, one.line))
            shapes.append(Line(points, colour, 1.6 if one.dashed else 2.2, one.dashed))
        shapes += [_mark(mark, colour, at) for mark in one.marks]
    shapes += _legend(series)
    return Drawing(title, WIDTH, HEIGHT, tuple(shapes))


def _grid(
    x: Axis, y: Axis, at: Callable[[tuple[float, float]], tuple[float, float]]
) -> Iterator[Shape]:
    left, bottom = at((x.low, y.low))
    right, top = at((x.high, y.high))
    for value in y.ticks():
        height = at((x.low, value))[1]
        yield Line(((left, height), (right, height)), EDGE, 1.0)
        yield Text(left - 7, height + 4, y.text(value), SMALL, PALE_INK, anchor="end")
    for value in x.ticks():
        place = at((value, y.low))[0]
        yield Line(((place, bottom), (place, bottom + 4)), LINE, 1.0)
        yield Text(place, bottom + 17, x.text(value), SMALL, PALE_INK, anchor="middle")
    yield Line(((left, bottom), (right, bottom)), LINE, 1.0)
    yield Text((left + right) / 2, HEIGHT - 8, x.title, SIZE, INK, anchor="middle")
    yield Text(8, top - 8, shortened(y.title, SIZE, WIDTH - 16), SIZE, INK)


def _mark(
    mark: Mark, colour: str, at: Callable[[tuple[float, float]], tuple[float, float]]
) -> Compound:
    x, y = at((mark.x, mark.y))
    shapes: list[Shape] = []
    if mark.low is not None and mark.high is not None:
        shapes.append(Line((at((mark.x, mark.low)), at((mark.x, mark.high))), colour, 1.2))
    shapes.append(Rect(x - MARK, y - MARK, 2 * MARK, 2 * MARK, fill=colour, radius=MARK))
    return Compound("mark", tuple(shapes), mark.tip)


def _legend(series: Sequence[Series]) -> Iterator[Shape]:
    x = 8.0
    for one, colour in zip(series, COLOURS):
        if not one.name:
            continue
        if one.line:
            yield Line(((x, 14), (x + 18, 14)), colour, 2.2, one.dashed)
        else:
            yield Rect(x + 6, 14 - MARK, 2 * MARK, 2 * MARK, fill=colour, radius=MARK)
        yield Text(x + 24, 18, one.name, SMALL, INK)
        x += 24 + text_width(one.name, SMALL) + 14


@dataclass(frozen=True)
class Interval:
    """A line of a forest plot; without a value it is a heading, or a group that is not shown."""

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    text: str = ""
    is_whole: bool = False


def draw_forest(
    title: str, lines: Sequence[Interval], axis: Axis, reference: float | None = None
) -> Drawing:
    """Names on the left, intervals in the middle, numbers on the right."""
    width = WIDTH
    left, right = 12 + NAME, width - VALUE
    height = 34 + ROW * len(lines) + 34
    bottom = height - 34

    def at(value: float) -> float:
        return left + axis.share(value) * (right - left)

    shapes: list[Shape] = [Rect(0, 0, width, height, fill=PAPER)]
    shapes.append(Text(left, 20, axis.title, SIZE, INK, True))
    for value in axis.ticks():
        shapes.append(Line(((at(value), 28), (at(value), bottom)), EDGE, 1.0))
        shapes.append(
            Text(at(value), bottom + 18, axis.text(value), SMALL, PALE_INK, False, "middle")
        )
    if reference is not None:
        shapes.append(Line(((at(reference), 28), (at(reference), bottom)), LINE, 1.2, True))
    for k, line in enumerate(lines):
        shapes.append(_interval(line, 34 + ROW * k + ROW / 2, at, right))
    return Drawing(title, width, height, tuple(shapes))


def _interval(line: Interval, y: float, at: Callable[[float], float], right: float) -> Compound:
    name = shortened(line.name, SIZE, NAME - 6)
    is_heading = line.value is None and not line.text
    shapes: list[Shape] = [Text(12, y + 4, name, SIZE, INK, line.is_whole or is_heading)]
    if line.value is not None:
        low = line.value if line.low is None else line.low
        high = line.value if line.high is None else line.high
        colour = INK if line.is_whole else LOWERS
        shapes.append(Line(((at(low), y), (at(high), y)), colour, 2.0))
        size = 2 * MARK + 1
        shapes.append(
            Rect(at(line.value) - size / 2, y - size / 2, size, size, fill=colour, radius=1)
        )
    shapes.append(Text(right + 12, y + 4, line.text, SIZE, INK if line.value else PALE_INK))
    return Compound("interval", tuple(shapes), line.name)
