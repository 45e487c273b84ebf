"""The groups of G-FIGS: which there are, whether each can be trained on, where a row belongs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, IntegralType, StringType

from figs_spark.dataframes.columns import column, field

Group = str | int | bool

MAX_GROUPS = 64
KINDS: dict[type[Any], type[DataType]] = {bool: BooleanType, int: IntegralType, str: StringType}


def check_group_column(dataset: DataFrame, name: str, group: Group | None = None) -> None:
    """Text, integers or truth values; what they are in `group`, where it is given."""
    kind = field(dataset, name, "groupCol").dataType
    if group is not None and not isinstance(kind, KINDS[type(group)]):
        raise ValueError(
            f"Column '{name}' (groupCol) has type {kind.simpleString()}, and the model was trained "
            f"on groups such as {group!r}. Cast it."
        )
    if not isinstance(kind, tuple(KINDS.values())):
        raise ValueError(
            f"Column '{name}' (groupCol) has type {kind.simpleString()}; text, an integer or a "
            f"truth value is needed. Cast it, or cut numbers into bands."
        )


def read_groups(frame: DataFrame, name: str, aggregates: Sequence[Column] = ()) -> list[Row]:
    """The groups in the column g, in order, with their rows and other aggregates."""
    counted = frame.groupBy("g").agg(F.count(F.lit(1)).alias("rows"), *aggregates)
    found = counted.limit(MAX_GROUPS + 2).collect()
    if len(found) > MAX_GROUPS + 1:
        count = frame.select(F.count_distinct("g")).collect()[0][0]
        raise ValueError(
            f"Column '{name}' (groupCol) has {count} values, and at most {MAX_GROUPS} groups are "
            f"taken. Name a column that many rows share."
        )
    total = sum(row["rows"] for row in found)
    missing = sum(row["rows"] for row in found if row["g"] is None)
    if missing:
        raise ValueError(
            f"Column '{name}' (groupCol) is null in {missing} of {total} rows. Fill it, with a "
            f"group of its own perhaps, or drop these rows."
        )
    if len(found) == 1:
        raise ValueError(
            f"Column '{name}' (groupCol) has the single group {found[0]['g']!r} in all {total} "
            f"rows. At least two are needed; for one population use FIGS itself."
        )
    return sorted(found, key=lambda row: row["g"])


def class_counts() -> list[Column]:
    """Aggregates that `check_classes` reads."""
    y = F.col("y")
    return [
        F.count(F.when(y == 0, 1)).alias("negatives"),
        F.count(F.when(y == 1, 1)).alias("positives"),
        F.min(y).alias("lowest"),
        F.max(y).alias("highest"),
    ]


def check_classes(rows: Sequence[Row], name: str, label: str, classes: int) -> None:
    """Every group has rows of both classes; of many classes, of two at least."""
    for row in rows:
        group = f"Group {row['g']!r} of column '{name}' (groupCol)"
        remedy = "Join it with a similar group, or take more rows."
        if row["lowest"] != row["highest"]:
            continue
        if classes > 2:
            raise ValueError(
                f"{group} has the single class {row['lowest']:g} of column '{label}' (labelCol) in "
                f"all its {row['rows']} rows. {remedy}"
            )
        value, lacking = (1, "positives") if row["positives"] == 0 else (0, "negatives")
        raise ValueError(
            f"{group} has no {lacking}: column '{label}' (labelCol) is {value} in 0 of its "
            f"{row['rows']} rows. {remedy}"
        )


def group_number(groups: Sequence[Group], given: Column) -> Column:
    """The place of a group in the list as double, for a group that is in it."""
    place = F.when(given == F.lit(groups[0]), 0.0)
    for k, group in enumerate(groups[1:], start=1):
        place = place.when(given == F.lit(group), float(k))
    return place


def routed(
    groups: Sequence[Group],
    name: str,
    choose: Callable[[Group], Column],
    otherwise: Column | None = None,
) -> Column:
    """For each row what `choose` gives for its group; null, or `otherwise`, for other groups."""
    given = column(name)
    routes = F.when(given == F.lit(groups[0]), choose(groups[0]))
    for group in groups[1:]:
        routes = routes.when(given == F.lit(group), choose(group))
    return routes if otherwise is None else routes.otherwise(otherwise)


def refused(groups: Sequence[Group], name: str) -> Column:
    """An error, when a row is scored."""
    shown = ", ".join(repr(group) for group in groups[:8])
    more = f" and {len(groups) - 8} more" if len(groups) > 8 else ""
    given = F.coalesce(column(name).cast("string"), F.lit("null"))
    remedy = (
        f", which no training row had: they had {shown}{more}. Repair or drop such rows, or set "
        f"unseenGroup to 'mixture'."
    )
    return F.raise_error(F.concat(F.lit(f"Column '{name}' (groupCol) is "), given, F.lit(remedy)))


def group_name(group: Any) -> str:
    """A group as the text that names it in maxSplitsByGroup, as JSON has it."""
    return str(group).lower() if isinstance(group, bool) else str(group)
