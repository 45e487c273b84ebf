"""Make a trauma registry of any size; the executors generate it. A seed gives the same rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from figs_spark.app.config import Settings, key
from figs_spark.app.outputs import appearing, check_output, check_output_here
from figs_spark.app.sources import require
from figs_spark.datasets import trauma_registry


@dataclass(frozen=True)
class MakeRegistry:
    """Generate a trauma registry whose true risk is known, as Parquet."""

    rows: int = key(100_000, "number of patients", low=1)
    seed: int = key(0, "seed; another seed gives other patients")
    partitions: int | None = key(None, "files to write; default: one per core", low=1)
    withRisk: bool = key(True, "add the column true_risk; it is not a feature")
    output: str | None = key(None, "folder for the Parquet files")


SETTINGS = MakeRegistry


def check(settings: Settings[Any]) -> None:
    require(settings, "output", "a path to write to")
    check_output_here(settings)


def run(spark: SparkSession, settings: Settings[MakeRegistry]) -> None:
    values = settings.job
    path = check_output(spark, settings)
    registry = trauma_registry(
        spark, values.rows, values.seed, values.partitions, with_risk=values.withRisk
    )
    if settings.dry_run:
        print(f"Nothing was written (--dry-run). {values.rows:,} rows would go to {path}:")
        for field in registry.schema.fields:
            print(f"  {field.name} ({field.dataType.simpleString()})")
        return
    with appearing(spark, settings) as folder:
        folder.table(registry)
    print(f"{values.rows:,} rows in {path}")
