"""Time figs_spark next to its alternatives, and next to lower bounds that no program can beat.

    spark-submit --driver-memory 4g jobs/benchmark.py --preset standard
    python jobs/benchmark.py --preset smoke

Prints a report and writes it to `--output` as JSON and Markdown, with a picture of how time grows.
The generated tables stay in `--output` for the next run. `--data` names the folder of the real
tables for the presets `ensembles` and `mixed`; their bars are set for them.

Exit codes: 0 done, 1 a contender failed, 2 wrong arguments.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # spark-submit has only jobs there

from jobs.bench import environment
from jobs.bench.cases import CaseResult, measure_case
from jobs.bench.contenders import warm_up
from jobs.bench.data import copied, prepare
from jobs.bench.growing import Curve, measure_growth
from jobs.bench.mixed import prepare_mixed
from jobs.bench.presets import FRIEDMAN, MIXED, PRESETS, Preset
from jobs.bench.report import Report
from jobs.reports import add_output, check_output

CONF = Path(__file__).resolve().parents[1] / "conf"

log = logging.getLogger("benchmark")


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    check_output(options, f"{options.preset}.json")
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    log.setLevel(logging.INFO)
    spark = start(PRESETS[options.preset].heap)
    try:
        report = run(spark, options)
    finally:
        spark.stop()
    print(report.save(options.output))
    return int(report.failures > 0)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="benchmark.py", description="Time figs_spark, its alternatives and lower bounds."
    )
    parser.add_argument("--preset", choices=PRESETS, default="standard", help="(%(default)s)")
    parser.add_argument(
        "--rows",
        type=int,
        help="rows of the largest table; others in proportion; default: the preset",
    )
    parser.add_argument(
        "--only", metavar="CASE", help="one case of the preset, such as tree; default: all"
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="folder with recidivism.parquet and readmission.parquet, outcome in the last column, "
        "for the preset ensembles; with diabetic_data.csv.gz and flights-3m.parquet for the preset "
        "mixed; default: generated tables of their size",
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="seed of the generated rows (%(default)s)"
    )
    add_output(parser, "build/bench")
    options = parser.parse_args(arguments)
    if options.rows is not None and options.rows < 1:
        parser.error(f"--rows {options.rows} is not a positive number")
    known = [case.name for case in PRESETS[options.preset].cases]
    if options.only is not None and options.only not in known:
        parser.error(f"--only {options.only}: the preset has {', '.join(known)}")
    names = [case.real for case in PRESETS[options.preset].cases if case.real]
    if options.data:
        if not names:
            parser.error(f"--data: the preset {options.preset} uses generated tables only")
        lacking = [name for name in names if not (options.data / name).is_file()]
        if lacking:
            parser.error(f"--data: {options.data} has no {lacking[0]}")
    options.output = options.output.resolve()
    return options


def start(heap: str) -> SparkSession:
    """A session with this heap; under spark-submit, --driver-memory sets the heap."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_CONF_DIR", str(CONF))
    builder = SparkSession.builder.appName("figs_spark benchmark")
    return builder.config("spark.driver.memory", heap).getOrCreate()


def run(spark: SparkSession, options: argparse.Namespace) -> Report:
    preset = PRESETS[options.preset]
    if options.only is not None:
        preset = preset.only(options.only)
    if options.rows is not None:
        preset = preset.scaled(options.rows)
    if not options.data and any(case.real for case in preset.cases):
        preset = replace(preset, judged=False)
    began, load = datetime.now().astimezone(), environment.load()
    curves, results = measure(spark, preset, options.output, options.seed, options.data)
    facts = {
        "date": began.isoformat(timespec="seconds"),
        "minutes": round((datetime.now().astimezone() - began).total_seconds() / 60, 1),
        **environment.machine(spark),
        "load before": load,
        "load after": environment.load(),
        "seed": options.seed,
    }
    versions = environment.versions(spark)
    return Report(options.preset, preset.judged, facts, versions, results, curves)


def measure(
    spark: SparkSession, preset: Preset, folder: Path, seed: int, real_tables: Path | None
) -> tuple[list[Curve], list[CaseResult]]:
    """Measure growth first, while the Python workers hold nothing of other contenders."""
    tables = {}
    for (kind, features), (least, most) in preset.tables().items():
        source = real_tables / preset.real(kind, features) if real_tables else None
        if kind in MIXED:
            table = prepare_mixed(spark, folder / "data", kind, most, seed, source)
            tables[kind, features] = table
        elif source:
            tables[kind, features] = copied(source, folder / "data", kind)
        else:
            tables[kind, features] = prepare(folder / "data", kind, most, least, features, seed)
    curves = []
    if preset.growth:
        data = tables[FRIEDMAN, preset.growth.middle.features]
        warm_up(spark, preset.growth.contenders, data)
        curves = measure_growth(spark, preset.growth, data)
    for (kind, features), data in tables.items():
        warm_up(spark, preset.contenders(kind, features), data)
    results = [
        measure_case(
            spark, case, tables[case.kind, case.features].part(case.rows), folder / "blocks"
        )
        for case in preset.cases
    ]
    return curves, results


if __name__ == "__main__":
    sys.exit(main())
