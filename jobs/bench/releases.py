"""figs_spark as it was at an earlier release, on the same files, in a process of its own.

    contender -> a checkout of the old package -> a process with a session of its own
              <- the seconds of its fit, its peaks of memory, its model

The old package is taken from the history of this repository, so that nothing of it is kept here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import time
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from jobs.bench.memory import PeakMemory

ROOT = Path(__file__).resolve().parents[2]
COMMITS = {"0.1.0": "b7a7ac9f6d8887771d0390eade1d128612315de6"}  # the last one of each release
GATEWAY = ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")  # of the session of spark-submit


@dataclass(frozen=True)
class Order:
    """What the other process fits."""

    files: tuple[str, ...]
    warming: tuple[str, ...]  # the files of a fit that is not timed
    features: tuple[str, ...]
    label: str
    splits: int
    bins: int
    heap: str
    model: str  # where to save it


@dataclass(frozen=True)
class Elsewhere:
    """What a fit in another process took."""

    model: str
    seconds: float
    peaks: dict[str, float]


def obstacle(release: str) -> str:
    """Why the release cannot be had; empty if it can."""
    found = _git("cat-file", "-e", f"{COMMITS[release]}^{{commit}}")
    return "" if found.returncode == 0 else f"skipped: {release} is not in the history here"


def fit_with(release: str, order: Order, folder: Path) -> Elsewhere:
    """Fit in cluster mode with the package of a release; `folder` has its code."""
    code = _checked_out(release, folder)
    path = os.pathsep.join([str(code), str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {k: v for k, v in os.environ.items() if k not in GATEWAY}
    run = subprocess.run(
        [sys.executable, "-m", "jobs.bench.releases"],
        input=json.dumps(asdict(order)),
        cwd=code,
        env={**environment, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable},
        capture_output=True,
        text=True,
    )
    if run.returncode:
        raise RuntimeError(f"{release} failed: {(run.stderr.strip().splitlines() or ['?'])[-1]}")
    return Elsewhere(**json.loads(run.stdout.strip().splitlines()[-1]))


def _checked_out(release: str, folder: Path) -> Path:
    code = folder / f"figs_spark-{release}"
    if not code.exists():
        archive = _git("archive", COMMITS[release], "figs_spark")
        unfinished = code.with_suffix(".unfinished")
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as tar:
            tar.extractall(unfinished, filter="data")
        unfinished.rename(code)
    return code


def _git(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True)
    except FileNotFoundError:
        return subprocess.CompletedProcess(arguments, returncode=1)


def main() -> None:
    """In the other process: fit some of the rows, then all of them, and say what that took."""
    order = Order(**json.loads(sys.stdin.read()))
    builder = SparkSession.builder.appName("an earlier release")
    spark = builder.config("spark.driver.memory", order.heap).getOrCreate()
    try:
        _fit(spark, order, order.warming, splits=2)
        with PeakMemory() as memory:
            start = time.perf_counter()
            model = _fit(spark, order, order.files, order.splits)
            seconds = time.perf_counter() - start
        model.write().overwrite().save(order.model)
    finally:
        spark.stop()
    print(json.dumps(asdict(Elsewhere(order.model, seconds, memory.peaks))))


def _fit(spark: SparkSession, order: Order, files: tuple[str, ...], splits: int) -> Any:
    from figs_spark import FIGSRegressor

    estimator = FIGSRegressor(
        featuresCols=list(order.features),
        labelCol=order.label,
        maxSplits=splits,
        maxBins=order.bins,
        mode="cluster",
    )
    frame = spark.read.parquet(*files).selectExpr(*order.features, order.label)
    return estimator.fit(frame)


if __name__ == "__main__":
    main()
