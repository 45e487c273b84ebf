"""Why a model predicts what it does for one row: what each tree adds, and on which conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from figs_spark.treesum.intervals import SHOWN, Interval, leaf_intervals
from figs_spark.treesum.nodes import BOOLEAN, CODE, Feature, Split, TreeSum, is_missing
from figs_spark.treesum.paths import turns_to_leaves
from figs_spark.treesum.reading import MINUS, Labels, Reading
from figs_spark.treesum.text import CATEGORIES_SHOWN, condition, number, value_text
from figs_spark.treesum.times import to_number
from figs_spark.treesum.visible import visible

if TYPE_CHECKING:
    import pandas as pd

MISSING = "missing"
Kind = TypeVar("Kind", bound="Explanation")


@dataclass(frozen=True)
class Met:
    """A condition that the row meets, and the row's value."""

    __module__ = "figs_spark"

    condition: str
    value: str
    own: str = ""  # of a set: the row's own value alone


@dataclass(frozen=True)
class Explanation:
    """How the prediction of one row is built up from the average, tree by tree.

    `baseline` is the average of the outcome, `contributions` is what each tree adds to it, `score`
    is the sum. `prediction` is the score, or the probabilities computed from it. All have one entry
    per output: one for a number or two classes, else one per class. With the link "logit" all but
    the prediction are log odds, with "softmax" logarithms of the weights of classes. If the model
    has bootstrap samples and one output, `interval` is that of the prediction, and `tree_intervals`
    are those of the contributions.
    An explanation prints as text; `pictures.waterfall` draws it.
    """

    __module__ = "figs_spark"

    baseline: tuple[float, ...]
    contributions: tuple[tuple[float, ...], ...]
    conditions: tuple[tuple[Met, ...], ...]
    score: tuple[float, ...]
    prediction: tuple[float, ...]
    reading: Reading
    interval: tuple[float, float] | None = None
    tree_intervals: tuple[tuple[float, float], ...] | None = None

    @classmethod
    def of(
        cls: type[Kind],
        model: TreeSum,
        labels: Labels,
        cells: Sequence[Any],
        prediction: Sequence[float] | None = None,
        interval: Sequence[tuple[float, float]] | None = None,
    ) -> Kind:
        """Explain one row, given as its values in the order of the features.

        `prediction` is needed only if it is not the score itself; `interval` has that of each
        output.
        """
        reading = Reading(model, labels)
        table = np.empty((1, len(cells)), dtype=object)
        table[0, :] = list(cells)
        leaves = model.leaf_indices(table)[0]
        score = tuple(float(v) for v in model.predict(table)[0])
        added, conditions = [], []
        for k, tree in enumerate(model.trees):
            turns, leaf = list(turns_to_leaves(tree))[leaves[k]]
            added.append(reading.added(k, leaf.value))
            conditions.append(
                tuple(_met(model.features[s.feature], s, left, cells) for s, left in turns)
            )
        return cls(
            baseline=model.constant,
            contributions=tuple(added),
            conditions=tuple(conditions),
            score=score,
            prediction=score if prediction is None else tuple(map(float, prediction)),
            reading=reading,
            interval=interval[0] if interval and len(interval) == 1 else None,
            tree_intervals=_tree_intervals(model, reading, leaves),
        )

    @property
    def table(self) -> pd.DataFrame:
        """One row per tree: the conditions that the row meets, and what the tree adds."""
        import pandas as pd

        names = self.reading.labels.outputs
        columns = ["value"] if len(names) == 1 else [f"value_{name}" for name in names]
        texts = [" and ".join(f"{m.condition} [{m.value}]" for m in met) for met in self.conditions]
        records = [
            [k, text or "always", *values]
            for k, (text, values) in enumerate(zip(texts, self.contributions), start=1)
        ]
        return pd.DataFrame(records, columns=["tree", "path", *columns])

    def __str__(self) -> str:
        reading = self.reading
        rows = [(f"Start: {reading.start}", [reading.absolute(v) for v in self.baseline])]
        for k, (met, values) in enumerate(zip(self.conditions, self.contributions), start=1):
            rows.append((f"Tree {k}", [self.changed(k - 1, v) for v in values]))
            rows += [(f"    {m.condition} [{m.value}]", []) for m in met]
        rows.append(("Sum", [reading.absolute(v) for v in self.score]))
        if self.is_adjusted:
            rows.append(("Prediction", [reading.predicted(v) for v in self.prediction]))
        if self.interval is not None:
            rows.append((SHOWN, [self.interval_text]))
        if reading.threshold is not None:
            rows.append(
                (f"Threshold: {reading.decided(self.prediction[0])}", [reading.threshold[1]])
            )
        lines = [reading.labels.subject, "", *_lines(rows, reading.labels.outputs)]
        return visible("\n".join(lines).replace(MINUS, "-"))

    def changed(self, tree: int, value: float) -> str:
        """What a tree (from 0) adds, as text, with its interval if there is one."""
        text = self.reading.change(value)
        if self.tree_intervals is None:
            return text
        low, high = map(self.reading.change, self.tree_intervals[tree])
        return f"{text} ({low} to {high})"

    @property
    def interval_text(self) -> str:
        """The interval of the prediction as text."""
        low, high = map(self.reading.predicted, self.interval or (0.0, 0.0))
        return f"{low} to {high}"

    @property
    def is_adjusted(self) -> bool:
        """Whether the prediction is not the score itself, but computed from it."""
        return not np.allclose(self.score, self.prediction, rtol=0, atol=1e-9)


def _tree_intervals(
    model: TreeSum, reading: Reading, leaves: Sequence[int]
) -> tuple[Interval, ...] | None:
    """Of one row: the interval of what each tree adds to the average."""
    if model.samples is None or model.outputs > 1:
        return None
    intervals = []
    for k, (of_tree, leaf) in enumerate(zip(leaf_intervals(model), leaves, strict=True)):
        ((low,), (high,)) = (reading.added(k, (end,)) for end in of_tree[leaf][0])
        intervals.append((low, high))
    return tuple(intervals)


def _met(feature: Feature, split: Split, left: bool, cells: Sequence[Any]) -> Met:
    value = _value(feature, cells[split.feature])
    text = condition(feature, split, left, CATEGORIES_SHOWN)
    is_set = split.categories is not None and feature.kind != BOOLEAN and not feature.ordered
    return Met(text, value, f"{feature.name} = {value}" if is_set and value != MISSING else "")


def _value(feature: Feature, cell: Any) -> str:
    if is_missing(np.array([cell], dtype=object))[0]:
        return MISSING
    if feature.is_time:
        return value_text(feature, float(to_number(feature.kind, cell)))
    if feature.categories is None:
        return number(float(cell))
    if cell in feature.categories:
        category = feature.categories[feature.categories.index(cell)]
        return str(category).lower() if isinstance(category, bool) else feature.label(category)
    return number(float(cell)) if feature.kind == CODE else str(cell)


def _lines(rows: Sequence[tuple[str, list[str]]], outputs: Sequence[str]) -> Iterator[str]:
    """The rows as text in columns."""
    if len(outputs) > 1:
        rows = [("", list(outputs)), *rows]
    first = max(len(label) for label, _ in rows)
    wide = max(len(text) for _, texts in rows for text in texts)
    for label, texts in rows:
        yield "  ".join([label.ljust(first), *(text.rjust(wide) for text in texts)]).rstrip()
