"""The processes of a standalone cluster, read from /proc: executors and their Python workers.

They are known by the folder that they work in. A Python worker whose parent was killed goes on, and
no longer has an ancestor in the cluster.
"""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from random import Random

EXECUTOR, PYTHON = "CoarseGrainedExecutorBackend", "pyspark.daemon"


def running(folder: Path, kind: str) -> list[int]:
    """The processes of a kind that work in a folder of the cluster."""
    pids = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            inside = entry.name.isdigit() and (entry / "cwd").readlink().is_relative_to(folder)
            if inside and kind in (entry / "cmdline").read_text():
                pids.append(int(entry.name))
    return pids


def kill_one(random: Random, folder: Path, kind: str) -> bool:
    """Kill one of the processes, as the kernel does if memory runs out; False if there is none."""
    every = running(folder, kind)
    if not every:
        return False
    try:
        os.kill(random.choice(every), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
