"""Says what is wrong with the rows of a training set: the column, the count and the remedy."""

from __future__ import annotations

from typing import Any

from figs_spark.engine.counting import LARGEST, SMALLEST, Counts
from figs_spark.stages.base.inputs import Inputs

PROBLEMS = {  # by count: the Param that names the column, the problem and the remedy
    "bad_label": (
        "labelCol",
        f"is null, NaN, infinite or beyond {LARGEST:g}",
        "Drop or repair these rows.",
    ),
    "missing_weight": (
        "weightCol",
        "is null, NaN or infinite",
        "Fill these weights; 0 leaves a row out.",
    ),
    "negative_weight": ("weightCol", "is negative", "Weights are 0 or more."),
    "tiny_weight": (
        "weightCol",
        f"is above 0 but below {SMALLEST:g}",
        "Multiply all weights by one factor, or set these to 0.",
    ),
    "missing_validation": ("validationIndicatorCol", "is null", "Fill it."),
    "missing_id": (
        "idCol",
        "is null",
        "Rows without an id would all be drawn together. Fill it, or leave idCol unset.",
    ),
    "missing_features": (
        "featuresCol",
        "is null",
        "Drop these rows; a single missing value is a NaN inside the vector.",
    ),
    "other_length": (
        "featuresCol",
        "does not have the {features} values of its first row or its metadata",
        "All rows need the same number of values.",
    ),
}


def check_rows(total: Counts, stage: Any, inputs: Inputs) -> None:
    """ValueError if some rows are wrong, with all that is wrong; or if too few are left."""
    rows = total["rows"]
    if rows == 0:
        raise ValueError("The DataFrame is empty: 0 rows. Check the filters before the fit.")
    problems = [
        f"{_named(stage, param)} {problem.format(features=len(inputs.features))} in {total[name]} "
        f"of {rows} rows. {remedy}"
        for name, (param, problem, remedy) in PROBLEMS.items()
        if total.get(name)
    ]
    if problems:
        raise ValueError("\n".join(problems))
    if "ids_high" in total and rows > 1 and total["ids_high"] == ~total["ids_low_inverted"]:
        raise ValueError(
            f"{_named(stage, 'idCol')} has one value in all {rows} rows, so all would be drawn "
            f"together. Name a column that tells rows or patients apart, or leave idCol unset."
        )
    if not inputs.features:
        raise ValueError(
            f"{_named(stage, 'featuresCol')} has 0 values in each of {rows} rows. Fill it."
        )
    _check_enough(total, stage)


def _check_enough(total: Counts, stage: Any) -> None:
    """Some rows have weight, some train and, if rows can be held out, some are."""
    rows, validation = total["rows"], _named(stage, "validationIndicatorCol")
    if total["positive"] == 0:
        raise ValueError(
            f"{_named(stage, 'weightCol')} is 0 in all {rows} rows. At least one must be positive."
        )
    if total["training"] == 0:
        raise ValueError(
            f"{validation} is true in all {rows} rows: none is left to train on. Mark some rows "
            f"false."
        )
    if total.get("validation") == 0:
        raise ValueError(
            f"{validation} is false in all {rows} rows: none is left to validate on. Mark some "
            f"rows true, or do not set it."
        )


def _named(stage: Any, param: str) -> str:
    return f"Column '{stage._value_if_any(param)}' ({param})"
