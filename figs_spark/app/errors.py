"""How a job refuses: a message for a person, and an exit code for a scheduler."""

from __future__ import annotations

DONE = 0
UNEXPECTED = 1  # a fault of the job or of the cluster: the traceback is shown
WRONG_USAGE = 2  # the command line or the configuration
UNFIT_INPUT = 3  # a table or a model that is missing, unreadable, or not what is needed
OUTPUT_EXISTS = 4  # and --overwrite was not given

EXIT_CODES = """exit codes:
  0  done
  1  unexpected failure; the traceback is shown
  2  wrong command line or configuration
  3  unfit input: a table or model that is missing, unreadable, or lacks what is needed
  4  the output exists, and --overwrite was not given"""


class JobError(Exception):
    """Ends a job with a message and this exit code."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
