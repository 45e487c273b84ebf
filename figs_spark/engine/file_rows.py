"""The rows of a `Table` straight from columns of Parquet files, in the form that packing takes.

They are the rows that the DataFrame of the table has: the same labels, weights and hashes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from figs_spark.dataframes import compat
from figs_spark.dataframes.arrow import Floats, is_missing, to_numbers
from figs_spark.dataframes.parquet_files import RowGroup, read, shares
from figs_spark.engine.content_hashes import Hashes, hashes_of

TRAINS_EVERYWHERE = 255  # in the column "held": no model leaves the row out
BATCH_VALUES = 1 << 23  # that are read at once
MANY_ROWS = 2048  # in which a column takes little longer than its values

Work = Callable[[Iterator["FilePart"]], Iterator[pa.RecordBatch]]


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
        return list(filter(None, (self.label, self.weight, self.held_out)))

    @property
    def names(self) -> list[str]:
        """All columns."""
        return list(dict.fromkeys([*self.features, *self.others]))

    def mapped(
        self,
        spark: SparkSession,
        tasks: int,
        rows: int,
        work: Work,
        schema: str,
        names: Sequence[str] | None = None,
    ) -> DataFrame:
        """What `work` makes of the rows, in at most so many tasks. It gets as many rows at once as
        are asked for, or more if there are many columns; with the columns of these names only."""
        parts = shares(self.groups, tasks)
        size = min(max(rows, MANY_ROWS), max(1, BATCH_VALUES // self.width))
        run = partial(_run, rows=self, names=names, parts=parts, size=size, work=work)
        return spark.range(0, len(parts), 1, len(parts)).mapInArrow(run, schema)


def _run(
    numbers: Iterator[pa.RecordBatch],
    rows: FileRows,
    names: Sequence[str] | None,
    parts: Sequence[Sequence[RowGroup]],
    size: int,
    work: Work,
) -> Iterator[pa.RecordBatch]:
    compat.spare_garbage_collection()
    mine = [group for batch in numbers for k in batch.column(0).to_pylist() for group in parts[k]]
    yield from work(FilePart(batch, rows) for batch in read(mine, names or rows.names, size))


@dataclass(frozen=True)
class FilePart:
    """Some of the rows, as their file has them."""

    batch: pa.RecordBatch
    rows: FileRows

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def where(self, kept: NDArray[np.bool_]) -> FilePart:
        return self if kept.all() else FilePart(self.batch.filter(pa.array(kept)), self.rows)

    def kept(self) -> FilePart:
        """Those that weigh something."""
        return self if self._weights is None else self.where(self._weights > 0)

    @cached_property
    def _labels(self) -> Floats:
        return to_numbers(self.batch.column(self.rows.label))

    @cached_property
    def _weights(self) -> Floats | None:
        """None if each row counts as one."""
        rows = self.rows
        own = None if rows.weight is None else to_numbers(self.batch.column(rows.weight))
        if not rows.factors:
            return own
        factors = np.array(rows.factors)[self._labels.astype(np.intp)]
        return factors if own is None else own * factors

    @cached_property
    def columns(self) -> pa.RecordBatch:
        """All but the features, by the names of a `Table`."""
        columns = {"y": self._labels}
        if self._weights is not None:
            columns["w"] = self._weights
        if self.rows.held_out is not None:
            held = to_numbers(self.batch.column(self.rows.held_out)) == 1
            columns["held"] = np.where(held, 0, TRAINS_EVERYWHERE)
        return pa.RecordBatch.from_pydict({name: pa.array(own) for name, own in columns.items()})

    @cached_property
    def matrix(self) -> Floats:
        """The features, missing ones as NaN; scalar ones lie in memory by columns."""
        if self.rows.in_array:
            return to_numbers(self._arrays).reshape(len(self), -1)
        table = np.empty((self.rows.width, len(self)))
        for j, name in enumerate(self.rows.features):
            table[j] = to_numbers(self.batch.column(name))
        return table.T

    def hashes(self, some: Sequence[int]) -> Hashes:
        """Spark's xxhash64 of the label and some of the features."""
        return hashes_of([(self._labels, None), *map(self._cells, some)])

    @cached_property
    def _arrays(self) -> pa.Array:
        return self.batch.column(self.rows.features[0]).flatten()

    def _cells(self, j: int) -> tuple[Floats, NDArray[np.bool_] | None]:
        """A feature, and where it is null."""
        if self.rows.in_array:
            cells, every = self._arrays, slice(j, None, self.rows.width)
        else:
            cells, every = self.batch.column(self.rows.features[j]), slice(None)
        return to_numbers(cells)[every], is_missing(cells)[every] if cells.null_count else None
