"""The same rows in other files: in many, in uneven ones, or with all features in one column."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from jobs.bench.data import LABEL, Data, log, with_settings

ONE_LARGE = "one large"  # a file with 90% of the rows, and seven with the rest
LARGE = 0.9
SMALL_FILES = 7
ARRAY = "features"
ONE_SPLIT = str((1 << 31) - 1)  # bytes


def in_files(data: Data, files: int | str) -> Data:
    """The rows in a folder of this many files of equal length, or `ONE_LARGE`; written once.

    Spark is given the folder: to look at 2,000 paths one by one takes it longer than a scan.
    """
    path = _beside(data, f"in-{files}-files".replace(" ", "-"))
    if not path.exists():
        log.info("writing %s", path)
        unfinished = path.with_suffix(".unfinished")
        unfinished.mkdir(parents=True, exist_ok=True)
        table = ds.dataset(list(data.files)).to_table()
        ends = np.round(_shares(files) * len(table)).astype(int)
        for k, (start, stop) in enumerate(pairwise(ends)):
            pq.write_table(table.slice(start, stop - start), unfinished / f"{k:04}.parquet")
        unfinished.rename(path)
    return replace(data, files=(str(path),))


def _shares(files: int | str) -> np.ndarray:
    """Where the files end, as shares of the rows."""
    if files == ONE_LARGE:
        return np.concatenate([[0.0], np.linspace(LARGE, 1, SMALL_FILES + 1)])
    return np.linspace(0, 1, int(files) + 1)


@contextmanager
def file_by_file(spark: SparkSession) -> Iterator[None]:
    """Let Spark make each file a split of its own."""
    sizes = ("spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes")
    with with_settings(spark, dict.fromkeys(sizes, ONE_SPLIT)):
        yield


def as_array(spark: SparkSession, data: Data) -> DataFrame:
    """The rows with all features in one column of arrays; written once."""
    path = _beside(data, "array")
    if not path.exists():
        log.info("writing %s", path)
        unfinished = path.with_suffix(".unfinished")
        unfinished.mkdir(parents=True, exist_ok=True)
        for k, file in enumerate(data.files):
            with pq.ParquetWriter(unfinished / f"{k:04}.parquet", _array_schema()) as writer:
                for batch in pq.ParquetFile(file).iter_batches(1000):
                    writer.write_batch(_array_batch(batch, data.features))
        unfinished.rename(path)
    return spark.read.parquet(str(path))


def _array_schema() -> pa.Schema:
    return pa.schema([(ARRAY, pa.list_(pa.float64())), (LABEL, pa.float64())])


def _array_batch(batch: pa.RecordBatch, features: tuple[str, ...]) -> pa.RecordBatch:
    rows = np.column_stack([batch.column(name).to_numpy() for name in features])
    ends = np.arange(len(rows) + 1, dtype=np.int32) * len(features)
    lists = pa.ListArray.from_arrays(ends, rows.ravel())
    return pa.RecordBatch.from_arrays([lists, batch.column(LABEL)], schema=_array_schema())


def _beside(data: Data, name: str) -> Path:
    folder = Path(data.files[0]).parent
    return folder.with_name(f"{folder.name}-first-{len(data.files)}-{name}")
