"""Checks a training set, and makes it into the table that the engine trains on.

One aggregation counts what is wrong (`row_counts`), before any long work starts. Problems are
reported with the column, the count and the remedy (`row_checks`, `classes`, `categories`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from figs_spark.dataframes.columns import column, field, numeric_field
from figs_spark.engine.table import Table, Target
from figs_spark.stages.base.categories import with_categories
from figs_spark.stages.base.classes import (
    check_classes,
    class_factors,
    class_names,
    times_factors,
)
from figs_spark.stages.base.inputs import (
    Inputs,
    check_outputs,
    check_reserved,
    read_inputs,
    training_column,
)
from figs_spark.stages.base.row_checks import check_rows
from figs_spark.stages.base.row_counts import TrainingColumns, count_rows, total_counts

TRAINS_EVERYWHERE = 255  # in the column "held": no fold holds the row out


@dataclass(frozen=True)
class Checked:
    """A training set that has passed the checks."""

    table: Table
    class_names: tuple[str, ...] | None = None


def check(dataset: DataFrame, stage: Any, classification: bool, **extra: Column) -> Checked:
    """The engine's table; ValueError if the training set cannot be trained on.

    `extra` are further columns of the table, see `Table`.
    """
    check_outputs(dataset, stage)
    check_reserved(dataset)
    inputs = read_inputs(dataset, stage)
    columns = _training_columns(dataset, stage, inputs)
    counts = count_rows(dataset, inputs, columns, classification)
    total = total_counts(counts)
    check_rows(total, stage, inputs)
    classes = check_classes(counts, total, stage, dataset) if classification else 0
    weight = columns.weight
    factors = class_factors(counts, stage, classes) if classes else {}
    if factors:
        weight = times_factors(factors, columns.label, weight)
    frame = dataset if weight is None else dataset.where(weight > 0)
    features = with_categories(frame, inputs, stage)
    selected = {"x": training_column(inputs, features), "y": columns.label}
    if weight is not None:
        selected["w"] = weight
    if columns.validation is not None:
        selected["held"] = F.when(columns.validation, 0).otherwise(TRAINS_EVERYWHERE)
    selected |= extra
    table = Table(
        frame=frame.select(*(expression.alias(name) for name, expression in selected.items())),
        features=features,
        target=Target(classes, 0.0 if classes else total["sum"] / total["weight"]),
        rows=total["positive"],
        partitions=total["partitions"],
        label_sum=total["label_sum"],
        class_factors=tuple(factors.get(k, 1.0) for k in range(classes)) if factors else None,
    )
    return Checked(table, class_names(dataset, stage, classes))


def _training_columns(dataset: DataFrame, stage: Any, inputs: Inputs) -> TrainingColumns:
    """The label, the weight and so on, their types checked."""
    identity = stage._value_if_any("idCol")
    return TrainingColumns(
        label=_label(dataset, stage, inputs),
        weight=_weight(dataset, stage),
        validation=_validation(dataset, stage),
        identity=column(identity) if identity else None,
    )


def _label(dataset: DataFrame, stage: Any, inputs: Inputs) -> Column:
    name = stage.getOrDefault("labelCol")
    label = numeric_field(dataset, name, "labelCol")
    if label.name in inputs.names:
        raise ValueError(f"Column '{name}' is both labelCol and a feature. Remove it from one.")
    return column(name).cast("double")


def _weight(dataset: DataFrame, stage: Any) -> Column | None:
    name = stage.getOrDefault("weightCol")
    if not name:
        return None
    numeric_field(dataset, name, "weightCol")
    return column(name).cast("double")


def _validation(dataset: DataFrame, stage: Any) -> Column | None:
    name = stage._value_if_any("validationIndicatorCol")
    if not name:
        return None
    kind = field(dataset, name, "validationIndicatorCol").dataType
    if not isinstance(kind, BooleanType):
        raise ValueError(
            f"Column '{name}' (validationIndicatorCol) has type {kind.simpleString()}; a boolean "
            f"is needed. Cast it."
        )
    return column(name)
