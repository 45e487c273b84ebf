"""Says what to do if the Python of Spark's workers lacks a module."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

MISSING = (
    re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'"),
    re.compile(r"PACKAGE_NOT_INSTALLED\] (\w+)"),
    re.compile(r"ImportError: (PyArrow|Pandas|NumPy)\b.* must be installed", re.IGNORECASE),
)
SPARK = ("pyspark", "py4j")  # errors that Spark reports, of a worker or of Java


@contextmanager
def modules_on_workers() -> Iterator[None]:
    """Turn an error of a worker that lacks a module into one that names the module and the Python;
    any other error passes."""
    try:
        yield
    except Exception as error:
        module = missing_module(error)
        if module is None:
            raise
        python = os.environ.get("PYSPARK_PYTHON", "python3")
        raise RuntimeError(
            f"The Python of Spark's workers has no module '{module}'. Workers run {python!r} "
            f"(PYSPARK_PYTHON). Install figs_spark with its dependencies there, or set "
            f"PYSPARK_PYTHON to a Python that has them before Spark starts."
        ) from error


def missing_module(error: Exception) -> str | None:
    """The module that a worker could not import; None if the error is another one."""
    if type(error).__module__.partition(".")[0] not in SPARK:
        return None
    matches = [match for pattern in MISSING if (match := pattern.search(str(error)))]
    return matches[0][1] if matches else None
