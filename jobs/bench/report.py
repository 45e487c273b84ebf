"""The report of a run: all of it as JSON, and what one wants to read as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.bench.bars import Bar, bars, quotient
from jobs.bench.cases import CaseResult, Timings
from jobs.bench.floors import KERNEL
from jobs.bench.growing import Curve
from jobs.bench.measuring import Timing
from jobs.bench.memory import JVM, PYTHON, WORKER, WORKERS
from jobs.bench.plot import plot


@dataclass(frozen=True)
class Report:
    preset: str
    judged: bool  # whether the sizes are those that the bars are set for
    settings: dict[str, Any]
    machine: dict[str, Any]
    versions: dict[str, str]
    results: Sequence[CaseResult]
    curves: Sequence[Curve]

    def save(self, folder: Path) -> str:
        ...
