"""The label of a table: classes, of which one is looked at, or an amount."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, NumericType, StringType

from figs_spark.dataframes.columns import column, listed
from figs_spark.dataframes.row_sql import check_expression
from figs_spark.inspection.counts import Label

MOST_CLASSES = 20  # more numbers are an amount
MANY_VALUES = 1_000  # enough to see that


def labelled(
    df: DataFrame, label: str, positive: str | None, least: int
) -> tuple[DataFrame, Column, Label]:
    """The rows that have a label, the label as a number, and what it is like."""
    cell = _label_column(df, label)
    kind = df.select(cell.alias("y")).schema[0].dataType
    texts = isinstance(kind, (StringType, BooleanType)) or positive is not None
    if not texts and not isinstance(kind, NumericType):
        raise ValueError(
            f"The label '{label}' has type {kind.simpleString()}; a number, a boolean or text is "
            f"needed."
        )
    counts = _rows_by_value(df, cell)
    missing = counts.pop(None, 0)
    classes = {str(value): rows for value, rows in counts.items()}
    if len(classes) < 2:
        raise ValueError(
            f"The label '{label}' has {len(classes)} values in {sum(classes.values()):,} rows. At "
            f"least two are needed."
        )
    source = label if label in df.columns else None
    if not texts and not _are_classes(classes):
        return _amount(df, cell, label, source)
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"The label '{label}' is text with more than {MOST_CLASSES} values. Name another "
            f"column, or a condition."
        )
    chosen = _chosen(classes, label, positive, least)
    rows = sum(classes.values())
    share = classes[chosen] / rows
    named = None if _is_plain(classes) and positive is None else chosen
    described = Label(label, named, rows, missing, share, share * (1 - share), classes, source)
    text = _text(cell)
    return df.where(text.isNotNull()), (text == chosen).cast("double"), described


def _label_column(df: DataFrame, label: str) -> Column:
    if label in df.columns:
        return column(label)
    try:
        check_expression(label)
        cell = F.expr(label)
        df.select(cell).schema  # noqa: B018  Connect analyses here
    except (ValueError, PySparkException) as error:
        raise ValueError(
            f"The label '{label}' is no column, and no SQL expression that fits the table, which "
            f"has {listed(df.columns, 30)}."
        ) from error
    return cell


def _text(cell: Column) -> Column:
    """The label as text, null if it is missing or no number."""
    text = cell.cast("string")
    return F.when(text != "NaN", text)


def _rows_by_value(df: DataFrame, cell: Column) -> dict[str | None, int]:
    counts = df.groupBy(_text(cell).alias("y")).count().limit(MANY_VALUES).collect()
    return {row["y"]: row["count"] for row in counts}


def _are_classes(values: Mapping[str, int]) -> bool:
    """Whether numbers are few whole ones from 0 up, which training takes as classes."""
    numbers = [float(value) for value in values]
    return all(y == y // 1 and 0 <= y <= MOST_CLASSES for y in numbers)


def _is_plain(classes: Mapping[str, int]) -> bool:
    """Whether the classes are false and true, or 0 and 1: training needs no name."""
    return set(classes) <= {"false", "true"} or set(classes) <= {"0", "1", "0.0", "1.0"}


def _chosen(classes: Mapping[str, int], label: str, positive: str | None, least: int) -> str:
    """The class that is looked at: the one asked for, true or 1, or else the rarest."""
    if positive is not None:
        if positive in classes:
            return positive
        shown = listed(sorted(name for name in classes if classes[name] >= least), MOST_CLASSES)
        raise ValueError(f"The label '{label}' is never '{positive}'; it has {shown}.")
    if _is_plain(classes):
        return max(classes)
    enough = [name for name in classes if classes[name] >= least] or list(classes)
    return min(enough, key=lambda name: (classes[name], name))


def _amount(
    df: DataFrame, cell: Column, label: str, source: str | None
) -> tuple[DataFrame, Column, Label]:
    y = cell.cast("double")
    known = y.isNotNull() & ~F.isnan(y)
    value = F.when(known, y)
    sums = df.agg(F.count(F.lit(1)), F.count(value), F.avg(value), F.var_pop(value)).collect()[0]
    described = Label(label, None, sums[1], sums[0] - sums[1], sums[2], sums[3], source=source)
    return df.where(known), y, described
