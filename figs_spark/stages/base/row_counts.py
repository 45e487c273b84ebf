"""Counts over a training set, from one aggregation: how many rows, and how many are wrong."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from figs_spark.dataframes.columns import column
from figs_spark.dataframes.compat import fewer_partitions, file_batches
from figs_spark.engine.counting import LARGEST, MAX_CLASSES, SMALLEST, Counts
from figs_spark.engine.table import read_rows
from figs_spark.stages.base.inputs import Inputs

PARTITION = "figs_spark_partition"


@dataclass(frozen=True)
class TrainingColumns:
    """What a training set has besides the features."""

    label: Column
    weight: Column | None
    validation: Column | None  # true if the row is held out
    identity: Column | None
    label_is_text: bool = False  # whether its texts are yet to be numbered

    @property
    def has_label(self) -> Column:
        return self.label.isNotNull() & ~F.isnan(self.label)


def count_rows(
    dataset: DataFrame, inputs: Inputs, columns: TrainingColumns, classification: bool
) -> list[Counts]:
    """Counts of all rows or, in classification, of each class; -1 stands for other labels."""
    label, has_label = columns.label, columns.has_label
    counts = {
        "rows": F.count(F.lit(1)),
        "bad_label": _count(~has_label | (F.abs(label) > F.lit(LARGEST))),
        "partitions": F.max(PARTITION) + 1,
        **_weight_counts(columns),
        **_input_counts(inputs),
    }
    if columns.identity is not None:
        counts["missing_id"] = _count(columns.identity.isNull())
        hashed = F.xxhash64(columns.identity)
        counts |= {"ids_high": F.max(hashed), "ids_low_inverted": F.max(F.bitwise_not(hashed))}
    aggregates = [expression.alias(name) for name, expression in counts.items()]
    dataset = fewer_partitions(dataset).withColumn(PARTITION, F.spark_partition_id())
    classes = []
    if classification:
        is_class = has_label & (label % 1 == 0) & (label >= 0) & (label < MAX_CLASSES)
        classes.append(F.when(is_class, label).otherwise(-1.0).alias("class"))
    width = 1 if inputs.packed is None else len(inputs.features)
    with file_batches(dataset.sparkSession, read_rows(width)):
        counted = dataset.groupBy(*classes).agg(*aggregates).collect()
    return [_with_defaults(row) for row in counted]


def _weight_counts(columns: TrainingColumns) -> dict[str, Column]:
    """What depends on weights and on which rows are held out."""
    label, has_label, held_out = columns.label, columns.has_label, columns.validation
    if columns.weight is None and held_out is None:
        total = _sum(has_label, label)
        return {"sum": total, "label_sum": total}
    w = F.lit(1.0) if columns.weight is None else columns.weight
    trains = has_label & (w > 0) if held_out is None else has_label & (w > 0) & ~held_out
    counts = {
        "missing_weight": _count(w.isNull() | F.isnan(w) | (w > F.lit(LARGEST))),
        "negative_weight": _count(w < 0),
        "tiny_weight": _count((w > 0) & (w < F.lit(SMALLEST))),
        "positive": _count(w > 0),
        "training": _count(trains),
        "weight": _sum(trains, w),
        "sum": _sum(trains, w * label),
        "label_sum": _sum(has_label & (w > 0), label),
    }
    if held_out is not None:
        counts["missing_validation"] = _count(held_out.isNull())
        weighted = held_out if columns.weight is None else held_out & (columns.weight > 0)
        counts["validation"] = _count(weighted)
    return counts


def _input_counts(inputs: Inputs) -> dict[str, Column]:
    counts: dict[str, Column] = {}
    if inputs.packed is not None:
        missing = column(inputs.names[0]).isNull()
        counts["missing_features"] = _count(missing)
        other_length = F.size(inputs.packed) != len(inputs.features)
        counts["other_length"] = _count(~missing & other_length)
    return counts


def _count(condition: Column) -> Column:
    return F.count(F.when(condition, 1))


def _sum(condition: Column, value: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, value)), F.lit(0.0))


def _with_defaults(row: Row) -> Counts:
    """Without weights every row counts as one."""
    return dict.fromkeys(("positive", "training", "weight"), row["rows"]) | row.asDict()
