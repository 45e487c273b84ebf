"""Bins from a sample of the rows, which is the same however the rows are partitioned and read."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from figs_spark.dataframes import compat
from figs_spark.dataframes.arrow import to_table
from figs_spark.engine.bins import Bins, make_bins
from figs_spark.engine.file_rows import FilePart
from figs_spark.engine.histograms import Floats
from figs_spark.engine.reading import reading, tasks_to_read
from figs_spark.engine.table import Table

MANY = 1 << 20  # partitions, where their number is not known: more than there are cores
HASHED_FEATURES = 8  # tell rows apart, when some are drawn
BUCKETS = 1 << 30  # of hashes

log = logging.getLogger("figs_spark")


def read_bins(table: Table, max_bins: int) -> tuple[Bins, Table]:
    """Bins from a sample of the rows, or from all where they are few.

    Where the sample has many equal rows, they are merged in the table that comes back.
    """
    share, width = table.sample_rows / table.rows, len(table.features)
    if share >= 1:
        sample = _read_sample(table, None)
    else:
        some = list(range(0, width, -(-width // HASHED_FEATURES)))
        sample = _read_sample(table, Drawn(share, some))
        if _distinct(sample[:, some]) < len(sample) / 2:
            sample = _read_sample(table, Drawn(share, range(width)))
        if table.mergeable and table.target.classes and _distinct(sample) < len(sample) / 10:
            table = _merged(table)
    return make_bins(sample, table.features, max_bins, cuts=table.allowed_cuts), table


def _merged(table: Table) -> Table:
    """Equal rows as one row that stands for all of them."""
    keys = [name for name in table.frame.columns if name != "w"]
    sums = [F.count(F.lit(1)).cast("double").alias("n")]
    if table.weighted:
        sums.append(F.sum("w").alias("w"))
    log.info("equal rows are merged")
    return table.with_frame(table.frame.groupBy(*keys).agg(*sums), partitions=MANY)


@dataclass(frozen=True)
class Drawn:
    """A share of the rows, by a hash of their content: the same rows for any partitioning.

    Hashing a few features is twice as fast as hashing all, and does where they tell rows apart.
    """

    share: float
    features: Sequence[int]  # that are hashed, besides the label

    def frame(self, frame: DataFrame, width: int) -> DataFrame:
        every = len(self.features) == width
        hashed = [F.col("x")] if every else [F.col("x")[j] for j in self.features]
        return frame.where(F.pmod(F.xxhash64("y", *hashed), F.lit(BUCKETS)) < self._drawn)

    def part(self, part: FilePart) -> FilePart:
        return part.where(part.hashes(self.features) % np.uint64(BUCKETS) < np.uint64(self._drawn))

    @property
    def _drawn(self) -> int:
        return int(self.share * BUCKETS)


def _distinct(rows: Floats) -> int:
    """About how many of the rows differ: those with distinct sums under irrational weights."""
    weights = np.sqrt(np.arange(2, 2 + rows.shape[1]))
    return len(np.unique(np.nan_to_num(rows, posinf=1e18, neginf=-1e18) @ weights))


def _read_sample(table: Table, drawn: Drawn | None) -> Floats:
    """The features of some rows, or of all."""
    width, spark = len(table.features), table.frame.sparkSession
    with reading(table):
        if table.files is not None:
            run, tasks = partial(_sample_files, drawn=drawn), tasks_to_read(spark)
            frame = table.files.mapped(spark, tasks, table.block_rows, run, "rows binary")
            parts = [
                np.frombuffer(part.as_buffer()) for part in compat.to_arrow(frame).column("rows")
            ]
            return np.concatenate(parts).reshape(-1, width)
        every = table.frame if drawn is None else drawn.frame(table.frame, width)
        sample = compat.to_arrow(compat.fewer_partitions(every.select("x")))
    return to_table(sample.column("x"), width)


def _sample_files(parts: Iterator[FilePart], drawn: Drawn | None) -> Iterator[pa.RecordBatch]:
    for part in map(FilePart.kept, parts):
        some = part if drawn is None else drawn.part(part)
        matrix = np.empty((len(some), some.rows.width))
        for first, slab in some.slabs():
            matrix[:, first : first + slab.shape[1]] = slab
        yield pa.RecordBatch.from_arrays([pa.array([matrix.tobytes()], pa.binary())], ["rows"])
