"""Counting the values of all columns, in one pass over the rows.

Every row becomes one cell per column. Spark counts equal cells, then adds up what may not be shown
one by one: text that few rows have. Numbers are rounded, so that few of them are left. The driver
gets these sums and no row.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from figs_spark.dataframes.columns import column
from figs_spark.inspection.counts import MARKERS, NUMBER, OTHER, TEXT, TIME, Counted, Tally
from figs_spark.inspection.patterns import VALUES

MOST_TEXTS = 20_000  # of a column: rarer ones are added up
EXACT_BELOW = 1_000.0  # whole numbers below it are not rounded
DIGITS = 3  # that other numbers are rounded to
MONTH = 30.0  # days, to which dates are rounded


def kind_of(kind: T.DataType) -> str:
    if isinstance(kind, (T.StringType, T.BooleanType)):
        return TEXT
    if isinstance(kind, T.NumericType):
        return NUMBER
    return TIME if isinstance(kind, (T.DateType, T.TimestampType, T.TimestampNTZType)) else OTHER


def count_columns(
    frame: DataFrame, fields: Sequence[T.StructField], label: Column, least: int, rows: int
) -> list[Counted]:
    """The values of these columns; text that fewer than `least` rows have is in `others`."""
    kinds = [kind_of(field.dataType) for field in fields]
    cells = [_cell(j, field.name, kind) for j, (field, kind) in enumerate(zip(fields, kinds))]
    every = frame.select(label.alias("y"), F.explode(F.array(*cells)).alias("cell"))
    counted = every.groupBy("cell.j", "cell.text", "cell.number").agg(
        F.count(F.lit(1)).alias("rows"), F.sum("y").alias("label")
    )
    sums = _summed(counted, kinds, max(least, rows // MOST_TEXTS)).collect()
    by_column = defaultdict(list)
    for row in sums:
        by_column[row["j"]].append(row)
    return [
        _counted(field, kind, by_column[j]) for j, (field, kind) in enumerate(zip(fields, kinds))
    ]


def _cell(j: int, name: str, kind: str) -> Column:
    """One value of a row: its text or its number; both are null if it is missing."""
    value = column(name)
    text, number = F.lit(None).cast("string"), F.lit(None).cast("double")
    if kind == TEXT:
        text = value.cast("string")
    elif kind == NUMBER:
        number = value.cast("double")
        number = F.when(~F.isnan(number), number)
    elif kind == TIME:  # by days
        number = F.unix_timestamp(value.cast("timestamp")).cast("double") / 86_400.0
    else:
        text = F.when(value.isNotNull(), F.lit(OTHER))
    return F.struct(F.lit(j).alias("j"), text.alias("text"), number.alias("number"))


def _summed(counted: DataFrame, kinds: Sequence[str], least: int) -> DataFrame:
    """The counts by text that is frequent or stands for a missing value, and by rounded number."""
    text, number = F.col("text"), F.col("number")
    times = [j for j, kind in enumerate(kinds) if kind == TIME]
    is_time = F.col("j").isin(times) if times else F.lit(False)
    kept = (F.col("rows") >= least) | text.isin(*MARKERS)
    patterns = {name: F.sum(text.rlike(p).cast("int")) for name, p in VALUES.items()}
    return counted.groupBy(
        "j",
        F.when(kept, text).alias("text"),
        _rounded(number, is_time).alias("number"),
        (text.isNull() & number.isNull()).alias("missing"),
    ).agg(
        F.sum("rows").alias("rows"),
        F.sum("label").alias("label"),
        F.count(F.lit(1)).alias("values"),
        F.sum((number != F.floor(number)).cast("int")).alias("fractions"),
        *[total.alias(f"like_{name}") for name, total in patterns.items()],
    )


def _rounded(number: Column, is_time: Column) -> Column:
    size = F.floor(F.log10(F.abs(number))) - (DIGITS - 1)
    step = F.pow(F.lit(10.0), size)
    small = (number == F.floor(number)) & (F.abs(number) < F.lit(EXACT_BELOW)) | (number == 0)
    rounded = F.when(small, number).otherwise(F.round(number / step) * step)
    return F.when(is_time, F.floor(number / MONTH) * MONTH).otherwise(rounded)


def _counted(field: T.StructField, kind: str, rows: Sequence[Any]) -> Counted:
    texts: dict[str, Tally] = {}
    numbers: dict[float, Tally] = {}
    missing = others = Tally()
    for row in rows:
        tally = Tally(row["rows"], row["label"] or 0.0, row["values"])
        if row["missing"]:
            missing = tally
        elif row["number"] is not None:
            numbers[_tidy(row["number"])] = tally
        elif row["text"] is None:
            others = tally
        else:
            texts[row["text"]] = tally
    return Counted(
        name=field.name,
        type=field.dataType.simpleString(),
        kind=kind,
        missing=missing,
        texts=dict(sorted(texts.items(), key=lambda item: (-item[1].rows, item[0]))),
        numbers=dict(sorted(numbers.items())),
        others=others,
        fractions=sum(row["fractions"] or 0 for row in rows),
        alike={name: sum(row[f"like_{name}"] or 0 for row in rows) for name in VALUES},
    )


def _tidy(number: float) -> float:
    """Without the dust that rounding leaves: 0.30000000000000004 is 0.3."""
    return float(f"{number:.{DIGITS + 3}g}") if math.isfinite(number) else number
