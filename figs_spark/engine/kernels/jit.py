"""numba, where it is installed: compiled once per machine, with a cache that always has a place."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable
from typing import TypeVar

Function = TypeVar("Function", bound=Callable[..., object])

log = logging.getLogger("figs_spark")

try:
    import numba
except ImportError:  # an executor without numba
    numba = None


def available() -> bool:
    """Whether compiled kernels are used; FIGS_SPARK_NUMBA=0 turns them off."""
    if os.environ.get("FIGS_SPARK_NUMBA", "1") == "0":
        return False
    if numba is None:
        _warn_once()
    return numba is not None


def compiled(function: Function) -> Function:
    """`function` compiled on first use; without numba the function itself."""
    if numba is None:
        return function
    options = {"nogil": True, "cache": True, "error_model": "numpy"}
    try:
        return numba.njit(**options)(function)
    except RuntimeError:  # read-only installation, zip file, no home directory
        numba.config.CACHE_DIR = os.path.join(tempfile.gettempdir(), "figs_spark_numba")
        return numba.njit(**options)(function)


_warned = False


def _warn_once() -> None:
    global _warned
    if not _warned:
        log.warning("numba is not installed: the NumPy kernel is used, several times slower.")
        _warned = True
