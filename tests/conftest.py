"""The Spark session that the tests share; the tier of each test; the order of all.

Nothing starts before a test asks for `spark`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.order import ByFile, rank

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parents[1] / "conf"))
# For every virtual machine that a test starts: a short run repays neither the optimising compiler
# nor a garbage collector with threads of its own.
os.environ.setdefault("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")

# On a few hundred rows it takes longer to compile a plan than to run it. What runs in a process of
# its own (jobs, notebooks, Connect, the cluster) compiles, and so does what asks for `compiled`.
INTERPRETED: dict[str, Any] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that have no tier yet, and put them in order."""
    for item in items:
        if not any(item.get_closest_marker(tier) for tier in ("spark", "connect", "cluster")):
            starts = "spark" in getattr(item, "fixturenames", ()) or item.get_closest_marker("slow")
            item.add_marker("spark" if starts else "unit")
    items.sort(key=rank)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """How many exported models were run in which engine."""
    reports = terminalreporter.stats.get("passed", [])
    said = [
        text for report in reports for name, text in report.user_properties if name == "exports"
    ]
    if said:
        terminalreporter.section("exported models that were run and compared")
        terminalreporter.write_line("\n".join(sorted(said)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFile | None:
    return ByFile(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A classic session with two cores."""
    session = (
        SparkSession.builder.master("local[2]")
        .appName("figs_spark tests")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config(map=INTERPRETED)
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture
def compiled(spark: SparkSession) -> Iterator[None]:
    """Plans run as they do by default."""
    defaults = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}
    for name, value in defaults.items():
        spark.conf.set(name, value)
    yield
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
