"""The output of a job: it replaces nothing unless asked to, and appears only when it is complete.

On a local or mounted file system a job writes to a hidden folder beside the target and renames it
at the end; a job that fails leaves nothing behind. The DataFrame API cannot rename in stores that
only Spark reaches (HDFS, S3, ...). There Spark writes to the target itself, and the file `_SUCCESS`
(of a table) or `metadata` (of a model) is written last.
"""

from __future__ import annotations

import logging
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlparse

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from figs_spark.app.config import Settings
from figs_spark.app.errors import OUTPUT_EXISTS, WRONG_USAGE
from figs_spark.app.sources import exists, require
from figs_spark.app.spreadsheets import safe_frame

FileFormat = Literal["parquet", "csv", "json", "orc", "delta"]

log = logging.getLogger("figs_spark")


@dataclass(frozen=True)
class Folder:
    """A folder to write to: tables by Spark, and small files."""

    spark: SparkSession
    path: str
    local: bool
    overwrite: bool

    def write(self, name: str, text: str) -> None:
        """Write a small text file; in a remote store, a folder of that name with one part file."""
        if self.local:
            target = Path(local_path(self.path))
            target.mkdir(parents=True, exist_ok=True)
            (target / name).write_text(text, "utf-8")
            return
        frame = self.spark.createDataFrame([(text,)], "value string").coalesce(1)
        frame.write.mode("overwrite" if self.overwrite else "error").text(f"{self.path}/{name}")

    def table(self, rows: DataFrame, kind: str = "parquet") -> None:
        """Write a table as the whole folder, by the executors."""
        header = {"header": "true"} if kind == "csv" else {}
        rows = safe_frame(rows) if kind == "csv" else rows
        mode = "overwrite" if self.overwrite else "error"
        rows.write.format(kind).options(**header).mode(mode).save(self.path)

    def draw(self, name: str, figure: Any) -> None:
        """Write a matplotlib figure as a picture."""
        if not self.local:
            log.warning("%s was not written: pictures can only be written to local folders", name)
            return
        figure.savefig(Path(local_path(self.path)) / name, dpi=150, bbox_inches="tight")


def check_output_here(settings: Settings[Any]) -> None:
    """The same as `check_output`, before Spark starts, for a path that can only be a local one."""
    path = settings.job.output
    if not path or settings.overwrite:
        return
    plain = "://" not in path and not path.startswith("dbfs:")
    elsewhere = any(
        name in os.environ for name in ("HADOOP_CONF_DIR", "DATABRICKS_RUNTIME_VERSION")
    )
    if path.startswith("file:") or (plain and not elsewhere):
        _check_free(settings, path, Path(local_path(path)).exists())


def _check_free(settings: Settings[Any], path: str, taken: bool) -> None:
    if taken:
        message = f"'{path}' exists: choose another output, or pass --overwrite to replace it."
        raise settings.error("output", message, OUTPUT_EXISTS)


def check_output(spark: SparkSession, settings: Settings[Any]) -> str:
    """The output path; it must not exist unless --overwrite is given."""
    path = require(settings, "output", "a path to write to").rstrip("/")
    _check_free(settings, path, not settings.overwrite and exists(spark, path))
    here = Path.cwd().resolve()
    if settings.overwrite and Path(local_path(path)).resolve() in (here, *here.parents):
        raise settings.error("output", f"'{path}' contains the working directory.", WRONG_USAGE)
    return path


@contextmanager
def appearing(spark: SparkSession, settings: Settings[Any]) -> Iterator[Folder]:
    """A folder that becomes the output when the block ends; if the block fails, it is removed."""
    target = check_output(spark, settings)
    parent, _, name = target.rpartition("/")
    hidden = f"{parent + '/' if parent else ''}.{name}.{uuid.uuid4().hex[:8]}.incomplete"
    if not _is_local(spark, hidden):
        yield Folder(spark, target, False, settings.overwrite)
        return
    try:
        yield Folder(spark, hidden, True, settings.overwrite)
        _move(Path(local_path(hidden)), Path(local_path(target)))
    finally:
        shutil.rmtree(local_path(hidden), ignore_errors=True)


def _move(new: Path, target: Path) -> None:
    old = target.with_name(f"{new.name}.old")
    if target.exists():
        os.rename(target, old)
    os.rename(new, target)
    if old.is_dir():
        shutil.rmtree(old, ignore_errors=True)
    else:
        old.unlink(missing_ok=True)


def local_path(path: str) -> str:
    """The path without the scheme `file`."""
    return unquote(urlparse(path).path) if path.startswith("file:") else path


def _is_local(spark: SparkSession, missing: str) -> bool:
    """Whether this missing path is on the local file system; Spark's error message says so."""
    try:
        return not spark.read.format("binaryFile").load([missing, missing]).columns
    except AnalysisException as error:
        return re.search(r"Path does not exist: file:", str(error)) is not None
