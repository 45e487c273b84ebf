"""Whole models grown by Spark tasks: each task gets all packed rows, and some of the models."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from figs_spark.dataframes import compat
from figs_spark.engine.backends import DriverBackend
from figs_spark.engine.grower import Growth, grow

CELL_SECONDS = 1e-8  # for one value of one row in one greedy step; measured on one core
START_SECONDS = 5  # until Python workers have started, loaded the kernel and got the rows
SHIPPED_BYTES = 64 << 20  # packed rows that are sent to the tasks


def tasks_that_pay(growths: Sequence[Growth], backend: DriverBackend, spark: SparkSession) -> int:
    """Into how many tasks to divide the models; 0 where the driver's cores are as fast."""
    cells = backend.rows * sum(growth.features_per_step * growth.most_steps for growth in growths)
    cores, seconds = os.cpu_count() or 1, CELL_SECONDS * cells
    if backend.nbytes > SHIPPED_BYTES or seconds / cores <= START_SECONDS:
        return 0
    tasks = min(compat.parallelism(spark), len(growths))
    return tasks if seconds / tasks + START_SECONDS < seconds / cores else 0


def grow_in_tasks(
    growths: Sequence[Growth], backend: DriverBackend, spark: SparkSession, tasks: int
) -> list[Growth]:
    run = partial(_grow_some, growths=growths, backend=backend)
    frame = spark.range(0, len(growths), 1, tasks).mapInArrow(run, "grown binary")
    received = compat.to_arrow(frame).column("grown").to_pylist()
    grown = [growth for part in received for growth in pickle.loads(part)]
    return sorted(grown, key=lambda growth: growth.member)


def _grow_some(
    batches: Iterator[pa.RecordBatch], growths: Sequence[Growth], backend: DriverBackend
) -> Iterator[pa.RecordBatch]:
    """One record with all models of the task, so that what they share is sent once."""
    compat.spare_garbage_collection()
    mine = [growths[k] for batch in batches for k in batch.column(0).to_pylist()]
    for growth in mine:
        grow([growth], backend.alone(growth.member))
    yield pa.RecordBatch.from_arrays([pa.array([pickle.dumps(mine)], pa.binary())], ["grown"])
