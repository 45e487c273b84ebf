"""The Spark session that the tests share. Nothing starts before a test asks for `spark`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parents[1] / "conf"))

# On a few hundred rows it takes longer to compile a plan than to run it. What runs in a process of
# its own (jobs, notebooks, Connect, the cluster) compiles, and so does what asks for `compiled`.
INTERPRETED: dict[str, Any] = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A classic session with two cores."""
    session = (
        SparkSession.builder.master("local[2]")
        .appName("figs_spark tests")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1")  # short runs
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
