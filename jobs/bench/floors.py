"""Floors: times that no training on these rows can beat, next to the parts of the engine."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain, islice
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from figs_spark.engine.backends import ClusterBackend
from figs_spark.engine.blocks import from_records
from figs_spark.engine.grower import Growth, GrowthRules, grow
from figs_spark.engine.histograms import Request, Sums, accumulate
from figs_spark.engine.table import Table
from figs_spark.engine.training import Plan, packed
from figs_spark.engine.weights import OwnWeights, Weights
from figs_spark.stages.base.checks import check
from jobs.bench.contenders import Task, figs_estimator
from jobs.bench.data import LABEL, Data
from jobs.bench.measuring import Timing, in_turns

READ = "one sequential read of the Parquet files"
SCAN = "one scan that sums one array column"
PACK = "profile and pack"
STEP = "a greedy step, cluster mode, mean"
KERNEL = "one bare kernel pass over all rows and features"

KERNEL_PASSES = 5
PATIENCE = 600  # seconds that the processes wait for each other


def measure_floors(
    spark: SparkSession, task: Task, repeats: int, folder: Path
) -> dict[str, Timing]:
    timings = in_turns(
        {
            READ: (partial(read, task.data), repeats),
            SCAN: (partial(scan, spark, task.data), repeats),
            PACK: (partial(pack, spark, task), repeats),
        },
        "floors",
    )
    inside = Timing()
    inside.take("floors: steps and kernel", partial(steps_and_kernel, spark, task, repeats, folder))
    steps, passes = inside.result or ([], [])
    timings[STEP] = Timing(steps, inside.peaks, inside.note)
    timings[KERNEL] = Timing(passes, note=inside.note)
    return timings


def read(data: Data) -> int:
    """Decode all columns in one thread, a row group at a time."""
    size = 0
    for path in data.files:
        file = pq.ParquetFile(path)
        for group in range(file.num_row_groups):
            columns = [*data.features, LABEL]
            size += file.read_row_group(group, columns, use_threads=False).nbytes
    return size


def scan(spark: SparkSession, data: Data) -> float:
    """Move the features to Python as one array column and add them up, nothing else."""

    def add_up(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total = sum(np.sum(batch.column(0).flatten().to_numpy()) for batch in batches)
        yield pa.RecordBatch.from_pydict({"total": [float(total)]})

    features = data.frame(spark).selectExpr(f"array({', '.join(data.features)}) as x")
    return sum(row["total"] for row in features.mapInArrow(add_up, "total double").collect())


def pack(spark: SparkSession, task: Task) -> None:
    table, plan = checked(spark, task)
    with packed(table, plan, OwnWeights(table.target)):
        pass


def checked(spark: SparkSession, task: Task) -> tuple[Table, Plan]:
    """What an estimator in cluster mode passes to the engine."""
    estimator = figs_estimator(task, "cluster")
    table = check(task.data.frame(spark), estimator, not task.data.is_numeric).table
    return table, Plan(GrowthRules(max_splits=task.splits), "cluster", task.bins)


def steps_and_kernel(
    spark: SparkSession, task: Task, repeats: int, folder: Path
) -> tuple[list[float], list[float]]:
    """Seconds of the mean step of each fit, and of each bare pass, over the same blocks."""
    table, plan = checked(spark, task)
    try:
        with packed(table, plan, OwnWeights(table.target)) as (bins, backend):
            assert isinstance(backend, ClusterBackend)
            centre = table.target.centres
            growths = [Growth(bins, backend.layout, plan.rules, centre) for _ in range(repeats)]
            first_pass = growths[0].request()
            steps = [mean_step(growth, backend) for growth in growths]
            backend.frame.write.mode("overwrite").parquet(str(folder))
        cores = spark.sparkContext.defaultParallelism
        return steps, kernel_passes(folder, cores, first_pass, backend)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def mean_step(growth: Growth, backend: ClusterBackend) -> float:
    stamps = [time.perf_counter()]
    grow([growth], backend, lambda models: stamps.append(time.perf_counter()))
    return (stamps[-1] - stamps[0]) / (len(stamps) - 1)


def kernel_passes(
    folder: Path, processes: int, request: Request, backend: ClusterBackend
) -> list[float]:
    """Seconds from the start of a pass in the first process to its end in the last one."""
    context = get_context("spawn")
    together = context.Barrier(processes)
    work = partial(
        _time_passes,
        processes=processes,
        files=sorted(map(str, folder.glob("*.parquet"))),
        request=request,
        weights=backend.weights,
    )
    with ProcessPoolExecutor(processes, context, _set_barrier, (together,)) as pool:
        stamps = np.array(list(pool.map(work, range(processes))))  # (processes, passes, 2)
    return (stamps[:, :, 1].max(axis=0) - stamps[:, :, 0].min(axis=0)).tolist()


_together: Barrier


def _set_barrier(barrier: Barrier) -> None:
    global _together
    _together = barrier


def _time_passes(
    number: int,
    processes: int,
    files: Sequence[str],
    request: Request,
    weights: Weights,
) -> list[tuple[float, float]]:
    """In a separate process: load a share of the blocks, then pass over them."""
    batches = chain.from_iterable(pq.ParquetFile(file).iter_batches(1) for file in files)
    blocks = islice(from_records(batches, weights.target), number, None, processes)
    parts = [weights.rows(block, 0) for block in blocks]
    stamps = []
    for _ in range(1 + KERNEL_PASSES):  # the first one compiles
        sums = Sums.zeros(request)
        _together.wait(PATIENCE)
        start = time.perf_counter()
        for rows in parts:
            accumulate(rows, request, sums)
        stamps.append((start, time.perf_counter()))
    return stamps[1:]
