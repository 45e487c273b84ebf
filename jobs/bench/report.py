"""The report of a run: everything as JSON, the tables to read as Markdown."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.bench.bars import Bar, bars, failures, quotient
from jobs.bench.cases import SUM, CaseResult, Timings
from jobs.bench.floors import SCAN
from jobs.bench.growing import Curve
from jobs.bench.measuring import Timing
from jobs.bench.memory import JVM, PYTHON, WORKER, WORKERS
from jobs.bench.plot import plot

ROLES = (JVM, PYTHON, WORKER, WORKERS)

EXPLAINED = """\
Seconds are the median of the runs, from Parquet files to a fitted model, in a warm session. Memory
is the peak of resident memory, the lowest of the runs. In local mode the driver's JVM is also the
executor, and keeps the memory that it once took, up to its heap. R2 is measured on at most 20,000
held-out rows."""


@dataclass(frozen=True)
class Report:
    preset: str
    judged: bool  # whether the bars are set for these sizes
    run: dict[str, Any]  # when, how long, on which machine, under what load
    versions: dict[str, str]
    results: Sequence[CaseResult]
    curves: Sequence[Curve]

    @property
    def bars(self) -> list[Bar]:
        return bars(self.results, self.curves)

    @property
    def failures(self) -> int:
        return failures(self.results, self.curves)

    def save(self, folder: Path) -> str:
        """Write JSON, Markdown and a picture, named by the preset; returns the Markdown."""
        picture = folder / f"{self.preset}.png"
        note = plot(self.curves, picture)
        text = self.markdown(note or f"![seconds for a fit]({picture.name})")
        (folder / f"{self.preset}.md").write_text(text, encoding="utf-8")
        content = json.dumps(self.to_dict(), indent=2, allow_nan=False)
        (folder / f"{self.preset}.json").write_text(content, encoding="utf-8")
        return text

    def to_dict(self) -> dict[str, Any]:
        return {
            "preset": self.preset,
            "judged": self.judged,
            "run": self.run,
            "versions": self.versions,
            "bars": [bar.to_dict() for bar in self.bars],
            "cases": [result.to_dict() for result in self.results],
            "growth": [curve.to_dict() for curve in self.curves],
        }

    def markdown(self, picture: str) -> str:
        facts = {**self.run, "versions": ", ".join(f"{n} {v}" for n, v in self.versions.items())}
        parts = [f"# Benchmark, preset `{self.preset}`", bullets(facts), EXPLAINED]
        parts += ["## Bars", bar_table(self.bars, self.judged)]
        for result in self.results:
            parts += case_parts(result)
        if self.curves:
            parts += [
                "## Growth",
                "Seconds, and the exponent fitted to them.",
                growth_table(self.curves),
            ]
        return "\n\n".join([*parts, picture]) + "\n"


def case_parts(result: CaseResult) -> Iterator[str]:
    yield f"## {result.case.name.capitalize()}: {result.title}"
    yield fit_table(result.fits)
    if result.first:
        yield "The first fit of a session that has just started, in a process of its own:"
        yield timing_table(result.first, next(iter(result.first)))
    if result.scoring:
        yield "Scoring these rows, into a `noop` sink:"
        yield timing_table(result.scoring, SUM)
    if result.floors:
        yield "Floors, and the parts of a fit in cluster mode:"
        yield timing_table(result.floors, SCAN)
    if result.ways:
        yield "Ways to grow, from packed rows on:"
        yield timing_table(result.ways, next(iter(result.ways)))


def fit_table(fits: Timings) -> str:
    first = next(iter(fits))
    head = [
        "contender",
        "seconds",
        f"/ {first}",
        "runs",
        "jobs",
        "test R2",
        *(f"{r}, MB" for r in ROLES),
    ]
    rows = []
    for name, fit in fits.items():
        relative = number(quotient(fit.median, fits[first].median))
        memory = (number(fit.memory.get(role)) for role in ROLES)
        jobs = number(fit.jobs)
        runs = len(fit.seconds)
        rows.append([name, seconds(fit), relative, runs, jobs, number(fit.r2), *memory])
    return table(head, rows)


def timing_table(timings: Timings, unit: str) -> str:
    rows = [
        [name, seconds(timing), number(quotient(timing.median, timings[unit].median))]
        for name, timing in timings.items()
    ]
    return table(["what", "seconds", f"/ {unit}"], rows)


def growth_table(curves: Sequence[Curve]) -> str:
    rows = [
        [
            curve.axis,
            curve.contender,
            "; ".join(f"{n:,}: {seconds(t)}" for n, t in zip(curve.values, curve.timings)),
            number(curve.exponent),
        ]
        for curve in curves
    ]
    return table(["axis", "contender", "seconds", "exponent"], rows)


def bar_table(checks: Sequence[Bar], judged: bool) -> str:
    rows = [[bar.what, number(bar.value), limit(bar), verdict(bar, judged)] for bar in checks]
    return table(["what", "measured", "bar", "met"], rows)


def limit(bar: Bar) -> str:
    if bar.limit is None:
        return "none at this size"
    return f"{'>=' if bar.at_least else '<='} {bar.limit:g}"


def verdict(bar: Bar, judged: bool) -> str:
    if bar.value is None:
        return "not measured"
    if bar.limit is None or not judged:
        return "not judged"
    return "yes" if bar.met else "**no**"


def seconds(timing: Timing) -> str:
    return timing.note or number(timing.median)


def number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def bullets(facts: dict[str, Any]) -> str:
    return "\n".join(f"- {name}: {value}" for name, value in facts.items())


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)
