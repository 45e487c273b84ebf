"""What is exported: sums of trees, what their scores stand for, and the columns they read.

A FIGS is one sum; the score of Bagging-FIGS is the mean of what its members expect; G-FIGS has one
sum per group, and a row of any other group has no prediction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from figs_spark.treesum import Feature, TreeSum
from figs_spark.treesum.nodes import IDENTITY, LOGIT, SOFTMAX
from figs_spark.treesum.prediction import THRESHOLD, Outcome
from figs_spark.treesum.text import rules
from figs_spark.treesum.times import UNITS

Group = str | int | bool
Kind = Literal["sum", "mean", "groups"]
Patient = Mapping[str, Any]  # a value for each column that the model reads; None is missing

HIGH, LOW = "high", "low"
LOGARITHMS = {
    LOGIT: "The leaf values of a sum add up to log odds; the probability is their logistic "
    "function, 1 over 1 + exp(-sum).",
    SOFTMAX: "The leaf values of a sum add up to the log weight of each class; the probability of "
    "a class is its softmax, exp(sum) over the total of exp(sum) of all classes.",
}


@dataclass(frozen=True)
class Result:
    """What a model says of one row; all is empty for a row of a group that it does not know."""

    score: tuple[float, ...] = ()
    probability: tuple[float, ...] = ()  # of class 1 of two, of each of more; none for a number
    prediction: float | None = None
    risk_group: str | None = None
    contributions: tuple[tuple[float, ...], ...] = ()  # a tuple per tree
    rules: tuple[str, ...] = ()


@dataclass(frozen=True)
class Family:
    """The sums of trees of a model, and how they make a score."""

    kind: Kind
    sums: tuple[TreeSum, ...]
    groups: tuple[Group, ...] = ()  # of each sum
    group_column: str | None = None
    notes: tuple[str, ...] = ()

    def with_notes(self, notes: tuple[str, ...]) -> Family:
        return replace(self, notes=(*self.notes, *notes))

    @property
    def link(self) -> str:
        """What makes probabilities of the scores of a sum."""
        return self.sums[0].link if self.sums else IDENTITY


@dataclass(frozen=True)
class Instrument:
    """A fitted model as plain data, ready to be written in another language."""

    title: str  # "FIGSClassificationModel"
    subject: str  # "Probability of died = 1"
    family: Family
    outcome: Outcome  # what the score of one sum stands for
    columns: tuple[str, ...]  # of each feature the column that holds it
    fingerprint: str
    version: str  # of the library
    threshold: float = THRESHOLD
    thresholds: tuple[float, ...] | None = None
    class_names: tuple[str, ...] | None = None
    operating_point: str | None = None  # a sentence
    class_weights: bool = False  # rows counted by their class, so predictions are no rates

    @property
    def kind(self) -> Kind:
        return self.family.kind

    @property
    def sums(self) -> tuple[TreeSum, ...]:
        return self.family.sums

    @property
    def groups(self) -> tuple[Group, ...]:
        return self.family.groups

    @property
    def group_column(self) -> str | None:
        return self.family.group_column

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the export must know."""
        times = {name: UNITS[f.kind] for name, f in self.inputs.items() if f.is_time}
        return (*self.remarks, *(f"{name} is given in {unit}." for name, unit in times.items()))

    @property
    def remarks(self) -> tuple[str, ...]:
        """The same if times are given as times."""
        notes = [*self.family.notes, *dict.fromkeys(f"{r}." for s in self.sums for r in s.remarks)]
        return (*filter(None, [LOGARITHMS.get(self.outcome.link)]), *notes)

    # What it reads

    @property
    def features(self) -> tuple[Feature, ...]:
        return self.sums[0].features

    @cached_property
    def used(self) -> tuple[int, ...]:
        """The features that make a difference, in order."""
        return tuple(sorted({s.feature for one in self.sums for s in one.splits}))

    @property
    def inputs(self) -> dict[str, Feature]:
        """The columns that it reads, without that of the group."""
        return {self.columns[j]: self.features[j] for j in self.used}

    # What it gives

    @property
    def flags(self) -> bool:
        """Whether rows of two classes are flagged by a threshold that somebody chose."""
        chosen = self.operating_point is not None or self.threshold != THRESHOLD
        return self.classes == 2 and self.thresholds is None and chosen

    @property
    def whole(self) -> Outcome:
        """What the score of the whole model stands for."""
        return self.outcome.of_mean if self.kind == "mean" else self.outcome

    @property
    def classes(self) -> int:
        return self.outcome.classes

    @property
    def outputs(self) -> int:
        return self.outcome.outputs

    @property
    def labels(self) -> tuple[str, ...]:
        """What the classes are called."""
        return self.class_names or tuple(str(k) for k in range(self.classes))

    @property
    def score_labels(self) -> tuple[str, ...]:
        """What the scores are called, if there are several."""
        return self.labels if self.outputs > 1 else ()

    @property
    def leaves(self) -> int:
        """The size that matters for the length of an export."""
        return sum(1 for one in self.sums for tree in one.trees for _ in tree.leaves())

    @property
    def scale(self) -> float:
        """What a difference of scores is compared with: the largest sum of leaf values, or 1."""
        largest = [
            sum(max(abs(v) for leaf in tree.leaves() for v in leaf.value) for tree in one.trees)
            for one in self.sums
        ]
        return max(1.0, *largest)

    def evaluate(self, patients: Sequence[Patient]) -> list[Result]:
        """The results that every export must give, by NumPy."""
        results = [Result()] * len(patients)
        for at, parts in self._parts(patients):
            table = np.empty((len(at), len(self.columns)), dtype=object)
            for row, k in enumerate(at):
                table[row, :] = [patients[k].get(column) for column in self.columns]
            for k, result in zip(at, self._results(parts, table), strict=True):
                results[k] = result
        return results

    def _parts(
        self, patients: Sequence[Patient]
    ) -> Iterator[tuple[list[int], tuple[TreeSum, ...]]]:
        """The rows that are scored by the same sums, and these."""
        if self.kind != "groups":
            if patients:
                yield list(range(len(patients))), self.sums
            return
        assert self.group_column is not None
        for group, one in zip(self.groups, self.sums, strict=True):
            at = [k for k, p in enumerate(patients) if _same(p.get(self.group_column), group)]
            if at:
                yield at, (one,)

    def _results(self, sums: tuple[TreeSum, ...], table: NDArray[Any]) -> Iterator[Result]:
        scores = sums[0].predict(table)
        if self.kind == "mean":
            expected = [self.outcome.expected_table(one.predict(table)) for one in sums]
            scores = np.add.reduce(expected, axis=0) / len(sums)
        probabilities = self.whole.probabilities(list(scores.T))
        if self.classes:
            limits = (self.threshold, self.thresholds)
            predictions = self.outcome.predicted_class(probabilities, *limits)
        else:
            predictions = scores[:, 0]
        shown = probabilities[1:] if self.classes == 2 else probabilities if self.classes else []
        details = self._details(sums[0], table) if self.kind != "mean" else None
        for row in range(len(table)):
            yield Result(
                score=tuple(map(float, scores[row])),
                probability=tuple(float(p[row]) for p in shown),
                prediction=float(predictions[row]),
                risk_group=self._risk(predictions[row]),
                contributions=details[0][row] if details else (),
                rules=details[1][row] if details else (),
            )

    def _risk(self, prediction: float) -> str | None:
        return None if self.classes != 2 else HIGH if prediction == 1.0 else LOW

    def _details(self, one: TreeSum, table: NDArray[Any]) -> tuple[list[Any], list[Any]]:
        texts = rule_texts(one)
        added = one.contributions(table)
        leaves = one.leaf_indices(table)
        contributions = [tuple(tuple(map(float, tree)) for tree in row) for row in added]
        fired = [tuple(texts[k][leaf] for k, leaf in enumerate(row)) for row in leaves]
        return contributions, fired


def rule_texts(one: TreeSum) -> list[list[str]]:
    """Of each tree the conditions of every leaf, from left to right."""
    paths = iter(rules(one)["path"])
    return [[next(paths) for _ in tree.leaves()] for tree in one.trees]


def _same(value: Any, group: Group) -> bool:
    """1 is not True, and "1" is neither."""
    return (
        value is not None and isinstance(value, bool) == isinstance(group, bool) and value == group
    )
