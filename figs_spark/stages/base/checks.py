"""Checks a training set, and makes it into the table that the engine trains on.

One aggregation counts what is wrong (`row_counts`), before any long work starts. Problems are
reported with the column, the count and the remedy (`row_checks`, `classes`, `categories`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StringType

from figs_spark.dataframes.columns import column, field, folding, numeric_field
from figs_spark.dataframes.labels import class_number
from figs_spark.engine.table import Table, Target, is_small
from figs_spark.stages.base.categories import Rules, with_categories
from figs_spark.stages.base.classes import (
    check_classes,
    class_factors,
    known_classes,
    times_factors,
)
from figs_spark.stages.base.code_levels import with_levels
from figs_spark.stages.base.constraints import allowed_cuts
from figs_spark.stages.base.inputs import (
    Inputs,
    check_outputs,
    check_reserved,
    numbers_column,
    read_inputs,
    training_column,
)
from figs_spark.stages.base.raw_texts import RawTexts, text_name
from figs_spark.stages.base.row_checks import check_rows
from figs_spark.stages.base.row_counts import TrainingColumns, count_rows, total_counts
from figs_spark.treesum.nodes import TEXT

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
    return _check(dataset, stage, classification, extra, text_as_it_is=False)


def check_but_text(
    dataset: DataFrame, stage: Any, classification: bool, **extra: Column
) -> Checked:
    """The same; the text of a small table stays to be counted and encoded where it is packed."""
    return _check(dataset, stage, classification, extra, text_as_it_is=True)


def _check(
    dataset: DataFrame,
    stage: Any,
    classification: bool,
    extra: Mapping[str, Column],
    text_as_it_is: bool,
) -> Checked:
    inputs, columns, names = _schema_checked(dataset, stage, classification)
    inputs = with_levels(inputs, stage.getOrDefault("codeSystems") or {})
    counts = count_rows(dataset, inputs, columns, classification)
    total = total_counts(counts)
    check_rows(total, stage, inputs)
    classes = check_classes(counts, total, stage, names) if classification else 0
    weight = columns.weight
    factors = class_factors(counts, stage, classes) if classes else {}
    if factors:
        weight = times_factors(factors, columns.label, weight)
    frame = dataset if weight is None else dataset.where(weight > 0)
    texts = None
    if text_as_it_is and _encodes_while_packing(inputs, stage, total["positive"]):
        features = inputs.features
        texts = RawTexts.of(features, Rules.of(stage, features))
    else:
        features = with_categories(frame, inputs, stage)
    selected = {"y": columns.label}
    if weight is not None:
        selected["w"] = weight
    if columns.validation is not None:
        selected["held"] = F.when(columns.validation, 0).otherwise(TRAINS_EVERYWHERE)
    selected |= extra
    if texts is not None:
        numbers = numbers_column(features)
        selected |= {text_name(k): column(source) for k, source in enumerate(texts.sources)}
    else:
        numbers = training_column(inputs, features)
    selected = {"x": numbers, **selected}
    table = Table(
        frame=frame.select(*(expression.alias(name) for name, expression in selected.items())),
        features=features,
        target=Target(classes, 0.0 if classes else total["sum"] / total["weight"]),
        rows=total["positive"],
        partitions=total["partitions"],
        label_sum=total["label_sum"],
        allowed_cuts=allowed_cuts(stage, features),
        class_factors=tuple(factors.get(k, 1.0) for k in range(classes)) if factors else None,
        texts=texts,
    )
    named = names if classes and len(names or ()) == classes else None
    return Checked(table, named)


def _encodes_while_packing(inputs: Inputs, stage: Any, rows: int) -> bool:
    here = stage.getOrDefault("mode") != "cluster" and is_small(rows, len(inputs.features))
    return here and any(feature.kind == TEXT for feature in inputs.features)


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
    fold = folding(dataset)
    if inputs is not None and fold(name) in map(fold, inputs.names):
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
