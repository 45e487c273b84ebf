"""Blocks: a few thousand packed rows each, immutable; the tiny model travels to them.

A block holds bin codes row-major, the target no wider than it must be, and weights and the rest
only where there are any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from figs_spark.engine.histograms import CODE_DTYPE, Floats

BLOCK_BYTES = 4 << 20  # of the float64 table that a block is packed from


@dataclass(frozen=True)
class Target:
    """What the target is, and how a block stores it.

    Regression stores float64 minus `centre`, so that a large offset costs no precision.
    Classification stores the class as one byte; two classes are one output, more are one-hot.
    """

    classes: int  # 0: regression
    centre: float = 0.0

    @property
    def outputs(self) -> int:
        return self.classes if self.classes > 2 else 1

    @property
    def centres(self) -> Floats:
        return np.full(self.outputs, self.centre)

    def store(self, labels: Floats) -> NDArray[Any]:
        return labels.astype(np.uint8) if self.classes else labels - self.centre

    def matrix(self, stored: NDArray[Any]) -> Floats:
        """As the kernel takes it, (rows, outputs)."""
        if self.classes > 2:
            return np.eye(self.classes)[stored]
        return stored.astype(np.float64).reshape(-1, 1)


@dataclass(frozen=True)
class Block:
    """Packed rows. `first` is the number of the first one: a row keeps its number in all passes."""

    first: int
    codes: NDArray[np.uint8]  # (rows, features)
    target: NDArray[Any]  # (rows,) uint8 or float64
    weight: Floats | None = None  # (rows,)
    held: NDArray[np.uint8] | None = None  # (rows,) the model that does not train on the row

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def nbytes(self) -> int:
        arrays = (self.codes, self.target, self.weight, self.held)
        return sum(array.nbytes for array in arrays if array is not None)


# One record per block, and one per partition with a report.
SCHEMA = (
    "first bigint, rows int, codes binary, target binary, weight binary, held binary, report string"
)
ARROW = pa.schema(
    [
        ("first", pa.int64()),
        ("rows", pa.int32()),
        ("codes", pa.binary()),
        ("target", pa.binary()),
        ("weight", pa.binary()),
        ("held", pa.binary()),
        ("report", pa.string()),
    ]
)


def to_record(block: Block) -> pa.RecordBatch:
    arrays: dict[str, Any] = {"first": block.first, "rows": len(block), "report": None}
    for field in fields(Block)[1:]:
        array = getattr(block, field.name)
        arrays[field.name] = None if array is None else np.ascontiguousarray(array).tobytes()
    return pa.RecordBatch.from_pylist([arrays], schema=ARROW)


def report_record(report: str) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"report": report}], schema=ARROW)


def from_records(batches: Iterable[pa.RecordBatch], target: Target) -> Iterator[Block]:
    """The blocks of records, without a copy; reports are passed over."""
    for batch in batches:
        columns = {name: batch.column(name) for name in batch.schema.names}
        for k in range(batch.num_rows):
            if columns["codes"][k].is_valid:
                yield _block({name: column[k] for name, column in columns.items()}, target)


def _block(record: dict[str, Any], target: Target) -> Block:
    rows = record["rows"].as_py()

    def array(name: str, dtype: Any) -> Any:
        scalar = record[name]
        return np.frombuffer(scalar.as_buffer(), dtype) if scalar.is_valid else None

    return Block(
        first=record["first"].as_py(),
        codes=array("codes", CODE_DTYPE).reshape(rows, -1),
        target=array("target", np.uint8 if target.classes else np.float64),
        weight=array("weight", np.float64),
        held=array("held", np.uint8),
    )
