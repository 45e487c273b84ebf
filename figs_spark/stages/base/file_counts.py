"""A training set that is nothing but columns of Parquet files: whether it is, and its counts."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from figs_spark.dataframes import compat
from figs_spark.dataframes.parquet_files import row_groups
from figs_spark.engine.file_rows import FilePart, FileRows
from figs_spark.engine.reading import tasks_to_read
from figs_spark.stages.base.counts_here import count_here
from figs_spark.stages.base.inputs import Inputs
from figs_spark.stages.base.row_counts import Counts, TrainingColumns, total_counts
from figs_spark.stages.base.rows_here import RowsHere
from figs_spark.treesum.nodes import TEXT

COUNTED_ROWS = 1 << 16  # at once


def file_rows(
    dataset: DataFrame, stage: Any, inputs: Inputs, columns: TrainingColumns
) -> FileRows | None:
    """Where the rows are; None if Spark has to read them."""
    derived = any(feature.kind == TEXT or feature.is_time for feature in inputs.features)
    if derived or columns.label_is_text or columns.identity is not None:
        return None
    rows = FileRows(
        groups=(),
        features=inputs.names,
        in_array=inputs.packed is not None,
        width=len(inputs.features),
        label=stage.getOrDefault("labelCol"),
        weight=stage.getOrDefault("weightCol") or None,
        held_out=stage._value_if_any("validationIndicatorCol") or None,
    )
    groups = row_groups(dataset, rows.names)
    return None if groups is None else replace(rows, groups=tuple(groups))


def count_files(
    dataset: DataFrame, rows: FileRows, inputs: Inputs, classification: bool
) -> list[Counts]:
    """What `count_rows` gives."""
    names = rows.names if rows.in_array else rows.others
    spark, inputs = dataset.sparkSession, replace(inputs, packed=None)
    run = partial(_count, inputs=inputs, classification=classification)
    tasks = tasks_to_read(spark)
    frame = rows.mapped(spark, tasks, COUNTED_ROWS, run, "counted binary", names)
    counted = compat.to_arrow(frame).column("counted").to_pylist()
    by_class: dict[float | None, list[Counts]] = {}
    for one in (one for part in counted for one in pickle.loads(part)):
        by_class.setdefault(one.get("class"), []).append(one)
    return [total_counts(own) | {"class": value} for value, own in by_class.items()]


def _count(
    parts: Iterator[FilePart], inputs: Inputs, classification: bool
) -> Iterator[pa.RecordBatch]:
    for part in parts:
        counted = pickle.dumps(count_here(RowsHere(_given(part), inputs), classification))
        yield pa.RecordBatch.from_arrays([pa.array([counted], pa.binary())], ["counted"])


def _given(part: FilePart) -> pa.Table:
    """The columns as they are, by the names of `RowsHere`."""
    rows = part.rows
    named = {"y": rows.label, "w": rows.weight, "held_out": rows.held_out}
    if rows.in_array:
        named["x"] = rows.features[0]
    return pa.table({own: part.batch.column(name) for own, name in named.items() if name})
