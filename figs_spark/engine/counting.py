"""Counts over the columns of a training set in memory: how many rows, and how many are wrong.

The columns are y, and perhaps w, held_out, hashed_id and the array x. `row_counts` counts the same
by an aggregation of Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from figs_spark.dataframes.arrow import Floats, to_numbers

MAX_CLASSES = 255  # a class is stored in one byte
LARGEST = 1e150  # the squares of larger numbers overflow
SMALLEST = 1e-140  # weight: below it squares vanish, and no split would gain

Counts = dict[str, Any]
Marks = NDArray[np.bool_]


def total_counts(counts: Sequence[Counts]) -> Counts:
    """The counts of all classes together.

    The lowest id is counted as the highest of its inverse, so that it is a maximum, too.
    """
    if not counts:
        return {"rows": 0}
    maxima = ("partitions", "ids_")
    return {
        name: (max if name.startswith(maxima) else sum)(part[name] or 0 for part in counts)
        for name in counts[0]
        if name != "class"
    }


@np.errstate(invalid="ignore")  # what is not finite is counted
def count_columns(columns: pa.Table, features: int, classification: bool) -> list[Counts]:
    """Counts of all rows or, in classification, of each class; -1 stands for other labels."""
    marks, amounts = _counted(columns, features)
    if not classification:
        return [_counts(marks, amounts, columns, np.ones(len(columns), dtype=bool), {})]
    label = to_numbers(columns.column("y"))
    is_class = (label == np.floor(label)) & (label >= 0) & (label < MAX_CLASSES)
    bucket = np.where(is_class, label, -1.0)
    return [
        _counts(marks, amounts, columns, bucket == value, {"class": float(value)})
        for value in np.unique(bucket)
    ]


def _numbers(columns: pa.Table, name: str) -> Floats | None:
    """A column of numbers or booleans, missing ones as NaN; None if there is no such column."""
    return to_numbers(columns.column(name)) if name in columns.column_names else None


def _counted(columns: pa.Table, features: int) -> tuple[dict[str, Marks], dict[str, Floats]]:
    """Of every row what is counted, and what is added up."""
    label = to_numbers(columns.column("y"))
    w, held_out = (_numbers(columns, name) for name in ("w", "held_out"))
    known = ~np.isnan(label)
    marks = {"bad_label": ~known | (np.abs(label) > LARGEST)}
    labels = np.where(known, label, 0.0)
    amounts = {"sum": labels, "label_sum": labels}
    if w is not None or held_out is not None:
        held = np.zeros(len(columns)) if held_out is None else held_out
        w = np.ones(len(columns)) if w is None else w
        positive = w > 0
        trains = known & positive & (held == 0)
        marks |= {
            "missing_weight": np.isnan(w) | (w > LARGEST),
            "negative_weight": w < 0,
            "tiny_weight": positive & (w < SMALLEST),
            "positive": positive,
            "training": trains,
        }
        amounts = {
            "weight": np.where(trains, w, 0.0),
            "sum": np.where(trains, w * labels, 0.0),
            "label_sum": np.where(positive, labels, 0.0),
        }
        if held_out is not None:
            marks |= {
                "missing_validation": np.isnan(held_out),
                "validation": (held_out == 1) & positive,
            }
    if "x" in columns.column_names:
        lengths = pc.list_value_length(columns.column("x"))
        missing = pc.is_null(lengths).to_numpy()
        other = lengths.fill_null(0).to_numpy() != features
        marks |= {"missing_features": missing, "other_length": other & ~missing}
    return marks, amounts


def _counts(
    marks: dict[str, Marks],
    amounts: dict[str, Floats],
    columns: pa.Table,
    some: Marks,
    named: Counts,
) -> Counts:
    count = int(some.sum())
    counts: Counts = {**named, "rows": count, "partitions": 1}
    counts |= dict.fromkeys(("positive", "training", "weight"), count)
    counts |= {name: int((mark & some).sum()) for name, mark in marks.items()}
    counts |= {name: float(amount[some].sum()) for name, amount in amounts.items()}
    if "hashed_id" in columns.column_names:
        hashed = columns.column("hashed_id").filter(some)
        ids = hashed.drop_null()
        counts["missing_id"] = hashed.null_count
        counts["ids_high"] = pc.max(ids).as_py()
        counts["ids_low_inverted"] = None if len(ids) == 0 else ~pc.min(ids).as_py()
    return counts
