"""How a job fails: a message for a person, and an exit code for a scheduler."""

from __future__ import annotations

DONE = 0
UNEXPECTED = 1  # an error in the job or on the cluster; the traceback is shown
WRONG_USAGE = 2  # of the command line or the configuration
UNFIT_INPUT = 3  # a table or a model is missing, unreadable, or not what the job needs
OUTPUT_EXISTS = 4  # and --overwrite was not given

EXIT_CODES = """exit codes:
  0  done
  1  unexpected error; the traceback is shown
  2  error in the command line or the configuration
  3  the input does not fit: a table or a model is missing, unreadable or lacks something
  4  the output exists already, and --overwrite was not given"""


class JobError(Exception):
    """Ends a job with a message and this exit code."""

    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code
