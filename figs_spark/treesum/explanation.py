"""Why a model predicts what it does for one row: what each tree adds, and on which conditions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from figs_spark.treesum.nodes import CODE, Feature, Node, Split, TreeSum, is_missing
from figs_spark.treesum.reading import MINUS, Labels, Reading
from figs_spark.treesum.text import condition, number, value_text
from figs_spark.treesum.times import to_number
from figs_spark.treesum.visible import visible

if TYPE_CHECKING:
    import pandas as pd

Kind = TypeVar("Kind", bound="Explanation")


@dataclass(frozen=True)
class Met:
    """A condition that the row meets, and the row's value."""

    __module__ = "figs_spark"

    condition: str
    value: str


@dataclass(frozen=True)
class Explanation:
    """How the prediction of one row is built up from the average, tree by tree.

    `baseline` is the average of the outcome, `contributions` is what each tree adds to it, `score`
    is the sum. `prediction` is the score, or the probabilities computed from it. All have one entry
    per output: one for a number or two classes, else one per class. With the link "logit" all but
    the prediction are log odds.
    An explanation prints as text; `pictures.waterfall` draws it.
    """

    __module__ = "figs_spark"

    baseline: tuple[float, ...]
    contributions: tuple[tuple[float, ...], ...]
    conditions: tuple[tuple[Met, ...], ...]
    score: tuple[float, ...]
    prediction: tuple[float, ...]
    reading: Reading

    @classmethod
    def of(
        cls: type[Kind],
        model: TreeSum,
        labels: Labels,
        cells: Sequence[Any],
        prediction: Sequence[float] | None = None,
    ) -> Kind:
        """Explain one row, given as its values in the order of the features.

        `prediction` is needed only if it is not the score itself.
        """
        reading = Reading(model, labels)
        table = np.empty((1, len(cells)), dtype=object)
        table[0, :] = list(cells)
        leaves = model.leaf_indices(table)[0]
        score = tuple(float(v) for v in model.predict(table)[0])
        added, conditions = [], []
        for k, tree in enumerate(model.trees):
            turns, leaf = list(_leaves(tree))[leaves[k]]
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
            rows.append((f"Tree {k}", [reading.change(v) for v in values]))
            rows += [(f"    {m.condition} [{m.value}]", []) for m in met]
        rows.append(("Sum", [reading.absolute(v) for v in self.score]))
        if self.is_adjusted:
            rows.append(("Prediction", [reading.predicted(v) for v in self.prediction]))
        if reading.threshold is not None:
            rows.append(
                (f"Threshold: {reading.decided(self.prediction[0])}", [reading.threshold[1]])
            )
        lines = [reading.labels.subject, "", *_lines(rows, reading.labels.outputs)]
        return visible("\n".join(lines).replace(MINUS, "-"))

    @property
    def is_adjusted(self) -> bool:
        """Whether the prediction is not the score itself, but computed from it."""
        return not np.allclose(self.score, self.prediction, rtol=0, atol=1e-9)


def _leaves(
    node: Node, turns: tuple[tuple[Split, bool], ...] = ()
) -> Iterator[tuple[tuple[tuple[Split, bool], ...], Node]]:
    """Every leaf from left to right, with the splits above it and whether it is on their left."""
    if not (branches := node.branches):
        yield turns, node
        return
    split, left, right = branches
    yield from _leaves(left, (*turns, (split, True)))
    yield from _leaves(right, (*turns, (split, False)))


def _met(feature: Feature, split: Split, left: bool, cells: Sequence[Any]) -> Met:
    return Met(condition(feature, split, left), _value(feature, cells[split.feature]))


def _value(feature: Feature, cell: Any) -> str:
    if is_missing(np.array([cell], dtype=object))[0]:
        return "missing"
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
