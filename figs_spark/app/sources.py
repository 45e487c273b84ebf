"""Reading a table in any format that Spark reads, with a short message if it cannot be read."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from figs_spark.app.config import Settings, close, key
from figs_spark.app.errors import UNFIT_INPUT, JobError
from figs_spark.app.reader_options import reader_options, warn_of_unknown
from figs_spark.dataframes.columns import column, listed
from figs_spark.dataframes.derived import with_derived

Format = Literal["auto", "parquet", "csv", "json", "orc", "delta", "table"]
log = logging.getLogger("figs_spark")
SUFFIXES = {"csv": "csv", "tsv": "csv", "json": "json", "jsonl": "json", "orc": "orc"}


@dataclass(frozen=True)
class Input:
    """The keys of a job that reads a table."""

    input: str | None = key(None, "path or name of the table to read")
    format: Format = key("auto", "format of the input; auto: what the path looks like")
    options: dict[str, str] = key({}, "options of Spark's reader, such as {nullValue: '?'}")
    derive: dict[str, str] = key({}, "columns to derive: {name: SQL expression over the others}")
    where: str | None = key(None, "SQL condition; only rows that meet it are used")


def read(spark: SparkSession, settings: Settings[Any]) -> DataFrame:
    """The rows of the input, or a JobError."""
    path = require(settings, "input", "a path or the name of a table")
    kind = kind_of(spark, settings.job)
    if kind != "table" and not exists(spark, path):
        raise settings.error("input", f"'{path}' does not exist.", UNFIT_INPUT)
    warn_of_unknown(kind, settings.job.options, settings.origins)
    try:
        data = prepared(_load(spark, path, kind, settings.job.options), settings)
        log.debug("%s has the columns %s", path, data.columns)  # Connect reads here, not before
    except JobError:
        raise
    except Exception as error:  # a format that is not installed fails in Java, in various ways
        message = f"'{path}' cannot be read as {kind}: {short(error)} {_remedy(kind)}"
        raise settings.error("input", message, UNFIT_INPUT) from error
    return data


def prepared(data: DataFrame, settings: Settings[Any]) -> DataFrame:
    """The rows that are used, with the derived columns."""
    try:
        data = with_derived(data, settings.job.derive, "derive")
    except ValueError as error:
        raise settings.error("derive", str(error), UNFIT_INPUT) from error
    condition = settings.job.where
    if condition is None:
        return data
    try:
        rows = data.where(condition)
        log.debug("%s of %s", condition, rows.columns)
    except PySparkException as error:
        message = f"'{condition}' does not fit this table: {short(error)}"
        raise settings.error("where", message, UNFIT_INPUT) from error
    return rows


def require(settings: Settings[Any], name: str, what: str) -> str:
    value = getattr(settings.job, name)
    if not value:
        raise settings.error(name, f"{what} is needed. Set --{name}, or {name}: in the YAML file.")
    return str(value)


def _load(spark: SparkSession, path: str, kind: str, options: dict[str, str]) -> DataFrame:
    if kind == "table":
        return spark.table(path)
    reader = spark.read.options(**reader_options(kind, options))
    if kind == "parquet":  # other files are noticed here, before an executor fails on them
        schema = reader.option("ignoreCorruptFiles", "true").load([path, path], "parquet").schema
        reader = spark.read.options(**options).schema(schema)
    return reader.format(kind).load(path)


def kind_of(spark: SparkSession, source: Input) -> str:
    """The format; if it is "auto", the name of the path decides, and what is there."""
    path = str(source.input)
    if source.format != "auto":
        return source.format
    suffix = path.removesuffix(".gz").removesuffix("/").rpartition(".")[2].lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    if exists(spark, path):
        return "delta" if exists(spark, f"{path.rstrip('/')}/_delta_log") else "parquet"
    return "table" if table_exists(spark, path) else "parquet"


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is anything at a path, on any file system that Spark reaches.

    The path is named twice: for a single one Spark looks for the log of a stream, and warns.
    """
    try:
        return bool(spark.read.format("binaryFile").load([path, path]).columns)
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error):
            return False
        raise


def table_exists(spark: SparkSession, name: str) -> bool:
    try:
        return spark.catalog.tableExists(name)
    except PySparkException:
        return False


def short(error: Exception) -> str:
    """The first sentence of a Spark error, without codes and without what Java adds."""
    text = re.sub(r"^An error occurred while calling .*\n: [\w.$]+: ", "", str(error).strip())
    line = text.partition("\n")[0]
    if "UNABLE_TO_INFER_SCHEMA" in line:
        return "it has no file of that format."
    line = re.sub(r"^\[[A-Z_.0-9]+\] ", "", line)
    line = re.sub(r" ?SQLSTATE: \w+", "", line)
    return line if line.endswith((".", "?")) else f"{line}."


def _remedy(kind: str) -> str:
    if kind == "delta":
        return "Is the Delta package on the class path (--packages)?"
    return "Set format to the right one: parquet, csv, json, orc, delta or table."


def need_columns(data: DataFrame, needed: Iterable[str]) -> None:
    """Raise if the table lacks any of these columns."""
    missing = [name for name in dict.fromkeys(needed) if name not in data.columns]
    if missing:
        names = ", ".join(map(repr, missing))
        hint = close(missing[0], data.columns) or f"it has {listed(data.columns, 30)}."
        raise JobError(UNFIT_INPUT, f"the input has no column {names}; {hint}")


def only(data: DataFrame, names: Sequence[str]) -> DataFrame:
    """These columns alone, so that no other column has the name of a model's output."""
    need_columns(data, names)
    return data.select(*[column(name) for name in dict.fromkeys(names)])
