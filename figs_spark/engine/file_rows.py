"""The rows of a `Table` straight from columns of Parquet files, in the form that packing takes.

They are the rows that the DataFrame of the table has: the same labels, weights and hashes.

A task has a share of the row groups, and reads it piece by piece. A part is those rows of a piece
that are used; a slab is some of its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from figs_spark.dataframes import compat
from figs_spark.dataframes.arrow import Floats, is_missing, to_numbers
from figs_spark.dataframes.row_groups import Piece, RowGroup, pieces, shares
from figs_spark.engine.content_hashes import Hashes, hashes_of
from figs_spark.engine.row_weights import TRAINS_EVERYWHERE, factors_of

SLAB_VALUES = 1 << 19  # of some columns that are read at once
LONG_COLUMN = 1 << 17  # rows; of more than these, each column is read alone, to spare memory
ARRAY_VALUES = 1 << 21  # the same of a column of arrays
PIECE_BYTES = 1 << 28  # that a worker holds of a piece: codes, and columns that are no features
MERGED_ROWS = 2048  # of small row groups: of fewer, a column takes longer to open than to read

Cells: TypeAlias = pa.Array | pa.ChunkedArray
FileWork = Callable[[Iterator["FilePart"]], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class FileRows:
    """Where the rows are, and which columns are what."""

    groups: tuple[RowGroup, ...]
    features: tuple[str, ...]  # or the one column of arrays that holds them all
    in_array: bool
    width: int  # the number of features
    label: str
    weight: str | None = None
    held_out: str | None = None  # a column of booleans
    factors: tuple[float, ...] = ()  # of the weights of each class

    @property
    def others(self) -> list[str]:
        """The columns that are no features."""
        return list(dict.fromkeys(filter(None, (self.label, self.weight, self.held_out))))

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(dict.fromkeys([*self.features, *self.others]))

    @property
    def too_large(self) -> bool:
        """Whether a worker has no room for rows that lie together in a file."""
        most = max((group.rows for group in self.groups), default=0)
        row = self.width + 8 * (len(self.others) + 2)  # the slab, and the column that it comes from
        return not self.in_array and most * row > PIECE_BYTES

    def mapped(
        self, spark: SparkSession, tasks: int, rows: int, work: FileWork, schema: str
    ) -> DataFrame:
        """What `work` makes of the rows, in at most so many tasks. Rows of small files come
        together, up to so many."""
        divided = shares(self.groups, tasks)
        merged = max(rows, MERGED_ROWS)
        run = partial(_run, rows=self, divided=divided, merged_rows=merged, work=work)
        return spark.range(0, len(divided), 1, len(divided)).mapInArrow(run, schema)


def _run(
    numbers: Iterator[pa.RecordBatch],
    rows: FileRows,
    divided: Sequence[Sequence[RowGroup]],
    merged_rows: int,
    work: FileWork,
) -> Iterator[pa.RecordBatch]:
    compat.spare_garbage_collection()
    mine = [group for batch in numbers for k in batch.column(0).to_pylist() for group in divided[k]]
    most_rows = max(1, ARRAY_VALUES // max(1, rows.width)) if rows.in_array else None
    yield from work(_file_parts(pieces(mine, rows.names, merged_rows, most_rows), rows))


def _file_parts(every: Iterable[Piece], rows: FileRows) -> Iterator[FilePart]:
    for piece in every:
        yield FilePart(PieceColumns(piece, rows))
        if rows.in_array or piece.rows > LONG_COLUMN:
            pa.default_memory_pool().release_unused()


@dataclass(frozen=True)
class PieceColumns:
    """The columns of a piece that are read once, however often its rows are chosen from."""

    piece: Piece
    rows: FileRows

    @cached_property
    def others(self) -> pa.Table:
        """The columns that are no features."""
        return self.piece.columns(self.rows.others)

    @cached_property
    def arrays(self) -> pa.Array:
        """The column of arrays that holds the features."""
        chunks = self.piece.columns(self.rows.features).column(0).chunks
        return chunks[0] if len(chunks) == 1 else pa.concat_arrays(chunks)

    def slabs(self, names: Sequence[str]) -> Iterator[tuple[int, pa.Table]]:
        """Columns that are features, some at a time, each time with the place of the first one.
        There are 1, 2, 4, ... slabs, so that few widths occur: workers keep the bins of each."""
        rows = max(1, self.piece.rows)
        fitting = 1 if rows > LONG_COLUMN else max(1, SLAB_VALUES // rows)
        slabs = 1 << (-(-len(names) // fitting) - 1).bit_length()
        width = max(1, -(-len(names) // slabs))
        for first in range(0, len(names), width):
            yield first, self.piece.columns(names[first : first + width])


@dataclass(frozen=True)
class FilePart:
    """Some of the rows of a piece."""

    source: PieceColumns
    places: NDArray[np.intp] | None = None  # of the rows in the piece; None: all

    @property
    def rows(self) -> FileRows:
        return self.source.rows

    def __len__(self) -> int:
        return self.source.piece.rows if self.places is None else len(self.places)

    def where(self, kept: NDArray[np.bool_]) -> FilePart:
        if kept.all():
            return self
        places = np.flatnonzero(kept)
        return replace(self, places=places if self.places is None else self.places[places])

    def kept(self) -> FilePart:
        """Those that weigh something."""
        return self if self._weights is None else self.where(self._weights > 0)

    @cached_property
    def columns(self) -> pa.RecordBatch:
        """All but the features, by the names of a `Table`."""
        columns = {"y": self._labels}
        if self._weights is not None:
            columns["w"] = self._weights
        if self.rows.held_out is not None:
            held = self._numbers(self.source.others.column(self.rows.held_out)) == 1
            columns["held"] = np.where(held, 0, TRAINS_EVERYWHERE)
        return pa.RecordBatch.from_pydict({name: pa.array(own) for name, own in columns.items()})

    def slabs(self) -> Iterator[tuple[int, Floats]]:
        """The features, some columns at a time, each time with the number of the first one;
        missing values as NaN. Scalar ones lie in memory by columns."""
        if self.rows.in_array:
            yield 0, self._chosen(to_numbers(self._flat).reshape(-1, self.rows.width))
            return
        for first, read in self.source.slabs(self.rows.features):
            slab = np.empty((read.num_columns, len(self)))
            for j, cells in enumerate(read.columns):
                slab[j] = self._numbers(cells)
            yield first, slab.T

    def hashes(self, some: Sequence[int]) -> Hashes:
        """Spark's xxhash64 of the label and some of the features."""
        columns = ((self._numbers(own), self._missing(own)) for own in self._cells(some))
        return hashes_of(chain([(self._labels, None)], columns))

    def _cells(self, some: Sequence[int]) -> Iterator[Cells]:
        """Some of the features, of all rows of the piece."""
        if self.rows.in_array:
            yield from (self._flat[j :: self.rows.width] for j in some)
            return
        for _, read in self.source.slabs([self.rows.features[j] for j in some]):
            yield from read.columns

    @cached_property
    def _labels(self) -> Floats:
        return self._numbers(self.source.others.column(self.rows.label))

    @cached_property
    def _weights(self) -> Floats | None:
        """None if each row counts as one."""
        rows, weights = self.rows, None
        if rows.weight is not None:
            weights = self._numbers(self.source.others.column(rows.weight))
        if not rows.factors:
            return weights
        factors = factors_of(self._labels, rows.factors)
        return factors if weights is None else weights * factors

    @property
    def _flat(self) -> pa.Array:
        return self.source.arrays.flatten()

    def _numbers(self, cells: Cells) -> Floats:
        return self._chosen(to_numbers(cells))

    def _missing(self, cells: Cells) -> NDArray[np.bool_] | None:
        """Where a column is null; None: nowhere."""
        return self._chosen(is_missing(cells)) if cells.null_count else None

    def _chosen(self, values: NDArray[Any]) -> NDArray[Any]:
        """Of all rows of the piece the ones that are in the part."""
        return values if self.places is None else values[self.places]
