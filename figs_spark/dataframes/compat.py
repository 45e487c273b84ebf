"""What differs between Spark versions and between classic Spark, Connect and serverless."""

from __future__ import annotations

import gc
import logging
import math
import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark.dataframes.arrow import Floats, columns_to_table, to_lists, to_table

BATCH_ROWS = "spark.sql.execution.arrow.maxRecordsPerBatch"
FILE_BATCH_ROWS = (  # the same when files are read
    "spark.sql.parquet.columnarReaderBatchSize",
    "spark.sql.orc.columnarReaderBatchSize",
)
FILE_ROWS = 4096  # in a batch of these, if nobody set another number
PLAN_FIELDS = "spark.sql.debug.maxToStringFields"
UNLIMITED = 1 << 30
SEPARATE = 100  # columns that a function takes one by one; Spark makes no code for more
ASKED_AGAIN = 60.0  # seconds after which the number of cores is asked again
NOT_SET = "2147483629"  # no user sets it, and Spark takes it for every setting here

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
        try:
            return frame.toArrow()
        except Exception as error:
            if was_interrupted(error):
                raise KeyboardInterrupt from error
            raise
    columns: dict[str, list[Any]] = {name: [] for name in frame.columns}
    for row in frame.collect():
        for name, value in zip(frame.columns, row, strict=True):
            columns[name].append(bytes(value) if isinstance(value, bytearray) else value)
    return pa.table(columns)


def was_interrupted(error: BaseException | None) -> bool:
    """Whether an error came while an interrupt was on its way: that cancels the job, and PySpark
    asks for its result nevertheless."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


@contextmanager
def arrow_batches(spark: SparkSession, rows: int) -> Iterator[None]:
    """Limit the rows of an Arrow batch while jobs are planned."""
    with _setting(spark, BATCH_ROWS, rows):
        yield


@contextmanager
def file_batches(spark: SparkSession, rows: int) -> Iterator[None]:
    """Limit the rows that are read at once from a file of columns, while jobs are planned.

    Spark takes them one by one, from all columns. If these are thousands, a batch of 4,096 rows is
    larger than the caches of a processor.
    """
    if rows >= FILE_ROWS:
        yield
        return
    with ExitStack() as settings:
        for name in FILE_BATCH_ROWS:
            settings.enter_context(_setting(spark, name, rows, FILE_ROWS))
        yield


@contextmanager
def whole_plans(spark: SparkSession) -> Iterator[None]:
    """Plans in text name all columns."""
    with _setting(spark, PLAN_FIELDS, UNLIMITED):
        yield


@contextmanager
def _setting(
    spark: SparkSession, name: str, rows: int, default: int | None = None
) -> Iterator[None]:
    """Change a setting of the session for a while; with a default, only to less than it is.

    If several fits run at the same time, the old value is restored when the last one is done. If
    the setting cannot be changed (serverless), it stays as it is.
    """
    key = spark, name
    try:
        with _lock:
            before, fits = _changed.get(key) or (spark.conf.get(name, NOT_SET), 0)
            if default is not None:
                rows = min(rows, default if before == NOT_SET else int(str(before)))
            spark.conf.set(name, str(rows))
            _changed[key] = before, fits + 1
    except Exception as error:
        log.debug("%s stays as it is: %s", name, error)
        yield
        return
    try:
        yield
    finally:
        with _lock:
            before, fits = _changed.pop(key)
            if fits > 1:
                _changed[key] = before, fits - 1
            elif before == NOT_SET:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, str(before))


_lock = threading.Lock()
_changed: dict[tuple[SparkSession, str], tuple[str | None, int]] = {}  # old value, fits that run


def table_udf(
    predict: Callable[..., Floats], width: int, single: bool = False
) -> Callable[..., Column]:
    """A function of tables as a function of Columns: it makes arrays, array<double>.

    The first argument is a Column of arrays of this width, or a list of so many Columns of doubles,
    which Spark hands to Python without making rows of them. Further Columns reach `predict` as
    plain arrays. A `single` column of results travels as plain numbers, which is faster.
    PySpark before 4.1 has no `arrow_udf`.
    """
    returned = "double" if single else "array<double>"

    def on_arrow(rows, *more):  # type: ignore[no-untyped-def]
        spare_garbage_collection()
        return to_arrow_type(predict(to_table(rows, width), *(c.to_numpy() for c in more)))

    def on_columns(*cells):  # type: ignore[no-untyped-def]
        spare_garbage_collection()
        more = (column.to_numpy() for column in cells[width:])
        return to_arrow_type(predict(columns_to_table(cells[:width]), *more))

    def to_arrow_type(table: Floats) -> pa.Array:
        return pa.array(table[:, 0]) if single else to_lists(table)

    def typed(function: Callable[..., Any], kind: type) -> Callable[..., Any]:
        names = ("cells", "rows", "more", "return")
        function.__annotations__ = dict.fromkeys(names, kind)
        return function

    def as_array(result: Column) -> Column:
        return F.array(result) if single else result

    if hasattr(F, "arrow_udf"):
        of_columns = F.arrow_udf(typed(on_columns, pa.Array), returned)  # type: ignore[call-overload]
        of_arrays = F.arrow_udf(typed(on_arrow, pa.Array), returned)  # type: ignore[call-overload]
    else:
        import pandas as pd

        def on_pandas(rows, *more):  # type: ignore[no-untyped-def]
            spare_garbage_collection()
            table = np.array(rows.tolist(), dtype=np.float64).reshape(len(rows), width)
            scored = predict(table, *(column.to_numpy() for column in more))
            return pd.Series(scored[:, 0] if single else list(scored))

        of_columns = None
        of_arrays = F.pandas_udf(typed(on_pandas, pd.Series), returned)  # type: ignore

    def apply(cells: Column | Sequence[Column], *more: Column) -> Column:
        if isinstance(cells, Sequence):
            if of_columns is not None and len(cells) <= SEPARATE:
                return as_array(of_columns(*cells, *more))
            cells = F.array(*cells)
        return as_array(of_arrays(cells, *more))

    return apply


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
