"""Data that several modules of tests read, made once."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.jobs import call


@pytest.fixture(scope="session")
def registry(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A generated registry of 8,000 patients, as Parquet."""
    path = tmp_path_factory.mktemp("jobs") / "registry"
    assert call("make-registry", "--rows", 8_000, "--partitions", 2, "--output", path) == 0
    return path


@pytest.fixture(scope="session")
def trained(registry: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of few splits by the train job, with an operating point."""
    path = tmp_path_factory.mktemp("jobs") / "trained"
    options = ["--split.fractions", 0.6, 0.2, 0.2, "--split.group", "patient_id"]
    options += ["--exclude", "site", "age_group", "--reference", "true_risk"]
    options += ["--model.maxSplits", 5, "--operatingPoint.sensitivity", 0.9]
    assert (
        call("train", "--input", registry, "--label", "intervention", *options, "--output", path)
        == 0
    )
    return path
