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


def from_records(batches: Iterable[pa.RecordBatch], target: Target) -> Iterator[Block]:
    """The blocks of records, without a copy; reports are passed over."""
    for batch in batches:
        columns = {name: batch.column(name) for name in ("first", *DTYPES)}
        for k in range(batch.num_rows):
            if columns["codes"][k].is_valid:
                yield _block({name: column[k] for name, column in columns.items()}, target)


def _block(record: dict[str, Any], target: Target) -> Block:
    arrays = {
        name: np.frombuffer(record[name].as_buffer(), dtype or target.dtype)
        for name, dtype in DTYPES.items()
        if record[name].is_valid
    }
    rows = len(arrays["target"])
    arrays["codes"] = arrays["codes"].reshape(rows, -1)
    if len(arrays.get("weight", ())) > rows:
        arrays["weight"] = arrays["weight"].reshape(rows, -1)
    return Block(record["first"].as_py(), **arrays)
