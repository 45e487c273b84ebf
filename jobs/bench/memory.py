"""Peak resident memory of the driver and of Spark's Python workers, sampled from /proc."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from types import TracebackType
from typing import NamedTuple

INTERVAL = 0.2  # seconds
PAGE = os.sysconf("SC_PAGE_SIZE") / 1e6  # MB

JVM, PYTHON, DRIVER = "driver JVM", "driver Python", "driver in all"
WORKER, WORKERS = "largest Python worker", "all Python workers"


class Process(NamedTuple):
    name: str
    parent: int
    resident: float  # MB


class PeakMemory:
    """The peaks while the `with` block runs, in MB by role; empty if there is no /proc.

    In local mode the driver is also the executor.
    """

    def __init__(self) -> None:
        self.peaks: dict[str, float] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        while True:
            for role, size in resident().items():
                self.peaks[role] = max(size, self.peaks.get(role, 0.0))
            if self._done.wait(INTERVAL):
                return


def resident() -> dict[str, float]:
    """The present memory by role."""
    processes = read_processes()
    me = os.getpid()
    if me not in processes:
        return {}
    above_me = line(me, processes)
    machines, workers = [], []
    for number, process in processes.items():
        above = line(number, processes)
        if process.name == "java" and (number in above_me or me in above):
            machines.append(process.resident)
        # Going up from a worker, the JVM comes first; from a child of this process, this process.
        near = next((p for p in above[1:] if p == me or processes[p].name == "java"), me)
        if near != me and number != me and (near in above_me or me in above):
            workers.append(process.resident)
    python = processes[me].resident
    return {
        JVM: sum(machines),
        PYTHON: python,
        DRIVER: sum(machines) + python,
        WORKER: max(workers, default=0.0),
        WORKERS: sum(workers),
    }


def line(number: int, processes: Mapping[int, Process]) -> list[int]:
    """A process and its ancestors."""
    ancestors = []
    while number in processes:
        ancestors.append(number)
        number = processes[number].parent
    return ancestors


def read_processes() -> dict[int, Process]:
    """Name, parent and memory of every process; empty if there is no /proc."""
    processes = {}
    for number in filter(str.isdigit, os.listdir("/proc") if os.path.isdir("/proc") else ()):
        try:
            with open(f"/proc/{number}/stat") as stat:
                text = stat.read()
        except OSError:  # it has ended
            continue
        name, rest = text[text.index("(") + 1 :].rsplit(")", 1)
        fields = rest.split()
        processes[int(number)] = Process(name, int(fields[1]), int(fields[21]) * PAGE)
    return processes
