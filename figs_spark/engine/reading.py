"""The rows of a table part by part, in tasks of Spark: those of its DataFrame, or of its files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from figs_spark.dataframes import compat
from figs_spark.dataframes.arrow import Floats, to_table
from figs_spark.engine.file_rows import FilePart
from figs_spark.engine.table import Table, read_rows

TASKS_PER_CORE = 1


class Part(Protocol):
    """Some rows: the columns of a `Table` that are no features, and the features. These come as
    tables (rows, some features), each with the number of its first one; missing values are NaN."""

    def __len__(self) -> int: ...

    @property
    def columns(self) -> pa.RecordBatch: ...

    def slabs(self) -> Iterator[tuple[int, Floats]]: ...


Work = Callable[[Iterator[Part]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class FramePart:
    """Some rows of a DataFrame."""

    columns: pa.RecordBatch
    width: int

    def __len__(self) -> int:
        return int(self.columns.num_rows)

    def slabs(self) -> Iterator[tuple[int, Floats]]:
        yield 0, to_table(self.columns.column("x"), self.width)


def tasks_to_read(spark: SparkSession) -> int:
    """Into how many tasks to divide what is read to come to the driver."""
    return TASKS_PER_CORE * compat.parallelism(spark)


@contextmanager
def reading(table: Table) -> Iterator[None]:
    """While the rows of a table are read: in batches that suit its width."""
    spark = table.frame.sparkSession
    with (
        compat.arrow_batches(spark, table.block_rows),
        compat.file_batches(spark, read_rows(len(table.features))),
    ):
        yield


def mapped(table: Table, tasks: int, work: Work, schema: str) -> DataFrame:
    """What `work` makes of the rows in each of at most so many tasks."""
    if table.files is not None:
        spark, run = table.frame.sparkSession, partial(_run_on_files, work=work)
        return table.files.mapped(spark, tasks, table.block_rows, run, schema)
    frame = table.frame.coalesce(tasks) if table.partitions > tasks else table.frame
    return frame.mapInArrow(partial(_run, width=len(table.features), work=work), schema)


def _run_on_files(parts: Iterator[FilePart], work: Work) -> Iterator[pa.RecordBatch]:
    return work(part for part in map(FilePart.kept, parts) if len(part))


def _run(batches: Iterator[pa.RecordBatch], width: int, work: Work) -> Iterator[pa.RecordBatch]:
    compat.spare_garbage_collection()
    return work(FramePart(batch, width) for batch in batches if batch.num_rows)
