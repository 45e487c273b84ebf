"""The command `figs-spark` as the task of a Databricks job.

Databricks calls an entry point as a function: what it returns is lost, so that a job that was
refused would count as done, and a SystemExit with 0 may count as failed. So: nothing, or an exit.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from figs_spark.app import cli


def main(arguments: Sequence[str] | None = None) -> None:
    """`figs-spark-task JOB ...`; exits where the job was not done, and only then."""
    code = cli.main(arguments)
    if code:
        sys.exit(code)
