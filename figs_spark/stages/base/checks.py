"""Is the training set fit to train on? One aggregation answers, before any long work starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from figs_spark.dataframes.columns import column, field, numeric_field
from figs_spark.engine.bins import TooManyCategories
from figs_spark.engine.table import Table, Target
from figs_spark.stages.base.inputs import Inputs, check_outputs, read_inputs, training_column
from figs_spark.stages.params.values import class_weight
from figs_spark.treesum import Feature

MAX_CLASSES = 255  # a class is stored in one byte
LARGEST = 1e150  # beyond it squares overflow
NOT_HELD = 255
PARTITION = "figs_spark_partition"


Counts = dict[str, Any]


@dataclass(frozen=True)
class Checked:
    """A training set that may be trained on."""

    table: Table
    class_names: tuple[str, ...] | None = None


def check(dataset: DataFrame, stage: Any, classification: bool, **extra: Column) -> Checked:
    """Raise ValueError that names the column, the count and the remedy; else the engine's table.

    `extra` are columns that the table shall have besides, see `Table`.
    """
    check_outputs(dataset, stage)
    inputs = read_inputs(dataset, stage)
    label = _label(dataset, stage, inputs)
    weight, held = _weight(dataset, stage), _held(dataset, stage)
    identity = column(name) if (name := stage.given("idCol")) else None
    rows = _statistics(dataset, inputs, label, weight, held, identity, classification)
    total = _total(rows)
    _check_rows(total, stage, inputs)
    classes = _check_classes(rows, total, stage, dataset) if classification else 0
    features = _with_text(dataset, inputs, total, stage.getOrDefault("maxBins"))
    if classes and (factors := _class_factors(rows, stage, classes)):
        weight = _times(factors, label, weight)
    frame = dataset if weight is None else dataset.where(weight > 0)
    columns = [training_column(inputs, features).alias("x"), label.alias("y")]
    if weight is not None:
        columns.append(weight.alias("w"))
    if held is not None:
        columns.append(F.when(held, 0).otherwise(NOT_HELD).alias("held"))
    columns += [expression.alias(name) for name, expression in extra.items()]
    table = Table(
        frame=frame.select(*columns),
        features=features,
        target=Target(classes, 0.0 if classes else total["sum"] / total["weight"]),
        rows=total["positive"],
        partitions=total["partitions"],
    )
    return Checked(table, _class_names(dataset, stage, classes))


def _label(dataset: DataFrame, stage: Any, inputs: Inputs) -> Column:
    name = stage.getOrDefault("labelCol")
    numeric_field(dataset, name, "labelCol")
    if name in inputs.names:
        raise ValueError(f"Column '{name}' is both labelCol and a feature. Take it out of one.")
    return column(name).cast("double")


def _weight(dataset: DataFrame, stage: Any) -> Column | None:
    name = stage.getOrDefault("weightCol")
    if not name:
        return None
    numeric_field(dataset, name, "weightCol")
    return column(name).cast("double")


def _held(dataset: DataFrame, stage: Any) -> Column | None:
    name = stage.given("validationIndicatorCol")
    if not name:
        return None
    kind = field(dataset, name, "validationIndicatorCol").dataType
    if not isinstance(kind, BooleanType):
        raise ValueError(
            f"Column '{name}' (validationIndicatorCol) has type {kind.simpleString()}; a boolean "
            f"is needed. Cast it."
        )
    return column(name)


def _statistics(
    dataset: DataFrame,
    inputs: Inputs,
    label: Column,
    weight: Column | None,
    held: Column | None,
    identity: Column | None,
    classification: bool,
) -> list[Counts]:
    """Counts of all rows, or by class; the class -1 has the labels that are no class."""
    ok = label.isNotNull() & ~F.isnan(label)
    largest = F.lit(LARGEST)
    counts = {
        "rows": F.count(F.lit(1)),
        "bad_label": _count(~ok | (F.abs(label) > largest)),
        "partitions": F.max(PARTITION) + 1,
    }
    if weight is None and held is None:
        counts["sum"] = _sum(ok, label)
    else:
        w = F.lit(1.0) if weight is None else weight
        trains = ok & (w > 0) if held is None else ok & (w > 0) & ~held
        counts |= {
            "missing_weight": _count(w.isNull() | F.isnan(w) | (w > largest)),
            "negative_weight": _count(w < 0),
            "positive": _count(w > 0),
            "training": _count(trains),
            "weight": _sum(trains, w),
            "sum": _sum(trains, w * label),
        }
    if held is not None:
        counts["missing_held"] = _count(held.isNull())
        counts["held"] = _count(held if weight is None else held & (weight > 0))
    if identity is not None:
        counts["missing_id"] = _count(identity.isNull())
    if inputs.packed is not None:
        size = F.size(inputs.packed)
        missing = column(inputs.names[0]).isNull()
        counts["missing_features"] = _count(missing)
        counts["other_length"] = _count(~missing & (size != len(inputs.features)))
    for j, is_text in enumerate(inputs.is_text):
        if is_text:
            counts[f"categories_{j}"] = F.approx_count_distinct(column(inputs.features[j].name))
    dataset = dataset.withColumn(PARTITION, F.spark_partition_id())
    aggregates = [expression.alias(name) for name, expression in counts.items()]
    if not classification:
        return [_counted(row) for row in dataset.agg(*aggregates).collect()]
    is_class = ok & (label == F.floor(label)) & (label >= 0) & (label < MAX_CLASSES)
    bucket = F.when(is_class, label).otherwise(-1.0).alias("class")
    return [_counted(row) for row in dataset.groupBy(bucket).agg(*aggregates).collect()]


def _count(condition: Column) -> Column:
    return F.count(F.when(condition, 1))


def _sum(condition: Column, value: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, value)), F.lit(0.0))


def _counted(row: Row) -> Counts:
    """Without weights every row counts as one."""
    return dict.fromkeys(("positive", "training", "weight"), row["rows"]) | row.asDict()


def _total(rows: Sequence[Counts]) -> Counts:
    """The counts of all classes together; distinct categories are a lower bound, the largest."""
    if not rows:
        return {"rows": 0}
    maxima = ("partitions", "categories_")
    return {
        name: (max if name.startswith(maxima) else sum)(row[name] or 0 for row in rows)
        for name in rows[0]
        if name != "class"
    }


def _check_rows(total: Counts, stage: Any, inputs: Inputs) -> None:
    rows = total["rows"]
    if rows == 0:
        raise ValueError("The DataFrame is empty: 0 rows. Check the filters before the fit.")
    label, weight, held, identity, features = (
        stage.given(name)
        for name in ("labelCol", "weightCol", "validationIndicatorCol", "idCol", "featuresCol")
    )
    wrong = [
        (
            "bad_label",
            f"Column '{label}' (labelCol) is null, NaN, infinite or beyond {LARGEST:g} in {{}} of "
            f"{rows} rows. Drop or repair these rows.",
        ),
        (
            "missing_weight",
            f"Column '{weight}' (weightCol) is null, NaN or infinite in {{}} of {rows} rows. Fill "
            f"these weights, with 0 to leave a row out.",
        ),
        (
            "negative_weight",
            f"Column '{weight}' (weightCol) is negative in {{}} of {rows} rows. Weights are 0 or "
            f"more.",
        ),
        (
            "missing_held",
            f"Column '{held}' (validationIndicatorCol) is null in {{}} of {rows} rows. Fill it.",
        ),
        (
            "missing_id",
            f"Column '{identity}' (idCol) is null in {{}} of {rows} rows, which would all be drawn "
            f"together. Fill it, or leave idCol unset.",
        ),
        (
            "missing_features",
            f"Column '{features}' (featuresCol) is null in {{}} of {rows} rows. Drop these rows; "
            f"a single missing value is a NaN inside the vector.",
        ),
        (
            "other_length",
            f"Column '{features}' (featuresCol) does not have {len(inputs.features)} values, as "
            f"its first row or its metadata says, in {{}} of {rows} rows. All need the same "
            f"number of values.",
        ),
    ]
    for name, message in wrong:
        if total.get(name):
            raise ValueError(message.format(total[name]))
    if not inputs.features:
        raise ValueError(
            f"Column '{features}' (featuresCol) has 0 values in each of {rows} rows. Fill it."
        )
    if total["positive"] == 0:
        raise ValueError(
            f"Column '{weight}' (weightCol) is 0 in all {rows} rows. At least one must be positive."
        )
    if total["training"] == 0:
        raise ValueError(
            f"Column '{held}' (validationIndicatorCol) is true in all {rows} rows: none is left to "
            f"train on. Mark some rows false."
        )
    if total.get("held") == 0:
        raise ValueError(
            f"Column '{held}' (validationIndicatorCol) is false in all {rows} rows: none is left "
            f"to validate on. Mark some rows true, or do not set it."
        )


def _check_classes(rows: Sequence[Counts], total: Counts, stage: Any, dataset: DataFrame) -> int:
    label = stage.getOrDefault("labelCol")
    wrong = sum(row["rows"] for row in rows if row["class"] < 0)
    if wrong:
        raise ValueError(
            f"Column '{label}' (labelCol) is no class in {wrong} of {total['rows']} rows: classes "
            f"are the integers 0, 1, ..., {MAX_CLASSES - 1}. Index the label with StringIndexer."
        )
    seen = sorted(int(row["class"]) for row in rows if row["training"] > 0)
    if len(seen) == 1:
        raise ValueError(
            f"Column '{label}' (labelCol) has the single class {seen[0]} in all "
            f"{total['training']} training rows. At least two classes are needed."
        )
    largest = max(int(row["class"]) for row in rows if row["positive"] > 0)
    return max(largest + 1, len(_noted_names(dataset, label) or ()))


def _noted_names(dataset: DataFrame, label: str) -> tuple[str, ...] | None:
    """What StringIndexer called the classes."""
    noted = (field(dataset, label, "labelCol").metadata or {}).get("ml_attr", {})
    return tuple(noted["vals"]) if noted.get("vals") else None


def _class_names(dataset: DataFrame, stage: Any, classes: int) -> tuple[str, ...] | None:
    names = _noted_names(dataset, stage.getOrDefault("labelCol")) if classes else None
    return names if names and len(names) == classes else None


def _class_factors(rows: Sequence[Counts], stage: Any, classes: int) -> dict[int, float]:
    """What `classWeight` multiplies the weight of each class by; a class that is not in it by 1."""
    rule, label = class_weight(stage.getOrDefault("classWeight")), stage.getOrDefault("labelCol")
    own = {int(row["class"]): row["weight"] for row in rows if row["weight"] > 0}
    if isinstance(rule, dict):
        unknown = sorted(set(rule) - set(range(classes)))
        if unknown:
            raise ValueError(
                f"classWeight names the label {unknown[0]}, and column '{label}' (labelCol) has "
                f"the {classes} classes 0 to {classes - 1}. Name these only."
            )
        return rule
    if rule == "inverse":
        if classes > 2:
            raise ValueError(
                f"classWeight 'inverse' is for two classes, and column '{label}' (labelCol) has "
                f"{classes}. Use 'balanced', or give a factor for each label."
            )
        return {1: own[0] / own[1]}
    if rule == "balanced":
        return {k: sum(own.values()) / (len(own) * total) for k, total in own.items()}
    return {}


def _times(factors: dict[int, float], label: Column, weight: Column | None) -> Column:
    factor = F.lit(1.0)
    for k, value in factors.items():
        factor = F.when(label == k, value).otherwise(factor)
    return factor if weight is None else weight * factor


def _with_text(
    dataset: DataFrame, inputs: Inputs, total: Counts, max_bins: int
) -> tuple[Feature, ...]:
    """The features with the categories of text columns, all of them, in alphabetical order."""
    text = [j for j, is_text in enumerate(inputs.is_text) if is_text]
    if not text:
        return inputs.features
    for j in text:
        if total[f"categories_{j}"] > 2 * max_bins:
            name = inputs.features[j].name
            count = dataset.select(F.count_distinct(column(name))).collect()[0][0]
            raise TooManyCategories(name, count, max_bins)
    sets = [F.collect_set(column(inputs.features[j].name)) for j in text]
    found = dataset.select(*sets).collect()[0]
    features = list(inputs.features)
    for j, categories in zip(text, found, strict=True):
        if len(categories) > max_bins:
            raise TooManyCategories(features[j].name, len(categories), max_bins)
        features[j] = replace(features[j], categories=tuple(sorted(categories)) or ("",))
    return tuple(features)
