"""Makes the weights of G-FIGS from a DataFrame: groups, membership, a weight per row and group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from figs_spark.dataframes.columns import column, field, hashable_field
from figs_spark.engine.table import Table
from figs_spark.stages.base.checks import Checked, check, check_with_spark
from figs_spark.stages.base.inputs import packed_column, read_inputs
from figs_spark.stages.gfigs.grouped_here import (
    GroupedHere,
    cells_here,
    estimated,
    group_counts,
    is_here,
    own_weights,
    sums_here,
    with_probabilities,
    with_weights,
)
from figs_spark.stages.gfigs.groups import (
    Group,
    check_classes,
    check_group_column,
    class_counts,
    group_number,
    read_groups,
)
from figs_spark.stages.gfigs.membership import (
    FOLD,
    GROUP,
    VECTOR,
    WEIGHT,
    Membership,
    classifier_for,
    fit_classifier,
    out_of_fold,
    probabilities,
)
from figs_spark.stages.gfigs.membership_columns import (
    MAX_CATEGORIES,
    MembershipColumn,
    membership_columns,
    statistics,
    vector,
    with_categories,
    with_slots,
)
from figs_spark.stages.gfigs.params import MEMBERSHIP, MIXTURE, POOLED, SEPARATE, SHRINK
from figs_spark.treesum.nodes import NUMBER

PROBABILITY_PARAM = "membershipProbabilityCol"


@dataclass(frozen=True)
class Prepared:
    """Rows to train on, their groups, and the probability that a row belongs to each.

    `frame` has the columns of the engine's table, GROUP (the number of the group) and, if
    membership is estimated or in a column, p (array<double>, one probability per group).
    """

    checked: Checked
    frame: DataFrame
    groups: tuple[Group, ...]
    membership: Membership | None
    here: GroupedHere | None = None  # if the rows are in the driver; then `frame` is not read


def prepare(
    dataset: DataFrame, stage: Any, classification: bool, membership: Membership | None = None
) -> Prepared:
    """Check the rows; then estimate membership if it is needed, unless `membership` is given."""
    check_group_column(dataset, stage.getOrDefault("groupCol"))
    columns = _estimated_from(dataset, stage, membership)
    extra = _extra(dataset, stage, columns)
    if is_here(stage, columns, membership):
        checked = check(dataset, stage, classification, **extra)
        prepared = _prepared_here(checked, stage, columns, membership)
        if prepared is not None:
            return prepared
        if checked.table.here is None:
            return _prepared(checked, stage, columns, membership)
    checked = check_with_spark(dataset, stage, classification, **extra)
    return _prepared(checked, stage, columns, membership)


def _prepared(
    checked: Checked,
    stage: Any,
    columns: tuple[MembershipColumn, ...],
    membership: Membership | None,
) -> Prepared:
    get, frame = stage.getOrDefault, checked.table.frame
    cells = _cells(columns)
    if membership is None:
        counted = checked.table.features if get("maxBins") >= MAX_CATEGORIES else ()
        columns = with_categories(frame, columns, cells, get("minCategoryCount"), counted)
    rows = _grouped(checked.table, stage, statistics(columns, cells))
    groups = tuple(row["g"] for row in rows)
    frame = frame.withColumn(GROUP, group_number(groups, F.col("g")))
    if membership is not None:
        _check_same(groups, membership.groups, get("groupCol"))
        frame = membership.with_probabilities(frame, cells, "p")
        return Prepared(checked, frame, groups, membership)
    if not columns:
        return Prepared(checked, frame, groups, None)
    columns = with_slots(columns, rows, get("minCategoryCount"))
    return _estimate(stage, checked, frame, columns, cells, rows)


def _prepared_here(
    checked: Checked,
    stage: Any,
    columns: tuple[MembershipColumn, ...],
    membership: Membership | None,
) -> Prepared | None:
    """The same for rows in the driver; None if they are not there, or a classifier is too large."""
    table, here = checked.table, checked.table.here
    if here is None:
        return None
    name = stage.getOrDefault("groupCol")
    rows, grouped = group_counts(table, here, name)
    _check_separate(rows, stage, table.target.classes)
    groups = tuple(row["g"] for row in rows)
    if membership is not None:
        _check_same(groups, membership.groups, name)
        cells = cells_here(here, columns)
        grouped, membership = with_probabilities(grouped, membership, cells)
    elif columns:
        by_regression = estimated(stage, here, columns, rows, grouped)
        if by_regression is None:
            return None
        grouped, membership = by_regression
    return Prepared(checked, table.frame, groups, membership, grouped)


def check_groups(dataset: DataFrame, stage: Any, checked: Checked) -> tuple[Group, ...]:
    """The groups of a training set that has passed the other checks; ValueError if one of them
    cannot be trained on."""
    get = stage.getOrDefault
    check_group_column(dataset, get("groupCol"))
    extra = {"g": column(get("groupCol"))}
    table = check(dataset, stage, checked.table.target.classes > 0, **extra).table
    if table.here is None:
        return tuple(row["g"] for row in _grouped(table, stage, ()))
    rows, _ = group_counts(table, table.here, get("groupCol"))
    _check_separate(rows, stage, table.target.classes)
    return tuple(row["g"] for row in rows)


def _grouped(table: Table, stage: Any, aggregates: Sequence[Column]) -> list[Row]:
    classes = table.target.classes
    counts = [*(class_counts() if classes else ()), *aggregates]
    rows = read_groups(table.frame, stage.getOrDefault("groupCol"), counts)
    _check_separate(rows, stage, classes)
    return rows


def _check_separate(rows: Sequence[Row], stage: Any, classes: int) -> None:
    get = stage.getOrDefault
    if classes and get("weighting") == SEPARATE:
        check_classes(rows, get("groupCol"), get("labelCol"), classes)


def _estimated_from(
    dataset: DataFrame, stage: Any, membership: Membership | None
) -> tuple[MembershipColumn, ...]:
    """The columns to estimate membership from; none if it is not needed, or in a column."""
    get = stage.getOrDefault
    if membership is not None:
        return membership.columns
    needed = get("weighting") == MEMBERSHIP or get("unseenGroup") == MIXTURE
    if not needed or get(PROBABILITY_PARAM):
        return ()
    return membership_columns(dataset, stage, read_inputs(dataset, stage))


def _extra(
    dataset: DataFrame, stage: Any, columns: Sequence[MembershipColumn]
) -> dict[str, Column]:
    """The columns that the table has besides features, label and weight."""
    get = stage.getOrDefault
    extra = {"g": column(get("groupCol"))}
    if name := get(PROBABILITY_PARAM):
        extra["p"] = packed_column(field(dataset, name, PROBABILITY_PARAM), PROBABILITY_PARAM)
    if get("weightCol") and columns:
        extra[WEIGHT] = column(get("weightCol")).cast("double")
    if (name := get("membershipFoldCol")) and (columns or get("weighting") == SHRINK):
        hashable_field(dataset, name, "membershipFoldCol")
        extra[FOLD] = F.xxhash64(column(name))
    for k, source in enumerate(columns):
        if source.place is None:
            cells = column(source.name)
            extra[f"m{k}"] = cells.cast("double") if source.kind == NUMBER else cells
    return extra


def _cells(columns: Sequence[MembershipColumn]) -> list[Column]:
    """The membership columns in the engine's table."""
    return [
        F.col(f"m{k}") if source.place is None else F.col("x")[source.place]
        for k, source in enumerate(columns)
    ]


def _check_same(groups: Sequence[Group], of_membership: Sequence[Group], name: str) -> None:
    different = sorted(set(groups) ^ set(of_membership))
    if different:
        raise ValueError(
            f"Column '{name}' (groupCol) has the group {different[0]!r} in only one of two "
            f"DataFrames. Both need rows of every group."
        )


def _estimate(
    stage: Any,
    checked: Checked,
    frame: DataFrame,
    columns: tuple[MembershipColumn, ...],
    cells: Sequence[Column],
    rows: Sequence[Row],
) -> Prepared:
    """Fit the classifier of groups, and add its probabilities to the rows."""
    get, groups = stage.getOrDefault, tuple(row["g"] for row in rows)
    weighted, folds = WEIGHT in frame.columns, get("membershipFolds")
    classifier = classifier_for(get("membershipEstimator"), groups, weighted)
    frame = frame.withColumn(VECTOR, vector(columns, cells))
    model = fit_classifier(classifier, frame, groups)
    if folds and get("weighting") == MEMBERSHIP:
        parts = F.col(FOLD) if FOLD in frame.columns else F.xxhash64("x", "y", "g")
        spread = F.pmod(F.xxhash64(parts, F.lit(get("seed"))), F.lit(folds))
        frame = out_of_fold(classifier, frame.withColumn(FOLD, spread), groups, folds, "p")
    else:
        frame = probabilities(model, frame, "p")
    return Prepared(checked, frame, groups, Membership(groups, columns, model))


# Weights


def weighted_table(prepared: Prepared, stage: Any) -> tuple[Table, list[float]]:
    """The table that the engine trains on, and the effective sample size of each group."""
    if prepared.here is not None:
        return _weighted_here(prepared, prepared.here, stage)
    frame, table, count = prepared.frame, prepared.checked.table, len(prepared.groups)
    weight = F.col("w") if table.weighted else F.lit(1.0)
    weighting = stage.getOrDefault("weighting")
    own = [F.when(F.col(GROUP) == k, weight).otherwise(0.0) for k in range(count)]
    names = [name for name in ("x", "y", "w") if name in frame.columns]
    if weighting == POOLED:
        sums = _sums(frame, [weight])
        return table.with_frame(frame.select(*names)), _effective(sums, [None] * count)
    if weighting == SHRINK:
        sums = _sums(frame, own)
        _check_sums(sums, prepared, stage)
        return table.with_frame(frame.select(*names)), _effective(sums, range(count))
    if weighting == SEPARATE:
        shares, weights, bad = own, F.array(*own), F.lit(False)
    else:
        shares = [F.get("p", F.lit(k)) * weight for k in range(count)]
        weights, bad = F.transform("p", lambda p: p * weight), _bad(count)
    sums = _sums(frame, shares, bad)
    _check_sums(sums, prepared, stage)
    weighted = frame.select("x", "y", weights.alias("w"))
    table = table.with_frame(weighted, mergeable=False, weights=count)
    return table, _effective(sums, range(count))


def _weighted_here(
    prepared: Prepared, grouped: GroupedHere, stage: Any
) -> tuple[Table, list[float]]:
    """The same for rows in the driver."""
    table, count, weighting = (
        prepared.checked.table,
        len(prepared.groups),
        stage.getOrDefault("weighting"),
    )
    assert table.here is not None
    weight, own = own_weights(table.here, grouped, count)
    if weighting == POOLED:
        return table, _effective(sums_here(weight[:, None]), [None] * count)
    bad = 0
    if weighting != SEPARATE:
        assert grouped.probabilities is not None
        own = grouped.probabilities * weight[:, None]
        bad = int((~np.isfinite(grouped.probabilities)).any(axis=1).sum())
    sums = sums_here(own, bad)
    _check_sums(sums, prepared, stage)
    here = with_weights(table.here, own)
    table = replace(table, here=here, mergeable=False, weights=count)
    return table, _effective(sums, range(count))


def table_by_part(prepared: Prepared, stage: Any, folds: int) -> Table:
    """The table with the part of each row: its group and, at random by its content, its fold."""
    frame, table = prepared.frame, prepared.checked.table
    names = [name for name in ("x", "y", "w") if name in frame.columns]
    parts = F.col(FOLD) if FOLD in frame.columns else F.xxhash64("x", "y", "g")
    fold = F.pmod(F.xxhash64(parts, F.lit(stage.getOrDefault("seed"))), F.lit(folds))
    part = (F.col(GROUP) * folds + fold).cast("int").alias("held")
    return table.with_frame(frame.select(*names, part))


def _sums(frame: DataFrame, shares: Sequence[Column], bad: Column | None = None) -> Row:
    """The sum of the weights of each group, and of their squares; and the count of bad rows."""
    is_bad = F.lit(False) if bad is None else bad
    sums = [F.count(F.when(is_bad, 1)).alias("bad"), F.count(F.lit(1)).alias("rows")]
    for k, share in enumerate(shares):
        sums += [F.sum(share).alias(f"sum_{k}"), F.sum(share * share).alias(f"squares_{k}")]
    return frame.agg(*sums).collect()[0]


def _bad(groups: int) -> Column:
    """Whether a row does not have one probability for each group."""
    p = F.col("p")
    wrong = F.exists(p, lambda v: v.isNull() | F.isnan(v) | (v < 0) | (v > 1 + 1e-9))
    return p.isNull() | (F.size(p) != groups) | wrong


def _check_sums(sums: Row, prepared: Prepared, stage: Any) -> None:
    get = stage.getOrDefault
    name = get(PROBABILITY_PARAM)
    if sums["bad"] and name:
        raise ValueError(
            f"Column '{name}' ({PROBABILITY_PARAM}) does not have {len(prepared.groups)} numbers "
            f"from 0 to 1, one per group, in {sums['bad']} of {sums['rows']} rows. Repair these "
            f"rows."
        )
    if sums["bad"]:
        raise ValueError(
            f"The membership probabilities are not finite in {sums['bad']} of {sums['rows']} rows. "
            f"Raise the regParam of the membershipEstimator, or use another one."
        )
    empty = [g for k, g in enumerate(prepared.groups) if not sums[f"sum_{k}"] > 0]
    if empty:
        groups = ", ".join(map(repr, empty))
        raise ValueError(
            f"All {sums['rows']} rows have the weight 0 in group {groups} of column "
            f"'{get('groupCol')}' (groupCol): its membership probabilities are 0. Repair them."
        )


def _effective(sums: Row, members: Sequence[int | None]) -> list[float]:
    """(sum w)^2 / sum w^2 of each member; None stands for the one model of all groups."""
    return [sums[f"sum_{k or 0}"] ** 2 / sums[f"squares_{k or 0}"] for k in members]
