"""Checks a training set, and makes it into the table that the engine trains on.

One aggregation counts what is wrong (`row_counts`), before any long work starts. Problems are
reported with the column, the count and the remedy (`row_checks`, `classes`, `categories`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StringType

from figs_spark.dataframes.columns import column, field, numeric_field
from figs_spark.dataframes.labels import class_number
from figs_spark.engine.table import Table, Target
from figs_spark.stages.base.categories import with_categories
from figs_spark.stages.base.classes import (
    check_classes,
    class_factors,
    known_classes,
    times_factors,
)
from figs_spark.stages.base.constraints import allowed_cuts
from figs_spark.stages.base.inputs import (
    Inputs,
    check_outputs,
    check_reserved,
    read_inputs,
    scalar_frame,
    training_column,
)
from figs_spark.stages.base.row_checks import check_rows
from figs_spark.stages.base.row_counts import TrainingColumns, count_rows, total_counts
from figs_spark.treesum.nodes import TEXT

MANY_FEATURES = 500
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
    inputs, columns, names = _schema_checked(dataset, stage, classification)
    counts = count_rows(dataset, inputs, columns, classification)
    total = total_counts(counts)
    check_rows(total, stage, inputs)
    classes = check_classes(counts, total, stage, names) if classification else 0
    weight = columns.weight
    factors = class_factors(counts, stage, classes) if classes else {}
    if factors:
        weight = times_factors(factors, columns.label, weight)
    frame = dataset if weight is None else dataset.where(weight > 0)
    features = with_categories(frame, inputs, stage)
    selected = {"y": columns.label}
    if weight is not None:
        selected["w"] = weight
    if columns.validation is not None:
        selected["held"] = F.when(columns.validation, 0).otherwise(TRAINS_EVERYWHERE)
    selected |= extra
    scalars = reads_scalars(inputs, stage)
    if scalars:
        frame = scalar_frame(frame, features, selected)
    else:
        selected = {"x": training_column(inputs, features), **selected}
        frame = frame.select(*(expression.alias(name) for name, expression in selected.items()))
    table = Table(
        frame=frame,
        features=features,
        target=Target(classes, 0.0 if classes else total["sum"] / total["weight"]),
        rows=total["positive"],
        partitions=total["partitions"],
        label_sum=total["label_sum"],
        allowed_cuts=allowed_cuts(stage, features),
        class_factors=tuple(factors.get(k, 1.0) for k in range(classes)) if factors else None,
        scalars=scalars,
    )
    named = names if classes and len(names or ()) == classes else None
    return Checked(table, named)


def reads_scalars(inputs: Inputs, stage: Any) -> bool:
    """Whether features go to Python column by column: so many make too large an array for the
    code that Spark generates."""
    many = inputs.packed is None and len(inputs.features) >= MANY_FEATURES
    return many and stage._reads_scalars and all(f.kind != TEXT for f in inputs.features)


def _schema_checked(
    dataset: DataFrame, stage: Any, classification: bool
) -> tuple[Inputs, TrainingColumns, tuple[str, ...] | None]:
    """Features, label and so on, and the names of classes; a ValueError has all that is wrong."""
    problems: list[str] = []

    def checked(check_one: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return check_one(*arguments)
        except ValueError as error:
            problems.append(str(error))

    checked(check_outputs, dataset, stage)
    checked(check_reserved, dataset)
    inputs = checked(read_inputs, dataset, stage)
    weight = checked(_weight, dataset, stage)
    validation = checked(_validation, dataset, stage)
    name, identity = stage.getOrDefault("labelCol"), stage._value_if_any("idCol")
    if inputs is not None and name in inputs.names:
        problems.append(f"Column '{name}' is both labelCol and a feature. Remove it from one.")
    label = checked(_label, dataset, stage, classification)
    if problems:
        raise ValueError("\n".join(problems))
    number, names = label
    columns = TrainingColumns(number, weight, validation, column(identity) if identity else None)
    return inputs, columns, names


def _label(
    dataset: DataFrame, stage: Any, classification: bool
) -> tuple[Column, tuple[str, ...] | None]:
    """The label as a number, and the names of the classes if they are known."""
    name = stage.getOrDefault("labelCol")
    kind = field(dataset, name, "labelCol").dataType
    if not classification:
        numeric_field(dataset, name, "labelCol")
        return column(name).cast("double"), None
    names = known_classes(dataset, stage)
    if isinstance(kind, StringType):
        return class_number(column(name), names or ()), names
    if isinstance(kind, BooleanType):
        return column(name).cast("int").cast("double"), names
    numeric_field(dataset, name, "labelCol")
    return column(name).cast("double"), names


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
