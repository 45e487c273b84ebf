"""Arrow columns as NumPy tables."""

from __future__ import annotations

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
