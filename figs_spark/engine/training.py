"""Training from end to end: profile, pack, grow, evaluate, clean up."""

from __future__ import annotations

import copy
import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from figs_spark.dataframes import compat
from figs_spark.engine.backends import Backend, ClusterBackend, DriverBackend
from figs_spark.engine.bins import Bins
from figs_spark.engine.candidates import driver_bytes
from figs_spark.engine.cells import CellWork, TooManyCells, all_cells
from figs_spark.engine.constraints import order_rows
from figs_spark.engine.grower import UNLIMITED_SPLITS, Growth, GrowthRules
from figs_spark.engine.histograms import Floats, Layout
from figs_spark.engine.joint_growth import JointGrowth
from figs_spark.engine.logistic_growth import LogisticGrowth
from figs_spark.engine.out_of_bag import OutOfBag, length, out_of_bag_sums
from figs_spark.engine.packing import collect_packed, pack_here, packed_on_cluster
from figs_spark.engine.polishing import PolishedGrowth
from figs_spark.engine.progress import GROW, QUIET, Progress
from figs_spark.engine.recutting import recut
from figs_spark.engine.refitting import Basis, Order, Refit, fit_path, free
from figs_spark.engine.replay import Replay, held_out_losses
from figs_spark.engine.table import Table, Target
from figs_spark.engine.value_samples import value_samples
from figs_spark.engine.weights import OwnWeights, Weights
from figs_spark.treesum import TreeSum
from figs_spark.treesum.adjustments import WITHOUT_CLASS_WEIGHTS
from figs_spark.treesum.nodes import IDENTITY, Coefficients
from figs_spark.treesum.prediction import logistic_link

AUTO_BYTES = 256 << 20  # packed rows that mode "auto" keeps in the driver
DRIVER_BYTES = 2 << 30  # packed rows that mode "driver" keeps there
MODELS_PER_PASS = 16  # whose cells the driver takes at once
MANY_HISTOGRAM_BYTES = 1 << 30  # of one model: more is told before the fit

log = logging.getLogger("figs_spark")


@dataclass(frozen=True)
class Plan:
    """How to train: where, with how many bins, and what a model may look like."""

    rules: GrowthRules
    mode: str = "auto"
    max_bins: int = 255
    work_dir: str | None = None
    refit: Refit | None = None  # None: values stay as they were when they grew


@dataclass(frozen=True)
class Trained:
    """The models, and what the rows that did not train them say of them."""

    models: list[TreeSum]
    held_out_losses: list[Floats] | None = None  # of each model after 0, 1, 2, ... splits
    out_of_bag: OutOfBag | None = None
    freedoms: list[list[int]] | None = None  # of each model by split, see `Growth.freedoms`
    samples: tuple[Coefficients, ...] | None = None  # of the first model, see `value_samples`
    with_refit: list[Floats] | None = None  # held-out losses with values fitted together at the end
    without_refit: list[Floats] | None = None  # and with values as they grew

    def size(self, most: int) -> int:
        """The size of the first model to keep: the largest, or that of least held-out loss."""
        if self.held_out_losses is None:
            return min(most, len(self.models[0].splits))
        return int(np.argmin(self.held_out_losses[0][: most + 1]))


def train(
    table: Table,
    plan: Plan,
    members: int = 1,
    weights: Weights | None = None,
    out_of_bag: bool = False,
    progress: Progress = QUIET,
    reported: int | None = None,
    samples: int = 0,
    both_refits: bool = False,
) -> Trained:
    """Grow models over the same packed rows; `weights` tell what a row weighs in each.

    If the table says which rows are held out of which model, their losses are added; with
    `out_of_bag` the sums over rows that a bootstrap sample left out. The log has the splits of the
    model `reported`, or of the only one; those of others are for debugging. `samples` is how many
    bootstrap samples of the values to add; then the weights are those of `value_samples`. With
    `both_refits` held-out losses are added with a refit and without, whatever the plan says.
    """
    reported = 0 if members == 1 else reported
    weights = weights or OwnWeights(table.target)
    tell_driver_memory(table, plan)
    with packed(table, plan, weights, progress) as (bins, backend):
        unfitted = _grown(bins, backend, table, plan, members, progress, reported)
        grown = _fitted(unfitted, backend, table, plan)
        trained = Trained(
            [growth.model for growth in grown], freedoms=[growth.freedoms for growth in grown]
        )
        if out_of_bag:
            return replace(trained, out_of_bag=_out_of_bag(backend, grown, table.target))
        if table.has("held"):
            trained = replace(trained, held_out_losses=_held_out(backend, grown))
        if both_refits:
            return _with_both(trained, unfitted, backend, table, plan)
        if samples:
            size = trained.size(len(grown[0].losses) - 1)
            return replace(trained, samples=_samples(backend, grown[0], size, samples, table, plan))
        return trained


def _samples(
    backend: Backend, growth: Growth, size: int, samples: int, table: Table, plan: Plan
) -> tuple[Coefficients, ...]:
    unweighted = plan.refit is not None and plan.refit.unweighted
    factors = np.array(table.class_factors) if unweighted and table.class_factors else None
    order = order_of(growth, Basis(growth.trees.nodes))
    return value_samples(backend, growth, size, samples, order, factors)


def grow_all(
    bins: Bins,
    backend: Backend,
    table: Table,
    plan: Plan,
    members: int,
    progress: Progress,
    reported: int | None = None,
) -> list[Growth]:
    """The models as the plan wants them, grown in one batch."""
    grown = _grown(bins, backend, table, plan, members, progress, reported)
    return _fitted(grown, backend, table, plan)


def _grown(
    bins: Bins,
    backend: Backend,
    table: Table,
    plan: Plan,
    members: int,
    progress: Progress,
    reported: int | None,
) -> list[Growth]:
    """The models with their values as they grew."""
    centre = table.target.centres
    growths = [
        growing(bins, backend.layout, plan.rules, centre, k, reported=k == reported)
        for k in range(members)
    ]
    progress.phase(GROW)
    grown = list(backend.grow(growths, progress))
    if plan.rules.polish:
        for growth in grown:
            recut(growth, backend)
    return grown


def _fitted(grown: Sequence[Growth], backend: Backend, table: Table, plan: Plan) -> list[Growth]:
    """The models with their values as the plan wants them; the given ones stay as they are."""
    fitted = [copy.copy(growth) for growth in grown]
    if plan.refit is not None:
        refit(backend, fitted, plan.refit, table.class_factors)
    return fitted


def _with_both(
    trained: Trained, grown: Sequence[Growth], backend: Backend, table: Table, plan: Plan
) -> Trained:
    """With the held-out losses of the other way to end, if it can be: growing by the logistic loss
    always ends with a refit, and cells may be too many for one."""
    own = trained.held_out_losses
    if plan.refit is not None:
        other = None if plan.rules.logistic else _held_out(backend, grown)
        return replace(trained, with_refit=own, without_refit=other)
    link = logistic_link(table.target.classes) if table.target.classes else IDENTITY
    try:
        other = _held_out(backend, _fitted(grown, backend, table, replace(plan, refit=Refit(link))))
    except TooManyCells as error:
        log.warning("the losses after a refit are left out: %s", error)
        other = None
    return replace(trained, with_refit=other, without_refit=own)


def growing(
    bins: Bins,
    layout: Layout,
    rules: GrowthRules,
    centre: Floats,
    member: int = 0,
    reported: bool = True,
) -> Growth:
    """A model that is about to grow, in the way that the rules ask for."""
    kind: type[Growth] = Growth
    if rules.ridge != 0 and rules.joint:
        kind = PolishedGrowth if rules.polish else JointGrowth
    if rules.logistic:
        kind = LogisticGrowth
    return kind(bins, layout, rules, centre, member, reported)


def refit(
    backend: Backend,
    grown: Sequence[Growth],
    rule: Refit,
    class_factors: Sequence[float] | None,
) -> None:
    """Fit the values of every model and size again, in one pass for some models at a time."""
    factors = np.array(class_factors) if rule.unweighted and class_factors else None
    for at in range(0, len(grown), MODELS_PER_PASS):
        some = grown[at : at + MODELS_PER_PASS]
        trees = [growth.trees.arrays() for growth in some]
        work = CellWork([growth.member for growth in some], trees, backend.weights, factors)
        for growth, *parts in zip(some, *backend.gather(work), strict=True):
            cells = all_cells(parts)
            basis = Basis(growth.trees.nodes)
            fitted = fit_path(cells, basis, growth.ridges, rule.link, order_of(growth, basis))
            growth.path, growth.losses, growth.link = fitted.path, fitted.losses, rule.link
            growth.remarks = (*growth.remarks, _remark(rule, factors is not None))


def order_of(growth: Growth, basis: Basis) -> Order:
    """The inequalities that keep the values of a size in the order of monotone features."""
    constraints, nodes = growth.rules.constraints, growth.trees.nodes
    if constraints is None or not constraints.ordered:
        return free

    def rows(splits: int) -> Floats:
        inequalities = order_rows(nodes, basis.of_node[:, :splits], constraints.monotone)
        return np.column_stack([np.zeros(len(inequalities)), inequalities])

    return rows


def _remark(rule: Refit, unweighted: bool) -> str:
    how = "least squares" if rule.link == IDENTITY else "logistic regression"
    rows = f", {WITHOUT_CLASS_WEIGHTS}" if unweighted else ""
    return f"All values were fitted together by {how}{rows}"


def tell_driver_memory(table: Table, plan: Plan) -> None:
    """Before anything is packed: about what the histograms of a model will take in the driver."""
    rules = plan.rules
    features = min(len(table.features), rules.features_per_step or len(table.features))
    layout = Layout((plan.max_bins + 1,) * features, table.target.outputs, table.weighted)
    most = driver_bytes(layout, rules.max_splits or UNLIMITED_SPLITS)
    if most > MANY_HISTOGRAM_BYTES:
        log.warning(
            "The histograms of %d features, up to %d bins each, and %d outputs may take %s MB of "
            "the driver's memory. Lower maxBins, take fewer features, or give the driver more.",
            features,
            plan.max_bins + 1,
            table.target.outputs,
            f"{most >> 20:,}",
        )
    else:
        log.debug("histograms take at most about %d MB in the driver", most >> 20)


def _held_out(backend: Backend, grown: Sequence[Growth]) -> list[Floats]:
    """The mean loss of each model on the rows held out of it, after 0, 1, 2, ... splits."""
    replays = [Replay.of(growth) for growth in grown]
    sizes = [2 + len(replay) for replay in replays]
    work = partial(held_out_losses, replays=replays, weights=backend.weights)
    totals = np.split(backend.add_up(work, sum(sizes)), np.cumsum(sizes)[:-1])
    with np.errstate(invalid="ignore"):  # no row is held out of a model: its losses are NaN
        return [total[1:] / total[0] for total in totals]


def _out_of_bag(backend: Backend, grown: Sequence[Growth], target: Target) -> OutOfBag:
    replays = [Replay.of(growth) for growth in grown]
    work = partial(out_of_bag_sums, replays=replays, weights=backend.weights)
    return OutOfBag.of(backend.add_up(work, length(target)), target)


@contextmanager
def packed(
    table: Table, plan: Plan, weights: Weights, progress: Progress = QUIET
) -> Iterator[tuple[Bins, Backend]]:
    """The rows packed where the mode says, with their bins; nothing stays when it ends."""
    spark = table.frame.sparkSession
    if _in_driver(table, plan.mode):
        pack = pack_here if table.small else collect_packed
        bins, blocks = pack(table, plan.max_bins, progress)
        tasks_on = None if plan.mode == "driver" else spark  # "driver" keeps all growing there
        yield bins, DriverBackend(blocks, _layout(bins, table), weights, tasks_on)
        return
    partitions = compat.parallelism(spark)
    where = partitions, plan.work_dir
    with packed_on_cluster(table, plan.max_bins, *where, progress) as (bins, frame):
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
