"""Packed rows in `workDir`: on any file system, after errors and interrupts, nothing stays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from figs_spark import FIGSRegressor
from figs_spark.engine import storage

FAR = "viewfs://hospital/work"  # a file system that Python does not see, backed by a local folder


@pytest.fixture
def far_folder(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """The folder that lies behind FAR."""
    name = "fs.viewfs.mounttable.hospital.link./work"
    spark.conf.set(name, f"file://{tmp_path}")
    yield tmp_path
    spark.conf.unset(name)


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return spark.range(400).selectExpr("double(id % 7) x", "double(pow(id % 7, 2)) label")


def regressor(work_dir: str) -> FIGSRegressor:
    return FIGSRegressor(featuresCols=["x"], maxSplits=2, mode="cluster", workDir=work_dir)


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "{}/"])
def test_a_local_work_dir_is_empty_after_a_fit(data: DataFrame, form: str, tmp_path: Path) -> None:
    model = regressor(form.format(tmp_path)).fit(data)
    assert model.numSplits == 2
    assert os.listdir(tmp_path) == []


def test_a_work_dir_that_only_spark_reaches_is_empty_after_a_fit(
    spark: SparkSession, data: DataFrame, far_folder: Path
) -> None:
    before = {row[0] for row in spark.sql("show databases").collect()}
    with storage.stored(_records(spark), FAR) as kept:
        assert kept.count() == 1
        assert len(os.listdir(far_folder)) == 1
    assert os.listdir(far_folder) == []
    assert regressor(FAR).fit(data).numSplits == 2
    assert os.listdir(far_folder) == []
    assert {row[0] for row in spark.sql("show databases").collect()} == before


@pytest.mark.parametrize("stop", [KeyboardInterrupt, RuntimeError])
def test_nothing_stays_when_a_fit_is_interrupted(
    spark: SparkSession, far_folder: Path, stop: type[BaseException]
) -> None:
    with pytest.raises(stop), storage.stored(_records(spark), FAR):
        raise stop
    assert os.listdir(far_folder) == []


def test_a_work_dir_that_cannot_be_written_is_named(data: DataFrame, tmp_path: Path) -> None:
    file = tmp_path / "taken"
    file.write_text("a file, not a directory")
    with pytest.raises(ValueError, match=f"workDir '{file}' cannot be written to: .+ Name a dir"):
        regressor(str(file)).fit(data)
    assert os.listdir(tmp_path) == ["taken"]


def test_what_cannot_be_deleted_is_logged_with_its_path(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog
) -> None:
    monkeypatch.setattr(storage, "PAUSE", 0)
    monkeypatch.setattr(storage, "_remove_once", lambda spark, path: None)
    with storage.stored(_records(spark), str(tmp_path)):
        (folder,) = os.listdir(tmp_path)
    assert f"'{tmp_path}/{folder}' could not be deleted" in caplog.text


def _records(spark: SparkSession) -> DataFrame:
    columns = [part.split()[0] for part in storage.SCHEMA.split(", ")]
    kinds = dict(part.split() for part in storage.SCHEMA.split(", "))
    return spark.range(1).selectExpr(*(f"cast(null as {kinds[name]}) {name}" for name in columns))
