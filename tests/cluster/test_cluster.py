"""The jobs on a real cluster: shipped as docs/clusters.md says, and a machine lost on the way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from figs_spark import FIGSRegressionModel, FIGSRegressor
from figs_spark.app.cli import run
from tests.support.nearly import about
from tests.support.shipping import PYTHON, ROOT, environment, package
from tests.support.small import assert_same_model
from tests.support.standalone import Standalone, standalone

pytestmark = [pytest.mark.cluster, pytest.mark.slow]
SUBMIT = str(Path(sys.executable).with_name("spark-submit"))
SECONDS = 600  # a busy machine is no failure
ROWS, SPLITS = 10_000, 12


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options of spark-submit that send package and environment."""
    folder = tmp_path_factory.mktemp("ship")
    archive = f"{environment(folder)}#environment"
    return ["--py-files", str(package(folder)), "--archives", archive]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("cluster") / "spark") as running:
        yield running


@pytest.fixture(scope="module")
def data(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "registry"
    local("make-registry", "--rows", str(ROWS), "--partitions", "4", "--output", str(path))
    return path


@pytest.fixture(scope="module")
def expected(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The model of a run on one machine, in the driver's memory."""
    path = tmp_path_factory.mktemp("local") / "model"
    local("train", *training(data), "--model.mode", "driver", "--output", str(path))
    return path


def training(data: Path) -> list[str]:
    options = ["--input", str(data), "--label", "intervention", "--split.group", "patient_id"]
    options += ["--exclude", "site", "age_group", "true_risk"]
    return [*options, "--model.maxSplits", str(SPLITS)]


def submit(cluster: Standalone, shipped: list[str], job: str, *arguments: str) -> Any:
    """A job, or a script of another folder, by spark-submit, in a process group of its own."""
    options = ["--master", cluster.url, "--driver-memory", "1g", "--executor-memory", "700m"]
    options += ["--conf", "spark.driver.host=127.0.0.1", *shipped]
    dropped = ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET")
    kept = {k: v for k, v in os.environ.items() if k not in dropped}
    return subprocess.Popen(
        [SUBMIT, *options, str(ROOT / "jobs" / job), *arguments],
        env=kept | {"PYSPARK_DRIVER_PYTHON": sys.executable, "PYSPARK_PYTHON": PYTHON},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def finish(process: Any) -> str:
    """What it printed; its process group is gone in any case."""
    try:
        output, _ = process.communicate(timeout=SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, output
    return str(output)


def local(job: str, *arguments: str) -> None:
    """A job on the session of the tests."""
    assert run(job, arguments, job) == 0


def trees(folder: Path) -> Any:
    """The saved trees: the structure, and numbers up to the order in which they were added."""
    (part,) = [p for p in (folder / "model/model").glob("part-*") if p.stat().st_size]
    return json.loads(part.read_text())["treeSum"]


def test_scores_are_those_of_one_machine_and_need_no_python_on_the_workers(
    cluster: Standalone, data: Path, expected: Path, tmp_path: Path
) -> None:
    scoring = ["--input", str(data), "--model", str(expected), "--rulesCol", "rules"]
    finish(submit(cluster, [], "score.py", *scoring, "--output", str(tmp_path / "far")))
    local("score", *scoring, "--output", str(tmp_path / "near"))
    far, near = (pq.read_table(tmp_path / name).sort_by("patient_id") for name in ("far", "near"))
    assert far.equals(near)
    assert far.num_rows == ROWS


FIT = """
import logging, sys
from pyspark.sql import SparkSession
from figs_spark import FIGSRegressor

logging.basicConfig(level=logging.INFO)
frame = SparkSession.builder.getOrCreate().read.parquet(sys.argv[1])
FIGSRegressor(featuresCols=["a", "b"], maxSplits=4, mode="cluster").fit(frame).save(sys.argv[2])
"""


def test_workers_on_other_machines_read_files_on_a_path_that_they_see(
    spark: SparkSession, cluster: Standalone, shipped: list[str], tmp_path: Path
) -> None:
    random, script, rows = np.random.default_rng(0), tmp_path / "fit.py", tmp_path / "rows"
    script.write_text(FIT)
    rows.mkdir()
    for k in range(4):
        a, b = random.normal(size=(2, 1000))
        label = 2.0 * (a > 0.3) * (b < 1) + random.normal(0, 0.1, 1000)
        pq.write_table(pa.table({"a": a, "b": b, "label": label}), rows / f"{k}.parquet")
    arguments = [str(rows), str(tmp_path / "model")]
    told = finish(submit(cluster, shipped, str(script), *arguments))
    assert "Python workers read the columns of 4 Parquet files themselves" in told
    regressor = FIGSRegressor(featuresCols=["a", "b"], maxSplits=4, mode="driver")
    near = regressor.fit(spark.read.parquet(str(rows)))
    assert near.numSplits == 4
    assert_same_model(FIGSRegressionModel.load(arguments[1]).treeSum, near.treeSum)


def test_a_model_is_that_of_one_machine_though_a_worker_is_lost(
    cluster: Standalone, shipped: list[str], data: Path, expected: Path, tmp_path: Path
) -> None:
    arguments = [*training(data), "--model.mode", "cluster", "--model.verbose", "true"]
    process = submit(cluster, shipped, "train.py", *arguments, "--output", str(tmp_path / "model"))
    try:
        before = until_split(process, 3)
        cluster.kill("worker0")
    finally:
        after = finish(process)
    assert "Lost executor" in after, before + after
    assert splits(after)[0] < SPLITS - 3, "the worker was lost too late to matter"
    assert trees(tmp_path / "model") == about(trees(expected))


def until_split(process: Any, number: int) -> str:
    """Read what the job prints until its progress bar is at this split."""
    seen, deadline = "", time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        character = process.stdout.read(1)
        assert character, f"the job ended before split {number}:\n{seen}"
        seen += character
        if character == "[" and max(splits(seen), default=0) >= number:
            return seen
    raise TimeoutError(seen)


def splits(text: str) -> list[int]:
    """The splits that a progress bar shows, in order: '| 7/30 ['."""
    return [int(found) for found in re.findall(rf"\| (\d+)/{SPLITS} \[", text)]
