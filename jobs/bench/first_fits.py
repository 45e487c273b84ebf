"""The first fit of a session: a process and a session of its own for each."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from pyspark.sql import SparkSession

from jobs.bench.contenders import CONTENDERS, Task
from jobs.bench.measuring import Timing, in_turns
from jobs.bench.presets import Case


def measure_first(case: Case, task: Task, heap: str) -> dict[str, Timing]:
    """Seconds of the first fit in a session that has just started; its start is not counted."""
    able = [name for name in case.contenders if not CONTENDERS[name].obstacle(task.data.rows)]
    seconds: dict[str, list[float]] = {name: [] for name in able}

    def fit_first(name: str) -> None:
        with ProcessPoolExecutor(1, get_context("spawn")) as pool:
            seconds[name].append(pool.submit(first_fit, name, task, heap).result())

    runs = {name: (partial(fit_first, name), case.first) for name in able}
    timings = in_turns(runs, "new session with its first fit")
    return {name: Timing(seconds[name], note=timing.note) for name, timing in timings.items()}


def first_fit(name: str, task: Task, heap: str) -> float:
    os.environ.pop("PYSPARK_GATEWAY_PORT", None)  # under spark-submit: that of the other session
    os.environ.pop("PYSPARK_GATEWAY_SECRET", None)
    builder = SparkSession.builder.appName("first fit").config("spark.driver.memory", heap)
    spark = builder.getOrCreate()
    try:
        start = time.perf_counter()
        CONTENDERS[name].fit(spark, task)
        return time.perf_counter() - start
    finally:
        spark.stop()
