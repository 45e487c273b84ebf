"""Test vectors: rows that try every place where an export could go wrong, with what is expected.

They reach every leaf of every tree that any row can reach, and hold missing values, texts that no
training row had, values on the thresholds and one unit in the last place beside them. No row of
anybody's data is among them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from figs_spark.exports.instrument import Instrument, Patient, Result
from figs_spark.treesum import Feature, Node, Split

UNSEEN_TEXT = "a text that no training row had"
UNSEEN_NUMBER = -98765.25


@dataclass(frozen=True)
class Vectors:
    """Rows, and what the model says of each."""

    patients: tuple[dict[str, Any], ...]
    expected: tuple[Result, ...]

    def without(self, infinities: bool = False, nans: bool = False) -> Vectors:
        """Only the rows that a target without such numbers can hold."""

        def fits(patient: Patient) -> bool:
            numbers = [v for v in patient.values() if isinstance(v, float)]
            lost = (nans and any(map(math.isnan, numbers))) or (
                infinities and any(map(math.isinf, numbers))
            )
            return not lost

        kept = [k for k, patient in enumerate(self.patients) if fits(patient)]
        return Vectors(tuple(self.patients[k] for k in kept), tuple(self.expected[k] for k in kept))

    def to_list(self) -> list[dict[str, Any]]:
        """As JSON: numbers that it lacks as text, null for missing."""
        return [
            {
                "row": {name: _plain(value) for name, value in patient.items()},
                "score": list(map(_plain, result.score)) or None,
                "probability": list(map(_plain, result.probability)) or None,
                "prediction": _plain(result.prediction),
            }
            for patient, result in zip(self.patients, self.expected, strict=True)
        ]


def make_vectors(model: Instrument) -> Vectors:
    """The same for the same model, always."""
    candidates = {j: _candidates(model, j) for j in model.used}
    patients = [*_by_leaf(model, candidates), *_by_value(model, candidates)]
    distinct = list({json.dumps(p, sort_keys=True, default=str): p for p in patients}.values())
    return Vectors(tuple(distinct), tuple(model.evaluate(distinct)))


def _by_leaf(model: Instrument, candidates: Mapping[int, list[Any]]) -> Iterator[dict[str, Any]]:
    number = 0
    for which, one in enumerate(model.sums):
        group = model.groups[which] if model.groups else None
        for tree in one.trees:
            for path in _paths(tree):
                cells = _cells_on(path, model.features, candidates, number)
                number += 1
                if cells is not None:
                    yield _patient(model, cells, candidates, number, group)


def _by_value(model: Instrument, candidates: Mapping[int, list[Any]]) -> Iterator[dict[str, Any]]:
    number = 0
    for j, values in candidates.items():
        for value in values:
            number += 1
            group = model.groups[number % len(model.groups)] if model.groups else None
            yield _patient(model, {j: value}, candidates, number, group)
    for group in _other_groups(model):
        yield _patient(model, {}, candidates, 0, group)
    missing: dict[str, Any] = dict.fromkeys(model.inputs)
    if model.group_column is not None:
        missing[model.group_column] = model.groups[0]
    yield missing


def _patient(
    model: Instrument,
    cells: Mapping[int, Any],
    candidates: Mapping[int, list[Any]],
    number: int,
    group: Any,
) -> dict[str, Any]:
    """These cells, and any values in the others: another one in each row."""
    patient = {
        model.columns[j]: cells[j] if j in cells else values[(number * 7 + j) % len(values)]
        for j, values in candidates.items()
    }
    if model.group_column is not None:
        patient[model.group_column] = group
    return patient


def _other_groups(model: Instrument) -> list[Any]:
    if not model.groups:
        return []
    first = model.groups[0]
    unseen: dict[type, list[Any]] = {
        str: [UNSEEN_TEXT],
        int: [max((g for g in model.groups if not isinstance(g, str)), default=0) + 1],
        bool: [g for g in (False, True) if g not in model.groups],
    }
    return [*unseen[type(first)], None]


def _candidates(model: Instrument, j: int) -> list[Any]:
    """The values of a feature that make a difference to the model."""
    feature = model.features[j]
    splits = [s for one in model.sums for s in one.splits if s.feature == j]
    if feature.categories is None:
        limits = sorted({s.threshold for s in splits if s.threshold is not None})
        beside = [
            v
            for t in limits
            for v in (math.nextafter(t, -math.inf), t, math.nextafter(t, math.inf))
        ]
        between = [(a + b) / 2 for a, b in pairwise(limits)]
        ends = [0.0, -1e300, 1e300, -math.inf, math.inf, math.nan, None]
        return [v + 0.0 if v is not None else None for v in [*beside, *between, *ends]]
    if feature.holds_numbers:
        return [*feature.categories, UNSEEN_NUMBER, math.nan, None]
    if isinstance(feature.categories[0] if feature.categories else "", bool):
        return [*feature.categories, None]
    return [*feature.categories, UNSEEN_TEXT, None]


def _paths(
    node: Node, path: tuple[tuple[Split, bool], ...] = ()
) -> Iterator[tuple[tuple[Split, bool], ...]]:
    if branches := node.branches:
        split, left, right = branches
        yield from _paths(left, (*path, (split, True)))
        yield from _paths(right, (*path, (split, False)))
    else:
        yield path


def _cells_on(
    path: Sequence[tuple[Split, bool]],
    features: Sequence[Feature],
    candidates: Mapping[int, list[Any]],
    number: int,
) -> dict[int, Any] | None:
    """Values that meet every condition of a path; None if no value can."""
    cells: dict[int, Any] = {}
    for j in {split.feature for split, _ in path}:
        own = [(split, left) for split, left in path if split.feature == j]
        fitting = [
            value
            for value in candidates[j]
            if all(goes_left(features[j], split, value) == left for split, left in own)
        ]
        if not fitting:
            return None
        cells[j] = fitting[number % len(fitting)]
    return cells


def goes_left(feature: Feature, split: Split, value: Any) -> bool:
    """Where one value goes."""
    if value is None or value != value:
        return split.missing_left
    if split.threshold is not None:
        return bool(value <= split.threshold)
    return (value in (split.categories or ())) == split.listed_left


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    return value
