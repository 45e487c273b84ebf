"""Training from end to end: profile, pack, grow, evaluate, clean up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from figs_spark.dataframes import compat
from figs_spark.engine.backends import Backend, ClusterBackend, DriverBackend
from figs_spark.engine.bins import Bins
from figs_spark.engine.grower import Growth, GrowthRules, Progress
from figs_spark.engine.histograms import Floats, Layout
from figs_spark.engine.packing import collect_packed, pack_here, packed_on_cluster
from figs_spark.engine.replay import OUT_OF_BAG_SUMS, Replay, held_out_losses, out_of_bag_sums
from figs_spark.engine.table import Table
from figs_spark.engine.weights import OwnWeights, Weights
from figs_spark.treesum import TreeSum

AUTO_BYTES = 256 << 20  # packed rows that mode "auto" keeps in the driver
DRIVER_BYTES = 2 << 30  # packed rows that mode "driver" keeps there


@dataclass(frozen=True)
class Plan:
    """How to train: where, with how many bins, and what a model may look like."""

    rules: GrowthRules
    mode: str = "auto"
    max_bins: int = 255
    work_dir: str | None = None


@dataclass(frozen=True)
class Trained:
    """The models, and what the rows that did not train them say of them."""

    models: list[TreeSum]
    held_out_losses: list[Floats] | None = None  # of each model after 0, 1, 2, ... splits
    out_of_bag: Floats | None = None  # see `out_of_bag_sums`
    freedoms: list[list[int]] | None = None  # of each model by split, see `Growth.freedoms`


def train(
    table: Table,
    plan: Plan,
    members: int = 1,
    weights: Weights | None = None,
    out_of_bag: bool = False,
    progress: Progress = lambda models: None,
    reported: int | None = None,
) -> Trained:
    """Grow models over the same packed rows; `weights` tell what a row weighs in each.

    If the table says which rows are held out of which model, their losses are added; with
    `out_of_bag` the sums over rows that a bootstrap sample left out. The log has the splits of the
    model `reported`, or of the only one; those of others are for debugging.
    """
    reported = 0 if members == 1 else reported
    weights = weights or OwnWeights(table.target)
    with packed(table, plan, weights) as (bins, backend):
        centre = table.target.centres
        growths = [
            Growth(bins, backend.layout, plan.rules, centre, k, reported=k == reported)
            for k in range(members)
        ]
        grown = backend.grow(growths, progress)
        trained = Trained(
            [growth.model for growth in grown], freedoms=[growth.freedoms for growth in grown]
        )
        if out_of_bag:
            return replace(trained, out_of_bag=_out_of_bag(backend, grown))
        if "held" in table.frame.columns:
            return replace(trained, held_out_losses=_held_out(backend, grown))
        return trained


def _held_out(backend: Backend, grown: Sequence[Growth]) -> list[Floats]:
    """The mean loss of each model on the rows held out of it, after 0, 1, 2, ... splits."""
    replays = [Replay.of(growth) for growth in grown]
    sizes = [2 + len(replay) for replay in replays]
    work = partial(held_out_losses, replays=replays, weights=backend.weights)
    totals = np.split(backend.add_up(work, sum(sizes)), np.cumsum(sizes)[:-1])
    with np.errstate(invalid="ignore"):  # no row is held out of a model: its losses are NaN
        return [total[1:] / total[0] for total in totals]


def _out_of_bag(backend: Backend, grown: Sequence[Growth]) -> Floats:
    replays = [Replay.of(growth) for growth in grown]
    work = partial(out_of_bag_sums, replays=replays, weights=backend.weights)
    return backend.add_up(work, OUT_OF_BAG_SUMS)


@contextmanager
def packed(table: Table, plan: Plan, weights: Weights) -> Iterator[tuple[Bins, Backend]]:
    """The rows packed where the mode says, with their bins; nothing stays when it ends."""
    spark = table.frame.sparkSession
    if _in_driver(table, plan.mode):
        bins, blocks = (pack_here if table.small else collect_packed)(table, plan.max_bins)
        tasks_on = None if plan.mode == "driver" else spark  # "driver" keeps all growing there
        yield bins, DriverBackend(blocks, _layout(bins, table), weights, tasks_on)
        return
    partitions = compat.parallelism(spark)
    with packed_on_cluster(table, plan.max_bins, partitions, plan.work_dir) as (bins, frame):
        layout = _layout(bins, table)
        yield bins, ClusterBackend(frame, partitions, table.block_bytes, layout, weights)


def _in_driver(table: Table, mode: str) -> bool:
    if mode == "driver" and table.packed_bytes > DRIVER_BYTES:
        raise ValueError(
            f"mode 'driver' keeps the packed rows in the driver, {table.packed_bytes:,} bytes for "
            f"{table.rows:,} rows of {len(table.features)} features, more than {DRIVER_BYTES:,}. "
            f"Use mode 'cluster' or 'auto'."
        )
    return mode == "driver" or (mode == "auto" and table.packed_bytes <= AUTO_BYTES)


def _layout(bins: Bins, table: Table) -> Layout:
    return Layout(bins.widths, table.target.outputs, table.weighted)
