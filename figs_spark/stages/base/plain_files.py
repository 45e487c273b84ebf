"""Whether a training set is nothing but columns of Parquet files, which workers read themselves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from figs_spark.dataframes.parquet_files import row_groups
from figs_spark.engine.file_rows import FileRows
from figs_spark.stages.base.inputs import Inputs
from figs_spark.stages.base.row_counts import TrainingColumns
from figs_spark.treesum.nodes import TEXT


def rows_of_files(
    dataset: DataFrame, stage: Any, inputs: Inputs, columns: TrainingColumns
) -> FileRows | None:
    """Where the rows are; None if Spark has to read them."""
    derived = any(feature.kind == TEXT or feature.is_time for feature in inputs.features)
    if derived or columns.label_is_text or columns.identity is not None:
        return None
    rows = FileRows(
        groups=(),
        features=inputs.names,
        in_array=inputs.packed is not None,
        width=len(inputs.features),
        label=stage.getOrDefault("labelCol"),
        weight=stage.getOrDefault("weightCol") or None,
        held_out=stage._value_if_any("validationIndicatorCol") or None,
    )
    groups = row_groups(dataset, rows.names)
    if groups is None:
        return None
    rows = replace(rows, groups=tuple(groups))
    return None if rows.too_large else rows
