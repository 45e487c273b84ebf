"""The processes of a standalone cluster, read from /proc: executors and their Python workers."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path
from random import Random

EXECUTOR, PYTHON = "CoarseGrainedExecutorBackend", "pyspark.daemon"


def running(ancestor: int, kind: str) -> list[int]:
    """The processes of a kind that another one started, itself or by others."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError, IndexError, ValueError):
                status = (entry / "stat").read_text().rpartition(")")[2].split()
                if status[0] != "Z":
                    parents[int(entry.name)] = int(status[1])
                    commands[int(entry.name)] = (entry / "cmdline").read_text()
    return [
        pid for pid, text in commands.items() if kind in text and _under(pid, ancestor, parents)
    ]


def _under(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents:
        pid = parents[pid]
        if pid == ancestor:
            return True
    return False


def kill_one(random: Random, ancestors: list[int], kind: str) -> bool:
    """Kill one of the processes, as the kernel does if memory runs out; False if there is none."""
    every = [pid for ancestor in ancestors for pid in running(ancestor, kind)]
    if not every:
        return False
    try:
        os.kill(random.choice(every), signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True
