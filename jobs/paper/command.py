"""Does FIGS do what the paper says? Every table and figure, measured again from one command.

    spark-submit jobs/paper.py --data ../shared/data --output build/paper

`--data` is a folder with Parquet files of numbers, with the outcome in the last column; diabetes
and Friedman 1 to 3 come from scikit-learn. The `bench` extra brings the baselines. Finished
cells are kept in the output folder, so a run that was stopped continues where it was.
`--only` takes parts, `--minutes` ends in time and reports what there is.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import platform
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import distributions, version
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession
from tqdm import tqdm

import figs_spark
from jobs.paper import (
    backfitting,
    cdi,
    curves,
    disentangling,
    ensembles,
    rates,
    redundancy,
    simulations,
    stability,
    sums,
)
from jobs.paper.cells import Cell, Record, Store
from jobs.paper.clock import processor_seconds
from jobs.paper.report import Report
from jobs.paper.settings import FULL, QUICK, Preset

# A part has cells(settings, folder), measure(spark, settings of a cell, folder), section(results).
PARTS: dict[str, ModuleType] = {
    "curves": curves,
    "ensembles": ensembles,
    "simulations": simulations,
    "redundancy": redundancy,
    "disentanglement": disentangling,
    "rates": rates,
    "cdi": cdi,
    "stability": stability,
    "backfitting": backfitting,
    "sums": sums,
}
BASELINES = ("imodels", "xgboost", "pygam", "matplotlib")
PACKAGES = ("pyspark", "numpy", "pandas", "scikit-learn", *BASELINES)

log = logging.getLogger("paper")


@dataclass(frozen=True)
class Run:
    """What is measured, on which data, and where the results are kept."""

    preset: Preset
    parts: Sequence[str]
    folder: Path
    output: Path

    @property
    def store(self) -> Store:
        return Store(self.output / "cells")

    def cells(self) -> list[Cell]:
        """Repeat by repeat over all parts, so that a run that ends early has some of everything."""
        listed = [
            cell
            for part in self.parts
            for cell in PARTS[part].cells(self.preset[part], self.folder)
        ]
        return sorted(listed, key=lambda cell: cell.repeat)

    def measure(self, spark: SparkSession, minutes: float | None) -> list[Cell]:
        """Measure the cells that are not done yet, until the time is over; those that failed.

        A cell that fails is named, and the others go on: a long run is not lost by one of them.
        """
        started = time.monotonic()
        failed = []
        missing = [cell for cell in self.cells() if not self.store.path(cell).exists()]
        with tqdm(missing, unit="cell", mininterval=5) as bar:
            for cell in bar:
                if minutes is not None and time.monotonic() - started > 60 * minutes:
                    log.warning("%s minutes are over: the rest is left for another run", minutes)
                    break
                bar.set_postfix_str(str(cell)[:60])
                try:
                    self._measure(spark, cell)
                except Exception:
                    log.exception("%s failed", cell)
                    failed.append(cell)
        return failed

    def _measure(self, spark: SparkSession, cell: Cell) -> None:
        started = processor_seconds()
        records = PARTS[cell.part].measure(spark, dict(cell.settings), self.folder)
        seconds = round(processor_seconds() - started, 2)
        self.store.keep(cell, records, {"processor_seconds": seconds, "versions": versions()})

    def results(
        self, part: str, cells: Iterable[Cell] | None = None
    ) -> tuple[pd.DataFrame, list[Record]]:
        """The records of the finished cells of a part, with their settings; and the cells."""
        if cells is None:
            cells = PARTS[part].cells(self.preset[part], self.folder)
        done = [kept for cell in cells if (kept := self.store.load(cell)) is not None]
        rows = [
            {k: v for k, v in kept["settings"].items() if not isinstance(v, list)} | record
            for kept in done
            for record in kept["records"]
        ]
        return pd.DataFrame(rows), done

    def _preset(self) -> str:
        if self.preset["curves"]["splits"] == QUICK["curves"]["splits"]:
            return "quick: it shows that all parts run, and tells nothing about the claims"
        return "full"

    def report(self) -> Report:
        sections, facts, used = {}, [], Counter[str]()
        for part in self.parts:
            results, done = self.results(part)
            total = sum(1 for _ in PARTS[part].cells(self.preset[part], self.folder))
            minutes = sum(kept["processor_seconds"] for kept in done) / 60
            told = f"{len(done)} of {total} cells, {minutes:.1f} minutes of one processor"
            facts.append((part, told))
            used.update(json.dumps(kept["versions"]) for kept in done)
            if len(results):
                section = PARTS[part].section(results)
                claims = [claim.resting_on(len(done), total) for claim in section.claims]
                sections[part] = replace(section, claims=claims)
        return Report(sections, [("preset", self._preset()), *_facts(used), *facts])


def versions() -> dict[str, str]:
    known = {"figs_spark": figs_spark.__version__, "python": platform.python_version()}
    return known | {name: version(name) for name in PACKAGES if _is_installed(name)}


def _is_installed(package: str) -> bool:
    return any(True for _ in distributions(name=package))


def _facts(used: Counter[str]) -> list[tuple[str, str]]:
    listed = [
        ", ".join(f"{name} {number}" for name, number in json.loads(text).items())
        for text, _ in used.most_common()
    ]
    seeds = "the number of the division or repeat, from 0 on; random baselines have seed 0"
    load = os.getloadavg()[0]
    machine = f"{os.cpu_count()} cores, {platform.machine()}, load {load:.1f} at the end"
    return [("versions", "; ".join(listed)), ("seeds", seeds), ("machine", machine)]


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="paper.py", description=__doc__.split("\n")[0])
    parser.add_argument("--data", required=True, type=Path, help="folder with Parquet files")
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/paper"),
        help="folder for the report and the finished cells (%(default)s)",
    )
    parser.add_argument("--only", nargs="+", choices=PARTS, metavar="PART", help=", ".join(PARTS))
    parser.add_argument(
        "--tables", nargs="+", metavar="NAME", help="use only these data sets, in every part"
    )
    parser.add_argument("--quick", action="store_true", help="few rows and fits: does it run?")
    parser.add_argument("--minutes", type=float, help="stop measuring after so many minutes")
    parser.add_argument(
        "--fresh", action="store_true", help="forget the finished cells of these parts first"
    )
    return parser


def run_of(options: argparse.Namespace) -> Run:
    """The run that the options ask for, or an exit with what is wrong."""
    if not any(options.data.glob("*.parquet")):
        raise SystemExit(f"paper.py: no *.parquet in {options.data}")
    preset = QUICK if options.quick else FULL
    if options.tables:
        known = curves.tables.names(options.data, None)
        unknown = [name for name in options.tables if name not in known]
        if unknown:
            raise SystemExit(f"paper.py: --tables: no {unknown[0]}; there are {', '.join(known)}")
        preset = {
            part: settings | ({"tables": options.tables} if "tables" in settings else {})
            for part, settings in preset.items()
        }
    lacking = [name for name in BASELINES if find_spec(name) is None]
    if lacking:
        raise SystemExit(
            f"paper.py: {', '.join(lacking)} missing: install the extra, pip install '.[bench]'"
        )
    return Run(preset, options.only or list(PARTS), options.data, options.output)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    run = run_of(options)
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    if options.fresh:
        for cell in run.cells():
            run.store.forget(cell)
    spark = session()
    try:
        failed = run.measure(spark, options.minutes)
    finally:
        spark.stop()
    run.report().write(run.output)
    print((run.output / "report.md").read_text("utf-8").split("\n## The run")[0])
    for cell in failed:
        log.error("failed, and tried again by the next run: %s", cell)
    return 1 if failed else 0


def session() -> Any:
    return SparkSession.builder.appName("figs_spark paper").getOrCreate()


if __name__ == "__main__":
    raise SystemExit(main())
