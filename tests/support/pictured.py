"""Models whose pictures are looked at: clinical, deep, lopsided, of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.reading import Labels

RISK = Labels("Probability of death = 1", "the probability of death = 1", percent=True)
DAYS = Labels("Prediction of days", "the prediction of days")
CARE = Labels("Score of each class", "the score", True, ("home", "ward", "intensive <care> & co"))
FEATURES = (
    Feature("gcs_total"),
    Feature("systolic blood pressure on arrival at the emergency department (mmHg)"),
    Feature("abdominal tenderness", (False, True)),
    Feature("mechanism", ("fall", "motor <vehicle>", 'bike & "car"', "größe", "収縮期血圧")),
    Feature("lactate<4 & pH>7"),
    Feature("Averyveryverylongnamewithoutanyplacetobreakitintosmallerpartsatall"),
)


def trauma() -> TreeSum:
    """Three trees of two, two and one splits; the average is 4%."""
    first = _node(
        Split(0, 0, 5.0, False, threshold=8.5),
        _leaf(0.5, 1_383),
        _node(Split(0, 3, 1.0, True, threshold=13.5), _leaf(0.19, 3_549), _leaf(0.02, 64_923)),
    )
    second = _node(
        Split(2, 1, 3.0, True, categories=(False,)),
        _leaf(-0.01, 60_000),
        _node(Split(1, 4, 1.0, False, threshold=90.0), _leaf(0.25, 855), _leaf(0.0, 9_000)),
    )
    vehicles = ("motor <vehicle>", 'bike & "car"')
    third = _node(
        Split(3, 2, 2.0, False, categories=vehicles, listed_left=False),
        _leaf(-0.005, 50_000),
        _leaf(0.03, 19_855),
    )
    return TreeSum(FEATURES, (first, second, third), (0.04,), (1.0,) * 6)


def full(depth: int, trees: int = 1, outputs: int = 1) -> TreeSum:
    """Trees with all their leaves at the same depth, over all features in turn."""
    random = Random(depth)
    steps = iter(range(trees * 2**depth))

    def grown(depth: int) -> Node:
        if depth == 0:
            return _leaf([random.gauss(0, 0.2) for _ in range(outputs)], random.randrange(10**6))
        return _node(split(next(steps)), grown(depth - 1), grown(depth - 1))

    def split(step: int) -> Split:
        j = random.randrange(len(FEATURES))
        known = FEATURES[j].categories
        if known is None:
            return Split(j, step, 1.0, random.random() < 0.5, threshold=random.gauss(50, 1))
        listed = tuple(random.sample(known, random.randrange(1, len(known))))
        return Split(j, step, 1.0, random.random() < 0.5, None, listed, random.random() < 0.5)

    roots = tuple(grown(depth) for _ in range(trees))
    return TreeSum(FEATURES, roots, (0.1,) * outputs, (1.0,) * (trees * (2**depth - 1) + 1))


def labels_of(model: TreeSum) -> Labels:
    return CARE if model.outputs == 3 else RISK


def _leaf(value: float | Sequence[float], rows: int) -> Node:
    values = (value,) if isinstance(value, float) else tuple(value)
    return Node(values, rows, float(rows))


def _node(split: Split, left: Node, right: Node) -> Node:
    rows = left.rows + right.rows
    return Node((0.0,) * len(left.value), rows, float(rows), split, left, right)
