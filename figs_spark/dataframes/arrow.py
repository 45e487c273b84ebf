"""Arrow columns as NumPy tables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
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


def to_lists(table: Floats) -> pa.Array:
    """A table (rows, width) as a column of arrays."""
    ends = np.arange(len(table) + 1, dtype=np.int32) * table.shape[1]
    return pa.ListArray.from_arrays(ends, table.ravel())
