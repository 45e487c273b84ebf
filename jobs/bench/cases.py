"""A case: contenders on the same rows, how fast their models score, and the lower bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark.dataframes.compat import table_udf
from jobs.bench.contenders import CONTENDERS, Scorer, Task, add_up
from jobs.bench.data import Data
from jobs.bench.environment import heap, job_count
from jobs.bench.first_fits import measure_first
from jobs.bench.floors import measure_floors
from jobs.bench.measuring import Timing, in_turns
from jobs.bench.presets import Case
from jobs.bench.ways import measure_ways

SUM = "reading the columns and adding them up"
WAY = "to Python and back: a function that returns the first column"

Timings = dict[str, Timing]


@dataclass(frozen=True)
class CaseResult:
    case: Case
    rows: int
    fits: Timings
    scoring: Timings = field(default_factory=dict)
    floors: Timings = field(default_factory=dict)
    first: Timings = field(default_factory=dict)
    ways: Timings = field(default_factory=dict)

    @property
    def title(self) -> str:
        case = self.case
        return f"{self.rows:,} x {case.features}, {case.splits} splits, {case.bins} bins"

    @property
    def timings(self) -> list[Timing]:
        parts = (self.fits, self.first, self.scoring, self.floors, self.ways)
        return [timing for part in parts for timing in part.values()]

    def to_dict(self) -> dict[str, Any]:
        case = self.case
        return {
            "name": case.name,
            "data": case.kind,
            "rows": self.rows,
            "features": case.features,
            "splits": case.splits,
            "bins": case.bins,
            "fits": {name: fit.to_dict() for name, fit in self.fits.items()},
            "first": {name: timing.to_dict() for name, timing in self.first.items()},
            "scoring": {name: timing.to_dict() for name, timing in self.scoring.items()},
            "floors": {name: timing.to_dict() for name, timing in self.floors.items()},
            "ways": {name: timing.to_dict() for name, timing in self.ways.items()},
        }


def measure_case(spark: SparkSession, case: Case, data: Data, folder: Path) -> CaseResult:
    rows = data.part(case.trained_on) if case.trained_on else data
    cached = rows.frame(spark).cache() if case.cached else None
    task = Task(rows, case.splits, case.bins, cached)
    fits = measure_fits(spark, case, task)
    if cached is not None:
        cached.unpersist()
    scoring = measure_scoring(spark, case, data, fits) if case.scoring else {}
    floors = measure_floors(spark, task, case.floors, folder) if case.floors else {}
    first = measure_first(case, task, heap(spark)) if case.first else {}
    ways = measure_ways(spark, task, case.ways) if case.ways else {}
    return CaseResult(case, data.rows, fits, scoring, floors, first, ways)


def measure_fits(spark: SparkSession, case: Case, task: Task) -> Timings:
    notes = {name: CONTENDERS[name].obstacle(task.data.rows) for name in case.contenders}
    able = {name: CONTENDERS[name] for name, note in notes.items() if not note}
    runs = {n: (partial(c.fit, spark, task), case.contenders[n]) for n, c in able.items()}
    if task.cached is not None:
        task.cached.count()
    timings = in_turns(runs, case.name, partial(job_count, spark))
    for name, timing in timings.items():
        if timing.result is not None and task.data.test_file:
            timing.r2 = able[name].r2(spark, timing.result, task.data)
    return {name: timings.get(name, Timing(note=note)) for name, note in notes.items()}


def measure_scoring(spark: SparkSession, case: Case, data: Data, fits: Timings) -> Timings:
    """Score with every Spark model, writing nothing. Beside them what no model can spare: the
    columns are added up, and a function in Python gets them and returns one."""

    def score(scorer: Scorer) -> None:
        scorer(data.frame(spark)).write.format("noop").mode("overwrite").save()

    def there_and_back(frame: DataFrame) -> DataFrame:
        first = table_udf(lambda table: table[:, :1], len(data.features), single=True)
        return frame.withColumn("first", first([F.col(name) for name in data.features]))

    competing = {name: fit for name, fit in fits.items() if CONTENDERS[name].on_spark}
    runs = {
        name: (partial(score, fit.result), case.scoring)
        for name, fit in competing.items()
        if fit.result is not None
    }
    floors = {
        SUM: (partial(add_up, spark, data), case.scoring),
        WAY: (partial(score, there_and_back), case.scoring),
    }
    timings = in_turns({**runs, **floors}, "scoring")
    notes = {name: Timing(note=fit.note) for name, fit in competing.items()}
    return {**notes, **timings}
