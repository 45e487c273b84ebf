"""Checks a training set, and makes it into the table that the engine trains on.

The rows of a small table come to the driver (`rows_here`) and are counted there. Others are counted
where they are, by an aggregation of Spark (`row_counts`) or by the workers that read the files
(`file_counts`), before any long work starts. Problems are reported
with the column, the count and the remedy (`row_checks`, `classes`, `categories`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StringType

from figs_spark.dataframes.arrow import to_numbers
from figs_spark.dataframes.columns import column, field, folding, numeric_field
from figs_spark.dataframes.labels import class_number
from figs_spark.engine.counting import Counts, count_columns, total_counts
from figs_spark.engine.file_counts import count_files
from figs_spark.engine.row_weights import TRAINS_EVERYWHERE, factors_of
from figs_spark.engine.table import Table, Target, is_small, rounded
from figs_spark.stages.base.categories import Rules, with_categories
from figs_spark.stages.base.classes import (
    check_classes,
    class_factors,
    class_texts,
    in_class_order,
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
from figs_spark.stages.base.plain_files import rows_of_files
from figs_spark.stages.base.raw_texts import RawTexts, text_name
from figs_spark.stages.base.row_checks import check_rows
from figs_spark.stages.base.row_counts import TrainingColumns, count_rows
from figs_spark.stages.base.rows_here import RowsHere, rows_here
from figs_spark.treesum import Feature
from figs_spark.treesum.nodes import TEXT


@dataclass(frozen=True)
class Checked:
    """A training set that has passed the checks."""

    table: Table
    class_names: tuple[str, ...] | None = None


def check(dataset: DataFrame, stage: Any, classification: bool, **extra: Column) -> Checked:
    """The engine's table; ValueError if the training set cannot be trained on.

    `extra` are further columns of the table, see `Table`. The rows of a small table come to the
    driver.
    """
    return _check(dataset, stage, classification, extra)


def check_with_spark(
    dataset: DataFrame, stage: Any, classification: bool, **extra: Column
) -> Checked:
    """The same; the rows stay where they are, as Spark has more to do with them."""
    return _check(dataset, stage, classification, extra, with_spark=True)


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
    text_as_it_is: bool = False,
    with_spark: bool = False,
) -> Checked:
    inputs, columns, names = _schema_checked(dataset, stage, classification)
    inputs = with_levels(inputs, stage.getOrDefault("codeSystems") or {})
    if not with_spark:
        rows = rows_here(dataset, stage, inputs, columns, extra)
        if rows is not None:
            if columns.label_is_text:
                rows, names = _numbered_classes(rows, stage)
            return _checked_here(dataset, stage, classification, rows, names, extra)
    if columns.label_is_text:
        names = class_texts(dataset, stage.getOrDefault("labelCol"))
        columns = replace(columns, label=class_number(columns.label, names))
    files = None if extra or with_spark else rows_of_files(dataset, stage, inputs, columns)
    if files is None:
        counts = count_rows(dataset, inputs, columns, classification)
    else:
        counts = count_files(dataset.sparkSession, files, classification)
    verdict = _judged(counts, stage, inputs, names, classification)
    weight = columns.weight
    if verdict.factors:
        weight = times_factors(verdict.factors, columns.label, weight)
    frame = dataset if weight is None else dataset.where(weight > 0)
    texts = None
    if text_as_it_is and _encodes_while_packing(inputs, stage, verdict.total["positive"]):
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
    frame = frame.select(*(expression.alias(name) for name, expression in selected.items()))
    return verdict.checked(frame, features, stage, texts=texts, files=files)


def _checked_here(
    dataset: DataFrame,
    stage: Any,
    classification: bool,
    rows: RowsHere,
    names: tuple[str, ...] | None,
    extra: Mapping[str, Column],
) -> Checked:
    """The same for rows in the driver."""
    counts = count_columns(rows.arrow, len(rows.inputs.features), classification)
    verdict = _judged(counts, stage, rows.inputs, names, classification)
    weight, label = rows.numbers("w"), rows.numbers("y")
    if verdict.factors and label is not None:
        own = [verdict.factors.get(k, 1.0) for k in range(verdict.classes)]
        factors = factors_of(label, own)
        weight = factors if weight is None else weight * factors
    kept = ["y", *extra]
    if weight is not None:
        rows = rows.with_numbers("w", weight).where(weight > 0)
        kept.append("w")
    held_out = rows.numbers("held_out")
    if held_out is not None:
        held = np.where(held_out == 1, 0, TRAINS_EVERYWHERE)
        rows = rows.with_numbers("held", held)
        kept.append("held")
    features, here = rows.encoded(stage, kept)
    return verdict.checked(dataset, features, stage, here=here)


def _numbered_classes(rows: RowsHere, stage: Any) -> tuple[RowsHere, tuple[str, ...]]:
    """The rows with a number for each text of the label, and these texts."""
    texts = rows.arrow.column("y").cast(pa.string())
    distinct = pc.unique(texts).drop_null().to_pylist()
    names = in_class_order(distinct, stage.getOrDefault("labelCol"))
    places = pc.index_in(texts, pa.array(names, pa.string()))
    return rows.with_numbers("y", to_numbers(places)), names


@dataclass(frozen=True)
class Verdict:
    """What the counts of a training set say, if it can be trained on."""

    total: Counts
    classes: int
    factors: dict[int, float]
    names: tuple[str, ...] | None

    def checked(
        self, frame: DataFrame, features: tuple[Feature, ...], stage: Any, **more: Any
    ) -> Checked:
        total, classes, factors = self.total, self.classes, self.factors
        table = Table(
            frame=frame,
            features=features,
            target=Target(classes, 0.0 if classes else rounded(total["sum"] / total["weight"])),
            rows=total["positive"],
            partitions=total["partitions"],
            label_sum=total["label_sum"],
            allowed_cuts=allowed_cuts(stage, features),
            class_factors=tuple(factors.get(k, 1.0) for k in range(classes)) if factors else None,
            **more,
        )
        if table.files is not None:
            files = replace(table.files, factors=table.class_factors or ())
            table = replace(table, files=files, partitions=len(files.groups))
        return Checked(table, self.names if classes and len(self.names or ()) == classes else None)


def _judged(
    counts: Sequence[Counts],
    stage: Any,
    inputs: Inputs,
    names: tuple[str, ...] | None,
    classification: bool,
) -> Verdict:
    """ValueError if the training set cannot be trained on."""
    total = total_counts(counts)
    check_rows(total, stage, inputs)
    classes = check_classes(counts, total, stage, names) if classification else 0
    factors = class_factors(counts, stage, classes) if classes else {}
    return Verdict(total, classes, factors, names)


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
    cells, names = label
    is_text = classification and isinstance(field(dataset, name, "labelCol").dataType, StringType)
    identity = column(identity) if identity else None
    columns = TrainingColumns(cells, weight, validation, identity, is_text)
    return inputs, columns, names


def _label(
    dataset: DataFrame, stage: Any, classification: bool
) -> tuple[Column, tuple[str, ...] | None]:
    """The label as a number, or as text, and the names of the classes if they are known."""
    name = stage.getOrDefault("labelCol")
    kind = field(dataset, name, "labelCol").dataType
    if not classification:
        numeric_field(dataset, name, "labelCol")
        return column(name).cast("double"), None
    if isinstance(kind, StringType):
        return column(name), None
    names = known_classes(dataset, stage)
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
