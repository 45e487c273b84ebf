"""Training from end to end: profile, pack, grow, judge, clean up."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from pyspark.sql import SparkSession

from figs_spark.dataframes import compat
from figs_spark.engine.backends import Backend, ClusterBackend, DriverBackend
from figs_spark.engine.bins import Bins
from figs_spark.engine.blocks import Target
from figs_spark.engine.grower import Growth, Settings, grow
from figs_spark.engine.histograms import Floats, Layout
from figs_spark.engine.packing import Table, collect_packed, pack_here, packed_on_cluster
from figs_spark.engine.replay import OUT_OF_BAG_SUMS, Path, held_losses, out_of_bag_sums
from figs_spark.engine.tasks import grow_in_tasks, tasks_that_pay
from figs_spark.engine.weights import BootstrapWeights, OwnWeights, PerturbedWeights, Weights
from figs_spark.treesum import TreeSum

AUTO_BYTES = 256 << 20  # packed rows that mode "auto" keeps in the driver
DRIVER_BYTES = 2 << 30  # packed rows that mode "driver" keeps there
BATCH_BYTES = 64 << 20  # histograms of the models that grow together on the cluster
THREAD_CELLS = 1 << 18  # values in a pass: fewer, and threads would wait for the interpreter lock


@dataclass(frozen=True)
class Plan:
    """How to train: where, with how many bins, and what a model may look like."""

    settings: Settings
    mode: str = "auto"
    max_bins: int = 255
    work_dir: str | None = None

    def growths(
        self, bins: Bins, layout: Layout, target: Target, members: Sequence[int]
    ) -> list[Growth]:
        return [Growth(bins, layout, self.settings, target.centres, k) for k in members]


@dataclass(frozen=True)
class Trained:
    """A model and, where rows were held from it, their mean loss after 0, 1, 2, ... splits."""

    model: TreeSum
    held_losses: Floats | None = None


def train(
    table: Table,
    plan: Plan,
    members: Sequence[int] = (0,),
    progress: Callable[[int], None] = lambda models: None,
) -> list[Trained]:
    """Grow one model per member, all over the same packed rows."""
    with packed(table, plan, OwnWeights(table.target)) as (bins, backend):
        growths = plan.growths(bins, backend.layout, table.target, members)
        grown = grow_all(growths, backend, _spark(table, plan), progress)
        if "held" not in table.frame.columns:
            return [Trained(growth.model) for growth in grown]
        losses = _held_losses(backend, [Path.of(growth) for growth in grown])
        return [Trained(growth.model, loss) for growth, loss in zip(grown, losses, strict=True)]


def train_bagged(
    table: Table,
    plan: Plan,
    members: int,
    weights: BootstrapWeights,
    out_of_bag: bool,
    progress: Callable[[int], None] = lambda models: None,
) -> tuple[list[TreeSum], Floats | None]:
    """Grow models on bootstrap samples; where asked, the sums that judge them out of bag."""
    with packed(table, plan, weights) as (bins, backend):
        growths = plan.growths(bins, backend.layout, table.target, range(members))
        grown = grow_all(growths, backend, _spark(table, plan), progress)
        models = [growth.model for growth in grown]
        if not out_of_bag:
            return models, None
        paths = [Path.of(growth) for growth in grown]
        work = partial(out_of_bag_sums, paths=paths, weights=weights)
        return models, backend.add_up(work, OUT_OF_BAG_SUMS)


def train_perturbed(
    table: Table,
    plan: Plan,
    weights: PerturbedWeights,
    progress: Callable[[int], None] = lambda models: None,
) -> list[TreeSum]:
    """Grow all models once for every perturbation of the rows, as one batch."""
    table = replace(table, mergeable=False)
    with packed(table, plan, weights) as (bins, backend):
        members = range(len(weights.perturbations) * weights.models)
        growths = plan.growths(bins, backend.layout, table.target, members)
        grown = grow_all(growths, backend, _spark(table, plan), progress)
        return [growth.model for growth in grown]


def grow_all(
    growths: Sequence[Growth],
    backend: Backend,
    spark: SparkSession | None,
    progress: Callable[[int], None],
) -> Sequence[Growth]:
    """Many models, grown. Of rows in the driver: one by one, there or, where `spark` has so many
    more cores that it pays, in tasks. Of rows on the cluster: in batches that share every pass,
    each as large as the memory for histograms allows."""
    if isinstance(backend, DriverBackend) and len(growths) > 1:
        if spark and (tasks := tasks_that_pay(growths, backend, spark)):
            return grow_in_tasks(growths, backend, spark, tasks)
        _grow_here(growths, backend, progress)
        return growths
    size = max(1, BATCH_BYTES // growths[0].histogram_bytes)
    for at in range(0, len(growths), size):
        grow(growths[at : at + size], backend, progress)
    return growths


def _grow_here(
    growths: Sequence[Growth], backend: DriverBackend, progress: Callable[[int], None]
) -> None:
    """One by one, on several threads where the passes are long enough to pay for them."""
    long = backend.rows * growths[0].features_per_step > THREAD_CELLS

    def alone(growth: Growth) -> None:
        grow([growth], backend.alone(growth.member), progress)

    with ThreadPoolExecutor(os.cpu_count() if long else 1) as pool:
        list(pool.map(alone, growths))


@contextmanager
def packed(table: Table, plan: Plan, weights: Weights) -> Iterator[tuple[Bins, Backend]]:
    """The rows packed where the mode says, with their bins; nothing stays when it ends."""
    if _in_driver(table, plan.mode):
        bins, blocks = (pack_here if table.small else collect_packed)(table, plan.max_bins)
        yield bins, DriverBackend(blocks, _layout(bins, table), weights)
        return
    partitions = compat.parallelism(table.frame.sparkSession)
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


def _spark(table: Table, plan: Plan) -> SparkSession | None:
    """Where tasks may grow models; mode "driver" keeps all growing there."""
    return None if plan.mode == "driver" else table.frame.sparkSession


def _layout(bins: Bins, table: Table) -> Layout:
    return Layout(bins.widths, table.target.outputs, table.weighted)


def _held_losses(backend: Backend, paths: Sequence[Path]) -> list[Floats]:
    sizes = [2 + len(path) for path in paths]
    work = partial(held_losses, paths=paths, weights=backend.weights)
    totals = np.split(backend.add_up(work, sum(sizes)), np.cumsum(sizes)[:-1])
    with np.errstate(invalid="ignore"):  # no row is held from a model: its losses are NaN
        return [total[1:] / total[0] for total in totals]
