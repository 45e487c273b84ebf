"""A worker that lacks a module: the message names the module and PYSPARK_PYTHON."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from figs_spark.dataframes.workers import missing_module, modules_on_workers


@pytest.fixture
def here_only(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that the driver has and the workers have not: its functions travel by name."""
    module = ModuleType("only_on_the_driver")
    exec("def same(batches):\n    yield from batches", module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_the_missing_module_is_named(spark: SparkSession, here_only: ModuleType) -> None:
    frame = spark.range(3).mapInArrow(here_only.same, "id long")
    message = r"no module 'only_on_the_driver'.*PYSPARK_PYTHON"
    with pytest.raises(RuntimeError, match=message), modules_on_workers():
        frame.collect()


def test_other_errors_pass(spark: SparkSession) -> None:
    with pytest.raises(PySparkException, match="nowhere"), modules_on_workers():
        spark.sql("select nowhere").collect()
    assert missing_module(ModuleNotFoundError("No module named 'x'")) is None
