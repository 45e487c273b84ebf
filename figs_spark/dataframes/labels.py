"""Labels as numbers: numbers themselves, booleans, and texts that are the names of classes.

A model writes the names of its classes into the metadata of its output columns. So a text label can
be compared with a score wherever the score goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, NumericType, StringType, StructField

from figs_spark.dataframes.columns import column, field

CLASSES = "figs_spark_classes"  # the entry of the metadata
BOOLEANS = ("false", "true")


def class_metadata(names: Sequence[str] | None) -> dict[str, Any]:
    """What tells the names of the classes, for an output column."""
    return {} if names is None else {"metadata": {CLASSES: list(names)}}


def class_number(label: Column, names: Sequence[str]) -> Column:
    """The place of a text among the names of classes; -1 for others, null for a missing one."""
    if not names:
        return F.lit(None).cast("double")
    place = F.call_function("array_position", F.array(*map(F.lit, names)), label) - 1
    return place.cast("double")


def label_number(frame: DataFrame, name: str, output: str) -> Column:
    """The label as a double. A text is looked up in the classes of an output column of a model."""
    label = field(frame, name, "labelCol")
    if isinstance(label.dataType, StringType):
        return class_number(column(name), _classes(frame, label, output))
    if isinstance(label.dataType, BooleanType):
        return column(name).cast("int").cast("double")
    if isinstance(label.dataType, NumericType):
        return column(name).cast("double")
    raise ValueError(
        f"Column '{name}' (labelCol) has type {label.dataType.simpleString()}; a number, a boolean "
        f"or text is needed. Cast it."
    )


def _classes(frame: DataFrame, label: StructField, output: str) -> list[str]:
    names = (field(frame, output, "scoreCol").metadata or {}).get(CLASSES)
    if names is None:
        raise ValueError(
            f"Column '{label.name}' (labelCol) is text, and column '{output}' does not say which "
            f"class it is the score of. Compare: {label.name} = 'the class' gives true or false."
        )
    return list(names)
