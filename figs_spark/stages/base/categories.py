"""The categories of text and coded columns, counted exactly in the rows of a training set.

A value that few rows have could point to a person, so it is never named; and there are at most as
many categories as bins. All values that are no category of their own count as "other".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from figs_spark.dataframes.codes import NO_LEVEL
from figs_spark.dataframes.columns import column, listed
from figs_spark.stages.base.bands import in_order
from figs_spark.stages.base.inputs import Inputs, training_cell
from figs_spark.treesum import Feature
from figs_spark.treesum.levels import LevelFeature
from figs_spark.treesum.nodes import CODE, TEXT

NEARLY_UNIQUE = 0.9  # distinct values per row, above which a text looks like an identifier
MANY_ROWS = 100  # enough of them to say so
MANY_VALUES = 1 << 17  # more of them do not come to the driver

log = logging.getLogger("figs_spark")


@dataclass(frozen=True)
class Counted:
    """The values of a column: the categories, most frequent first, and how many are left out."""

    categories: tuple[str, ...]
    others: int
    rows: int  # in which the column is not missing

    @classmethod
    def of(cls, rows: Mapping[str, int], least: int, most: int) -> Counted:
        """From the rows of each value: those that `least` rows have are categories; with the one
        for all others there are at most `most`."""
        named = sorted((-count, value) for value, count in rows.items() if count >= least)[:most]
        if len(named) == most < len(rows):
            named = named[:-1]
        names = tuple(value for _, value in named)
        return cls(names, len(rows) - len(names), sum(rows.values()))

    @property
    def distinct(self) -> int:
        return len(self.categories) + self.others


Count = Callable[[Sequence[int], int], dict[int, Counted]]  # some features, the least rows


class CountedBySpark:
    """The values of some columns, given as text. One scan counts them all, and the counts come to
    the driver; if there are too many, Spark finds the categories each time it is asked."""

    def __init__(self, frame: DataFrame, values: Mapping[int, Column], most: int):
        self._names = {f"v{j}": j for j in values}
        self._most = most
        texts = frame.select(*(values[j].alias(name) for name, j in self._names.items()))
        self._frame = texts
        self._rows = self._all_rows()

    def count(self, some: Sequence[int], least: int) -> dict[int, Counted]:
        """See `Counted.of`."""
        if self._rows is None:
            return self._categories(some, least)
        return {j: Counted.of(self._rows[j], least, self._most) for j in some}

    def _counts(self, some: Sequence[int]) -> DataFrame:
        names: list[Any] = [name for name, j in self._names.items() if j in some]
        every = self._frame.unpivot([], names, "feature", "value")
        counted = every.where(F.col("value").isNotNull()).groupBy("feature", "value")
        return counted.agg(F.count(F.lit(1)).alias("rows"), F.lit(1).alias("values"))

    def _all_rows(self) -> dict[int, dict[str, int]] | None:
        """The rows of each value; None if there are many values."""
        counts = self._counts(list(self._names.values())).select("feature", "value", "rows")
        every = counts.limit(MANY_VALUES + 1).collect()
        if len(every) > MANY_VALUES:
            return None
        rows: dict[int, dict[str, int]] = {j: {} for j in self._names.values()}
        for name, value, count in every:
            rows[self._names[name]][value] = count
        return rows

    def _categories(self, some: Sequence[int], least: int) -> dict[int, Counted]:
        frequent = _merged(self._counts(some), F.col("rows") >= least)
        by_rows = [F.col("value").isNull(), F.desc("rows"), F.col("value")]
        rank = F.row_number().over(Window.partitionBy("feature").orderBy(*by_rows))
        kept = _merged(frequent.withColumn("rank", rank), F.col("rank") <= self._most)
        found: dict[int, list[Any]] = {j: [] for j in some}
        for row in kept.collect():
            found[self._names[row["feature"]]].append(row)
        return {j: _counted(rows, self._most) for j, rows in found.items()}


def count_categories(
    frame: DataFrame, values: Mapping[int, Column], least: int, most: int
) -> dict[int, Counted]:
    """The values of some columns, given as text; see `Counted.of`."""
    return CountedBySpark(frame, values, most).count(list(values), least) if values else {}


def _merged(counts: DataFrame, kept: Column) -> DataFrame:
    """The counts by value, those of the values that are not kept as one row with a null."""
    value = F.when(kept, F.col("value")).alias("value")
    sums = [F.sum(name).alias(name) for name in ("rows", "values")]
    return counts.select("feature", value, "rows", "values").groupBy("feature", "value").agg(*sums)


def _counted(rows: list[Any], most: int) -> Counted:
    named = sorted((-row["rows"], row["value"]) for row in rows if row["value"] is not None)
    others = sum(row["values"] for row in rows if row["value"] is None)
    if others and len(named) == most:
        named, others = named[:-1], others + 1
    total = sum(row["rows"] for row in rows)
    return Counted(tuple(value for _, value in named), others, total)


@dataclass(frozen=True)
class Rules:
    """Which values are categories, and in which order."""

    least: int  # rows
    most: int  # categories
    orders: Mapping[str, list[str]]

    @classmethod
    def of(cls, stage: Any, features: Sequence[Feature]) -> Rules:
        get = stage.getOrDefault
        orders = get("orderedCols") or {}
        _check_ordered(orders, features)
        return cls(get("minCategoryCount"), get("maxBins"), orders)

    def countable(self, features: Sequence[Feature]) -> list[int]:
        """The features whose values are counted."""
        return [j for j, feature in enumerate(features) if feature.kind in (TEXT, CODE)]


def with_categories(frame: DataFrame, inputs: Inputs, stage: Any) -> tuple[Feature, ...]:
    """The features with their categories, counted by Spark."""
    rules = Rules.of(stage, inputs.features)
    values = {j: _as_text(inputs, j) for j in rules.countable(inputs.features)}
    if not values:
        return inputs.features
    return described(inputs.features, rules, CountedBySpark(frame, values, rules.most).count)


def described(features: Sequence[Feature], rules: Rules, count: Count) -> tuple[Feature, ...]:
    """The features; text and codes with their categories in alphabetical or numeric order, ordered
    text in its own."""
    complete = list(features)
    for j, counted in count(rules.countable(features), rules.least).items():
        complete[j] = _with_categories(complete[j], counted)
    maybe = [j for j in rules.countable(features) if _may_be_ordered(complete[j], rules.orders)]
    for j, counted in count(maybe, 1).items():
        complete[j] = _in_order(complete[j], counted, rules.orders.get(complete[j].name))
    return tuple(complete)


def _check_ordered(orders: Mapping[str, list[str]], features: Sequence[Feature]) -> None:
    texts = [feature.name for feature in features if feature.kind == TEXT]
    if unknown := [name for name in orders if name not in texts]:
        raise ValueError(
            f"orderedCols names {listed(unknown)}, which are not among the features that are text: "
            f"{listed(texts) or 'there are none'}. Name these only."
        )


def _may_be_ordered(feature: Feature, orders: Mapping[str, list[str]]) -> bool:
    """Whether all values of a text are to be read, however rare: an order is given, or the frequent
    ones are bands of numbers."""
    if feature.kind != TEXT or feature.system:
        return False
    if feature.name in orders:
        return bool(orders[feature.name])
    return in_order(map(str, feature.categories or ())) is not None


def _in_order(feature: Feature, counted: Counted, order: list[str] | None) -> Feature:
    """The feature with ordered categories, or as it was if its bands have no order."""
    if order is None:
        bands = None if counted.others else in_order(counted.categories)
        return feature if bands is None else _ordered(feature, bands)
    if unknown := sorted(set(counted.categories) - set(order)) or counted.others:
        some = listed(unknown) if isinstance(unknown, list) else f"{unknown} values"
        raise ValueError(
            f"orderedCols has an order of {len(order)} values for column '{feature.name}', and it "
            f"also has {some}. Give all values a place, or make these null."
        )
    return _ordered(feature, tuple(order))


def _ordered(feature: Feature, order: tuple[str, ...]) -> Feature:
    return replace(feature, categories=order, others=0, ordered=True)


def _as_text(inputs: Inputs, j: int) -> Column:
    """A feature as text; null if it is missing."""
    name = inputs.features[j].name
    if inputs.features[j].kind == TEXT:
        return training_cell(inputs.features[j])
    return code_text(column(name) if inputs.packed is None else inputs.packed[j])


def code_text(cell: Column) -> Column:
    """A number that stands for a category as text, null for NaN; -0.0 is 0.0."""
    number = cell.cast("double")
    return F.when(~F.isnan(number), (number + F.lit(0.0)).cast("string"))


def _with_categories(feature: Feature, counted: Counted) -> Feature:
    if isinstance(feature, LevelFeature):
        keys = tuple(sorted(set(counted.categories) - {NO_LEVEL}))
        others = counted.others + (NO_LEVEL in counted.categories)
        return replace(feature, categories=keys, others=others)
    if feature.kind == TEXT:
        _warn_of_identifier(feature.name, counted)
        categories = tuple(sorted(counted.categories))
        return replace(feature, categories=categories, others=counted.others)
    codes = tuple(sorted(map(float, counted.categories)))
    labels = None
    if feature.labels is not None:  # numbered from 0
        known = dict(enumerate(feature.labels))
        labels = tuple(known.get(c, str(c)) for c in codes)  # type: ignore[call-overload]
    return replace(feature, categories=codes, labels=labels, others=counted.others)


def _warn_of_identifier(name: str, counted: Counted) -> None:
    if counted.rows > MANY_ROWS and counted.distinct > NEARLY_UNIQUE * counted.rows:
        log.warning(
            "Column '%s' (featuresCols) has %d different values in %d rows: it looks like an "
            "identifier. Leave it out.",
            name,
            counted.distinct,
            counted.rows,
        )
