"""Arrow columns as NumPy tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def to_table(column: pa.Array | pa.ChunkedArray, width: int) -> Floats:
    """A column of arrays as a table (rows, width), null as NaN; without a copy if possible."""
    if isinstance(column, pa.ChunkedArray):
        parts = [to_table(chunk, width) for chunk in column.chunks if len(chunk)]
        return np.concatenate(parts) if parts else np.zeros((0, width))
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), width)


def columns_to_table(columns: Sequence[pa.Array]) -> Floats:
    """Columns of doubles as a table (rows, columns), null as NaN; it lies in memory by columns."""
    return np.array([column.to_numpy(zero_copy_only=False) for column in columns]).T


def to_numbers(cells: pa.Array | pa.ChunkedArray) -> Floats:
    """Numbers or booleans as float64, null as NaN; without a copy if possible."""
    if pa.types.is_boolean(cells.type):
        cells = cells.cast(pa.int8())
    if not pa.types.is_float64(cells.type):
        cells = pc.cast(cells, pa.float64(), safe=False)
    return np.asarray(cells)


def is_missing(cells: pa.Array | pa.ChunkedArray) -> NDArray[np.bool_]:
    """Where a column is null, which NaN is not."""
    return np.asarray(pc.is_null(cells))


def to_lists(table: Floats) -> pa.Array:
    """A table (rows, width) as a column of arrays."""
    ends = np.arange(len(table) + 1, dtype=np.int32) * table.shape[1]
    return pa.ListArray.from_arrays(ends, table.ravel())
