"""The command `figs-spark`, and what every job needs: settings, a Spark session, an exit code.

figs-spark train --config conf/train.yaml --model.maxSplits 8 --overwrite
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from figs_spark.app.errors import DONE, EXIT_CODES, UNEXPECTED, JobError

JOBS = {
    "make-registry": "generate a trauma registry whose true risk is known",
    "inspect": "look at a table: its columns, and what training would do with them",
    "train": "fit a model to a table, print it, evaluate it on held-out rows, save it",
    "score": "add a model's predictions to a table, once or as a stream",
    "evaluate": "measure how good scores are, overall and by group of patients",
    "export": "write a model as SQL, PMML, ONNX or Python, run on test vectors first",
    "report": "write a model as one page: calculator, evaluation and checklist",
}

log = logging.getLogger("figs_spark")


def main(arguments: Sequence[str] | None = None) -> int:
    """`figs-spark JOB ...`; returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    jobs = "\n".join(f"  {name:<15} {text}" for name, text in JOBS.items())
    parser = argparse.ArgumentParser(
        prog="figs-spark",
        description=f"Interpretable sums of trees on Spark.\n\njobs:\n{jobs}",
        epilog="`figs-spark JOB --help` lists the settings of a job.\n\n" + EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("job", choices=JOBS, metavar="JOB")
    name = parser.parse_args(arguments[:1]).job
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return run(name, arguments[1:], f"figs-spark {name}")


def run(name: str, arguments: Sequence[str], prog: str) -> int:
    """Run a job; a JobError becomes a message on stderr, without a traceback."""
    from figs_spark.app.options import read_settings

    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    log.setLevel(logging.INFO)
    job = import_module(f"figs_spark.app.{name.replace('-', '_')}")
    try:
        settings = read_settings(job.SETTINGS, prog, arguments)
        job.check(settings)
        with _session(name) as spark:
            job.run(spark, settings)
    except JobError as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return error.exit_code
    except Exception:
        log.exception("%s failed", prog)
        return UNEXPECTED
    return DONE


@contextmanager
def _session(name: str) -> Iterator[Any]:
    """A Spark session; if one is active already (Databricks, a notebook), it is left running."""
    from pyspark.sql import SparkSession

    before = SparkSession.getActiveSession()
    spark = before or SparkSession.builder.appName(f"figs_spark {name}").getOrCreate()
    try:
        yield spark
    finally:
        if before is None:
            spark.stop()


if __name__ == "__main__":
    sys.exit(main())
