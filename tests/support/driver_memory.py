"""How much the memory of the driver grows in a fit, in a process of its own: memory that was once
taken is seldom given back. `python -m tests.support.driver_memory features splits classes`.

A fourth argument divides all budgets, so that few features show what many would do.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from figs_spark.engine import backends, candidates
from figs_spark.engine.backends import DriverBackend
from figs_spark.engine.bins import Bins, FeatureBins
from figs_spark.engine.blocks import Block
from figs_spark.engine.grower import Growth, GrowthRules, grow
from figs_spark.engine.histograms import Layout
from figs_spark.engine.table import Target
from figs_spark.engine.weights import OwnWeights
from figs_spark.treesum import Feature

ROWS, BLOCK_ROWS, BINS = 2_000, 500, 255
BUDGETS = (
    (backends, "PASS_BYTES"),
    (candidates, "PASS_BYTES"),
    (candidates, "HISTOGRAM_BYTES"),
    (candidates, "OVERLAP_BYTES"),
)


def grown(features: int, splits: int, classes: int, seed: int = 0) -> Growth:
    """A model of random codes: the target depends on five features, and on chance."""
    random = np.random.default_rng(seed)
    codes = random.integers(0, BINS, (ROWS, features), dtype=np.uint8)
    y = (codes[:, :5] > [20, 60, 120, 180, 240]).sum(axis=1) + random.normal(size=ROWS)
    if classes:
        ranks = np.argsort(np.argsort(y))
        y = (ranks * classes // ROWS).astype(np.float64)
    target = Target(classes, 0.0 if classes else float(y.mean()))
    stored = target.store(y)
    blocks = [
        Block(first, codes[first : first + BLOCK_ROWS], stored[first : first + BLOCK_ROWS])
        for first in range(0, ROWS, BLOCK_ROWS)
    ]
    edges = FeatureBins(np.arange(BINS - 1) + 0.5, np.arange(BINS, dtype=np.float64))
    described = tuple(Feature(f"x{j}") for j in range(features))
    bins = Bins(described, (edges,) * features)
    layout = Layout(bins.widths, target.outputs, counted=False)
    growth = Growth(bins, layout, GrowthRules(max_splits=splits), target.centres)
    grow([growth], DriverBackend(blocks, layout, OwnWeights(target)))
    return growth


def peak() -> int:
    """The most bytes that this process has had so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(features: int, splits: int, classes: int, divisor: int = 1) -> None:
    for module, name in BUDGETS:
        setattr(module, name, getattr(module, name) // divisor)
    grown(10, 5, classes)  # what is compiled once
    before, started = peak(), time.perf_counter()
    growth = grown(features, splits, classes)
    report = {
        "growth": peak() - before,
        "estimate": growth.driver_bytes,
        "splits": growth.steps,
        "trees": len(growth.trees),
        "seconds": time.perf_counter() - started,
    }
    print(json.dumps(report))


def measured(*arguments: int) -> Any:
    """What `main` reports of a process of its own, where arrays that are let go leave no gaps."""
    run = subprocess.run(
        [sys.executable, "-m", "tests.support.driver_memory", *map(str, arguments)],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONPATH": ".", "MALLOC_MMAP_THRESHOLD_": str(1 << 18)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
