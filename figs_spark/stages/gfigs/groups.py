"""The groups of G-FIGS: which groups there are, whether each can be trained on, which a row has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, IntegralType, StringType

from figs_spark.dataframes.columns import column, field

if TYPE_CHECKING:
    import pandas as pd

Group = str | int | bool

MAX_GROUPS = 64
KINDS: dict[type[Any], type[DataType]] = {bool: BooleanType, int: IntegralType, str: StringType}


def check_group_column(dataset: DataFrame, name: str, group: Group | None = None) -> None:
    """ValueError unless the column holds strings, integers or booleans; of the type of `group`."""
    kind = field(dataset, name, "groupCol").dataType
    if group is not None and not isinstance(kind, KINDS[type(group)]):
        raise ValueError(
            f"Column '{name}' (groupCol) has type {kind.simpleString()}, and the model was trained "
            f"on groups such as {group!r}. Cast it."
        )
    if not isinstance(kind, tuple(KINDS.values())):
        raise ValueError(
            f"Column '{name}' (groupCol) has type {kind.simpleString()}; a string, an integer or a "
            f"boolean is needed. Cast it, or cut numbers into bands."
        )


def read_groups(frame: DataFrame, name: str, aggregates: Sequence[Column] = ()) -> list[Row]:
    """The groups in the column g, in order, with the number of rows and the aggregates of each."""
    counted = frame.groupBy("g").agg(F.count(F.lit(1)).alias("rows"), *aggregates)
    groups = counted.limit(MAX_GROUPS + 2).collect()
    count = len(groups)
    if count > MAX_GROUPS + 1:
        count = frame.select(F.count_distinct("g")).collect()[0][0]
    return checked_groups(groups, name, count)


def checked_groups(groups: Sequence[Row], name: str, count: int) -> list[Row]:
    """The groups in order; ValueError if these cannot be groups. `count` is how many there are."""
    if len(groups) > MAX_GROUPS + 1:
        raise ValueError(
            f"Column '{name}' (groupCol) has {count} values, and at most {MAX_GROUPS} groups are "
            f"allowed. Use a column with fewer values."
        )
    total = sum(row["rows"] for row in groups)
    missing = sum(row["rows"] for row in groups if row["g"] is None)
    if missing:
        raise ValueError(
            f"Column '{name}' (groupCol) is null in {missing} of {total} rows. Fill it, perhaps "
            f"with a group of its own, or drop these rows."
        )
    if len(groups) == 1:
        raise ValueError(
            f"Column '{name}' (groupCol) has the single group {groups[0]['g']!r} in all {total} "
            f"rows. At least two are needed; for one population use FIGS."
        )
    return sorted(groups, key=lambda row: row["g"])


def class_counts() -> list[Column]:
    """The aggregates that `check_classes` reads."""
    y = F.col("y")
    return [
        F.count(F.when(y == 0, 1)).alias("negatives"),
        F.count(F.when(y == 1, 1)).alias("positives"),
        F.min(y).alias("lowest"),
        F.max(y).alias("highest"),
    ]


def check_classes(rows: Sequence[Row], name: str, label: str, classes: int) -> None:
    """ValueError if groups, each trained on its own rows alone, have rows of one class only."""
    problems = []
    for row in rows:
        group = f"Group {row['g']!r} of column '{name}' (groupCol)"
        if row["lowest"] != row["highest"]:
            continue
        if classes > 2:
            problems.append(
                f"{group} has the single class {row['lowest']:g} of column '{label}' (labelCol) in "
                f"all its {row['rows']} rows."
            )
            continue
        value, lacking = (1, "positives") if row["positives"] == 0 else (0, "negatives")
        problems.append(
            f"{group} has no {lacking}: column '{label}' (labelCol) is {value} in 0 of its "
            f"{row['rows']} rows."
        )
    if problems:
        remedy = "Merge such groups with similar ones, use more rows, or weighting 'membership'."
        raise ValueError("\n".join([*problems, remedy]))


def group_number(groups: Sequence[Group], group_of_row: Column) -> Column:
    """The place of the row's group in the list, as double."""
    place = F.when(group_of_row == F.lit(groups[0]), 0.0)
    for k, group in enumerate(groups[1:], start=1):
        place = place.when(group_of_row == F.lit(group), float(k))
    return place


def routed(
    groups: Sequence[Group],
    name: str,
    choose: Callable[[Group], Column],
    otherwise: Column | None = None,
) -> Column:
    """What `choose` returns for the group of the row; null, or `otherwise`, for other groups."""
    group_of_row = column(name)
    routes = F.when(group_of_row == F.lit(groups[0]), choose(groups[0]))
    for group in groups[1:]:
        routes = routes.when(group_of_row == F.lit(group), choose(group))
    return routes if otherwise is None else routes.otherwise(otherwise)


def rows_by_group(frame: pd.DataFrame, name: str, groups: Sequence[Group]) -> list[list[int]]:
    """The positions of the rows of each group; ValueError if a row has another group."""
    values = frame[name].tolist()
    others = [value for value in values if value not in groups]
    if others:
        raise ValueError(
            f"Column '{name}' (groupCol) has a group that the model does not have in {len(others)} "
            f"of {len(values)} rows, such as {others[0]!r}; it has {list(groups)}. Repair or drop "
            f"these rows."
        )
    return [[k for k, value in enumerate(values) if value == group] for group in groups]


def refused(groups: Sequence[Group], name: str) -> Column:
    """An error when a row of another group is scored."""
    shown = ", ".join(repr(group) for group in groups[:8])
    more = f" and {len(groups) - 8} more" if len(groups) > 8 else ""
    group = F.coalesce(column(name).cast("string"), F.lit("null"))
    remedy = (
        f", which no training row had: they had {shown}{more}. Repair or drop such rows, or set "
        f"unseenGroup to 'mixture'."
    )
    return F.raise_error(F.concat(F.lit(f"Column '{name}' (groupCol) is "), group, F.lit(remedy)))


def group_name(group: Any) -> str:
    """A group as text, for maxSplitsByGroup; a boolean as in JSON."""
    return str(group).lower() if isinstance(group, bool) else str(group)
