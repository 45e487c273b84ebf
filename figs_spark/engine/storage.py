"""Keeping packed rows for many passes, and removing them. The one place that leaves traces."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame

from figs_spark.engine.blocks import SCHEMA


@contextmanager
def stored(frame: DataFrame, work_dir: str | None) -> Iterator[DataFrame]:
    """Keep the records of `frame` for many passes: in Spark's cache or, with a work directory,
    in Parquet files there. Nothing is left behind."""
    if work_dir is None:
        yield from _cached(frame)
    else:
        yield from _written(frame, f"{work_dir.rstrip('/')}/figs_spark_{uuid.uuid4().hex}")


def _cached(frame: DataFrame) -> Iterator[DataFrame]:
    try:
        kept = frame.persist()
    except Exception as error:
        raise RuntimeError(
            "Spark refused to cache the packed rows, as serverless compute does. Set workDir to a "
            "directory that all executors can write to, such as a Unity Catalog volume."
        ) from error
    try:
        yield kept
    finally:
        kept.unpersist()


def _written(frame: DataFrame, path: str) -> Iterator[DataFrame]:
    spark = frame.sparkSession
    try:
        frame.write.parquet(path)
        yield spark.read.schema(SCHEMA).parquet(path)
    finally:
        _remove(frame, path)


def _remove(frame: DataFrame, path: str) -> None:
    local = path.removeprefix("file:")
    if os.path.isdir(local):
        shutil.rmtree(local, ignore_errors=True)
    elif "://" in path:  # a store that only Spark reaches: leave an empty table, not the rows
        empty = frame.sparkSession.createDataFrame([], SCHEMA)
        empty.write.mode("overwrite").parquet(path)
