"""Tables in Parquet: generated ones, the same for the same seed, written once and found again; or
copies of real ones."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

from jobs.bench.presets import FRIEDMAN, SIGNS

LABEL = "y"
FILES = 8  # of the smallest part of a table that is asked for
TEST_ROWS = 20_000  # at most
CHUNK_VALUES = 1 << 23  # numbers made at a time; they become a row group

Floats = NDArray[np.float64]
log = logging.getLogger("benchmark")


@dataclass(frozen=True)
class Data:
    """Rows in files of equal length, perhaps held-out rows like them. All columns are float64."""

    kind: str
    rows: int
    features: tuple[str, ...]
    files: tuple[str, ...]
    test_file: str | None  # None: no rows are held out

    def part(self, rows: int | None = None, features: int | None = None) -> Data:
        """The first files, the first columns."""
        count = len(self.files)
        if rows is not None:
            count = min(count, max(1, round(rows * count / self.rows)))
        return replace(
            self,
            rows=self.rows * count // len(self.files),
            features=self.features[:features],
            files=self.files[:count],
        )

    def frame(self, spark: SparkSession) -> DataFrame:
        return spark.read.parquet(*self.files).selectExpr(*self.features, LABEL)

    @property
    def held_out(self) -> Data:
        assert self.test_file
        return replace(self, files=(self.test_file,))

    def arrays(self) -> tuple[Floats, Floats]:
        """All rows in memory: features and label."""
        table = ds.dataset(list(self.files)).to_table(columns=[*self.features, LABEL]).to_pandas()
        return table[list(self.features)].to_numpy(), table[LABEL].to_numpy()

    @contextmanager
    def read_in(self, spark: SparkSession, partitions: int | None) -> Iterator[None]:
        """Spark reads the files in this many partitions, which divides their number."""
        if partitions is None:
            yield
            return
        sizes = sorted(map(os.path.getsize, self.files), reverse=True)
        settings = {
            "spark.sql.files.maxPartitionBytes": sum(sizes[: len(sizes) // partitions]),
            "spark.sql.files.openCostInBytes": 0,
            "spark.sql.files.minPartitionNum": 1,
        }
        before = {name: spark.conf.get(name, None) for name in settings}
        try:
            for name, value in settings.items():
                spark.conf.set(name, str(value))
            yield
        finally:
            for name, old in before.items():
                if old is None:
                    spark.conf.unset(name)
                else:
                    spark.conf.set(name, old)


def prepare(folder: Path, kind: str, rows: int, least: int, features: int, seed: int) -> Data:
    """A table of which a part with as few as `least` rows will be asked for."""
    rows_per_file = max(1, least // FILES)
    files = -(-rows // rows_per_file)
    path = folder / f"{kind}-{files}x{rows_per_file}x{features}-seed{seed}"
    names = tuple(f"x{j}" for j in range(features))
    if not path.exists():
        log.info("writing %s", path)
        unfinished = path.with_suffix(".unfinished")
        unfinished.mkdir(parents=True, exist_ok=True)
        _write(
            unfinished / "test.parquet",
            kind,
            min(TEST_ROWS, max(1_000, rows // 10)),
            names,
            (seed, 0),
        )
        for k in range(files):
            _write(unfinished / _file(k), kind, rows_per_file, names, (seed, 1 + k))
        unfinished.rename(path)
    paths = tuple(str(path / _file(k)) for k in range(files))
    return Data(kind, files * rows_per_file, names, paths, str(path / "test.parquet"))


def copied(source: Path, folder: Path, kind: str) -> Data:
    """All rows of a real table of numbers, the outcome last, under plain names."""
    table = pq.read_table(source)
    names = tuple(f"x{j}" for j in range(table.num_columns - 1))
    columns = [pc.cast(column, pa.float64()) for column in table.columns]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / source.name
    pq.write_table(pa.table(columns, [*names, LABEL]), path)
    return Data(kind, len(table), names, (str(path),), None)


def _file(k: int) -> str:
    return f"train-{k:03}.parquet"


def _write(path: Path, kind: str, rows: int, names: tuple[str, ...], seed: tuple[int, ...]) -> None:
    schema = pa.schema([(name, pa.float64()) for name in (*names, LABEL)])
    with pq.ParquetWriter(path, schema, use_dictionary=kind == SIGNS) as writer:
        for x, y in _chunks(kind, rows, len(names), seed):
            columns = [np.ascontiguousarray(column) for column in x.T]
            writer.write_table(pa.table([*columns, y], schema))


def _chunks(
    kind: str, rows: int, features: int, seed: tuple[int, ...]
) -> Iterator[tuple[Floats, Floats]]:
    size = max(1, CHUNK_VALUES // features)
    for number, first in enumerate(range(0, rows, size)):
        random = np.random.default_rng([*seed, number])
        yield KINDS[kind](random, min(size, rows - first), features)


def friedman(random: np.random.Generator, rows: int, features: int) -> tuple[Floats, Floats]:
    """Friedman's first problem: five features carry signal, the others are noise."""
    x = random.random((rows, features))
    signal = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    return x, signal + 10 * x[:, 3] + 5 * x[:, 4] + random.standard_normal(rows)


def signs(random: np.random.Generator, rows: int, features: int) -> tuple[Floats, Floats]:
    """Yes and no, from common signs to rare ones; the outcome is yes or no too. Rows repeat."""
    x = (random.random((rows, features)) < np.geomspace(0.5, 0.01, features)).astype(np.float64)
    risk = 0.02 + 0.2 * x[:, 0] * x[:, 1] + 0.1 * x[:, 2] + 0.3 * x[:, 3] * x[:, 4]
    return x, (random.random(rows) < risk).astype(np.float64)


KINDS = {FRIEDMAN: friedman, SIGNS: signs}
