"""G-FIGS on rows in the driver: groups, membership and weights without a further job of Spark.

It gives what `weights` gives with Spark. The classifier of groups is the same logistic regression,
fitted to the end, where MLlib stops a little before.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Row

from figs_spark.dataframes.arrow import to_numbers
from figs_spark.engine.histograms import Floats
from figs_spark.engine.logistic_regression import can_fit, fit_logistic
from figs_spark.engine.table import Here, Table
from figs_spark.stages.base.raw_texts import Values
from figs_spark.stages.gfigs.groups import checked_groups
from figs_spark.stages.gfigs.logistic import LogisticMembership
from figs_spark.stages.gfigs.membership import (
    PROBABILITY,
    REG_PARAM,
    VECTOR,
    WEIGHT,
    Membership,
    tell_no_end,
)
from figs_spark.stages.gfigs.membership_columns import (
    MAX_CATEGORIES,
    MembershipColumn,
    with_slots,
)
from figs_spark.stages.gfigs.own_rows import over_numbers
from figs_spark.stages.gfigs.params import SHRINK
from figs_spark.treesum import TreeSum
from figs_spark.treesum.nodes import NUMBER, TEXT
from figs_spark.treesum.own_rows import with_own_rows

log = logging.getLogger("figs_spark")


@dataclass(frozen=True)
class GroupedHere:
    """The number of each row's group, and the probability of each group, if it is estimated."""

    number: NDArray[np.intp]
    probabilities: Floats | None = None  # (rows, groups)


def group_counts(table: Table, here: Here, name: str) -> tuple[list[Row], GroupedHere]:
    """The groups in order, each with its rows and the counts of its classes."""
    cells = here.columns.column("g").combine_chunks()
    if isinstance(cells, pa.ChunkedArray):  # older pyarrow
        cells = pa.concat_arrays(cells.chunks)
    encoded = cells.dictionary_encode(null_encoding="encode")
    names, place = encoded.dictionary.to_pylist(), encoded.indices.to_numpy()
    rows = np.bincount(place, minlength=len(names)).tolist()
    counted = [Row(g=group, rows=count) for group, count in zip(names, rows)]
    groups = checked_groups(counted, name, len(counted))
    order = {row["g"]: k for k, row in enumerate(groups)}
    number = np.array([order[group] for group in names], dtype=np.intp)[place]
    if table.target.classes:
        label = here.columns.column("y").to_numpy()
        groups = [_with(row, **_classes(label[number == k])) for k, row in enumerate(groups)]
    return groups, GroupedHere(number)


def _with(row: Row, **more: Any) -> Row:
    return Row(**row.asDict(), **more)


def _classes(label: Floats) -> dict[str, Any]:
    """What `check_classes` of `groups` reads."""
    return {
        "negatives": int((label == 0).sum()),
        "positives": int((label == 1).sum()),
        "lowest": float(label.min()),
        "highest": float(label.max()),
    }


def cells_here(here: Here, columns: Sequence[MembershipColumn]) -> list[Floats | Values]:
    """The membership columns: numbers with NaN for missing, or text."""
    cells: list[Floats | Values] = []
    for k, source in enumerate(columns):
        if source.place is not None:
            cells.append(here.matrix[:, source.place])
        elif source.kind == TEXT:
            cells.append(Values.of(here.columns.column(f"m{k}")))
        else:
            cells.append(to_numbers(here.columns.column(f"m{k}")))
    return cells


def with_statistics(
    groups: Sequence[Row],
    grouped: GroupedHere,
    columns: Sequence[MembershipColumn],
    cells: Sequence[Floats | Values],
) -> list[Row]:
    """The groups with what `with_slots` reads of the columns."""
    complete = []
    for g, row in enumerate(groups):
        own, facts = grouped.number == g, {}
        for k, (column, cell) in enumerate(zip(columns, cells, strict=True)):
            if isinstance(cell, Values):
                places = cell.positions(column.categories)[own]
                known = places[~np.isnan(places)]
                facts[f"present_{k}"] = np.unique(known).astype(int).tolist()
            else:
                places = cell[own]
                known = places[~np.isnan(places)]
                facts[f"infinite_{k}"] = int(np.isinf(known).sum())
                facts[f"low_{k}"] = float(known.min()) if len(known) else None
                facts[f"high_{k}"] = float(known.max()) if len(known) else None
                facts[f"sum_{k}"] = float(known.sum()) if len(known) else None
            facts[f"missing_{k}"] = len(places) - len(known)
        complete.append(_with(row, **facts))
    return complete


def with_categories_here(
    columns: Sequence[MembershipColumn], cells: Sequence[Floats | Values], least: int
) -> tuple[MembershipColumn, ...]:
    """The columns; those of text with their categories, which at least `least` rows have."""
    complete = list(columns)
    for k, cell in enumerate(cells):
        if isinstance(cell, Values):
            counted = cell.counted(least, MAX_CATEGORIES)
            complete[k] = replace(columns[k], categories=tuple(sorted(counted.categories)))
    return tuple(complete)


def slots_here(columns: Sequence[MembershipColumn], cells: Sequence[Floats | Values]) -> Floats:
    """All slots of all columns, (rows, slots)."""
    slots: list[Any] = []
    for column, cell in zip(columns, cells, strict=True):
        if isinstance(cell, Values):
            places = cell.positions(column.categories)
            slots += [places == k for k in range(len(column.categories))]
        else:
            places = cell
            slots.append(np.where(np.isnan(cell), column.fill, cell))
        if column.missing:
            slots.append(np.isnan(places))
    return np.column_stack(slots).astype(np.float64)


def estimated(
    stage: Any,
    here: Here,
    columns: Sequence[MembershipColumn],
    groups: Sequence[Row],
    grouped: GroupedHere,
) -> tuple[GroupedHere, Membership] | None:
    """The membership model, and its probabilities; None if it is too large for the driver."""
    names = tuple(row["g"] for row in groups)
    cells, least = cells_here(here, columns), stage.getOrDefault("minCategoryCount")
    columns = with_categories_here(columns, cells, least)
    groups = with_statistics(groups, grouped, columns, cells)
    columns = with_slots(columns, groups, least)
    slots = slots_here(columns, cells)
    if not can_fit(len(slots), slots.shape[1], len(groups)):
        return None
    weights = None
    if WEIGHT in here.columns.column_names:
        weights = here.columns.column(WEIGHT).to_numpy()
    fitted = fit_logistic(slots, grouped.number, len(groups), weights, REG_PARAM)
    if not fitted.converged:
        tell_no_end("LogisticRegression", fitted.steps)
    model = LogisticMembership.of(fitted, VECTOR, PROBABILITY)
    return with_probabilities(grouped, Membership(names, columns, model), cells)


def with_probabilities(
    grouped: GroupedHere, membership: Membership, cells: Sequence[Floats | Values]
) -> tuple[GroupedHere, Membership]:
    shares = membership.model.probabilities(slots_here(membership.columns, cells))
    return replace(grouped, probabilities=shares), membership


def own_weights(here: Here, grouped: GroupedHere, count: int) -> tuple[Floats, Floats]:
    """The weight of each row, and in each group: its own or 0, (rows, groups)."""
    rows = np.arange(len(grouped.number))
    weight = np.ones(len(rows))
    if "w" in here.columns.column_names:
        weight = here.columns.column("w").to_numpy()
    own = np.zeros((len(rows), count))
    own[rows, grouped.number] = weight
    return weight, own


def sums_here(shares: Floats, bad: int = 0) -> Row:
    """What `_sums` of `weights` gives."""
    sums: dict[str, Any] = {"bad": bad, "rows": len(shares)}
    for k, share in enumerate(shares.T):
        sums |= {f"sum_{k}": float(share.sum()), f"squares_{k}": float(share @ share)}
    return Row(**sums)


def with_weights(here: Here, weights: Floats) -> Here:
    """The rows with these weights, (rows, groups), in place of their own."""
    ends = np.arange(len(weights) + 1, dtype=np.int32) * weights.shape[1]
    lists = pa.ListArray.from_arrays(ends, np.ascontiguousarray(weights).ravel())
    return replace(here, columns=here.columns.select(["y"]).append_column("w", lists))


def counts_of_groups_here(
    here: Here, grouped: GroupedHere, models: Sequence[TreeSum]
) -> list[TreeSum]:
    """The model of each group with the group's own rows in every node."""
    counted = []
    for k, model in enumerate(models):
        leaves = over_numbers(model).leaf_indices(here.matrix[grouped.number == k])
        counts = [
            np.bincount(leaves[:, t], minlength=sum(1 for _ in tree.leaves())).tolist()
            for t, tree in enumerate(model.trees)
        ]
        counted.append(with_own_rows(model, counts))
    return counted


def is_here(stage: Any, columns: Sequence[MembershipColumn], membership: Membership | None) -> bool:
    """Whether all that the Params ask for can be done in the driver."""
    get = stage.getOrDefault
    if get("weighting") == SHRINK or get("membershipProbabilityCol") or get("membershipFolds"):
        return False
    if any(column.kind not in (NUMBER, TEXT) for column in columns):  # texts of numbers are Spark's
        return False
    if membership is not None:
        return isinstance(membership.model, LogisticMembership)
    return get("membershipEstimator") is None or not columns
