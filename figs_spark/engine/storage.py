"""Keeping packed rows for many passes, and removing them. The one place that leaves traces.

Rows are kept in Spark's cache or, if there is a work directory, in a folder of Parquet files there.
The folder is removed when the fit ends, also after an error or an interrupt. A folder that this
process sees is removed by Python. Any other (hdfs:, dbfs:, s3:, the disk of a Connect server) is
removed by Spark: a database is created at its place and dropped, which deletes the folder on every
file system that Spark reaches. If the catalog refuses, the rows are overwritten by an empty table.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from pyspark.sql import DataFrame, SparkSession

from figs_spark.engine.blocks import SCHEMA

ATTEMPTS = 3  # to remove a folder that a cancelled job may still write to
PAUSE = 0.5  # seconds between them

log = logging.getLogger("figs_spark")


@contextmanager
def stored(frame: DataFrame, work_dir: str | None) -> Iterator[DataFrame]:
    """Keep the records of `frame` for many passes. Nothing is left behind."""
    if work_dir is None:
        yield from _cached(frame)
    else:
        yield from _written(frame, work_dir)


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


def _written(frame: DataFrame, work_dir: str) -> Iterator[DataFrame]:
    spark = frame.sparkSession
    path = f"{work_dir.rstrip('/')}/figs_spark_{uuid.uuid4().hex}"
    _check_writable(spark, work_dir, path)
    stopped = True
    try:
        _write(frame, work_dir, path)
        yield spark.read.schema(SCHEMA).parquet(path)
        stopped = False
    finally:
        if stopped:
            _cancel(spark)
        remove(spark, path, stopped)


def _check_writable(spark: SparkSession, work_dir: str, path: str) -> None:
    """Before the long work starts: can a file be written there?"""
    try:
        spark.createDataFrame([], SCHEMA).coalesce(1).write.parquet(path)
    except Exception as error:
        if (local := _local(path)) is not None:
            shutil.rmtree(local, ignore_errors=True)
        raise ValueError(
            f"workDir '{work_dir}' cannot be written to: {_reason(error)}. Name a directory that "
            f"the driver and all executors can write to."
        ) from error
    except BaseException:  # an interrupt
        _cancel(spark)
        remove(spark, path, stopped=True)
        raise


def _write(frame: DataFrame, work_dir: str, path: str) -> None:
    try:
        frame.write.mode("overwrite").parquet(path)
    except Exception as error:
        if "No space left" not in str(error):
            raise
        raise RuntimeError(
            f"workDir '{work_dir}' is full: the packed rows do not fit. Free some space, or name a "
            f"larger directory."
        ) from error


def _reason(error: Exception) -> str:
    """The cause that Spark names last."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    causes = [line for line in lines if "Exception:" in line] or lines[:1]
    return causes[-1].rpartition("Exception:")[2].strip()[:300].rstrip(".")


def _cancel(spark: SparkSession) -> None:
    """Stop a write that an interrupt left running. Classic Spark does so by itself."""
    if hasattr(spark, "interruptAll"):
        try:
            spark.interruptAll()
        except Exception as error:
            log.debug("running operations were not interrupted: %s", error)


def remove(spark: SparkSession, path: str, stopped: bool = False) -> None:
    """Delete a folder, on whatever file system it is; log its path if that fails.

    If the work was stopped, tasks may still write for a moment: then it is looked for again.
    """
    gone = False
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE)
        try:
            if attempt == 0 or _exists(spark, path):
                _remove_once(spark, path)
            gone = not _exists(spark, path)
        except Exception as error:
            log.debug("'%s' is still there: %s", path, error)
        if gone and not stopped:
            return
    if not gone:
        log.warning("'%s' could not be deleted. It holds packed rows: delete it.", path)


def _remove_once(spark: SparkSession, path: str) -> None:
    local = _local(path)
    if local is not None and os.path.isdir(local):
        shutil.rmtree(local, ignore_errors=True)
        return
    name = f"figs_spark_remove_{uuid.uuid4().hex}"
    try:
        location = path.replace("\\", "\\\\").replace("'", "\\'")
        spark.sql(f"CREATE DATABASE {name} LOCATION '{location}'")
        spark.sql(f"DROP DATABASE {name} CASCADE")
    except Exception as error:
        log.debug("no database could be made at '%s': %s", path, error)
        spark.createDataFrame([], SCHEMA).coalesce(1).write.mode("overwrite").parquet(path)
        log.warning("'%s' was emptied, but the empty folder could not be deleted.", path)


def _local(path: str) -> str | None:
    """The path as this process may see it; None if it names another file system."""
    parts = urlsplit(path)
    if parts.scheme in ("", "file"):
        return path if not parts.scheme else parts.path
    return None


def _exists(spark: SparkSession, path: str) -> bool:
    """Whether Spark still finds files there."""
    local = _local(path)
    if local is not None and os.path.isdir(local):
        return True
    try:
        return bool(spark.read.schema(SCHEMA).parquet(path).head(1))
    except Exception:
        return False
