"""A small training set in the driver: one job brings its columns, and NumPy does the rest.

Whether it is small is asked before: Spark's planner estimates what will be read, without a job. The
estimate may be wrong, so the rows that come are bounded, too; if there are more, they are let go
and Spark counts them where they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from figs_spark.dataframes import compat
from figs_spark.dataframes.arrow import is_missing, to_numbers
from figs_spark.dataframes.columns import column
from figs_spark.dataframes.estimates import MADE_BY_PYTHON, reads
from figs_spark.engine.table import Here, small_rows
from figs_spark.stages.base.categories import Rules
from figs_spark.stages.base.inputs import Inputs, number_sql, numbers_column
from figs_spark.stages.base.raw_texts import RawTexts, source_of, text_name
from figs_spark.stages.base.row_counts import TrainingColumns
from figs_spark.treesum import Feature
from figs_spark.treesum.nodes import TEXT

SMALL_BYTES = 8 << 20  # that Spark expects to read for a table that comes whole
TASKS = 4  # that bring it; of each at most as many rows as a small table has, and one
MANY_COLUMNS = 200  # so many come as one array: each costs time to plan
MOST_COLUMNS = 1000  # of which the estimate itself takes long
ROW_BITS = 33  # of `monotonically_increasing_id`, the place of a row in its partition
ARRAYS = pa.list_(pa.float64())

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class RowsHere:
    """The rows of a training set as they came, to be checked."""

    arrow: pa.Table
    inputs: Inputs

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def numbers(self, name: str) -> Floats | None:
        """A column of numbers or booleans, missing ones as NaN; None if there is no such column."""
        if name not in self.arrow.column_names:
            return None
        return to_numbers(self.arrow.column(name))

    def with_numbers(self, name: str, values: NDArray[Any]) -> RowsHere:
        """With a column in place of that of the same name, if there is one."""
        names = [other for other in self.arrow.column_names if other != name]
        arrow = self.arrow.select(names).append_column(name, pa.array(values))
        return replace(self, arrow=arrow)

    def where(self, kept: NDArray[np.bool_]) -> RowsHere:
        return self if kept.all() else replace(self, arrow=self.arrow.filter(pa.array(kept)))

    def encoded(self, stage: Any, names: Sequence[str]) -> tuple[tuple[Feature, ...], Here]:
        """The features with their categories, and the rows with the columns of these names."""
        features = self.inputs.features
        matrix, nulls = self._matrix()
        rules = Rules.of(stage, features)
        if rules.countable(features):
            features, matrix = RawTexts.of(features, rules).encode(self.arrow, matrix)
            for j, feature in enumerate(features):
                if feature.kind == TEXT:
                    nulls[:, j] = np.isnan(matrix[:, j])
        return features, Here(matrix, nulls, self.arrow.select(list(names)))

    def _matrix(self) -> tuple[Floats, NDArray[np.bool_]]:
        shape = len(self), len(self.inputs.features)
        if "x" in self.arrow.column_names:
            chunks = self.arrow.column("x").chunks
            cells = pa.chunked_array([chunk.flatten() for chunk in chunks], pa.float64())
            return to_numbers(cells).reshape(shape), is_missing(cells).reshape(shape)
        matrix, nulls = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
        for j, feature in enumerate(self.inputs.features):
            if feature.kind != TEXT:
                cells = self.arrow.column(_name(j))
                matrix[:, j] = to_numbers(cells)
                if cells.null_count:
                    nulls[:, j] = is_missing(cells)
        return matrix, nulls


def rows_here(
    dataset: DataFrame,
    stage: Any,
    inputs: Inputs,
    columns: TrainingColumns,
    extra: Mapping[str, Column],
) -> RowsHere | None:
    """All rows of a small table; None if it is not known to be small, or must stay with Spark."""
    width = len(inputs.features)
    if stage.getOrDefault("mode") == "cluster" or not 0 < width <= MOST_COLUMNS:
        return None
    others = {**_other_columns(columns), **extra}
    selected = [cells.alias(name) for name, cells in others.items()]
    frame = dataset.select(*_feature_columns(inputs), *selected)
    most = small_rows(width)
    bounded = _bounded(frame, most)
    if bounded is None:
        return None
    arrow = compat.to_arrow(bounded)
    if arrow.num_rows > most:
        return None
    if "x" in arrow.column_names:  # all missing may have no type
        place, cells = arrow.column_names.index("x"), arrow.column("x").cast(ARRAYS)
        arrow = arrow.set_column(place, "x", cells)
    return RowsHere(arrow, inputs)


def _bounded(frame: DataFrame, most: int) -> DataFrame | None:
    """The rows if they are no more than `most`, else somewhat more than that; None if Spark expects
    to read much for them.

    What Python made has no known size, and may be cut off in passing. Other sources are read to the
    end, as a limit would make Spark move all rows; then each task keeps its first ones.
    """
    expected = reads(frame)
    sizes = [read.size for read in expected]
    if any(size is None and read.node != MADE_BY_PYTHON for size, read in zip(sizes, expected)):
        return None
    if not expected or sum(size or 0 for size in sizes) > SMALL_BYTES:
        return None
    if None in sizes:
        return frame.limit(most + 1)
    place = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << ROW_BITS) - 1))
    return frame.coalesce(TASKS).where(place <= most)


def _feature_columns(inputs: Inputs) -> list[Column]:
    """The features: numbers one by one, or as one array if they are many; text as it is."""
    if inputs.packed is not None:
        return [inputs.packed.alias("x")]
    texts = dict.fromkeys(source_of(f) for f in inputs.features if f.kind == TEXT)
    raw = [column(source).alias(text_name(k)) for k, source in enumerate(texts)]
    if len(inputs.features) > MANY_COLUMNS:
        return [numbers_column(inputs.features).alias("x"), *raw]
    numbers = [
        F.expr(f"{number_sql(feature)} as {_name(j)}")
        for j, feature in enumerate(inputs.features)
        if feature.kind != TEXT
    ]
    return [*numbers, *raw]


def _name(j: int) -> str:
    return f"f{j}"


def _other_columns(columns: TrainingColumns) -> dict[str, Column]:
    selected = {"y": columns.label}
    if columns.weight is not None:
        selected["w"] = columns.weight
    if columns.validation is not None:
        selected["held_out"] = columns.validation
    if columns.identity is not None:
        selected["hashed_id"] = F.when(columns.identity.isNotNull(), F.xxhash64(columns.identity))
    return selected
