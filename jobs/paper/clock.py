"""Processor time of all that belongs to a run: this process, the JVM and Python workers."""

from __future__ import annotations

import os
import time
from pathlib import Path

PROCESSES = Path("/proc")


def processor_seconds() -> float:
    """Of the group of processes that this one is in; of this process alone if there is no /proc.

    It grows by what a cell costs, however often the run was paused and whatever else was running.
    """
    if not PROCESSES.is_dir():
        return time.process_time()
    own = os.getpgrp()
    ticks = 0
    for folder in PROCESSES.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            fields = (folder / "stat").read_text("utf-8", "replace").rsplit(")", 1)[1].split()
        except OSError:  # it has ended
            continue
        if int(fields[2]) == own:
            ticks += sum(int(field) for field in fields[11:15])  # with children that have ended
    return ticks / os.sysconf("SC_CLK_TCK")
