"""The ratios that matter, each with the bar that it should meet."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from jobs.bench.cases import SUM, CaseResult, Timings
from jobs.bench.floors import KERNEL, PACK, SCAN, STEP
from jobs.bench.growing import Curve
from jobs.bench.measuring import Timing
from jobs.bench.memory import DRIVER, WORKER
from jobs.bench.presets import (
    AUTO,
    AUTO_BY_SPARK,
    BAGGED,
    BAGGED_IMODELS,
    BAND_REGRESSION,
    BY_BAND,
    CLUSTER,
    CLUSTER_BY_SPARK,
    EVEN,
    FOREST,
    GROUPS,
    IMODELS,
    INDEXED_TREE,
    LAYOUTS,
    ONE_MEMBER,
    RELEASED,
    TEN_MEMBERS,
    TREE,
    WIDE_ARRAY,
    XGBOOST,
    XGBOOST_TREES,
    laid_out,
)
from jobs.bench.ways import GREEDY, LOGISTIC, MODES, RIDGE, in_mode

Ratio = tuple[str, str, float | None]  # numerator, denominator, bar

COMPARED: dict[str, list[Ratio]] = {  # by case
    "small": [(IMODELS, AUTO, 20)],
    "tree": [
        (AUTO, TREE, 0.32),
        (CLUSTER, TREE, 0.4),
        (AUTO_BY_SPARK, TREE, None),
        (CLUSTER_BY_SPARK, TREE, None),
    ],
    "stumps": [(AUTO, XGBOOST, 0.5)],
    "members": [(BAGGED_IMODELS, BAGGED, 20)],
    "forest": [(BAGGED, FOREST, 1), (TEN_MEMBERS, ONE_MEMBER, 4)],
    "small fit": [(AUTO, TREE, 0.35), (GROUPS, TREE, 2.2)],
    "mixed": [(AUTO, INDEXED_TREE, 0.4)],
    "flights": [(AUTO, INDEXED_TREE, 0.5)],
    "bands": [(BY_BAND, BAND_REGRESSION, 1.5)],
    "wide": [(CLUSTER, RELEASED, 0.2), (WIDE_ARRAY, RELEASED, 0.08)],
    "twice as large": [(CLUSTER, RELEASED, 0.75)],
    "partitions": [
        (laid_out(mode, layout), laid_out(mode, EVEN), 1.3)
        for mode in (AUTO, CLUSTER)
        for layout in LAYOUTS
        if layout != EVEN
    ],
}
SCORED: dict[str, list[Ratio]] = {  # the same for the time to score
    "scoring": [(BAGGED, FOREST, 0.5), (BAGGED, XGBOOST_TREES, 1)],
}
FIRST: dict[str, list[Ratio]] = {  # the same for the first fit of a session
    "mixed": [(AUTO, INDEXED_TREE, 0.8)],
}
GROWN = {RIDGE: 1.5, LOGISTIC: 4}  # ways to grow: times as long as greedily, at most
MORE_JOBS = {RIDGE: 0, LOGISTIC: 1}  # than greedily, at most; the refit needs one
JOBS = {"small fit": {AUTO: 1, GROUPS: 7}}  # by case and contender: Spark jobs at most
SLOWER = (IMODELS, BAGGED_IMODELS)  # their ratios have a lower limit, all others an upper one
STEP_TO_KERNEL = 3  # with so many rows that the overhead of a Spark job is small
PACK_TO_SCAN = 2
SCORING_TO_SUM = 2
DOUBLED = 2.1  # times as long for twice as much
MORE_PARTITIONS = 1.1  # times as long for twice the partitions
NO_MORE_MEMORY = 1.05  # times that of an earlier release
SAME_MEMORY = 1.25  # times as much for twice the rows: blocks bound it, not rows
DRIVER_GB = 6


@dataclass(frozen=True)
class Bar:
    what: str
    value: float | None  # None: not measured; the tables say why
    limit: float | None  # None: there is no bar at this size
    at_least: bool = False

    @property
    def met(self) -> bool | None:
        if self.value is None or self.limit is None:
            return None
        return self.value >= self.limit if self.at_least else self.value <= self.limit

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


def bars(results: Sequence[CaseResult], curves: Sequence[Curve]) -> list[Bar]:
    checks = [bar for result in results for bar in case_bars(result)]
    checks += [bar for curve in curves for bar in curve_bars(curve)]
    by_name = {result.case.name: result for result in results}
    if {"large", "twice as large"} <= by_name.keys():
        checks += large_bars(by_name["large"], by_name["twice as large"])
    return [*checks, Bar("runs that failed", failures(results, curves), 0)]


def failures(results: Sequence[CaseResult], curves: Sequence[Curve]) -> int:
    timings = [timing for result in results for timing in result.timings]
    timings += [timing for curve in curves for timing in curve.timings]
    return sum(timing.failed for timing in timings)


def case_bars(result: CaseResult) -> Iterator[Bar]:
    for over, under, limit in COMPARED.get(result.case.name, []):
        what = f"{result.title}: {over} / {under}"
        yield Bar(what, ratio(result.fits, over, under), limit, at_least=over in SLOWER)
    size = f"{result.rows:,} x {result.case.features}"
    for over, under, limit in SCORED.get(result.case.name, []):
        yield Bar(f"{size}: scoring, {over} / {under}", ratio(result.scoring, over, under), limit)
    for over, under, limit in FIRST.get(result.case.name, []) if result.first else []:
        what = f"{result.title}: first fit of a session, {over} / {under}"
        yield Bar(what, ratio(result.first, over, under), limit)
    if RELEASED in result.fits:
        yield from memory_bars(result)
    for name, most in JOBS.get(result.case.name, {}).items():
        yield Bar(f"{result.title}: jobs of {name}", result.fits[name].jobs, most)
    if result.floors:
        step, pack = ratio(result.floors, STEP, KERNEL), ratio(result.floors, PACK, SCAN)
        step_limit = STEP_TO_KERNEL if result.case.name == "large" else None
        yield Bar(f"{size}: {STEP} / {KERNEL}", step, step_limit)
        yield Bar(f"{size}: {PACK} / {SCAN}", pack, PACK_TO_SCAN)
    for mode in MODES if result.ways else ():
        greedy = in_mode(GREEDY, mode)
        for way, limit in GROWN.items():
            own = in_mode(way, mode)
            yield Bar(f"{size}: {own} / {greedy}", ratio(result.ways, own, greedy), limit)
            more = (result.ways[own].jobs or 0) - (result.ways[greedy].jobs or 0)
            what = f"{size}: jobs of {own}, more than of {greedy}"
            yield Bar(what, max(0, more), MORE_JOBS[way])
    if AUTO in result.scoring:
        scoring = ratio(result.scoring, AUTO, SUM)
        yield Bar(f"{size}: scoring by figs_spark / {SUM}", scoring, SCORING_TO_SUM)


def memory_bars(result: CaseResult) -> Iterator[Bar]:
    """The memory of each contender beside that of an earlier release."""
    before = result.fits[RELEASED].memory
    for name, fit in result.fits.items():
        for role in (DRIVER, WORKER) if name != RELEASED else ():
            what = f"{result.title}: {role}, memory of {name} / {RELEASED}"
            yield Bar(what, quotient(fit.memory.get(role), before.get(role)), NO_MORE_MEMORY)


def curve_bars(curve: Curve) -> Iterator[Bar]:
    """The last two points of a curve, if the second is twice the first."""
    low, high = curve.values[-2:]
    if high != 2 * low:
        return
    what = f"{curve.contender}, {low:,} -> {high:,} {curve.axis}"
    once, twice = curve.timings[-2:]
    if curve.axis == "partitions":
        yield Bar(f"{what}: time", quotient(twice.median, once.median), MORE_PARTITIONS)
        return
    yield from doubling_bars(what, once, twice, rows=curve.axis == "rows")


def large_bars(large: CaseResult, twice: CaseResult) -> Iterator[Bar]:
    what = f"{CLUSTER}, {large.rows:,} -> {twice.rows:,} rows"
    yield from doubling_bars(what, large.fits[CLUSTER], twice.fits[CLUSTER], rows=True)
    peak = twice.fits[CLUSTER].memory.get(DRIVER)
    in_gb = None if peak is None else peak / 1000
    yield Bar(f"{twice.rows:,} rows: driver JVM and Python together, GB", in_gb, DRIVER_GB)


def doubling_bars(what: str, once: Timing, twice: Timing, rows: bool) -> Iterator[Bar]:
    yield Bar(f"{what}: time", quotient(twice.median, once.median), DOUBLED)
    if rows and CLUSTER in what:
        grown = quotient(twice.memory.get(WORKER), once.memory.get(WORKER))
        yield Bar(f"{what}: memory of a Python worker", grown, SAME_MEMORY)


def ratio(timings: Timings, over: str, under: str) -> float | None:
    return quotient(timings[over].median, timings[under].median)


def quotient(over: float | None, under: float | None) -> float | None:
    return over / under if over and under else None
