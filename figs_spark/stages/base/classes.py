"""The classes in a training set: how many, what they are called, and what each weighs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType

from figs_spark.dataframes.columns import column, field
from figs_spark.dataframes.labels import BOOLEANS
from figs_spark.engine.counting import MAX_CLASSES, Counts
from figs_spark.stages.params.values import class_weight

log = logging.getLogger("figs_spark")


def known_classes(dataset: DataFrame, stage: Any) -> tuple[str, ...] | None:
    """The names of the classes as the schema has them: of a boolean, of StringIndexer."""
    label = field(dataset, stage.getOrDefault("labelCol"), "labelCol")
    if isinstance(label.dataType, BooleanType):
        return BOOLEANS
    attributes = (label.metadata or {}).get("ml_attr", {})
    return tuple(attributes["vals"]) if attributes.get("vals") else None


def class_texts(dataset: DataFrame, label: str) -> tuple[str, ...]:
    """The different texts of a label, in alphabetical order."""
    distinct = dataset.select(column(label).alias("y")).where("y is not null").distinct()
    texts = [row["y"] for row in distinct.limit(MAX_CLASSES + 1).collect()]
    return in_class_order(texts, label)


def in_class_order(texts: Sequence[str], label: str) -> tuple[str, ...]:
    if len(texts) > MAX_CLASSES:
        raise ValueError(
            f"Column '{label}' (labelCol) is text with more than {MAX_CLASSES} different values, "
            f"and these would be the classes. Name another column, or one that groups them."
        )
    return tuple(sorted(texts))


def check_classes(
    counts: Sequence[Counts], total: Counts, stage: Any, names: Sequence[str] | None
) -> int:
    """The number of classes; ValueError if labels are not classes, or there is one class only."""
    label = stage.getOrDefault("labelCol")
    wrong = sum(part["rows"] for part in counts if part["class"] < 0)
    if wrong:
        raise ValueError(
            f"Column '{label}' (labelCol) holds a value that is not a class in {wrong} of "
            f"{total['rows']} rows: classes are the integers 0, 1, ..., {MAX_CLASSES - 1}, "
            f"booleans or text. Cast the label to one of these."
        )
    trained = sorted(int(part["class"]) for part in counts if part["training"] > 0)
    if len(trained) == 1:
        raise ValueError(
            f"Column '{label}' (labelCol) has the single class "
            f"{names[trained[0]] if names else trained[0]} in all "
            f"{total['training']} training rows. At least two classes are needed."
        )
    names = names or ()
    present = {int(part["class"]) for part in counts if part["positive"] > 0}
    classes = max(*present, len(names) - 1) + 1
    if not names:
        _check_gaps(present, classes, label)
    return classes


def _check_gaps(present: set[int], classes: int, label: str) -> None:
    """Classes without rows: a warning; ValueError if the labels are not numbered from 0 on."""
    empty = sorted(set(range(classes)) - present)
    if not empty:
        return
    gaps = (
        f"Column '{label}' (labelCol) has no rows of {len(empty)} of the {classes} classes 0 to "
        f"{classes - 1}: {', '.join(map(str, empty[:8]))}{', ...' if len(empty) > 8 else ''}."
    )
    if empty[0] == 0 or len(empty) > len(present):
        raise ValueError(
            f"{gaps} Number the classes from 0 without gaps, or cast the label to text."
        )
    log.warning("%s They get a probability of about 0.", gaps)


def class_factors(counts: Sequence[Counts], stage: Any, classes: int) -> dict[int, float]:
    """What `classWeight` multiplies the weights of a class by; 1 for a class that is not in it."""
    rule, label = class_weight(stage.getOrDefault("classWeight")), stage.getOrDefault("labelCol")
    weights = {int(part["class"]): part["weight"] for part in counts if part["weight"] > 0}
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
        return {1: weights[0] / weights[1]}
    if rule == "balanced":
        total = sum(weights.values())
        return {k: total / (len(weights) * weight) for k, weight in weights.items()}
    return {}


def times_factors(factors: dict[int, float], label: Column, weight: Column | None) -> Column:
    """The weight of a row, times the factor of its class."""
    factor = F.lit(1.0)
    for k, value in factors.items():
        factor = F.when(label == k, value).otherwise(factor)
    return factor if weight is None else weight * factor
