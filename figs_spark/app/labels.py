"""The label of a job: a column, an SQL expression, or one class of a column against the rest."""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from figs_spark.app.config import Settings, close
from figs_spark.app.errors import UNFIT_INPUT
from figs_spark.app.sources import need_columns, short
from figs_spark.dataframes.columns import column, listed
from figs_spark.dataframes.derived import mentions
from figs_spark.dataframes.row_sql import check_expression

SHOWN = 20  # values of a label in a message
LEAST = 10  # rows that have such a value: rarer ones may name a person
OPERATORS = set("=<>()'")  # one of them makes a label an expression


def label_name(label: str, positive: str | None) -> str:
    """What the label is called: with `positive` a comparison, which is true or false."""
    return label if positive is None else f"{label} = {positive}"


def with_label(data: DataFrame, settings: Settings[Any], label: str, positive: str | None) -> Any:
    """The table with the label as a column of the name that `label_name` gives."""
    name = label_name(label, positive)
    if name in data.columns:
        return data
    if label not in data.columns:
        data = _derived(data, settings, label)
    if positive is None:
        return data
    text = column(label).cast("string")
    if data.where(text == positive).isEmpty():
        counts = data.groupBy(text.alias("y")).count().where(f"y is not null and count >= {LEAST}")
        values = counts.orderBy(F.desc("count"), "y").limit(SHOWN + 1)
        shown = listed(sorted(row["y"] for row in values.collect()), SHOWN)
        message = f"column '{label}' is never '{positive}'; it has {shown or 'rare values only'}."
        raise settings.error("positive", message, UNFIT_INPUT)
    return data.withColumn(name, text == positive)


def _derived(data: DataFrame, settings: Settings[Any], label: str) -> DataFrame:
    if not OPERATORS & set(label):
        need_columns(data, [label])
    try:
        check_expression(label)
        with_label = data.withColumn(label, F.expr(label))
        if label in with_label.columns:  # Connect analyses here
            return with_label
    except (ValueError, PySparkException) as error:
        hint = close(label, data.columns) or f"the input has {listed(data.columns, 30)}."
        reason = str(error) if isinstance(error, ValueError) else short(error)
        message = f"'{label}' is no column, and no SQL expression that fits: {reason} {hint}"
        raise settings.error("label", message, UNFIT_INPUT) from error
    raise AssertionError(label)


def tells_label(name: str, label: str) -> bool:
    """Whether a column is part of the label, and so no feature."""
    return mentions(label, name)
