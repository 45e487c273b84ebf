"""The counts of `row_counts` over rows that are in the driver."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from figs_spark.stages.base.row_counts import LARGEST, MAX_CLASSES, SMALLEST, Counts
from figs_spark.stages.base.rows_here import RowsHere

Floats = NDArray[np.float64]
Marks = NDArray[np.bool_]


def count_here(rows: RowsHere, classification: bool) -> list[Counts]:
    """What `count_rows` gives: counts of all rows or, in classification, of each class."""
    marks, amounts = _counted(rows)
    if not classification:
        return [_counts(marks, amounts, rows, np.ones(len(rows), dtype=bool), {})]
    label = _label(rows)
    with np.errstate(invalid="ignore"):
        is_class = (label == np.floor(label)) & (label >= 0) & (label < MAX_CLASSES)
    bucket = np.where(is_class, label, -1.0)
    return [
        _counts(marks, amounts, rows, bucket == value, {"class": float(value)})
        for value in np.unique(bucket)
    ]


def _label(rows: RowsHere) -> Floats:
    label = rows.numbers("y")
    assert label is not None
    return label


def _counted(rows: RowsHere) -> tuple[dict[str, Marks], dict[str, Floats]]:
    """Of every row what is counted, and what is added up."""
    label, w, held_out = _label(rows), rows.numbers("w"), rows.numbers("held_out")
    known = ~np.isnan(label)
    marks = {"bad_label": ~known | (np.abs(label) > LARGEST)}
    labels = np.where(known, label, 0.0)
    amounts = {"sum": labels, "label_sum": labels}
    if w is not None or held_out is not None:
        held = np.zeros(len(rows)) if held_out is None else held_out
        w = np.ones(len(rows)) if w is None else w
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
    if "x" in rows.arrow.column_names:
        lengths = pc.list_value_length(rows.arrow.column("x"))
        missing = pc.is_null(lengths).to_numpy()
        other = lengths.fill_null(0).to_numpy() != len(rows.inputs.features)
        marks |= {"missing_features": missing, "other_length": other & ~missing}
    return marks, amounts


def _counts(
    marks: dict[str, Marks], amounts: dict[str, Floats], rows: RowsHere, some: Marks, named: Counts
) -> Counts:
    count = int(some.sum())
    counts: Counts = {**named, "rows": count, "partitions": 1}
    counts |= dict.fromkeys(("positive", "training", "weight"), count)
    counts |= {name: int((mark & some).sum()) for name, mark in marks.items()}
    counts |= {name: float(amount[some].sum()) for name, amount in amounts.items()}
    if "hashed_id" in rows.arrow.column_names:
        hashed = rows.arrow.column("hashed_id").filter(some)
        ids = hashed.drop_null()
        counts["missing_id"] = hashed.null_count
        counts["ids_high"] = pc.max(ids).as_py()
        counts["ids_low_inverted"] = None if len(ids) == 0 else ~pc.min(ids).as_py()
    return counts
