"""Faults during fits on a standalone cluster.

Each fit ends with the trees of an undisturbed one, or with an error that names what is wrong. And
nothing is left behind: no packed rows, no cached DataFrame, no database, no changed setting.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tests.support.standalone import Standalone
from tests.torture.processes import EXECUTOR, PYTHON, kill_one
from tests.torture.workload import BAGGED, FAMILIES, FIGS, GROUPS, fitted, same

log = logging.getLogger("figs_spark.torture")

WORKER_KILLED, EXECUTOR_KILLED, MACHINE_LOST = (
    "Python worker killed",
    "executor killed",
    "machine lost",
)
KILLS = {WORKER_KILLED: 4, EXECUTOR_KILLED: 3, MACHINE_LOST: 2}  # of each family
INTERRUPTS = 3  # of each family
ATTEMPTS = 8  # until a fault comes while the fit runs
PAUSE = 0.02  # seconds until another look for something to kill
DISK = "200k"  # less than the packed rows need
AT_ONCE = ((FIGS, BAGGED), (BAGGED, GROUPS), (FIGS, GROUPS), (FIGS, FIGS), FAMILIES)
SETTINGS: tuple[dict[str, str], ...] = (
    {"spark.sql.ansi.enabled": "true"},
    {"spark.sql.ansi.enabled": "false"},
    {"spark.sql.caseSensitive": "true"},
    {"spark.sql.session.timeZone": "Asia/Kolkata"},
    {"spark.sql.adaptive.enabled": "false"},
    {"spark.sql.shuffle.partitions": "1"},
    {"spark.sql.shuffle.partitions": "37"},
    {"spark.sql.execution.arrow.maxRecordsPerBatch": "7"},
    {"spark.sql.execution.arrow.pyspark.enabled": "true"},
    {"spark.sql.execution.arrow.pyspark.fallback.enabled": "false"},
    {"spark.sql.codegen.wholeStage": "false"},
    {"spark.sql.files.maxPartitionBytes": "65536"},
    {"spark.sql.parquet.compression.codec": "gzip"},
    {"spark.sql.inMemoryColumnarStorage.batchSize": "1"},
    {"spark.sql.execution.pythonUDF.arrow.enabled": "true"},
)

SAME, NAMED, INTERRUPTED = "same trees", "named error", "KeyboardInterrupt"


@dataclass
class Trial:
    """A running cluster, the rows, and what undisturbed fits give."""

    cluster: Standalone
    spark: SparkSession
    data: DataFrame
    folder: Path
    random: Random
    expected: dict[str, Any] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.before = self._settings()
        self.databases = self._databases()
        self.work_dir = self.folder / "work"
        self.work_dir.mkdir()
        for family in FAMILIES * 2:  # the second time all is compiled and started
            started = time.perf_counter()
            self.expected[family] = fitted(self.data, family)
            self.seconds[family] = time.perf_counter() - started
        log.info("undisturbed fits take %s", self.seconds)

    def note(self, fault: str, family: str, end: str) -> None:
        """How a fit ended, and what it left behind."""
        left = self._left_behind()
        if end not in (SAME, NAMED, INTERRUPTED) or left:
            self.failures.append(f"{fault} ({family}): {end}; left behind: {left or 'nothing'}")
            log.error(self.failures[-1])
        self.ends[fault, end] += 1
        log.info("%d: %s, %s: %s", sum(self.ends.values()), fault, family, end)

    def figures(self) -> dict[str, Any]:
        """What came of the faults since the last call."""
        ends = [[*key, count] for key, count in self.ends.items()]
        figures = {"ends": ends, "tried": sum(self.ends.values()), "failures": self.failures}
        self.ends, self.failures = Counter(), []
        return figures

    def outcome(self, family: str, trees: Any) -> str:
        return SAME if same(trees, self.expected[family]) else "other trees"

    def _left_behind(self) -> list[str]:
        left = [f"'{path}' in workDir" for path in os.listdir(self.work_dir)]
        if cached := self._cached():
            left.append(f"{cached} cached DataFrames")
        if self._databases() != self.databases:
            left.append(f"the databases {self._databases()}")
        now = self._settings()
        changed = {k for k in self.before | now if self.before.get(k) != now.get(k)}
        return left + sorted(changed)

    def _cached(self) -> int:
        """How many there are for good: a job that was just cancelled may have made one that the
        next collection of garbage takes."""
        context: Any = self.spark.sparkContext
        for _ in range(5):
            if not (cached := context._jsc.getPersistentRDDs().size()):
                return 0
            context._jvm.System.gc()
            time.sleep(1.0)
        return int(cached)

    def _databases(self) -> list[str]:
        return sorted(row[0] for row in self.spark.sql("show databases").collect())

    def _settings(self) -> dict[str, str]:
        return {row.key: row.value for row in self.spark.sql("set").collect()}


# Processes that are killed


def python_workers(trial: Trial) -> None:
    _kills(trial, WORKER_KILLED)


def executors(trial: Trial) -> None:
    _kills(trial, EXECUTOR_KILLED)


def machines(trial: Trial) -> None:
    _kills(trial, MACHINE_LOST)


def _kills(trial: Trial, fault: str) -> None:
    for family in FAMILIES:
        for _ in range(KILLS[fault]):
            killed_once(trial, fault, family)


def killed_once(trial: Trial, fault: str, family: str) -> None:
    """A fit during which something is killed at a random moment, again until it came in time."""
    for _ in range(ATTEMPTS):
        delay = trial.random.uniform(0.0, 0.9) * trial.seconds[family]
        with later(delay, lambda: kill(trial, fault)) as came:
            end = _end(trial, family, None)
        if fault == MACHINE_LOST:
            trial.cluster.revive()
        if came():
            trial.note(fault, family, end)
            return
    raise RuntimeError(f"{fault}: {ATTEMPTS} fits of {family} ended before")


def kill(trial: Trial, fault: str) -> bool:
    workers = [name for name in trial.cluster.processes if name.startswith("worker")]
    if fault == MACHINE_LOST:
        trial.cluster.kill(trial.random.choice(workers))
        return True
    kind = EXECUTOR if fault == EXECUTOR_KILLED else PYTHON
    return kill_one(trial.random, trial.cluster.folder, kind)


@contextmanager
def later(delay: float, act: Callable[[], bool]) -> Iterator[Callable[[], bool]]:
    """Do something after some seconds, as soon as it can be done, unless the block ends before;
    says whether it was done."""
    over, done = threading.Event(), threading.Event()

    def wait() -> None:
        over.wait(delay)
        while not (over.is_set() or done.is_set()):
            if act():
                done.set()
            over.wait(PAUSE)

    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield done.is_set
    finally:
        over.set()
        thread.join()


def _end(trial: Trial, family: str, work_dir: str | None) -> str:
    try:
        return trial.outcome(family, fitted(trial.data, family, work_dir))
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        return f"{type(error).__name__}: {error!s:.300}"


# Interrupts, a full disk


def interrupts(trial: Trial) -> None:
    """Ctrl+C at a random moment, with packed rows in workDir."""
    for family in FAMILIES:
        for _ in range(INTERRUPTS):
            _interrupted_once(trial, family)


def _interrupted_once(trial: Trial, family: str) -> None:
    def interrupt() -> bool:
        os.kill(os.getpid(), signal.SIGINT)
        return True

    for _ in range(ATTEMPTS):
        try:
            delay = trial.random.uniform(0.05, 0.8) * trial.seconds[family]
            with later(delay, interrupt) as came:
                end = _end(trial, family, str(trial.work_dir))
        except KeyboardInterrupt:  # the fit had just ended
            continue
        if came():
            trial.note("SIGINT", family, end)
            return
    raise RuntimeError(f"SIGINT: {ATTEMPTS} fits of {family} ended before")


def full_disk(trial: Trial) -> None:
    """workDir on a file system that is too small."""
    for family in FAMILIES:
        with small_disk(trial.folder / "small") as disk:
            if disk is None:
                log.warning("a full disk was not tried: this process may not mount a tmpfs")
                return
            end = _end(trial, family, str(disk))
            if "workDir" in end and "is full" in end:
                end = NAMED
            if left := os.listdir(disk):
                end = f"{end}; left on the disk: {left}"
        trial.note("disk full", family, end)


@contextmanager
def small_disk(path: Path) -> Iterator[Path | None]:
    path.mkdir(exist_ok=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", str(path)]
    if subprocess.run(mount, capture_output=True).returncode:
        yield None
        return
    try:
        yield path
    finally:
        # Lazily: an executor may still hold the file that it could not write to the end.
        subprocess.run(["umount", "--lazy", str(path)], check=True)


# Fits at once, other settings


def at_once(trial: Trial) -> None:
    for families in AT_ONCE:
        with ThreadPoolExecutor(len(families)) as pool:
            work = str(trial.work_dir)
            ends = list(pool.map(lambda family: _end(trial, family, work), families))  # noqa: B023
        for family, end in zip(families, ends, strict=True):
            trial.note(f"{len(families)} fits at once", family, end)


def settings(trial: Trial) -> None:
    before = trial.before
    for k, changed in enumerate(SETTINGS):
        family = FAMILIES[k % len(FAMILIES)]
        for name, value in changed.items():
            trial.spark.conf.set(name, value)
        trial.before = trial._settings()
        try:
            trial.note("changed setting", family, _end(trial, family, None))
        finally:
            for name in changed:
                trial.spark.conf.unset(name)
                if name in before:
                    trial.spark.conf.set(name, before[name])
            trial.before = before


FAULTS: tuple[Callable[[Trial], None], ...] = (
    *(python_workers, executors, machines, interrupts),
    *(full_disk, at_once, settings),
)
