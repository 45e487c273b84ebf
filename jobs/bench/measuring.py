"""Seconds and memory of runs, with repeats, in turns."""

from __future__ import annotations

import logging
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from jobs.bench.memory import PeakMemory

FAILED = "failed"

log = logging.getLogger("benchmark")


@dataclass(frozen=True)
class Measured:
    """A result with the seconds and the memory that it took in another process."""

    result: Any
    seconds: float
    peaks: dict[str, float]


@dataclass
class Timing:
    """What a run took, or a note why this is not known."""

    seconds: list[float] = field(default_factory=list)
    peaks: list[dict[str, float]] = field(default_factory=list)
    note: str = ""
    result: Any = None
    r2: float | None = None
    jobs: int | None = None  # of Spark, in the last run

    @property
    def median(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds and not self.note else None

    @property
    def memory(self) -> dict[str, float]:
        """Peaks in MB by role, each the lowest of the repeats.

        A process keeps for a while what another contender took before.
        """
        roles = self.peaks[0] if self.peaks else {}
        return {role: min(peak[role] for peak in self.peaks) for role in roles}

    @property
    def failed(self) -> bool:
        return self.note.startswith(FAILED)

    def take(self, name: str, run: Callable[[], Any], count: Counter | None = None) -> None:
        """Run once. A run that fails leaves a note and is not repeated."""
        if self.note:
            return
        before = count() if count else 0
        try:
            with PeakMemory() as memory:
                start = time.perf_counter()
                result = run()
                seconds = time.perf_counter() - start
        except Exception as error:
            log.exception("%s failed", name)
            self.note = (
                f"{FAILED}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200]}"
            )
            return
        if isinstance(result, Measured):
            self._add(result.result, result.seconds, result.peaks)
        else:
            self._add(result, seconds, memory.peaks)
            self.jobs = count() - before if count else None
        log.info("%-60s %8.2f s", name, self.seconds[-1])

    def _add(self, result: Any, seconds: float, peaks: dict[str, float]) -> None:
        self.result = result
        self.seconds.append(seconds)
        self.peaks.append(peaks)

    def to_dict(self) -> dict[str, Any]:
        return {
            "median": self.median,
            "seconds": self.seconds,
            "memory": self.memory,
            "r2": self.r2,
            "jobs": self.jobs,
            "note": self.note,
        }


Counter = Callable[[], int]  # of the Spark jobs so far
Run = tuple[Callable[[], Any], int]  # what to run, and how often


def in_turns(
    runs: Mapping[str, Run], label: str, count: Counter | None = None
) -> dict[str, Timing]:
    """Run each once, then each a second time, ...: so a slow moment of the machine hits all."""
    timings = {name: Timing() for name in runs}
    for k in range(max((repeats for _, repeats in runs.values()), default=0)):
        for name, (run, repeats) in runs.items():
            if k < repeats:
                timings[name].take(f"{label}: {name}", run, count)
    return timings
