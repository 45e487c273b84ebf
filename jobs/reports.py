"""The output folder of an experiment. A report is replaced only if --overwrite is given."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from figs_spark.app.errors import OUTPUT_EXISTS


def add_output(parser: argparse.ArgumentParser, folder: str) -> None:
    parser.add_argument(
        "--output",
        metavar="PATH",
        type=Path,
        default=Path(folder),
        help="folder for the report (%(default)s)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace the report if it exists")


def check_output(options: argparse.Namespace, name: str) -> None:
    """Before any work: exit with code 4 if the folder has a report of this name."""
    report = options.output / name
    if report.exists() and not options.overwrite:
        print(
            f"--output: '{report}' exists: choose another folder, or pass --overwrite.",
            file=sys.stderr,
        )
        raise SystemExit(OUTPUT_EXISTS)
