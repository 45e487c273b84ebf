"""Patients as they are typed into the form of a page, and what the page answers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from random import Random
from typing import Any

from figs_spark.exports.instrument import Instrument, Patient
from figs_spark.exports.page.fields import OTHER, Field
from tests.support.treesums import random_rows

# Sets every control of the form, lets the page react, and returns what it shows.
FILL = """(patients) => patients.map((patient) => {
  for (const [id, value] of patient) {
    const control = document.getElementById(id);
    if (control.type === "radio") { control.checked = true; }
    else { control.value = value; }
  }
  document.getElementById(patient[0][0]).dispatchEvent(new Event("input", { bubbles: true }));
  const box = document.getElementById("result-box");
  return { ...box.dataset };
})"""


def typable(value: Any) -> Any:
    """The value, or one like it that can be typed: no infinity, and None for NaN."""
    if isinstance(value, float):
        return None if math.isnan(value) else max(-1e307, min(1e307, value))
    return value


def patients(model: Instrument, random: Random, count: int) -> list[dict[str, Any]]:
    """Rows with missing values, values on and beside thresholds, and unseen categories."""
    rows = []
    for cells in random_rows(random, count):
        named = dict(zip(model.columns, cells, strict=True))
        patient = {
            column: named[column] if feature.categories is not None else typable(named[column])
            for column, feature in model.inputs.items()
        }
        if model.group_column is not None:
            patient[model.group_column] = random.choice([*model.groups, "unknown"])
        rows.append(patient)
    return rows


def entries(model: Instrument, fields: Iterable[Field], patient: Patient) -> list[list[str]]:
    """The control of each field, and what is typed or chosen there."""
    listed = [[*entry(field, patient[field.column])] for field in fields]
    if model.group_column is not None:
        group = patient[model.group_column]
        place = model.groups.index(group) if group in model.groups else OTHER
        listed.insert(0, ["field-group", str(place)])
    return listed


def entry(field: Field, value: Any) -> tuple[str, str]:
    if field.kind == "number":
        return field.id, "" if value is None else repr(value)
    missing = value is None or value != value
    if field.kind == "sign":
        number = 2 if missing else 0 if value else 1
        return f"{field.id}-{number}", ""
    if missing:
        return field.id, ""
    known = field.feature.categories or ()
    return field.id, str(known.index(value) if value in known else OTHER)
