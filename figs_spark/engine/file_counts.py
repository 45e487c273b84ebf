"""The counts of a training set that is columns of Parquet files."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from figs_spark.dataframes import compat
from figs_spark.engine.counting import Counts, count_columns, total_counts
from figs_spark.engine.file_rows import FilePart, FileRows
from figs_spark.engine.reading import tasks_to_read

COUNTED_ROWS = 1 << 16  # small row groups are counted together, up to so many


def count_files(spark: SparkSession, rows: FileRows, classification: bool) -> list[Counts]:
    """Counts of all rows or of each class, from one pass over all columns but scalar features."""
    run = partial(_count, classification=classification)
    frame = rows.mapped(spark, tasks_to_read(spark), COUNTED_ROWS, run, "counted binary")
    counted = compat.to_arrow(frame).column("counted").to_pylist()
    by_class: dict[float | None, list[Counts]] = {}
    for one in (one for part in counted for one in pickle.loads(part)):
        by_class.setdefault(one.get("class"), []).append(one)
    return [total_counts(own) | {"class": value} for value, own in by_class.items()]


def _count(parts: Iterator[FilePart], classification: bool) -> Iterator[pa.RecordBatch]:
    for part in parts:
        counts = count_columns(_counting_columns(part), part.rows.width, classification)
        counted = pa.array([pickle.dumps(counts)], pa.binary())
        yield pa.RecordBatch.from_arrays([counted], ["counted"])


def _counting_columns(part: FilePart) -> pa.Table:
    """The columns as they are, by the names of `count_columns`."""
    rows = part.rows
    named = {"y": rows.label, "w": rows.weight, "held_out": rows.held_out}
    others = part.source.others
    table = pa.table({own: others.column(name) for own, name in named.items() if name})
    return table.append_column("x", part.source.arrays) if rows.in_array else table
