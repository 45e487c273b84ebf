"""Packed rows in `workDir`: on any file system, after errors and interrupts, nothing stays."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from figs_spark import FIGSRegressor
from figs_spark.dataframes.compat import to_arrow
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


def test_nothing_stays_of_a_write_that_is_interrupted(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one, which tries whether the folder can be written to."""
    write = DataFrameWriter.parquet

    def interrupted(self: DataFrameWriter, path: str) -> None:
        write(self, path)
        raise KeyboardInterrupt

    monkeypatch.setattr(DataFrameWriter, "parquet", interrupted)
    with pytest.raises(KeyboardInterrupt), storage.stored(_records(spark), str(tmp_path)):
        raise AssertionError("nothing was written")
    assert os.listdir(tmp_path) == []


def test_what_a_stopped_task_still_writes_is_removed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove = storage._remove_once
    late = iter([True, False])

    def removed(session: SparkSession, path: str) -> None:
        remove(session, path)
        if next(late):  # a task that was on its way
            threading.Timer(0.2, os.makedirs, [f"{path}/_temporary"]).start()

    monkeypatch.setattr(storage, "_remove_once", removed)
    with pytest.raises(KeyboardInterrupt), storage.stored(_records(spark), str(tmp_path)):
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


def test_an_interrupt_is_not_lost_in_the_error_of_the_cancelled_job() -> None:
    """PySpark asks for the result of a job in a `finally`, and a cancelled one has none."""

    class Interrupted:
        def toArrow(self) -> None:
            try:
                raise KeyboardInterrupt
            finally:
                raise RuntimeError("the job was cancelled")

    with pytest.raises(KeyboardInterrupt):
        to_arrow(Interrupted())  # type: ignore[arg-type]


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
