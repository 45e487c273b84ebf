"""Which features the models of several groups use, side by side: a line per feature, a column per
group, and in each cell the questions that the group's trees ask about the feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from figs_spark.pictures.colours import EDGE, INK, LOWERS, PALE_INK, PAPER
from figs_spark.pictures.lettering import BOLD, LEADING, paragraph, pretty, shortened, wrapped
from figs_spark.pictures.shapes import Compound, Drawing, Line, Rect, Shape, Text
from figs_spark.treesum import TreeSum
from figs_spark.treesum.text import question

MARGIN, NAME = 18.0, 170.0
WIDTH, NARROWEST, WIDEST = 1080.0, 88.0, 200.0  # of the picture, and of a column
SIZE, SMALL = 12.0, 10.5
HEAD = 40.0
MOST_QUESTIONS = 3  # in a cell


def used_features(sums: Sequence[TreeSum]) -> list[int]:
    """The features that some group splits on, by their share of the gain over all groups."""
    shares = np.mean([one.importances() for one in sums], axis=0)
    used = {split.feature for one in sums for split in one.splits}
    return sorted(used, key=lambda j: (-shares[j], j))


def questions(model: TreeSum, feature: int) -> list[str]:
    """What a model asks about a feature, without the name, in the order of the splits."""
    own = [split for split in model.splits if split.feature == feature]
    texts = [question(model.features[feature], split)[0] for split in own]
    name = model.features[feature].name
    for quoted in (f'"{name}"', name):
        texts = [text.removeprefix(quoted) for text in texts]
    return list(dict.fromkeys(pretty(text).strip() or "yes or no" for text in texts))


def draw_overview(title: str, sums: Mapping[str, TreeSum]) -> Drawing:
    """`sums` are the models by the name of their group."""
    models = list(sums.values())
    features = used_features(models)
    room = (WIDTH - 2 * MARGIN - NAME) / len(models)
    column = min(WIDEST, max(NARROWEST, room))
    width = max(560.0, 2 * MARGIN + NAME + column * len(models))
    notes = (
        "What each group's trees ask, in the order of the splits. The darker a cell, the larger "
        "the feature's share of the gain in that group; an empty cell: the group does not use it."
    )
    titles = wrapped(title, 18 * BOLD, width - 2 * MARGIN)
    lines = wrapped(notes, SIZE, width - 2 * MARGIN)
    top = MARGIN - 2 + len(titles) * 18 * LEADING
    shapes: list[Shape] = [*paragraph(MARGIN, MARGIN - 4, titles, 18, bold=True)]
    shapes += paragraph(MARGIN, top, lines, SIZE, PALE_INK)
    y = top + len(lines) * SIZE * LEADING + 10
    shapes += _heads(sums, column, y)
    y += HEAD
    shares = [model.importances() for model in models]
    for j in features:
        row = _row(models, j, [float(share[j]) for share in shares], column, y)
        shapes.append(row)
        y += _height(models, j)
    back = Rect(0, 0, width, y + MARGIN, fill=PAPER)
    return Drawing(title, width, y + MARGIN, (back, *shapes))


def _heads(sums: Mapping[str, TreeSum], column: float, y: float) -> Iterator[Shape]:
    room = column - 8
    rows = [model.trees[0].shown_rows if model.trees else 0 for model in sums.values()]
    splits = [len(model.splits) for model in sums.values()]
    sizes = [f"{k} split{'s' * (k != 1)}, n {n:,}" for k, n in zip(splits, rows)]
    if any(shortened(size, SMALL, room) != size for size in sizes):  # of rows no count is cut
        sizes = [f"n {n:,}" for n in rows]
    for k, (name, size) in enumerate(zip(sums, sizes)):
        x = MARGIN + NAME + k * column
        yield Text(x + 5, y + 13, shortened(name, SIZE * BOLD, room), SIZE, INK, True)
        yield Text(x + 5, y + 28, shortened(size, SMALL, room), SMALL, PALE_INK)


def _height(models: Sequence[TreeSum], feature: int) -> float:
    most = max(len(_lines(model, feature)) for model in models)
    return max(1, most) * SMALL * LEADING + 10


def _lines(model: TreeSum, feature: int) -> list[str]:
    asked = questions(model, feature)
    if len(asked) <= MOST_QUESTIONS:
        return asked
    return [*asked[: MOST_QUESTIONS - 1], f"{len(asked) - MOST_QUESTIONS + 1} more"]


def _row(
    models: Sequence[TreeSum], feature: int, shares: Sequence[float], column: float, y: float
) -> Compound:
    name = models[0].features[feature].name
    height = _height(models, feature)
    end = MARGIN + NAME + column * len(models)
    shapes: list[Shape] = [
        Line(((MARGIN, y), (end, y)), EDGE, 1.0),
        Text(MARGIN, y + 17, shortened(name, SIZE, NAME - 10), SIZE, INK),
    ]
    for k, (model, share) in enumerate(zip(models, shares)):
        lines = _lines(model, feature)
        if not lines:
            continue
        x = MARGIN + NAME + k * column
        shapes.append(Rect(x + 1, y + 1, column - 2, height - 2, fill=_shade(share), role="bar"))
        short = [shortened(line, SMALL, column - 10) for line in lines]
        shapes += paragraph(x + 5, y + 4, short, SMALL)
    return Compound("feature", tuple(shapes), name)


def _shade(share: float) -> str:
    """White to half of the colour, by the share."""
    strength = 0.08 + 0.5 * min(1.0, max(0.0, share))
    parts = (int(LOWERS[k : k + 2], 16) for k in (1, 3, 5))
    return "#" + "".join(f"{round(255 - strength * (255 - part)):02x}" for part in parts)
