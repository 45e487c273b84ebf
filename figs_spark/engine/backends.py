"""Where the packed rows live, and so where models grow: in the driver, or on the executors.

A backend grows models itself, in the way that suits its rows. All run the same kernel and give the
same models.
"""

from __future__ import annotations

import os
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from figs_spark.dataframes import compat
from figs_spark.engine import blocks as records
from figs_spark.engine import partial_sums
from figs_spark.engine.blocks import Block
from figs_spark.engine.candidates import PASS_BYTES
from figs_spark.engine.grower import Growth, Requests, grow
from figs_spark.engine.histograms import Floats, Layout, Rows, Sums, accumulate
from figs_spark.engine.kernels.accumulate import CHUNK
from figs_spark.engine.progress import Progress
from figs_spark.engine.table import Target
from figs_spark.engine.weights import Weights

BATCH_BYTES = 4 << 20  # packed bytes that go to a Python worker in one Arrow batch
WIDE_BATCH_BYTES = 16 << 20  # the same at most, where a CHUNK of rows is larger
COMPACT_BYTES = 64 << 20  # packed rows of which a model may copy those that it counts
HISTOGRAM_BYTES = 64 << 20  # of the models that grow together on the cluster
MODELS_BYTES = 1 << 30  # of the models that grow side by side in the driver
THREAD_CELLS = 1 << 18  # values in a pass: fewer, and threads would wait for the interpreter lock

# When it pays to grow whole models in tasks
CELL_SECONDS = 1e-8  # for one value of one row in one greedy step; measured on one core
START_SECONDS = 5  # until Python workers have started, loaded the kernel and got the rows
SHIPPED_BYTES = 64 << 20  # packed rows that are sent to the tasks

Work = Callable[[Iterator[Block]], Floats]  # some blocks -> a flat array; the arrays add up
Gathering = Callable[[Iterator[Block]], Any]  # some blocks -> what the driver puts together


class Backend(ABC):
    """Packed rows, and the passes over them."""

    def __init__(self, layout: Layout, weights: Weights):
        self.layout, self.weights = layout, weights

    @abstractmethod
    def add_up(self, work: Work, size: int, counts: int = 0) -> Floats:
        """One pass: the sum of `work`, an array of `size` numbers, over all blocks. So many of
        them are counts, which can travel in fewer bytes."""

    @abstractmethod
    def gather(self, work: Gathering) -> list[Any]:
        """One pass: what `work` returns for each part of the blocks, in the order of parts."""

    @abstractmethod
    def grow(self, growths: Sequence[Growth], progress: Progress) -> Sequence[Growth]:
        """Many models, grown to the end."""

    def accumulate(self, requests: Requests) -> list[Sums]:
        """The histograms that the requests ask for, one set per model of the batch."""
        work = partial(add_blocks, requests=requests, weights=self.weights)
        asked = [request for _, request in requests]
        size, counts = sum(one.size for one in asked), sum(one.counts for one in asked)
        return Sums.over(asked, self.add_up(work, size, counts))


def add_blocks(blocks: Iterator[Block], requests: Requests, weights: Weights) -> Floats:
    asked = [request for _, request in requests]
    flat = np.zeros(sum(request.size for request in asked))
    totals = Sums.over(asked, flat)
    for block in blocks:
        for (member, request), sums in zip(requests, totals, strict=True):
            accumulate(weights.rows(block, member), request, sums)
    return flat


class DriverBackend(Backend):
    """Blocks in the memory of the driver.

    One model grows with each pass shared by threads. Many grow side by side, each on one thread;
    or, if `spark` has so many more cores that it pays, in tasks that each get all packed rows.
    """

    def __init__(
        self,
        blocks: Sequence[Block],
        layout: Layout,
        weights: Weights,
        spark: SparkSession | None = None,
    ):
        super().__init__(layout, weights)
        self.spark = spark
        threads = max(1, min(len(blocks), os.cpu_count() or 1))
        self.parts = [blocks[k::threads] for k in range(threads)]
        self.blocks = list(chain.from_iterable(self.parts))
        self.rows = sum(map(len, blocks))
        self.nbytes = sum(block.codes.nbytes for block in blocks)

    def add_up(self, work: Work, size: int, counts: int = 0) -> Floats:
        threads = min(len(self.parts), max(1, PASS_BYTES // (8 * max(1, size))))
        if threads == 1:
            return work(iter(self.blocks))
        shares = [list(chain.from_iterable(self.parts[k::threads])) for k in range(threads)]
        with ThreadPoolExecutor(threads) as pool:
            sums = pool.map(lambda share: work(iter(share)), shares)
            total = next(sums)
            for other in sums:
                total += other
        return total

    def gather(self, work: Gathering) -> list[Any]:
        with ThreadPoolExecutor(len(self.parts)) as pool:
            return list(pool.map(lambda part: work(iter(part)), self.parts))

    def grow(self, growths: Sequence[Growth], progress: Progress) -> Sequence[Growth]:
        if len(growths) == 1:
            grow(growths, self, progress)
            return growths
        if self.spark is not None and (count := tasks_that_pay(growths, self, self.spark)):
            return grow_in_tasks(growths, self, self.spark, count)
        long = self.rows * growths[0].features_per_step > THREAD_CELLS
        threads = min(os.cpu_count() or 1, max(1, MODELS_BYTES // growths[0].driver_bytes))

        def alone(growth: Growth) -> None:
            grow([growth], OneModel.of(self.blocks, self.weights, growth.member), progress)

        with ThreadPoolExecutor(threads if long else 1) as pool:
            list(pool.map(alone, growths))
        return growths


class OneModel:
    """Rows with the weights of one model, drawn once for all its passes; one thread."""

    def __init__(self, rows: Sequence[Rows]):
        self.rows = rows

    @classmethod
    def of(cls, blocks: Sequence[Block], weights: Weights, member: int) -> OneModel:
        rows = [weights.rows(block, member) for block in blocks]
        small = sum(block.codes.nbytes for block in blocks) <= COMPACT_BYTES
        return cls([each.compact() for each in rows] if small else rows)

    def accumulate(self, requests: Requests) -> list[Sums]:
        totals = [Sums.zeros(request) for _, request in requests]
        for rows in self.rows:
            for (_, request), sums in zip(requests, totals, strict=True):
                accumulate(rows, request, sums)
        return totals


def tasks_that_pay(growths: Sequence[Growth], backend: DriverBackend, spark: SparkSession) -> int:
    """Into how many tasks to divide the models; 0 if the driver's cores are as fast."""
    cells = backend.rows * sum(growth.features_per_step * growth.most_steps for growth in growths)
    cores, seconds = os.cpu_count() or 1, CELL_SECONDS * cells
    if backend.nbytes > SHIPPED_BYTES or seconds / cores <= START_SECONDS:
        return 0
    tasks = min(compat.parallelism(spark), len(growths))
    return tasks if seconds / tasks + START_SECONDS < seconds / cores else 0


def grow_in_tasks(
    growths: Sequence[Growth], backend: DriverBackend, spark: SparkSession, tasks: int
) -> list[Growth]:
    run = partial(_grow_some, growths=growths, blocks=backend.blocks, weights=backend.weights)
    frame = spark.range(0, len(growths), 1, tasks).mapInArrow(run, "grown binary")
    received = compat.to_arrow(frame).column("grown").to_pylist()
    grown = [growth for part in received for growth in pickle.loads(part)]
    return sorted(grown, key=lambda growth: growth.member)


def _grow_some(
    batches: Iterator[pa.RecordBatch],
    growths: Sequence[Growth],
    blocks: Sequence[Block],
    weights: Weights,
) -> Iterator[pa.RecordBatch]:
    """One record with all models of the task, so that what they share is sent once."""
    compat.spare_garbage_collection()
    mine = [growths[k] for batch in batches for k in batch.column(0).to_pylist()]
    for growth in mine:
        grow([growth], OneModel.of(blocks, weights, growth.member))
    yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(mine)], pa.binary())], ["grown"])


class ClusterBackend(Backend):
    """Blocks in a DataFrame; each pass is one Spark job for the whole batch of models.

    The driver adds up what the partitions send, see `partial_sums`.
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
        chunk_bytes = CHUNK * len(layout.widths)
        most = min(max(BATCH_BYTES, chunk_bytes), WIDE_BATCH_BYTES)
        self.batch = max(1, most // max(1, block_bytes))

    def grow(self, growths: Sequence[Growth], progress: Progress) -> Sequence[Growth]:
        """In batches that share every pass, each as large as the memory for histograms allows."""
        size = max(1, HISTOGRAM_BYTES // growths[0].histogram_bytes)
        for at in range(0, len(growths), size):
            grow(growths[at : at + size], self, progress)
        return growths

    def gather(self, work: Gathering) -> list[Any]:
        run = partial(_gather_partition, work=work, target=self.weights.target)
        frame = self.frame.mapInArrow(run, "part int, gathered binary")
        with compat.arrow_batches(self.frame.sparkSession, self.batch):
            received = compat.to_arrow(frame).to_pylist()
        in_order = sorted(received, key=lambda record: record["part"])
        return [pickle.loads(record["gathered"]) for record in in_order]

    def add_up(self, work: Work, size: int, counts: int = 0) -> Floats:
        run = partial(_add_partition, work=work, target=self.weights.target)
        with compat.arrow_batches(self.frame.sparkSession, self.batch):
            return partial_sums.add_up(self.frame, run, size, counts, self.partitions)


def _blocks(batches: Iterator[pa.RecordBatch], target: Target) -> Iterator[Block] | None:
    """The blocks of a partition; None if it has none."""
    compat.spare_garbage_collection()
    blocks = records.from_records(batches, target, CHUNK)
    first = next(blocks, None)
    return None if first is None else chain([first], blocks)


def _add_partition(batches: Iterator[pa.RecordBatch], work: Work, target: Target) -> Floats | None:
    blocks = _blocks(batches, target)
    return None if blocks is None else work(blocks)


def _gather_partition(
    batches: Iterator[pa.RecordBatch], work: Gathering, target: Target
) -> Iterator[pa.RecordBatch]:
    blocks = _blocks(batches, target)
    if blocks is None:
        return
    gathered = pickle.dumps(work(blocks))
    arrays = [pa.array([compat.partition_number()], pa.int32()), pa.array([gathered], pa.binary())]
    yield pa.RecordBatch.from_arrays(arrays, names=["part", "gathered"])
