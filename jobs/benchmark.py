"""Time figs_spark next to what one would use instead, and next to what no program can beat.

    spark-submit --driver-memory 4g jobs/benchmark.py --preset standard
    python jobs/benchmark.py --preset smoke

Writes a report to `--output`, as JSON, as Markdown and, of growth, as a picture, and prints it.
The generated tables stay in `--output` and serve the next run. `--data` gives the preset
`ensembles` the real tables that its bars are set for.

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
from jobs.bench.presets import FRIEDMAN, PRESETS, Preset
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
        prog="benchmark.py", description="Time figs_spark, its rivals and the floors below them."
    )
    parser.add_argument("--preset", choices=PRESETS, default="standard", help="(%(default)s)")
    parser.add_argument(
        "--rows", type=int, help="of the largest table, the others in proportion; default: preset"
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        help="with Parquet tables, outcome last, for the preset ensembles: recidivism.parquet and "
        "readmission.parquet; default: generated tables of their size",
    )
    parser.add_argument("--seed", type=int, default=0, help="of the generated rows (%(default)s)")
    add_output(parser, "build/bench")
    options = parser.parse_args(arguments)
    if options.rows is not None and options.rows < 1:
        parser.error(f"--rows {options.rows} is not a positive number")
    names = [case.real for case in PRESETS[options.preset].cases if case.real]
    if options.data:
        if not names:
            parser.error(f"--data: preset {options.preset} has generated tables only")
        lacking = [name for name in names if not (options.data / f"{name}.parquet").is_file()]
        if lacking:
            parser.error(f"--data: {options.data} has no {lacking[0]}.parquet")
    options.output = options.output.resolve()
    return options


def start(heap: str) -> SparkSession:
    """A session with this heap; under spark-submit the heap is what --driver-memory says."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_CONF_DIR", str(CONF))
    builder = SparkSession.builder.appName("figs_spark benchmark")
    return builder.config("spark.driver.memory", heap).getOrCreate()


def run(spark: SparkSession, options: argparse.Namespace) -> Report:
    preset = PRESETS[options.preset]
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
    spark: SparkSession, preset: Preset, folder: Path, seed: int, given: Path | None
) -> tuple[list[Curve], list[CaseResult]]:
    """Growth comes first, while the Python workers hold nothing that other contenders left."""
    tables = {}
    for (kind, features), (least, most) in preset.tables().items():
        if given:
            source = given / f"{preset.real(kind, features)}.parquet"
            tables[kind, features] = copied(source, folder / "data", kind)
        else:
            made = prepare(folder / "data", kind, most, least, features, seed)
            tables[kind, features] = made
    curves = []
    if preset.growth:
        data = tables[FRIEDMAN, preset.growth.middle.features]
        warm_up(spark, preset.growth.contenders, data)
        curves = measure_growth(spark, preset.growth, data)
    for key, data in tables.items():
        warm_up(spark, preset.contenders(*key), data)
    results = [
        measure_case(
            spark, case, tables[case.kind, case.features].part(case.rows), folder / "blocks"
        )
        for case in preset.cases
    ]
    return curves, results


if __name__ == "__main__":
    sys.exit(main())
