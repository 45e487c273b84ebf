"""The stages on Spark Connect: see connect_checks.py, which runs in a process of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.connect_checks import CHECKS, as_json, fit, training_data
from tests.support.nearly import about

pytestmark = [pytest.mark.connect, pytest.mark.slow]
ROOT = Path(__file__).parents[2]
SECONDS = 600


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What the script found. It and the server it starts are one group, which ends here."""
    path = tmp_path_factory.mktemp("connect") / "report.json"
    kept = {
        k: v for k, v in os.environ.items() if k not in ("SPARK_REMOTE", "PYSPARK_GATEWAY_PORT")
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.connect_checks", str(path)],
        cwd=ROOT,
        env=kept | {"SPARK_TESTING": "1"},  # the server takes a free port
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=SECONDS)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, output
    return json.loads(path.read_text())


@pytest.mark.parametrize("name", [check.__name__ for check in CHECKS])
def test_it_holds_on_connect(report: Any, name: str) -> None:
    assert not report["failures"][name], report["failures"][name]


def test_the_trees_are_those_of_classic_spark(spark: SparkSession, report: Any) -> None:
    expected = as_json(fit(training_data(spark)))
    assert report["models"] == about(json.loads(json.dumps(expected)))
