"""What differs between Spark versions and between classic Spark, Connect and serverless."""

from __future__ import annotations

import gc
import logging
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark.dataframes.arrow import Floats, to_table

BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
READER_ROWS = ("spark.sql.parquet.columnarReaderBatchSize", "spark.sql.orc.columnarReaderBatchSize")
READ_VALUES = 1 << 20  # numbers that a file is read in at once
LEAST_READ = 64  # rows
SPLIT_BYTES = "spark.sql.files.maxPartitionBytes"
WIDE_SPLIT = 1 << 30  # bytes; Spark makes at least as many splits as there are cores
ROW_MAKING, LOOPS = "spark.sql.codegen.factoryMode", "NO_CODEGEN"
MANY_COLUMNS = 500
NOT_SET = {BATCH_ROWS: "-2147483647", ROW_MAKING: "FALLBACK"}  # as Spark wants to be told it
NEVER_SET = "1"  # of the other settings
ASKED_AGAIN = 60.0  # seconds after which the number of cores is asked again

log = logging.getLogger("figs_spark")


def check_frame(dataset: Any) -> None:
    """TypeError unless this is a Spark DataFrame, of classic Spark or of Connect."""
    if hasattr(dataset, "sparkSession") and hasattr(dataset, "schema"):
        return
    kind = f"{type(dataset).__module__.partition('.')[0]} {type(dataset).__name__}"
    raise TypeError(
        f"A Spark DataFrame is needed, got a {kind}. Make one of it first: "
        f"spark.createDataFrame(data)."
    )


def to_arrow(frame: DataFrame) -> pa.Table:
    """Collect as Arrow. PySpark 3.5 has no `toArrow`: there rows are collected one by one."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    columns: dict[str, list[Any]] = {name: [] for name in frame.columns}
    for row in frame.collect():
        for name, value in zip(frame.columns, row, strict=True):
            columns[name].append(bytes(value) if isinstance(value, bytearray) else value)
    return pa.table(columns)


@contextmanager
def arrow_batches(
    spark: SparkSession, rows: int, values: int = 1, columns: int = 1
) -> Iterator[None]:
    """Limit the rows of an Arrow batch while jobs are planned; see `wide_reads`."""
    with _changed(spark, BATCH_ROWS, str(rows)), wide_reads(spark, values, columns):
        yield


@contextmanager
def wide_reads(spark: SparkSession, values: int, columns: int) -> Iterator[None]:
    """Read rows of many values well, while jobs are planned.

    A file is read in so few rows at once that all their values stay near the processor. If these
    are in many columns, files are read in few tasks, as each prepares itself for every column, and
    rows are made by loops over the columns: Spark would write a program with lines for each.
    """
    with ExitStack() as changed:
        for name in READER_ROWS:
            most = max(LEAST_READ, READ_VALUES // values)
            if most < _number(spark, name):
                changed.enter_context(_changed(spark, name, str(most)))
        if columns > MANY_COLUMNS:
            changed.enter_context(_changed(spark, ROW_MAKING, LOOPS))
            if 0 < _number(spark, SPLIT_BYTES) < WIDE_SPLIT:
                changed.enter_context(_changed(spark, SPLIT_BYTES, str(WIDE_SPLIT)))
        yield


@contextmanager
def _changed(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    """A setting of the session, for a while.

    If several fits run at the same time, the old value is restored when the last one is done. If
    the setting cannot be changed (serverless), it stays as it is.
    """
    key, not_set = (spark, name), NOT_SET.get(name, NEVER_SET)
    try:
        with _lock:
            before, fits = _before.get(key) or (spark.conf.get(name, not_set), 0)
            spark.conf.set(name, value)
            _before[key] = before, fits + 1
    except Exception as error:
        log.debug("%s stays as it is: %s", name, error)
        yield
        return
    try:
        yield
    finally:
        with _lock:
            before, fits = _before.pop(key)
            if fits > 1:
                _before[key] = before, fits - 1
            elif before == not_set:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, str(before))


def _number(spark: SparkSession, name: str) -> int:
    """A setting that is a number, perhaps of bytes ("134217728b"); 0 if it is not known."""
    try:
        return int((spark.conf.get(name) or "").rstrip("bB"))
    except Exception as error:  # serverless knows few settings; somebody may have written "128m"
        log.debug("%s is not known: %s", name, error)
        return 0


_lock = threading.Lock()
_before: dict[tuple[SparkSession, str], tuple[str | None, int]] = {}  # and how many fits run


def table_udf(predict: Callable[..., Floats], width: int) -> Callable[..., Column]:
    """A function of tables as a function of Columns, from array<double> to array<double>.

    The first Column holds arrays of this width. Further columns reach `predict` as plain arrays.
    PySpark before 4.1 has no `arrow_udf`.
    """

    def on_arrow(rows, *more):  # type: ignore[no-untyped-def]
        table = predict(to_table(rows, width), *(column.to_numpy() for column in more))
        ends = np.arange(len(table) + 1, dtype=np.int32) * table.shape[1]
        return pa.ListArray.from_arrays(ends, table.ravel())

    def typed(function: Callable[..., Any], kind: type) -> Callable[..., Any]:
        function.__annotations__ = {"rows": kind, "more": kind, "return": kind}
        return function

    if hasattr(F, "arrow_udf"):
        return F.arrow_udf(typed(on_arrow, pa.Array), "array<double>")  # type: ignore[call-overload]
    import pandas as pd

    def on_pandas(rows, *more):  # type: ignore[no-untyped-def]
        table = np.array(rows.tolist(), dtype=np.float64).reshape(len(rows), width)
        return pd.Series(list(predict(table, *(column.to_numpy() for column in more))))

    return F.pandas_udf(typed(on_pandas, pd.Series), "array<double>")  # type: ignore


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once: the number of partitions that Spark gives to a plain range.

    A small job tells; its answer is good for a minute, as clusters grow and shrink.
    """
    now = time.monotonic()
    count, asked = _parallelism.get(spark, (0, -math.inf))
    if now - asked > ASKED_AGAIN:
        numbers = to_arrow(spark.range(1 << 12).select(F.spark_partition_id().alias("part")))
        count = max(1, len(numbers.column("part").unique()))
        _parallelism[spark] = count, now
    return count


_parallelism: WeakKeyDictionary[SparkSession, tuple[int, float]] = WeakKeyDictionary()


def fewer_partitions(frame: DataFrame, per_core: int = 4) -> DataFrame:
    """The same rows in no more partitions than a few per core: every task takes some time to start,
    every file too. Rows do not move."""
    return frame.coalesce(per_core * parallelism(frame.sparkSession))


def partition_number() -> int:
    """The number of the partition that a task works on.

    A Spark Connect server of another make may give its workers no TaskContext. Then any number that
    tells the tasks apart will do: it orders rows and sums, and no result depends on it.
    """
    context = TaskContext.get()
    return random.getrandbits(20) if context is None else context.partitionId()


_frozen = False


def spare_garbage_collection() -> None:
    """Once per Python worker: exempt the imported modules from the collection after each task."""
    global _frozen
    if not _frozen:
        gc.collect()
        gc.freeze()
        _frozen = True
