"""Ways to grow a model over the same packed rows: greedily, with a ridge, by the logistic loss."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from figs_spark.engine.backends import Backend
from figs_spark.engine.bins import Bins
from figs_spark.engine.grower import GrowthRules
from figs_spark.engine.progress import QUIET
from figs_spark.engine.refitting import Refit
from figs_spark.engine.table import Table
from figs_spark.engine.training import Plan, grow_all, packed
from figs_spark.engine.weights import OwnWeights
from figs_spark.stages.base.checks import check
from jobs.bench.contenders import Task, figs_estimator
from jobs.bench.environment import job_count
from jobs.bench.measuring import Timing, in_turns

GREEDY, RIDGE, LOGISTIC = "greedy growth", "growth with a ridge", "growth by the logistic loss"
WAYS: dict[str, dict[str, Any]] = {
    GREEDY: {},
    RIDGE: {"ridge": None},
    LOGISTIC: {"ridge": None, "logistic": True},  # the refit at its end is part of it
}
MODES = ("auto", "cluster")


def in_mode(way: str, mode: str) -> str:
    return f"{way}, {mode}"


def measure_ways(spark: SparkSession, task: Task, repeats: int) -> dict[str, Timing]:
    """Seconds from packed rows to a grown model; the first run of each way is not counted."""
    timings: dict[str, Timing] = {}
    for mode in MODES:
        table = check(task.frame(spark), figs_estimator(task, mode), not task.data.is_numeric).table
        plan = Plan(GrowthRules(max_splits=task.splits), mode, task.bins)
        with packed(table, plan, OwnWeights(table.target)) as (bins, backend):
            runs = {way: partial(grown, way, bins, backend, table, task) for way in WAYS}
            for run in runs.values():  # compiles
                run()
            named = {in_mode(way, mode): (run, repeats) for way, run in runs.items()}
            timings |= in_turns(named, "ways", partial(job_count, spark))
    return timings


def grown(way: str, bins: Bins, backend: Backend, table: Table, task: Task) -> int:
    """Returns the number of splits."""
    rules = GrowthRules(max_splits=task.splits, **WAYS[way])
    refit = Refit("logit") if rules.logistic else None  # the outcome is yes or no
    plan = Plan(rules, max_bins=task.bins, refit=refit)
    (growth,) = grow_all(bins, backend, table, plan, 1, QUIET)
    return growth.steps
