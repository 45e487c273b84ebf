"""Whether a DataFrame is nothing but columns of plain Parquet files, which workers read themselves.

Where rows come from a DataFrame, Spark reads columns, makes rows of them, and hands these over. If
the driver and its workers see the files, the workers read the columns instead, several times as
fast. Spark tells which files these are, and how many rows it finds in them. Anything else between
the files and the DataFrame is a reason to leave the reading to Spark: a filter, an expression, a
cache, a table format of its own, a column that has another type in a file.
"""

from __future__ import annotations

import logging
import os
import re
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
)

from figs_spark.dataframes.columns import quoted
from figs_spark.dataframes.compat import fewer_partitions, whole_plans
from figs_spark.dataframes.estimates import explained, view_of
from figs_spark.dataframes.row_groups import RowGroup, pieces

NUMBERS: dict[type[DataType], pa.DataType] = {  # the types of columns, as files have them
    BooleanType: pa.bool_(),
    ByteType: pa.int8(),
    ShortType: pa.int16(),
    IntegerType: pa.int32(),
    LongType: pa.int64(),
    FloatType: pa.float32(),
    DoubleType: pa.float64(),
}
RELATION = re.compile(r"Relation (?:[\w.`]+)?\[(.*)\] parquet$")
PROJECT = re.compile(r"Project \[(.*)\]$")
LOCATION = re.compile(r"Location: (\w+)")
PLAIN = ["InMemoryFileIndex"]  # read once, and no table format such as Delta
SPARK_ONLY = (  # ways to read that are Spark's own
    "spark.sql.parquet.fieldId.read.enabled",  # columns by number
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
    "spark.hadoop.parquet.crypto.factory.class",  # encrypted columns
)
THREADS = 8  # that look at files
SOME_ROWS = 1000

log = logging.getLogger("figs_spark")


class NotPlainError(Exception):
    """Why Spark has to read the rows."""


def row_groups(frame: DataFrame, names: Sequence[str]) -> list[RowGroup] | None:
    """Where the rows of some columns are, if these are nothing but columns of plain Parquet files
    that can be read from here; FIGS_SPARK_PARQUET=0 leaves all reading to Spark."""
    try:
        if os.environ.get("FIGS_SPARK_PARQUET", "1") == "0":
            raise NotPlainError("FIGS_SPARK_PARQUET=0 is set")
        types = _file_types(frame, names)
        groups = _groups(frame, _paths(frame, names), types)
    except Exception as error:
        log.debug("Spark reads the rows: %s", error)
        return None
    files = len({group.path for group in groups})
    log.info("Python workers read the columns of %d Parquet files themselves", files)
    return groups


def _file_types(frame: DataFrame, names: Sequence[str]) -> dict[str, pa.DataType]:
    """The types that columns of numbers have in a file."""
    if type(frame).__module__.startswith("pyspark.sql.connect"):
        raise NotPlainError("Spark Connect does not say where its files are")
    fields = {field.name: field.dataType for field in frame.schema.fields}
    types = {name: _file_type(fields.get(name)) for name in names}
    others = [name for name, kind in types.items() if kind is None]
    if others:
        raise NotPlainError(f"{others[0]} is no column of numbers")
    return types


def _file_type(kind: DataType | None) -> pa.DataType | None:
    if isinstance(kind, ArrayType):
        element = NUMBERS.get(type(kind.elementType))
        return None if element is None else pa.list_(element)
    return None if kind is None else NUMBERS.get(type(kind))


def _paths(frame: DataFrame, names: Sequence[str]) -> list[str]:
    """The local files of the DataFrame, if its columns are theirs."""
    spark = frame.sparkSession
    for setting in SPARK_ONLY:
        if str(spark.conf.get(setting, "false")).lower() != "false":
            raise NotPlainError(f"{setting} is set")
    with view_of(frame) as view, whole_plans(spark):
        plans = explained(spark, f"SELECT {', '.join(map(quoted, names))} FROM {view}")
    logical, _, physical = plans.partition("== Physical Plan ==")
    if not is_plain(logical, names) or LOCATION.findall(physical) != PLAIN:
        raise NotPlainError("the plan does more than to choose columns of Parquet files")
    urls = [urlsplit(url) for url in frame.inputFiles()]
    if not urls or any(url.scheme != "file" for url in urls):
        raise NotPlainError("the files are not on a local path")
    folders = {folder for url in urls for folder in url.path.split("/")[:-1]}
    # The folder x=1 is a column, and its name was escaped once more before it was one of a path.
    columns = {unquote(unquote(folder).partition("=")[0]).lower() for folder in folders}
    if columns & {name.lower() for name in names}:
        raise NotPlainError("the name of a folder is a column")
    return sorted(unquote(url.path) for url in urls)


def is_plain(logical: str, names: Sequence[str]) -> bool:
    """Whether a plan, as EXPLAIN COST has it, only chooses columns of Parquet files."""
    lines = [
        line.partition(", Statistics(")[0].strip(" +-")
        for line in logical.splitlines()
        if line.strip() and not line.startswith("==")
    ]
    relation = RELATION.match(lines[-1]) if lines else None
    if relation is None or len(lines) > 2:
        return False
    there = relation[1].split(",")
    if len(lines) == 1:
        chosen = there
    else:
        project = PROJECT.match(lines[0])
        chosen = project[1].split(", ") if project else []
    own = [cell.rpartition("#")[0] for cell in chosen]
    return own == list(names) and set(chosen) <= set(there)


def _groups(
    frame: DataFrame, paths: Sequence[str], types: dict[str, pa.DataType]
) -> list[RowGroup]:
    """The row groups of all files, if all have these columns, and as many rows in all as Spark
    counts: it lists files that it does not read, and may read others twice."""
    first = pq.read_metadata(paths[0])
    _check_columns(paths[0], first, types)
    with ThreadPoolExecutor(THREADS) as pool:
        footers = pool.map(partial(_row_counts, first=first, types=types), paths)
        counted = fewer_partitions(frame).count()  # while the threads look at the files
        every = zip(paths, footers, strict=True)
        groups = [RowGroup(path, k, n) for path, rows in every for k, n in enumerate(rows) if n]
    rows = sum(group.rows for group in groups)
    if not rows or rows != counted:
        raise NotPlainError(f"the files have {rows} rows, of which Spark counts {counted}")
    name = next(iter(types))
    for piece in pieces(groups[:1], [name], 1, SOME_ROWS):  # an error if it cannot be decoded
        piece.columns([name])
        break
    return groups


def _row_counts(path: str, first: pq.FileMetaData, types: dict[str, pa.DataType]) -> list[int]:
    """The rows of each row group."""
    footer = pq.read_metadata(path)
    if not _equal_schemas(footer, first):
        _check_columns(path, footer, types)
    return [footer.row_group(k).num_rows for k in range(footer.num_row_groups)]


def _equal_schemas(one: pq.FileMetaData, other: pq.FileMetaData) -> bool:
    """Whether the files have the same columns, as Parquet knows them and as Arrow does."""
    arrow = [(footer.metadata or {}).get(b"ARROW:schema") for footer in (one, other)]
    return bool(one.schema.equals(other.schema)) and arrow[0] == arrow[1]


def _check_columns(path: str, footer: pq.FileMetaData, types: dict[str, pa.DataType]) -> None:
    """The columns must be there, with these types, and no others of the same name."""
    schema = footer.schema.to_arrow_schema()
    folded = Counter(map(str.lower, schema.names))
    there = dict(zip(schema.names, schema.types, strict=True))
    for name, kind in types.items():
        if folded[name.lower()] != 1 or not _is_type(there.get(name), kind):
            raise NotPlainError(f"{path} has {name} as {there.get(name)}, not as {kind}")


def _is_type(own: pa.DataType | None, kind: pa.DataType) -> bool:
    if own is not None and pa.types.is_list(kind) and pa.types.is_list(own):
        return bool(own.value_type == kind.value_type)
    return bool(own == kind)
