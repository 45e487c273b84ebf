"""The command `figs-spark` as the task of a Databricks job.

Databricks calls an entry point as a function and ignores what it returns. So a failed job would
count as done; and a SystemExit with code 0 may count as failed. This entry point therefore returns
nothing if the job is done, and exits if not.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from figs_spark.app import cli


def main(arguments: Sequence[str] | None = None) -> None:
    """`figs-spark-task JOB ...`; exits only if the job was not done."""
    code = cli.main(arguments)
    if code:
        sys.exit(code)
