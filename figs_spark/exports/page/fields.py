"""The form: one field for each column that the model reads, as people call it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from figs_spark.exports.instrument import Instrument
from figs_spark.treesum import Feature
from figs_spark.treesum.nodes import BOOLEAN, Category
from figs_spark.treesum.text import value_text

FieldKind = Literal["number", "time", "sign", "choice"]
KEYS = ("name", "unit", "help", "range", "labels", "yesNo")
OTHER = -1  # a category that no split lists

Range = tuple[float, float]


@dataclass(frozen=True)
class Wording:
    """What people call a column. All of it may be left out."""

    name: str | None = None
    unit: str | None = None
    help: str | None = None
    range: Range | None = None  # what is usual; outside of it the page warns
    labels: Mapping[str, str] = field(default_factory=dict)  # of categories
    yes_no: bool = False  # a number that is 1 for yes and 0 for no

    @classmethod
    def read(cls, column: str, data: Any) -> Wording:
        """From YAML or a dict; a ValueError names what is wrong."""
        if not isinstance(data, Mapping):
            raise ValueError(f"fields: '{column}' needs keys and values, such as name and unit.")
        if unknown := [str(key) for key in data if key not in KEYS]:
            raise ValueError(
                f"fields: '{column}' has the unknown keys {', '.join(unknown)}. There are "
                f"{', '.join(KEYS)}."
            )
        for key in ("name", "unit", "help"):
            if not isinstance(data.get(key, ""), str):
                raise ValueError(f"fields: '{key}' of '{column}' must be a text; put it in quotes.")
        labels = data.get("labels") or {}
        if not isinstance(labels, Mapping):
            raise ValueError(f"fields: 'labels' of '{column}' must name categories and texts.")
        return cls(
            name=data.get("name"),
            unit=data.get("unit"),
            help=data.get("help"),
            range=_range(column, data.get("range")),
            labels={str(key): str(value) for key, value in labels.items()},
            yes_no=bool(data.get("yesNo", False)),
        )


def _range(column: str, value: Any) -> Range | None:
    if value is None:
        return None
    numbers = list(value) if isinstance(value, (list, tuple)) else []
    right = len(numbers) == 2 and all(
        isinstance(v, (int, float)) and not isinstance(v, bool) for v in numbers
    )
    if not right or not numbers[0] < numbers[1]:
        raise ValueError(f"fields: 'range' of '{column}' must be two rising numbers, [low, high].")
    return float(numbers[0]), float(numbers[1])


def read_wordings(model: Instrument, fields: Mapping[str, Any] | None) -> dict[str, Wording]:
    """The wording of each column; a ValueError names columns that the model does not have."""
    known = {*model.columns, *([model.group_column] if model.group_column is not None else [])}
    if unknown := [str(name) for name in fields or {} if name not in known]:
        raise ValueError(
            f"fields names {len(unknown)} columns that the model does not read: "
            f"{', '.join(map(repr, unknown))}. Remove or rename them."
        )
    return {str(name): Wording.read(str(name), data) for name, data in (fields or {}).items()}


@dataclass(frozen=True)
class Option:
    """A choice: its text, and the number that stands for it in the page's program."""

    label: str
    value: float
    category: Category | None = None


@dataclass(frozen=True)
class Field:
    """One question of the form."""

    id: str
    column: str
    feature: Feature  # with the names and labels that people read
    kind: FieldKind
    unit: str = ""
    help: str = ""
    range: Range | None = None
    options: tuple[Option, ...] = ()

    @property
    def name(self) -> str:
        return self.feature.name

    @property
    def usual(self) -> str:
        """The range in words; "" if there is none."""
        if self.range is None:
            return ""
        low, high = (value_text(self.feature, value) for value in self.range)
        return f"{low} to {high}"


def make_fields(
    model: Instrument,
    wordings: Mapping[str, Wording] | None = None,
    ranges: Mapping[str, Range] | None = None,
    signs: Sequence[str] = (),
) -> dict[int, Field]:
    """The fields by the number of their feature, in the order of the features.

    `ranges` and `signs` come from rows: usual values, and columns that are always 0 or 1.
    """
    wordings = wordings or {}
    fields: dict[int, Field] = {}
    plain_names = [plain_name(model.features[j].name) for j in model.used]
    for place, j in enumerate(model.used):
        column = model.columns[j]
        wording = wordings.get(column, Wording())
        if column in signs and not wording.range:
            wording = replace(wording, yes_no=True)
        if wording.name is None and plain_names.count(plain_names[place]) == 1:
            wording = replace(wording, name=plain_names[place])
        known = wording.range or (ranges or {}).get(column)
        fields[j] = _field(f"field-{place}", column, model.features[j], wording, known)
    return fields


def _field(
    name: str, column: str, feature: Feature, wording: Wording, known: Range | None
) -> Field:
    kind, options = _kind(feature, wording)
    return Field(
        id=name,
        column=column,
        feature=worded_feature(feature, wording),
        kind=kind,
        unit=wording.unit or "",
        help=wording.help or "",
        range=known if kind in ("number", "time") else None,
        options=options,
    )


def _kind(feature: Feature, wording: Wording) -> tuple[FieldKind, tuple[Option, ...]]:
    """How a column is asked for, and the choices."""
    if feature.is_time:
        return "time", ()
    if feature.categories is None and not wording.yes_no:
        return "number", ()
    if feature.categories is None:
        return "sign", (Option("Yes", 1.0), Option("No", 0.0))
    if feature.kind == BOOLEAN:
        answers = (("Yes", True), ("No", False))
        return "sign", tuple(Option(name, _place(feature, c), c) for name, c in answers)
    labels = worded_feature(feature, wording).label
    named = [Option(labels(c), float(k), c) for k, c in enumerate(feature.categories)]
    return "choice", (*named, _OTHER)


_OTHER = Option("any other value", float(OTHER))


def _place(feature: Feature, category: bool) -> float:
    known = feature.categories or ()
    return float(known.index(category)) if category in known else float(OTHER)


def worded_feature(feature: Feature, wording: Wording) -> Feature:
    """The feature under the names that people read."""
    name = wording.name or feature.name
    if feature.categories is None or feature.kind == BOOLEAN:
        return replace(feature, name=name)
    own = [feature.label(category) for category in feature.categories]
    plain = list(map(plain_name, own))
    shown = [p if plain.count(p) == 1 else o for p, o in zip(plain, own)]
    labels = tuple(wording.labels.get(str(c), s) for c, s in zip(feature.categories, shown))
    return replace(feature, name=name, labels=labels)


def plain_name(column: str) -> str:
    """A column's name as words: `age_in_years` becomes `age in years`."""
    words = re.sub(r"(?<=\w)_(?=\w)", " ", column)
    return words if words.strip() else column
