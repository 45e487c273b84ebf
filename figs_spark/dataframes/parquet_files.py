"""Columns of plain Parquet files, which Python workers read themselves.

Where rows come from a DataFrame, Spark reads columns, makes rows of them, and hands these over. If
a DataFrame is nothing but columns of Parquet files that the driver and its workers see as files,
the workers read the columns instead, several times as fast. Spark tells which files these are.
Anything else between the files and the DataFrame is a reason to leave the reading to Spark: a
filter, an expression, a cache, a table format of its own, a column that has another type in a file.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby, pairwise
from operator import attrgetter
from typing import NamedTuple
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
from figs_spark.dataframes.compat import whole_plans
from figs_spark.dataframes.estimates import explained, view_of

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
LOCATION = re.compile(r"Location: (\w+)\((\d+) paths\)\[(.*?)\], PartitionFilters")
PLAIN = "InMemoryFileIndex"  # and no table format such as Delta
SPARK_ONLY = (  # ways to read that are Spark's own
    "spark.sql.parquet.fieldId.read.enabled",  # columns by number
    "spark.sql.files.ignoreCorruptFiles",
    "spark.sql.files.ignoreMissingFiles",
)
THREADS = 8  # that look at files

log = logging.getLogger("figs_spark")


class RowGroup(NamedTuple):
    """Rows that lie together in a file."""

    path: str
    number: int
    rows: int


def row_groups(frame: DataFrame, names: Sequence[str]) -> list[RowGroup] | None:
    """Where the rows of some columns are, if these are nothing but columns of plain Parquet files
    that can be read from here; FIGS_SPARK_PARQUET=0 leaves all reading to Spark."""
    if os.environ.get("FIGS_SPARK_PARQUET", "1") == "0":
        return None
    fields = {field.name: field.dataType for field in frame.schema.fields}
    types = {name: _in_files(fields.get(name)) for name in names}
    if None in types.values() or type(frame).__module__.startswith("pyspark.sql.connect"):
        return None
    try:
        paths = _paths(frame, names)
        return None if paths is None else _groups(paths, types)
    except Exception as error:
        log.debug("Spark reads the rows: %s", error)
        return None


def _in_files(kind: DataType | None) -> pa.DataType | None:
    """The type that a column has in a file; None if it is not one of numbers."""
    if isinstance(kind, ArrayType):
        element = NUMBERS.get(type(kind.elementType))
        return None if element is None else pa.list_(element)
    return None if kind is None else NUMBERS.get(type(kind))


def _paths(frame: DataFrame, names: Sequence[str]) -> list[str] | None:
    """The local files whose rows are those of the DataFrame."""
    spark = frame.sparkSession
    if any(str(spark.conf.get(name, "false")).lower() != "false" for name in SPARK_ONLY):
        return None
    with view_of(frame) as view, whole_plans(spark):
        query = f"SELECT {', '.join(map(quoted, names))} FROM {view}"
        logical, _, physical = explained(spark, query).partition("== Physical Plan ==")
        if not is_plain(logical, names) or not reads_once(physical):
            return None
        urls = [urlsplit(url) for url in spark.sql(query).inputFiles()]
    if not urls or any(url.scheme != "file" for url in urls):
        return None
    paths = sorted(unquote(url.path) for url in urls)
    folders = {folder for path in paths for folder in path.split("/")[:-1]}
    in_folders = {unquote(folder).partition("=")[0].lower() for folder in folders}
    return None if in_folders & {name.lower() for name in names} else paths


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


def reads_once(physical: str) -> bool:
    """Whether a plan reads plain files, and none of them twice."""
    found = LOCATION.findall(physical)
    if len(found) != 1 or found[0][0] != PLAIN:
        return False
    roots = sorted(root + "/" for root in found[0][2].split(", "))
    nested = any(below.startswith(above) for above, below in pairwise(roots))
    return len(roots) == int(found[0][1]) and not nested


def _groups(paths: Sequence[str], types: dict[str, pa.DataType]) -> list[RowGroup] | None:
    """The row groups of all files; None if the columns of some have other types."""
    first = pq.read_metadata(paths[0])
    if not _has(pq.read_schema(paths[0]), types):
        return None

    def sizes(path: str) -> list[int] | None:
        footer = pq.read_metadata(path)
        if not _same_columns(footer, first) and not _has(pq.read_schema(path), types):
            return None
        return [footer.row_group(k).num_rows for k in range(footer.num_row_groups)]

    with ThreadPoolExecutor(THREADS) as pool:
        rows = list(pool.map(sizes, paths))
    if None in rows:
        return None
    groups = [
        RowGroup(path, k, size)
        for path, own in zip(paths, rows, strict=True)
        for k, size in enumerate(own or ())
    ]
    next(_batches(groups[:1], list(types), rows=1), None)  # an error if it cannot be decoded here
    return groups or None


def _same_columns(one: pq.FileMetaData, other: pq.FileMetaData) -> bool:
    """Whether the files have the same columns, as Parquet knows them and as Arrow does."""
    arrow = [(footer.metadata or {}).get(b"ARROW:schema") for footer in (one, other)]
    return bool(one.schema.equals(other.schema)) and arrow[0] == arrow[1]


def _has(schema: pa.Schema, types: dict[str, pa.DataType]) -> bool:
    """Whether the columns are there once each, with these types."""
    there = dict(zip(schema.names, schema.types, strict=True))
    alone = len(there) == len(schema)
    return alone and all(_same(there.get(name), kind) for name, kind in types.items())


def _same(found: pa.DataType | None, kind: pa.DataType) -> bool:
    if found is not None and pa.types.is_list(kind) and pa.types.is_list(found):
        return bool(found.value_type == kind.value_type)
    return bool(found == kind)


def read(groups: Iterable[RowGroup], names: Sequence[str], rows: int) -> Iterator[pa.RecordBatch]:
    """The columns of these names, in batches of about so many rows; small files together."""
    held: list[pa.RecordBatch] = []
    for batch in _batches(groups, names, rows):
        if sum(map(len, held)) + len(batch) > rows:
            yield from _joined(held)
            held = []
        held.append(batch)
    yield from _joined(held)


def _joined(batches: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if len(batches) < 2:
        return iter(batches)
    return iter(pa.Table.from_batches(batches).combine_chunks().to_batches())


def _batches(
    groups: Iterable[RowGroup], names: Sequence[str], rows: int
) -> Iterator[pa.RecordBatch]:
    for path, own in groupby(groups, attrgetter("path")):
        numbers = [group.number for group in own]
        with pq.ParquetFile(path) as file:
            batches = file.iter_batches(rows, numbers, columns=list(names), use_threads=False)
            yield from (batch.select(names) for batch in batches if batch.num_rows)


def shares(groups: Sequence[RowGroup], count: int) -> list[list[RowGroup]]:
    """The groups in order, divided into at most so many parts of about equally many rows."""
    total, before = max(1, sum(group.rows for group in groups)), 0
    parts: list[list[RowGroup]] = [[] for _ in range(count)]
    for group in groups:
        middle = before + group.rows / 2
        parts[min(count - 1, int(middle * count / total))].append(group)
        before += group.rows
    return [part for part in parts if part]
