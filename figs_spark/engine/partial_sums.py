"""The sums of a pass on their way from the tasks to the driver, which adds them up.

Most of them are counts of rows, and travel as such. If they are many, Spark merges them in slices
before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from figs_spark.dataframes import compat
from figs_spark.engine.kernels.records import Floats
from figs_spark.engine.narrow_numbers import add_bytes, to_bytes

COLLECT_BYTES = 64 << 20  # partial sums that the driver takes in one step
SLICE_BYTES = 4 << 20  # of the sums, when Spark merges them
COUNT_BYTES = 4  # of a count on its way, at most

SCHEMA = "slice int, part int, sums binary"
ARROW = pa.schema([("slice", pa.int32()), ("part", pa.int32()), ("sums", pa.binary())])


@dataclass(frozen=True)
class Cutting:
    """Sums of so many numbers, cut into slices that have so many each."""

    size: int
    width: int

    def slices(self, sums: Floats, part: int) -> Iterator[pa.RecordBatch]:
        """The sums of a partition as they are sent."""
        for at in range(0, self.size, self.width):
            yield _record(at // self.width, part, sums[at : at + self.width])

    def merged(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The slices that came here, each added up over all partitions."""
        totals: dict[int, Floats] = {}
        for record in (record for batch in batches for record in batch.to_pylist()):
            k = record["slice"]
            if k not in totals:
                totals[k] = np.zeros(min(self.width, self.size - k * self.width))
            add_bytes(totals[k], record["sums"])
        for k, total in totals.items():
            yield _record(k, 0, total)

    def total(self, received: pa.Table) -> Floats:
        """All slices, in the order of partitions: the same sum every time."""
        slices, parts = (received.column(name).to_pylist() for name in ("slice", "part"))
        sums, flat = received.column("sums"), np.zeros(self.size)
        for k in sorted(range(len(parts)), key=parts.__getitem__):
            at = slices[k] * self.width
            add_bytes(flat[at : at + self.width], sums[k].as_buffer())
        return flat


def add_up(
    frame: DataFrame, work: Callable[..., Floats | None], size: int, counts: int, partitions: int
) -> Floats:
    """The sum, over all partitions, of what `work` makes of the batches of each: `size` numbers, so
    many of which are counts."""
    expected = partitions * (8 * (size - counts) + COUNT_BYTES * counts)
    cut = Cutting(size, max(1, size if expected <= COLLECT_BYTES else SLICE_BYTES // 8))
    sent = frame.mapInArrow(partial(_send, work=work, cut=cut), SCHEMA)
    if cut.width < size:
        tasks = min(-(-size // cut.width), partitions)
        sent = sent.repartition(tasks, "slice").mapInArrow(cut.merged, SCHEMA)
    return cut.total(compat.to_arrow(sent))


def _send(
    batches: Iterator[pa.RecordBatch], work: Callable[..., Floats | None], cut: Cutting
) -> Iterator[pa.RecordBatch]:
    sums = work(batches)
    if sums is not None:
        yield from cut.slices(sums, compat.partition_number())


def _record(number: int, part: int, values: Floats) -> pa.RecordBatch:
    record = {"slice": number, "part": part, "sums": to_bytes(values)}
    return pa.RecordBatch.from_pylist([record], ARROW)
