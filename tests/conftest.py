"""The Spark session that the tests share. Nothing starts before a test asks for `spark`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
os.environ.setdefault("SPARK_CONF_DIR", str(Path(__file__).parents[1] / "conf"))


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
        .getOrCreate()
    )
    yield session
    session.stop()
