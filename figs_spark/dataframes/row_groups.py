"""Row groups of Parquet files: which there are, and their columns, read when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

OPEN_FILES = 64  # at once

OpenGroup = tuple[pq.ParquetFile, "RowGroup"]


class RowGroup(NamedTuple):
    """Rows that lie together in a file."""

    path: str
    number: int
    rows: int


@dataclass(frozen=True)
class Piece:
    """Some rows, whose columns are read when they are asked for."""

    rows: int
    columns: Callable[[Sequence[str]], pa.Table]


def pieces(
    groups: Sequence[RowGroup], names: Sequence[str], merged_rows: int, most_rows: int | None = None
) -> Iterator[Piece]:
    """The rows of the groups. Small groups come together, up to `merged_rows`; larger ones each by
    itself or, if they have more than `most_rows`, in slices of the columns `names`. A piece can be
    read until the next one is asked for."""
    opened: dict[str, pq.ParquetFile] = {}
    try:
        for some in _merged(groups, merged_rows):
            paths = {group.path for group in some}
            for path in opened.keys() - paths:
                opened.pop(path).close()
            for path in sorted(paths - opened.keys()):
                with _reading(path):
                    opened[path] = pq.ParquetFile(path)
            rows = sum(group.rows for group in some)
            open_groups = [(opened[group.path], group) for group in some]
            if most_rows is None or rows <= most_rows:
                yield Piece(rows, partial(_columns, open_groups))
            else:
                yield from _slices(open_groups, names, most_rows)
    finally:
        for file in opened.values():
            file.close()


def _merged(groups: Sequence[RowGroup], merged_rows: int) -> Iterator[list[RowGroup]]:
    """Groups of at most `merged_rows` rows and OPEN_FILES files in all, or a single one."""
    some: list[RowGroup] = []
    rows, paths = 0, set[str]()
    for group in groups:
        if some and (rows + group.rows > merged_rows or len(paths | {group.path}) > OPEN_FILES):
            yield some
            some, rows, paths = [], 0, set()
        some.append(group)
        paths.add(group.path)
        rows += group.rows
    if some:
        yield some


def _columns(groups: Sequence[OpenGroup], names: Sequence[str]) -> pa.Table:
    """The columns, one below the other, though files may differ in which of them can be null."""
    tables = [_read(file, group, names) for file, group in groups]
    if len(tables) == 1:
        return tables[0]
    schema = _with_nulls(tables[0].schema)
    return pa.concat_tables(t if t.schema.equals(schema) else t.cast(schema) for t in tables)


def _read(file: pq.ParquetFile, group: RowGroup, names: Sequence[str]) -> pa.Table:
    with _reading(group.path):
        table = file.read_row_group(group.number, list(names), use_threads=False)
    _check_rows(group, table.num_rows)
    return table if table.column_names == list(names) else table.select(names)


def _slices(groups: Sequence[OpenGroup], names: Sequence[str], most_rows: int) -> Iterator[Piece]:
    for file, group in groups:
        rows = 0
        with _reading(group.path):
            read = file.iter_batches(most_rows, [group.number], list(names), use_threads=False)
            for batch in read:
                rows += batch.num_rows
                yield Piece(batch.num_rows, partial(_chosen, batch))
        _check_rows(group, rows)


def _chosen(batch: pa.RecordBatch, names: Sequence[str]) -> pa.Table:
    table = pa.Table.from_batches([batch]).select(names)
    return table.cast(_with_nulls(table.schema))


def _with_nulls(schema: pa.Schema) -> pa.Schema:
    """The same columns and elements of lists, where all may be null."""
    kinds = (pa.list_(t.value_type) if pa.types.is_list(t) else t for t in schema.types)
    return pa.schema(list(zip(schema.names, kinds, strict=True)))


def _check_rows(group: RowGroup, rows: int) -> None:
    if rows != group.rows:
        raise ValueError(
            f"The DataFrame gives other rows when it is read again: {group.path} had "
            f"{group.rows:,} rows in a row group and now has {rows:,}. Do not write to files "
            f"during a fit."
        )


@contextmanager
def _reading(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        reason = " ".join(str(error).split()).rstrip(".")
        raise ValueError(
            f"Python cannot read {path}: {reason}. Write the file again; or, if Spark can read it, "
            f"set the environment variable FIGS_SPARK_PARQUET=0 in the driver."
        ) from error


def shares(groups: Sequence[RowGroup], count: int) -> list[list[RowGroup]]:
    """The groups in order, divided into at most so many shares of about equally many rows."""
    total, before = max(1, sum(group.rows for group in groups)), 0
    divided: list[list[RowGroup]] = [[] for _ in range(count)]
    for group in groups:
        middle = before + group.rows / 2
        divided[min(count - 1, int(middle * count / total))].append(group)
        before += group.rows
    return [share for share in divided if share]
