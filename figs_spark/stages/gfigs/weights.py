"""From a DataFrame to the weights of G-FIGS: the groups, membership, a weight per row and group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from figs_spark.dataframes.columns import column, field
from figs_spark.engine.table import Table
from figs_spark.stages.base.checks import Checked, check
from figs_spark.stages.base.inputs import packed_column, read_inputs
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
    MembershipColumn,
    membership_columns,
    statistics,
    vector,
    with_slots,
)
from figs_spark.stages.gfigs.params import MEMBERSHIP, MIXTURE, POOLED, SEPARATE

GIVEN = "membershipProbabilityCol"


@dataclass(frozen=True)
class Prepared:
    """Rows to train on, their groups, and how likely each row belongs to each.

    `frame` has the columns of the engine's table, GROUP (the number of the group) and, where
    membership is known or estimated, p (array<double>, one probability per group).
    """

    checked: Checked
    frame: DataFrame
    groups: tuple[Group, ...]
    membership: Membership | None


def prepare(
    dataset: DataFrame, stage: Any, classification: bool, known: Membership | None = None
) -> Prepared:
    """Check the rows, then estimate membership where it is needed, unless it is `known`."""
    get = stage.getOrDefault
    name = get("groupCol")
    check_group_column(dataset, name)
    columns = _estimated_from(dataset, stage, known)
    checked = check(dataset, stage, classification, **_extra(dataset, stage, columns))
    frame = checked.table.frame
    cells = _cells(columns)
    classes = checked.table.target.classes
    counts = [*(class_counts() if classes else ()), *statistics(columns, cells)]
    rows = read_groups(frame, name, counts)
    if classes and get("weighting") != POOLED:
        check_classes(rows, name, get("labelCol"), classes)
    groups = tuple(row["g"] for row in rows)
    frame = frame.withColumn(GROUP, group_number(groups, F.col("g")))
    if known is not None:
        _check_same(groups, known.groups, name)
        frame = known.with_probabilities(frame, cells, "p")
        return Prepared(checked, frame, groups, known)
    if not columns:
        return Prepared(checked, frame, groups, None)
    return _estimate(stage, checked, frame, with_slots(frame, columns, cells, rows), cells, rows)


def _estimated_from(
    dataset: DataFrame, stage: Any, known: Membership | None
) -> tuple[MembershipColumn, ...]:
    """The columns that membership is estimated from; none where it is not needed, or given."""
    get = stage.getOrDefault
    if known is not None:
        return known.columns
    needed = get("weighting") == MEMBERSHIP or get("unseenGroup") == MIXTURE
    if not needed or get(GIVEN):
        return ()
    return membership_columns(dataset, stage, read_inputs(dataset, stage))


def _extra(
    dataset: DataFrame, stage: Any, columns: Sequence[MembershipColumn]
) -> dict[str, Column]:
    """The columns that go beside features, label and weight."""
    get = stage.getOrDefault
    found = {"g": column(get("groupCol"))}
    if get(GIVEN):
        found["p"] = packed_column(field(dataset, get(GIVEN), GIVEN), GIVEN)
    if get("weightCol") and columns:
        found[WEIGHT] = column(get("weightCol")).cast("double")
    if (name := get("membershipFoldCol")) and columns:
        field(dataset, name, "membershipFoldCol")
        found[FOLD] = F.xxhash64(column(name))
    for k, wanted in enumerate(columns):
        if wanted.place is None:
            found[f"m{k}"] = column(wanted.name)
    return found


def _cells(columns: Sequence[MembershipColumn]) -> list[Column]:
    return [
        F.col(f"m{k}") if wanted.place is None else F.col("x")[wanted.place]
        for k, wanted in enumerate(columns)
    ]


def _check_same(groups: Sequence[Group], known: Sequence[Group], name: str) -> None:
    other = sorted(set(groups) ^ set(known))
    if other:
        raise ValueError(
            f"Column '{name}' (groupCol) has the group {other[0]!r} in one of two DataFrames only. "
            f"Both need rows of every group."
        )


def _estimate(
    stage: Any,
    checked: Checked,
    frame: DataFrame,
    columns: tuple[MembershipColumn, ...],
    cells: Sequence[Column],
    rows: Sequence[Row],
) -> Prepared:
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
    """What the engine trains on, and the effective number of rows of each group's weights."""
    frame, table, count = prepared.frame, prepared.checked.table, len(prepared.groups)
    own = F.col("w") if table.weighted else F.lit(1.0)
    weighting = stage.getOrDefault("weighting")
    if weighting == POOLED:
        sums = _sums(frame, [own])
        names = [name for name in ("x", "y", "w") if name in frame.columns]
        return replace(table, frame=frame.select(*names)), _effective(sums, [None] * count)
    if weighting == SEPARATE:
        shares = [F.when(F.col(GROUP) == k, own).otherwise(0.0) for k in range(count)]
        weights, bad = F.array(*shares), F.lit(False)
    else:
        shares = [F.get("p", F.lit(k)) * own for k in range(count)]
        weights, bad = F.transform("p", lambda p: p * own), _bad(count)
    sums = _sums(frame, shares, bad)
    _check_sums(sums, prepared, stage)
    weighted = frame.select("x", "y", weights.alias("w"))
    found = replace(table, frame=weighted, mergeable=False, weights=count)
    return found, _effective(sums, range(count))


def _sums(frame: DataFrame, shares: Sequence[Column], bad: Column | None = None) -> Row:
    wrong = F.lit(False) if bad is None else bad
    sums = [F.count(F.when(wrong, 1)).alias("bad"), F.count(F.lit(1)).alias("rows")]
    for k, share in enumerate(shares):
        sums += [F.sum(share).alias(f"sum_{k}"), F.sum(share * share).alias(f"squares_{k}")]
    return frame.agg(*sums).collect()[0]


def _bad(groups: int) -> Column:
    """Whether the probabilities of a row are none."""
    p = F.col("p")
    wrong = F.exists(p, lambda v: v.isNull() | F.isnan(v) | (v < 0) | (v > 1 + 1e-9))
    return p.isNull() | (F.size(p) != groups) | wrong


def _check_sums(sums: Row, prepared: Prepared, stage: Any) -> None:
    get = stage.getOrDefault
    count, source = len(prepared.groups), f"Column '{get(GIVEN)}' ({GIVEN})"
    if sums["bad"] and get(GIVEN):
        raise ValueError(
            f"{source} does not have {count} numbers from 0 to 1, one per group, in {sums['bad']} "
            f"of {sums['rows']} rows. Repair these rows."
        )
    if sums["bad"]:
        raise ValueError(
            f"The membership probabilities are not finite in {sums['bad']} of {sums['rows']} rows. "
            f"Raise the regParam of the membershipEstimator, or use another one."
        )
    for k, group in enumerate(prepared.groups):
        if not sums[f"sum_{k}"] > 0:
            raise ValueError(
                f"All {sums['rows']} rows have the weight 0 in group {group!r} of column "
                f"'{get('groupCol')}' (groupCol): its membership probabilities are 0. Repair them."
            )


def _effective(sums: Row, members: Sequence[int | None]) -> list[float]:
    """(sum w)^2 / sum w^2 of each; None is the one model for all groups."""
    return [sums[f"sum_{k or 0}"] ** 2 / sums[f"squares_{k or 0}"] for k in members]
