"""The membership columns, from which the group of a row is estimated, as slots of a vector.

A missing value is information about the group too, so it has a slot of its own. A number has a slot
with its value (the mean if it is missing) and, if some training rows lack it, a slot that says
whether it is missing; a boolean is the number 0 or 1. Text has a slot for each category and one for
missing. A value that is no category, because few training rows had it (`minCategoryCount`) or none,
or because it is beyond the most frequent, is 0 in all of them. Spark alone builds the vector.

A classifier needs the more time the more slots there are, and groups differ little in rare codes.
So a column has at most MAX_CATEGORIES categories, where a split of a tree may name more.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from pyspark.ml.functions import array_to_vector
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, DataType, NumericType, StringType

from figs_spark.dataframes.columns import field, folding, listed
from figs_spark.dataframes.positions import SHORT, position
from figs_spark.stages.base.categories import code_text, count_categories
from figs_spark.stages.base.inputs import Inputs
from figs_spark.stages.gfigs.groups import Group
from figs_spark.treesum import Feature
from figs_spark.treesum.nodes import CODE, NUMBER, TEXT
from figs_spark.treesum.strict_json import Entry

MAX_CATEGORIES = 32  # with the one for all other values

log = logging.getLogger("figs_spark")


@dataclass(frozen=True)
class MembershipColumn:
    """A column, or one value of the vector of features, and its slots."""

    name: str
    kind: str
    place: int | None = None  # in the vector of features; None for a column
    fill: float = 0.0
    missing: bool = False
    categories: tuple[str, ...] = ()

    @property
    def slots(self) -> list[str]:
        """The names of the slots."""
        names = [self.name]
        if self.kind != NUMBER:
            names = [f"{self.name} = {category}" for category in self.categories]
        return [*names, f"{self.name} is missing"] if self.missing else names

    def slot_values(self, cell: Column) -> list[Column]:
        """The values of the slots, as arrays."""
        value = self.value(cell)
        if self.kind == NUMBER:
            values = [F.array(F.coalesce(value, F.lit(self.fill)))]
        elif len(self.categories) > SHORT:
            values = [_one_of(len(self.categories), position(value, self.categories))]
        else:
            values = [F.array(_indicator(value == F.lit(c))) for c in self.categories]
        return [*values, F.array(_indicator(value.isNull()))] if self.missing else values

    def value(self, cell: Column) -> Column:
        """The cell as double or text; null if it is missing."""
        if self.kind == TEXT:
            return cell
        if self.kind == CODE:
            return code_text(cell)
        number = cell.cast("double")
        return F.when(~F.isnan(number), number)


def membership_columns(
    dataset: DataFrame, stage: Any, inputs: Inputs
) -> tuple[MembershipColumn, ...]:
    """The columns that the Params name, checked against the schema; their slots come later."""
    get, fold = stage.getOrDefault, folding(dataset)
    named, excluded = get("membershipFeaturesCols"), set(get("membershipExcludeCols") or ())
    if named is None:
        group = fold(get("groupCol"))
        columns = [c for c in _features(dataset, inputs) if fold(c.name) != group]
    else:
        columns = _named(dataset, named, {param: get(param) for param in ("groupCol", "labelCol")})
    names = [c.name for c in columns]
    unknown = sorted(excluded - set(names) - {get("groupCol")})
    if unknown:
        raise ValueError(
            f"membershipExcludeCols names {listed(unknown)}, which are not among the {len(names)} "
            f"membership features {listed(names)}. Name these only."
        )
    kept = tuple(c for c in columns if c.name not in excluded)
    if not kept:
        raise ValueError(
            "No column is left to estimate the group from. Name some in membershipFeaturesCols, or "
            "fewer in membershipExcludeCols."
        )
    return kept


def _features(dataset: DataFrame, inputs: Inputs) -> list[MembershipColumn]:
    """The features as membership columns."""
    if inputs.packed is None:
        plain = [feature for feature in inputs.features if not feature.is_time]
        return [_from_schema(dataset, f.name, f.kind == CODE) for f in plain]
    return [
        MembershipColumn(f.name, CODE if f.kind == CODE else NUMBER, j)
        for j, f in enumerate(inputs.features)
    ]


def _named(
    dataset: DataFrame, names: Sequence[str], reserved: dict[str, str]
) -> list[MembershipColumn]:
    """The columns of these names; ValueError if one is the group or the label."""
    fold = folding(dataset)
    by_name = {fold(name): name for name in names}
    for param, name in reserved.items():
        if fold(name) in by_name:
            raise ValueError(
                f"membershipFeaturesCols names '{by_name[fold(name)]}', the {param} itself. Remove "
                f"it."
            )
    return [_from_schema(dataset, name) for name in by_name.values()]


def _from_schema(dataset: DataFrame, name: str, is_code: bool = False) -> MembershipColumn:
    kind = field(dataset, name, "membershipFeaturesCols").dataType
    if isinstance(kind, StringType):
        return MembershipColumn(name, TEXT)
    if isinstance(kind, NumericType) and is_code:
        return MembershipColumn(name, CODE)
    if isinstance(kind, (NumericType, BooleanType)):
        return MembershipColumn(name, NUMBER)
    raise ValueError(
        f"Column '{name}' (membershipFeaturesCols) has type {kind.simpleString()}; a number, a "
        f"boolean or a string is needed. Cast it, or leave it out."
    )


def check_scoring_type(column: MembershipColumn, kind: DataType) -> None:
    """ValueError if a column to score has another type than in training."""
    needed = StringType if column.kind == TEXT else (NumericType, BooleanType)
    if not isinstance(kind, needed):
        trained_on = "strings" if column.kind == TEXT else "numbers"
        raise ValueError(
            f"Column '{column.name}' (membershipFeaturesCols) has type {kind.simpleString()}, and "
            f"the model was trained on {trained_on}. Cast it."
        )


# Statistics of the training rows


def statistics(columns: Sequence[MembershipColumn], cells: Sequence[Column]) -> list[Column]:
    """The aggregates by group that `with_slots` reads."""
    aggregates = []
    for k, (column, cell) in enumerate(zip(columns, cells, strict=True)):
        value = column.value(cell)
        aggregates.append(F.count(F.when(value.isNull(), 1)).alias(f"missing_{k}"))
        if column.kind == NUMBER:
            infinite = F.abs(value) == float("inf")
            aggregates += [
                F.count(F.when(infinite, 1)).alias(f"infinite_{k}"),
                F.min(value).alias(f"low_{k}"),
                F.max(value).alias(f"high_{k}"),
                F.sum(value).alias(f"sum_{k}"),
            ]
        else:  # -1 stands for values that are no category
            place = position(value, column.categories)
            aggregates.append(F.collect_set(place).alias(f"present_{k}"))
    return aggregates


def with_categories(
    frame: DataFrame,
    columns: Sequence[MembershipColumn],
    cells: Sequence[Column],
    least: int,
    features: Sequence[Feature],
) -> tuple[MembershipColumn, ...]:
    """The columns; those of text and codes with their categories, which at least `least` rows have.

    Text among the `features` was counted by the same rule, if they may have as many categories;
    but an order has rare values as well, and a system has levels.
    """
    plain = (f for f in features if f.kind == TEXT and not (f.ordered or f.system))
    known = {f.name: f.categories for f in plain if len(f.categories or ()) < MAX_CATEGORIES}
    complete, values = list(columns), {}
    for k, column in enumerate(columns):
        if column.kind == TEXT and column.name in known:
            categories = tuple(map(str, known[column.name] or ()))
            complete[k] = replace(column, categories=categories)
        elif column.kind != NUMBER:
            values[k] = column.value(cells[k])
    for k, counted in count_categories(frame, values, least, MAX_CATEGORIES).items():
        complete[k] = replace(columns[k], categories=tuple(sorted(counted.categories)))
    return tuple(complete)


def with_slots(
    columns: Sequence[MembershipColumn], groups: Sequence[Row], least: int
) -> tuple[MembershipColumn, ...]:
    """The columns with their slots, from the statistics; a warning if one defines the group.

    A category is what at least `least` rows have.
    """
    rows = sum(row["rows"] for row in groups)
    complete = []
    for k, column in enumerate(columns):
        missing = sum(row[f"missing_{k}"] for row in groups)
        column = replace(column, missing=missing > 0)
        if column.kind == NUMBER:
            column = replace(column, fill=_mean(column, k, groups, rows, missing))
            spans = [None if row[f"low_{k}"] is None else _span(row, k) for row in groups]
            apart = _apart(spans, groups, k, lambda a, b: a[1] < b[0] or b[1] < a[0])
        else:
            by_group = [set(row[f"present_{k}"]) or None for row in groups]
            apart = _apart(by_group, groups, k, lambda a, b: not a & b)
        if apart:
            _warn(column, apart)
        complete.append(column)
    if not any(column.slots for column in complete):
        raise ValueError(
            f"The {len(complete)} membership features {listed([c.name for c in complete])} have no "
            f"value that {least} rows share (minCategoryCount). Name others in "
            f"membershipFeaturesCols."
        )
    return tuple(complete)


def _mean(
    column: MembershipColumn, k: int, groups: Sequence[Row], rows: int, missing: int
) -> float:
    infinite = sum(row[f"infinite_{k}"] for row in groups)
    if infinite:
        raise ValueError(
            f"Column '{column.name}' (membershipFeaturesCols) is infinite in {infinite} of {rows} "
            f"rows. Repair these values, or put it in membershipExcludeCols."
        )
    return sum(row[f"sum_{k}"] or 0.0 for row in groups) / max(1, rows - missing)


def _span(row: Row, k: int) -> tuple[float, float]:
    return row[f"low_{k}"], row[f"high_{k}"]


def _apart(values: Sequence[Any], groups: Sequence[Row], k: int, disjoint: Any) -> list[Group]:
    """The groups that share no value with any other group, not even missing."""

    def separate(a: int, b: int) -> bool:
        if groups[a][f"missing_{k}"] and groups[b][f"missing_{k}"]:
            return False
        return values[a] is None or values[b] is None or disjoint(values[a], values[b])

    every = range(len(groups))
    return [groups[a]["g"] for a in every if all(separate(a, b) for b in every if a != b)]


def _warn(column: MembershipColumn, groups: Sequence[Group]) -> None:
    shown = "the groups" if len(groups) > 1 else f"the group {groups[0]!r} from the others"
    log.warning(
        "Column '%s' (membershipFeaturesCols) separates %s perfectly: with it a group learns "
        "almost only from its own rows. Put it in membershipExcludeCols.",
        column.name,
        shown,
    )


# The vector


def vector(columns: Sequence[MembershipColumn], cells: Sequence[Column]) -> Column:
    """All slots of all columns, as one vector."""
    pairs = zip(columns, cells, strict=True)
    slots = [values for column, cell in pairs for values in column.slot_values(cell)]
    return array_to_vector(F.concat(*slots))


def _indicator(condition: Column) -> Column:
    return F.when(condition, 1.0).otherwise(0.0)


def _one_of(slots: int, place: Column) -> Column:
    """An array of zeros with a one at a place; without one if the place is -1 or null.

    A condition for each of hundreds of categories would be more code than Java compiles.
    """
    zero = F.lit(0.0)
    after = F.array_repeat(zero, (F.lit(slots - 1) - place).cast("int"))
    one = F.concat(F.array_repeat(zero, place.cast("int")), F.array(F.lit(1.0)), after)
    return F.when(place >= 0, one).otherwise(F.array_repeat(zero, slots))


def to_list(columns: Sequence[MembershipColumn]) -> list[dict[str, Any]]:
    """The columns as JSON."""
    return [asdict(column) for column in columns]


def from_list(saved: Any, features: int, source: str) -> tuple[MembershipColumn, ...]:
    """The columns from the JSON that `to_list` made; `features` is the length of the vector."""
    entries = Entry(saved, source, "membershipColumns")
    columns = [_from_entry(entry, features) for entry in entries.items()]
    if not columns:
        entries.refuse("at least one column")
    entries.distinct([column.name for column in columns])
    return tuple(columns)


def _from_entry(entry: Entry, features: int) -> MembershipColumn:
    fields = entry.fields(("name", "kind", "place", "fill", "missing", "categories"))
    kind, categories = fields["kind"].text(), fields["categories"].texts()
    if kind not in (NUMBER, CODE, TEXT):
        fields["kind"].refuse(f"one of {NUMBER}, {CODE}, {TEXT}")
    if kind == NUMBER and categories:
        fields["categories"].refuse("no category for a number")
    return MembershipColumn(
        name=fields["name"].text(),
        kind=kind,
        place=None if fields["place"].value is None else fields["place"].integer(0, features - 1),
        fill=fields["fill"].number(),
        missing=fields["missing"].boolean(),
        categories=categories,
    )
