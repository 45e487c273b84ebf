"""Blocks: a few thousand packed rows each, immutable; the tiny model travels to them.

A block holds bin codes row-major, the target no wider than it must be, and weights and the rest
only where there are any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from figs_spark.engine.histograms import CODE_DTYPE, Floats
from figs_spark.engine.table import Target

PARTITION_BITS = 40  # of the number of a row come after that of its partition


@dataclass(frozen=True)
class Block:
    """Packed rows. `first` is the number of the first one: a row keeps its number in all passes."""

    first: int
    codes: NDArray[np.uint8]  # (rows, features)
    target: NDArray[Any]  # (rows,) uint8 or float64
    weight: Floats | None = None  # (rows,); (rows, models) where each model has its own
    held: NDArray[np.uint8] | None = None  # the model that does not train on the row
    count: Floats | None = None  # how many equal rows of the input the row stands for
    ids: NDArray[np.int64] | None = None  # what random weights are drawn by, instead of numbers

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def partition(self) -> int:
        """The number of the partition that packed the rows."""
        return self.first >> PARTITION_BITS


# One record per block, and one per partition with a report. Arrays are kept as bytes.
DTYPES = {
    "codes": CODE_DTYPE,
    "target": None,  # see Target
    "weight": np.float64,
    "held": np.uint8,
    "count": np.float64,
    "ids": np.int64,
}
SCHEMA = f"first bigint, {', '.join(f'{name} binary' for name in DTYPES)}, report string"
ARROW = pa.schema(
    [
        ("first", pa.int64()),
        *((name, pa.binary()) for name in DTYPES),
        ("report", pa.string()),
    ]
)


def to_record(block: Block) -> pa.RecordBatch:
    record: dict[str, Any] = {"first": block.first}
    for name in DTYPES:
        array = getattr(block, name)
        record[name] = None if array is None else array.tobytes()
    return pa.RecordBatch.from_pylist([record], schema=ARROW)


def report_record(report: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"report": report}], schema=ARROW)


def from_records(
    batches: Iterable[pa.RecordBatch], target: Target, least_rows: int = 1
) -> Iterator[Block]:
    """The blocks of records, without a copy; reports are passed over.

    If a record has fewer rows than `least_rows`, those that follow it in its batch are in the same
    block: their bytes lie behind one another.
    """
    for batch in batches:
        columns = {name: batch.column(name) for name in ("first", *DTYPES)}
        for start, stop in _runs(columns, np.dtype(target.dtype).itemsize, least_rows):
            yield _block(columns, start, stop, target)


def _runs(
    columns: dict[str, pa.Array], label_bytes: int, least_rows: int
) -> Iterator[tuple[int, int]]:
    """The records of each block, as places from and to."""
    firsts = columns["first"].to_pylist()
    lengths = pc.binary_length(columns["target"]).to_pylist()
    is_block = columns["codes"].is_valid().to_pylist()
    start = 0
    while start < len(firsts):
        stop, end = start + 1, 0
        if is_block[start]:
            end = firsts[start] + lengths[start] // label_bytes
            while (
                stop < len(firsts)
                and is_block[stop]
                and firsts[stop] == end < firsts[start] + least_rows
            ):
                end += lengths[stop] // label_bytes
                stop += 1
            yield start, stop
        start = stop


def _block(columns: dict[str, pa.Array], start: int, stop: int, target: Target) -> Block:
    arrays = {
        name: _numbers(columns[name], start, stop, dtype or target.dtype)
        for name, dtype in DTYPES.items()
        if columns[name][start].is_valid
    }
    rows = len(arrays["target"])
    arrays["codes"] = arrays["codes"].reshape(rows, -1)
    if len(arrays.get("weight", ())) > rows:
        arrays["weight"] = arrays["weight"].reshape(rows, -1)
    return Block(columns["first"][start].as_py(), **arrays)


def _numbers(column: pa.Array, start: int, stop: int, dtype: Any) -> NDArray[Any]:
    """The bytes of some records as one array."""
    _, ends, content = column.buffers()
    kind = np.int64 if pa.types.is_large_binary(column.type) else np.int32
    places = np.frombuffer(ends, kind, column.offset + stop + 1)
    begin, end = int(places[column.offset + start]), int(places[column.offset + stop])
    count = (end - begin) // np.dtype(dtype).itemsize
    return np.frombuffer(content, dtype, count, begin)
