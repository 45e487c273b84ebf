"""The picture of an explanation: bars that lead from the average, tree by tree, to the score.

On the left are the conditions that the row meets in each tree, with its values. On the right is a
column of bars for each output, all on one scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from figs_spark.pictures.axes import to_axes
from figs_spark.pictures.colours import CARD, INK, LINE, NEUTRAL, PALE_INK, PAPER, RAISES, colour
from figs_spark.pictures.lettering import (
    BOLD,
    LEADING,
    paragraph,
    pretty,
    shortened,
    text_width,
    wrapped,
)
from figs_spark.pictures.shapes import Compound, Drawing, Line, Rect, Shape, Text
from figs_spark.pictures.svg import to_html, to_svg
from figs_spark.treesum.explanation import Explanation, Met
from figs_spark.treesum.intervals import SHOWN

MARGIN = 18.0
NAME, CONDITION, VALUE = 88.0, 280.0, 110.0  # columns on the left
LEFT = MARGIN + NAME + CONDITION + VALUE + 10
PANELS, NARROWEST = 420.0, 150.0  # width of all columns of bars, and of one at least
BAR, SIZE, PAD = 16.0, 12.0, 8.0


@dataclass(frozen=True)
class Step:
    """A row of the picture: for each output a bar from one value to another."""

    name: str
    met: tuple[tuple[str, str], ...]  # conditions with values
    starts: tuple[float, ...]
    ends: tuple[float, ...]
    texts: tuple[str, ...]
    is_change: bool

    @property
    def lines(self) -> list[tuple[str, str]]:
        """The conditions in lines, with the value beside the first line of each."""
        lines = []
        for condition, value in self.met:
            first, *others = wrapped(pretty(condition), SIZE, CONDITION - 12)
            lines += [(first, shortened(value, SIZE, VALUE - 10)), *((line, "") for line in others)]
        return lines

    @property
    def height(self) -> float:
        return max(BAR, len(self.lines) * SIZE * LEADING) + 2 * PAD


@dataclass(frozen=True)
class Panel:
    """A column of bars, and the position of a value in it."""

    x: float
    width: float
    low: float
    high: float

    def at(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.x + self.width * min(1.0, max(0.0, share))


class DrawnExplanation(Explanation):
    """An explanation that shows itself in a notebook, and as a picture."""

    __module__ = "figs_spark"

    def plot(self, ax: Any = None) -> Any:
        """A waterfall from the average to the prediction; returns the matplotlib axes."""
        return to_axes(draw_explanation(self), ax)

    def toSVG(self) -> str:
        """The waterfall as SVG text, for a file or a web page."""
        return to_svg(draw_explanation(self))

    def _repr_html_(self) -> str:
        return to_html(draw_explanation(self))


def draw_explanation(explanation: Explanation) -> Drawing:
    labels = explanation.reading.labels
    steps = list(_steps(explanation))
    panels, width = _panels(explanation, steps)
    title = labels.subject
    if len(labels.outputs) == 1:
        title += f": {explanation.reading.predicted(explanation.prediction[0])}"
    titles = wrapped(title, 18 * BOLD, width - 2 * MARGIN)
    y = MARGIN + len(titles) * 18 * LEADING
    shapes: list[Shape] = [*paragraph(MARGIN, MARGIN - 4, titles, 18, bold=True)]
    shapes += _header(explanation, panels, y)
    top = y = y + 24
    bars: list[Shape] = []
    for k, step in enumerate(steps):
        band = (CARD, PAPER)[k % 2]
        shapes.append(Rect(MARGIN - 8, y, width - 2 * MARGIN + 16, step.height, fill=band))
        shapes += _words(step, y)
        following = steps[k + 1] if k + 1 < len(steps) else None
        bars.append(Compound("step", tuple(_bars(step, following, panels, y, band))))
        y += step.height
    guides = [_guide(panel, explanation, c, top, y) for c, panel in enumerate(panels)]
    size = width, y + MARGIN
    back = Rect(0, 0, *size, fill=PAPER)
    return Drawing(title, *size, (back, *shapes, *(g for two in guides for g in two), *bars))


def _steps(explanation: Explanation) -> Iterator[Step]:
    reading, total = explanation.reading, explanation.baseline
    zero = (0.0,) * len(total)
    texts = tuple(map(reading.absolute, total))
    yield Step("Start", ((reading.start, ""),), zero, total, texts, False)
    for k, (met, values) in enumerate(zip(explanation.conditions, explanation.contributions)):
        reached = tuple(a + b for a, b in zip(total, values))
        shown = tuple(map(_shown, met)) or (("always", ""),)
        texts = tuple(explanation.changed(k, value) for value in values)
        yield Step(f"Tree {k + 1}", shown, total, reached, texts, True)
        total = reached
    score = explanation.score
    yield Step("Sum", (), zero, score, tuple(map(reading.absolute, score)), False)
    if explanation.is_adjusted:
        prediction = explanation.prediction
        texts = tuple(map(reading.predicted, prediction))
        ends = score if reading.in_logarithms else prediction  # a risk has no place among these
        yield Step("Prediction", ((reading.rule, ""),), zero, ends, texts, False)
    if explanation.interval is not None:
        low, high = explanation.interval
        if reading.in_logarithms:
            low, high = (math.log(risk / (1 - risk)) for risk in (low, high))
        how = (("by bootstrap samples, for these splits", ""),)
        yield Step(SHOWN, how, (low,), (high,), (explanation.interval_text,), False)
    if reading.threshold is not None:
        at, text = reading.threshold
        words = reading.decided(explanation.prediction[0])
        yield Step("Threshold", ((words, ""),), (at,), (at,), (text,), False)


def _shown(met: Met) -> tuple[str, str]:
    """Condition and value; "or missing" is left out if the value is not missing. Of a set of
    categories only the value is shown."""
    if met.value == "missing":
        return met.condition, met.value
    if met.own and "{" in met.condition:  # a set; a single level is short, and says more
        return met.own, ""
    return met.condition.removesuffix(" or missing"), met.value


def _panels(explanation: Explanation, steps: Sequence[Step]) -> tuple[list[Panel], float]:
    """A panel for each output with room for the longest number, and the width of the picture."""
    count = len(explanation.score)
    values = [v for step in steps for v in (*step.starts, *step.ends) if math.isfinite(v)]
    low, high = min(0.0, *values), max(0.0, *values)
    high = high if high > low else low + 1.0
    number = max(text_width(text, SIZE, bold=True) for step in steps for text in step.texts) + 10
    wide = max(NARROWEST, PANELS / count)
    panels = [Panel(LEFT + c * (wide + number + 14), wide, low, high) for c in range(count)]
    return panels, panels[-1].x + wide + number + MARGIN


def _header(explanation: Explanation, panels: Sequence[Panel], y: float) -> Iterator[Shape]:
    yield Text(MARGIN + NAME, y + 16, "condition met", 10.5, PALE_INK)
    yield Text(MARGIN + NAME + CONDITION, y + 16, "value here", 10.5, PALE_INK)
    for name, panel in zip(explanation.reading.labels.outputs, panels):
        if name:
            yield Text(panel.x, y + 16, shortened(name, SIZE, panel.width), SIZE, INK, bold=True)


def _words(step: Step, y: float) -> Iterator[Shape]:
    lines = step.lines
    top = y + (step.height - max(1, len(lines)) * SIZE * LEADING) / 2
    yield from paragraph(MARGIN, top, [step.name], SIZE, bold=True)
    for k, (words, value) in enumerate(lines):
        base = top + SIZE * (LEADING * k + 1.0)
        ink = INK if step.is_change else PALE_INK
        yield Text(MARGIN + NAME, base, words, SIZE, ink)
        if value:
            yield Text(MARGIN + NAME + CONDITION, base, value, SIZE, PALE_INK)


def _bars(
    step: Step, following: Step | None, panels: Sequence[Panel], y: float, band: str
) -> Iterator[Rect | Line | Text]:
    """The bar of each output, its number, and a line down to where the next bar begins."""
    top = y + (step.height - BAR) / 2
    for c, panel in enumerate(panels):
        change = step.ends[c] - step.starts[c]
        ends = sorted((panel.at(step.starts[c]), panel.at(step.ends[c])))
        fill = colour(change) if step.is_change else (NEUTRAL if following else INK)
        ink = fill if step.is_change else INK
        yield Rect(ends[0], top, max(1.5, ends[1] - ends[0]), BAR, fill=fill, role="bar")
        wide = text_width(step.texts[c], SIZE, bold=True)
        yield Rect(ends[1] + 5, top, wide, BAR, fill=band)
        yield Text(ends[1] + 7, top + BAR / 2 + 4.5, step.texts[c], SIZE, ink, bold=True)
        if following and (following.is_change or step.is_change):
            position = panel.at(step.ends[c])
            end = y + step.height + (following.height - BAR) / 2
            yield Line(((position, top + BAR), (position, end)), LINE, 1.0)


def _guide(
    panel: Panel, explanation: Explanation, output: int, top: float, bottom: float
) -> list[Line]:
    """Vertical lines at 0, at the average, and at the operating point."""
    zero, mean = panel.at(0.0), panel.at(explanation.baseline[output])
    threshold = explanation.reading.threshold
    lines = [
        Line(((zero, top), (zero, bottom)), LINE, 1.0),
        Line(((mean, top), (mean, bottom)), LINE, 0.8, dashed=True),
    ]
    if threshold is not None:
        at = panel.at(threshold[0])
        lines.append(Line(((at, top), (at, bottom)), RAISES, 1.2, dashed=True))
    return lines
