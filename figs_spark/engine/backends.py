"""Where the packed rows live while models grow: in the driver, or on the executors.

Both run the same kernel and give the same models.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import Protocol

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame

from figs_spark.dataframes import compat
from figs_spark.engine import blocks as records
from figs_spark.engine.blocks import Block, Target
from figs_spark.engine.histograms import Floats, Layout, Program, Rows, Sums, accumulate
from figs_spark.engine.weights import Weights

BATCH_BYTES = 4 << 20  # packed bytes that go to a Python worker in one Arrow batch
COLLECT_BYTES = 64 << 20  # partial sums that the driver takes in one step
COMPACT_BYTES = 64 << 20  # packed rows of which a model may copy those that it counts
SLICE_BYTES = 4 << 20  # of the sums, when Spark merges them

PARTIAL = "slice int, part int, sums binary"

Programs = Sequence[tuple[int, Program]]
Work = Callable[[Iterator[Block]], Floats]  # some blocks -> a flat array; the arrays add up


class Accumulates(Protocol):
    """All that growing asks for."""

    def accumulate(self, programs: Programs) -> list[Sums]: ...


class Backend(ABC):
    """Packed rows, and the passes over them."""

    def __init__(self, layout: Layout, weights: Weights):
        self.layout, self.weights = layout, weights

    @abstractmethod
    def add_up(self, work: Work, size: int) -> Floats:
        """One pass: the sum of `work`, an array of `size` numbers, over all blocks."""

    def accumulate(self, programs: Programs) -> list[Sums]:
        """The histograms that the programs ask for, one per model of the batch."""
        totals = [Sums.zeros(program) for _, program in programs]
        sizes = [sums.nbytes // 8 for sums in totals]
        work = partial(add_blocks, programs=programs, weights=self.weights)
        flat = self.add_up(work, sum(sizes))
        for sums, part in zip(totals, np.split(flat, np.cumsum(sizes)[:-1]), strict=True):
            sums.fill(part)
        return totals


def add_blocks(blocks: Iterator[Block], programs: Programs, weights: Weights) -> Floats:
    totals = [Sums.zeros(program) for _, program in programs]
    for block in blocks:
        for (member, program), sums in zip(programs, totals, strict=True):
            accumulate(weights.rows(block, member), program, sums)
    return np.concatenate([sums.flat() for sums in totals])


class DriverBackend(Backend):
    """Blocks in the memory of the driver; each pass is shared by threads."""

    def __init__(self, blocks: Sequence[Block], layout: Layout, weights: Weights):
        super().__init__(layout, weights)
        self.rows = sum(map(len, blocks))
        self.nbytes = sum(block.codes.nbytes for block in blocks)
        threads = max(1, min(len(blocks), os.cpu_count() or 1))
        self.parts = [blocks[k::threads] for k in range(threads)]

    def add_up(self, work: Work, size: int) -> Floats:
        if len(self.parts) == 1:
            return work(iter(self.parts[0]))
        with ThreadPoolExecutor(len(self.parts)) as pool:
            return np.sum(list(pool.map(lambda part: work(iter(part)), self.parts)), axis=0)

    def alone(self, member: int) -> OneModel:
        """The rows for one model of many, which then grow side by side."""
        rows = (self.weights.rows(block, member) for block in chain.from_iterable(self.parts))
        small = self.nbytes <= COMPACT_BYTES
        return OneModel([each.compact() if small else each for each in rows])


class OneModel:
    """Rows with the weights of one model, drawn once for all its passes; one thread."""

    def __init__(self, rows: Sequence[Rows]):
        self.rows = rows

    def accumulate(self, programs: Programs) -> list[Sums]:
        ((_, program),) = programs
        sums = Sums.zeros(program)
        for rows in self.rows:
            accumulate(rows, program, sums)
        return [sums]


class ClusterBackend(Backend):
    """Blocks in a DataFrame; each pass is one Spark job for the whole batch of models.

    The driver adds up what the partitions send, unless that is more than COLLECT_BYTES: then
    Spark merges it in slices first, and the driver receives one merged set.
    """

    def __init__(
        self,
        frame: DataFrame,
        partitions: int,
        block_bytes: int,
        layout: Layout,
        weights: Weights,
    ):
        super().__init__(layout, weights)
        self.frame, self.partitions = frame, partitions
        self.batch = max(1, BATCH_BYTES // max(1, block_bytes))

    def add_up(self, work: Work, size: int) -> Floats:
        merge = 8 * size * self.partitions > COLLECT_BYTES
        step = SLICE_BYTES // 8 if merge else size
        run = partial(_add_partition, work=work, target=self.weights.target, step=step)
        partials = self.frame.mapInArrow(run, PARTIAL)
        if merge:
            tasks = min(-(-size // step), self.partitions)
            partials = partials.repartition(tasks, "slice").mapInArrow(_merge_slices, PARTIAL)
        with compat.arrow_batches(self.frame.sparkSession, self.batch):
            received = compat.to_arrow(partials).to_pylist()
        flat = np.zeros(size)
        for record in sorted(received, key=lambda r: r["part"]):  # the same sum every time
            values = np.frombuffer(record["sums"], np.float64)
            flat[record["slice"] * step :][: len(values)] += values
        return flat


def _add_partition(
    batches: Iterator[pa.RecordBatch], work: Work, target: Target, step: int
) -> Iterator[pa.RecordBatch]:
    compat.spare_garbage_collection()
    blocks = records.from_records(batches, target)
    first = next(blocks, None)
    if first is None:
        return
    flat = work(chain([first], blocks))
    part = TaskContext.get().partitionId()  # type: ignore[union-attr]
    for at in range(0, len(flat), step):
        yield _slice(at // step, part, flat[at : at + step])


def _merge_slices(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sum the partial histograms of each slice."""
    totals: dict[int, Floats] = {}
    for batch in batches:
        for record in batch.to_pylist():
            values = np.frombuffer(record["sums"], np.float64)
            if record["slice"] in totals:
                totals[record["slice"]] += values
            else:
                totals[record["slice"]] = values.copy()
    for number, values in totals.items():
        yield _slice(number, 0, values)


def _slice(number: int, part: int, values: Floats) -> pa.RecordBatch:
    arrays = [
        pa.array([number], pa.int32()),
        pa.array([part], pa.int32()),
        pa.array([values.tobytes()], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(arrays, names=["slice", "part", "sums"])
