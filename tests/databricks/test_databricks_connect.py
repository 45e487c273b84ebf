"""figs_spark as a client of Databricks has it: by databricks-connect, in an environment of its own.

`make databricks-test` makes the environments and names them in FIGS_SPARK_CLIENTS. Each talks to a
Spark Connect server of open-source Spark on the loopback, and grows the trees of classic Spark. An
environment without databricks-connect has another PySpark, as pip resolved it, and runs it here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.databricks.client import CHECKS, fits, rows, trees
from tests.databricks.clients import CLIENTS, WITH_CLIENTS
from tests.support.connect_server import connect_server
from tests.support.nearly import about

ROOT = Path(__file__).parents[2]
SECONDS = 900
NOT_FOR_CLIENTS = ("SPARK_HOME", "SPARK_REMOTE", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")

pytestmark = WITH_CLIENTS


@pytest.fixture(scope="module", params=CLIENTS, ids=lambda path: Path(path).name)
def client(request: pytest.FixtureRequest) -> str:
    """The Python of a client."""
    return f"{request.param}/bin/python"


@pytest.fixture(scope="module")
def remote(client: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server whose Python workers have the minor version of the client, as Spark demands; for
    classic Spark the master."""
    if not has_connect(client):
        yield "local[2]"
        return
    workers = sys.executable if minor_version(client) == minor_version(sys.executable) else client
    with connect_server(tmp_path_factory.mktemp("server"), workers) as address:
        yield address


def has_connect(python: str) -> bool:
    show = "from importlib.metadata import version; version('databricks-connect')"
    return subprocess.run([python, "-c", show], capture_output=True).returncode == 0


def minor_version(python: str) -> str:
    show = "import sys; print(*sys.version_info[:2])"
    return subprocess.run([python, "-c", show], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def report(client: str, remote: str, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a client wrote, once all its checks held."""
    path = tmp_path_factory.mktemp("client") / "report.json"
    environment = {k: v for k, v in os.environ.items() if k not in NOT_FOR_CLIENTS}
    run = subprocess.run(
        [client, "tests/databricks/client.py", remote, str(path)],
        cwd=ROOT,
        env=environment | {"PYTHONPATH": str(ROOT), "PYSPARK_PYTHON": client},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert run.returncode == 0, run.stderr[-4_000:]
    return json.loads(path.read_text(encoding="utf-8"))


def test_all_checks_held(report: Any) -> None:
    assert report["checks"] == [check.__name__ for check in CHECKS]


def test_the_trees_are_those_of_classic_spark(spark: SparkSession, report: Any) -> None:
    expected = {name: trees(model) for name, model in fits(rows(spark)).items()}
    assert report["trees"] == about(json.loads(json.dumps(expected)))
