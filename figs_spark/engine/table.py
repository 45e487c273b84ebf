"""What to train on: a DataFrame in the engine's form, and what its target is."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from figs_spark.dataframes.arrow import to_table
from figs_spark.engine.bins import CutRule
from figs_spark.engine.content_hashes import content_hashes
from figs_spark.engine.file_rows import FileRows
from figs_spark.engine.kernels.records import Floats
from figs_spark.treesum import Feature
from figs_spark.treesum.prediction import Outcome

SMALL_ROWS = 200_000  # a table with no more rows is packed in the driver
SAMPLE_ROWS = 100_000  # that the bins of a larger one are made from
SAMPLE_VALUES = 1 << 24  # at most this many numbers of the source come to the driver
CENTRE_BITS = 36  # of the mean label: sums in another order differ in bits below
BLOCK_BYTES = 4 << 20  # of the float64 table that a block is packed from
READ_BYTES = 8 << 20  # of the float64 table that is read from a file at once


@dataclass(frozen=True)
class Target:
    """What the target is, and how a block stores it.

    Regression stores float64 minus `centre`, so that a large offset costs no precision.
    Classification stores the class as one byte; two classes are one output, more are one-hot.
    """

    classes: int  # 0: regression
    centre: float = 0.0

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.classes)

    @property
    def outputs(self) -> int:
        return self.outcome.outputs

    @property
    def dtype(self) -> Any:
        return np.uint8 if self.classes else np.float64

    @property
    def centres(self) -> Floats:
        return np.full(self.outputs, self.centre)

    def store(self, labels: Floats) -> NDArray[Any]:
        return labels.astype(np.uint8) if self.classes else labels - self.centre

    def matrix(self, stored: NDArray[Any]) -> Floats:
        """As the kernel takes it, (rows, outputs)."""
        if self.classes > 2:
            return np.eye(self.classes)[stored]
        return stored.astype(np.float64, copy=False).reshape(-1, 1)


def rounded(mean: float) -> float:
    """A centre that does not depend on the order in which the labels were added up."""
    fraction, power = math.frexp(mean)
    return math.ldexp(round(math.ldexp(fraction, CENTRE_BITS)), power - CENTRE_BITS)


def small_rows(features: int) -> int:
    """How many rows may come to the driver as they are."""
    return min(SMALL_ROWS, max(1, SAMPLE_VALUES // max(1, features)))


def is_small(rows: int, features: int) -> bool:
    """Whether a table may come to the driver as it is."""
    return rows <= small_rows(features)


def read_rows(features: int) -> int:
    """How many rows to read from a file at once."""
    return max(64, READ_BYTES // (8 * max(1, features)))


class Texts(Protocol):
    """Columns of text that are counted and encoded where they are packed."""

    def encode(self, columns: pa.Table, matrix: Floats) -> tuple[tuple[Feature, ...], Floats]:
        """The features with their categories, and the table (rows, features) with the places of
        all texts among them."""


@dataclass(frozen=True)
class Here:
    """Rows in the memory of the driver: the features, where these are null and not just NaN, and
    the other columns of a `Table` by name."""

    matrix: Floats  # (rows, features)
    nulls: NDArray[np.bool_]  # the same shape
    columns: pa.Table

    def numbers(self, name: str) -> Floats:
        """A column of numbers, or of arrays of them, as a table."""
        column = self.columns.column(name)
        if pa.types.is_list(column.type):
            return to_table(column, len(column[0]))
        return np.asarray(column.to_numpy()).reshape(-1, 1)

    def with_column(self, name: str, values: NDArray[Any]) -> Here:
        return replace(self, columns=self.columns.append_column(name, pa.array(values)))


@dataclass(frozen=True)
class Table:
    """What the engine trains on.

    `frame` has the columns x (array<double>, null or NaN is missing), y (double) and perhaps
    w (double, > 0; or array<double>, each >= 0, one for each of `weights` models),
    held (int, the model that does not train on the row, else TRAINS_EVERYWHERE),
    id (bigint, what random weights are drawn by) and n (how many equal rows the row stands for).
    Text and booleans are given as positions among the categories of the feature; text that is none
    of these as -1. If the rows are `here`, the frame is their source, and is not read again. If
    they are columns of `files`, these are read in its place; `partitions` counts their row groups.
    """

    frame: DataFrame
    features: tuple[Feature, ...]
    target: Target
    rows: int
    partitions: int
    mergeable: bool = True  # whether equal rows may become one; not if each is drawn by itself
    weights: int = 0  # of a row, if each model has its own
    label_sum: float | None = None  # as it was checked; None: not compared
    numbered: bool = False  # whether equal rows need numbers that tell them apart
    allowed_cuts: Mapping[int, CutRule] = field(default_factory=dict)  # by feature
    class_factors: tuple[float, ...] | None = None  # that the weights of each class were times
    texts: Texts | None = None  # if they are yet to be encoded; x has nulls in their place
    here: Here | None = None
    files: FileRows | None = None

    def with_frame(self, frame: DataFrame, **changes: Any) -> Table:
        """With the rows of another DataFrame."""
        return replace(self, frame=frame, files=None, **changes)

    def with_content_ids(self) -> Table:
        """With numbers by content for rows that have no id, to draw random weights by."""
        hashed = [name for name in ("y", "w") if self.has(name)]
        if self.here is not None:
            numbers = [self.here.numbers(name) for name in hashed]
            ids = content_hashes(self.here.matrix, self.here.nulls, np.hstack(numbers))
            return replace(self, here=self.here.with_column("id", ids), numbered=True)
        frame = self.frame.withColumn("id", F.xxhash64("x", *hashed))
        return self.with_frame(frame, numbered=True)

    def has(self, name: str) -> bool:
        """Whether there is such a column."""
        names = self.frame.columns if self.here is None else self.here.columns.column_names
        return name in names

    @property
    def weighted(self) -> bool:
        return self.has("w")

    @property
    def small(self) -> bool:
        """Whether all rows may come to the driver as they are."""
        return is_small(self.rows, len(self.features))

    @property
    def sample_rows(self) -> int:
        """How many rows the bins are made from."""
        if self.small:
            return self.rows
        return min(SAMPLE_ROWS, max(1, SAMPLE_VALUES // len(self.features)))

    @property
    def packed_bytes(self) -> int:
        row = len(self.features) + (1 if self.target.classes else 8) + 8 * self.weights
        return self.rows * row

    @property
    def block_rows(self) -> int:
        return max(64, BLOCK_BYTES // (8 * len(self.features)))

    @property
    def block_bytes(self) -> int:
        return self.block_rows * len(self.features)
