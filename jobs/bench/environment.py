"""The machine and the versions of a run."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

PACKAGES = (
    "figs_spark", "pyspark", "numpy", "numba", "pyarrow", "xgboost", "scikit-learn", "imodels",
)  # fmt: skip


def versions(spark: SparkSession) -> dict[str, str]:
    runtimes = {
        "python": platform.python_version(),
        "java": jvm(spark).System.getProperty("java.version"),
    }
    return runtimes | {package: installed(package) for package in PACKAGES}


def jvm(spark: SparkSession) -> Any:
    return spark.sparkContext._jvm


def installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def machine(spark: SparkSession) -> dict[str, str | int | float]:
    return {
        "cpu": cpu(),
        "cores": os.cpu_count() or 1,
        "tasks at once": spark.sparkContext.defaultParallelism,
        "memory GB": round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1),
        "driver heap GB": round(heap_bytes(spark) / 2**30, 1),
        "system": platform.platform(),
    }


def heap_bytes(spark: SparkSession) -> int:
    return int(jvm(spark).Runtime.getRuntime().maxMemory())


def heap(spark: SparkSession) -> str:
    """The heap of this session, as Spark's settings say it."""
    return f"{heap_bytes(spark) >> 20}m"


def cpu() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def load() -> list[float]:
    """Running processes over the last 1, 5 and 15 minutes."""
    return [round(value, 2) for value in os.getloadavg()]


def job_count(spark: SparkSession) -> int:
    """The Spark jobs so far: they are numbered from 0. Those of a group are not seen."""
    return 1 + max(spark.sparkContext.statusTracker().getJobIdsForGroup(), default=-1)
