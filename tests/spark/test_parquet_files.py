"""Which DataFrames are columns of Parquet files that workers read, and which files these are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark.dataframes.parquet_files import SPARK_ONLY, row_groups
from figs_spark.dataframes.row_groups import RowGroup
from tests.support.parquet_patients import ROWS, in_layouts, patients_table


@pytest.fixture(scope="module")
def patients() -> pa.Table:
    return patients_table()


@pytest.fixture(scope="module")
def folders(patients: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return in_layouts(patients, tmp_path_factory.mktemp("patients"))


PLAIN: dict[str, Callable[[DataFrame], DataFrame]] = {
    "as it is": lambda frame: frame,
    "other order": lambda frame: frame.select("risk", "w", "many", "few"),
    "under another name": lambda frame: frame.alias("visits").select("visits.*"),
}
NOT_PLAIN: dict[str, Callable[[DataFrame], DataFrame]] = {
    "filtered": lambda frame: frame.where("many > 0"),
    "not null": lambda frame: frame.dropna(),
    "renamed": lambda frame: frame.withColumnRenamed("w", "few2").withColumn("few", F.col("few2")),
    "exchanged": lambda frame: frame.select(
        F.col("many").alias("few"), F.col("few").alias("many"), "risk"
    ),
    "computed": lambda frame: frame.withColumn("many", F.col("many") + 1),
    "cast": lambda frame: frame.withColumn("count", F.col("count").cast("double")),
    "limited": lambda frame: frame.limit(10),
    "drawn": lambda frame: frame.sample(fraction=0.5, seed=1),
    "twice": lambda frame: frame.union(frame),
    "distinct": lambda frame: frame.drop("together").distinct(),
    "repeated": lambda frame: frame.withColumn("again", F.explode(F.array(F.lit(1), F.lit(2)))),
    "joined": lambda frame: frame.join(frame.select("many").limit(5), "many"),
    "moved": lambda frame: frame.repartition(3),
}
CHOSEN = ["few", "many", "risk"]


@pytest.mark.parametrize("name", PLAIN)
def test_columns_of_files(spark: SparkSession, folders: dict[str, str], name: str) -> None:
    frame = PLAIN[name](spark.read.parquet(folders["one large"]))
    groups = row_groups(frame, CHOSEN)
    assert groups is not None
    assert [group.rows for group in groups] == [10, 3690, 100, 200]


@pytest.mark.parametrize("name", NOT_PLAIN)
def test_more_than_columns_of_files(
    spark: SparkSession, folders: dict[str, str], name: str
) -> None:
    frame = NOT_PLAIN[name](spark.read.parquet(folders["one large"]))
    chosen = [*CHOSEN, "count"] if name == "cast" else CHOSEN
    assert row_groups(frame, chosen) is None


def test_a_cache_may_hold_other_rows_than_the_files(
    spark: SparkSession, folders: dict[str, str]
) -> None:
    frame = spark.read.parquet(folders["one file"]).cache()
    try:
        assert row_groups(frame, CHOSEN) is None
        assert frame.storageLevel.useMemory  # to ask lets go of nothing that the user keeps
    finally:
        frame.unpersist()
    assert row_groups(frame, CHOSEN) is not None


def with_stray_files(folder: Path, patients: pa.Table) -> Iterator[tuple[str, Path]]:
    """Files that Spark lists, and does not read."""
    for hidden in ("_metadata_old.parquet", "_common_metadata"):
        own = folder / hidden[:9]
        own.mkdir()
        for name in ("a.parquet", hidden):
            pq.write_table(patients, own / name)
        yield hidden, own
    own = folder / "above the folders of a partition"
    (own / "part=1").mkdir(parents=True)
    for name in ("part=1/a.parquet", "stray.parquet"):
        pq.write_table(patients, own / name)
    yield "stray", own


def test_files_that_spark_does_not_read(
    spark: SparkSession, patients: pa.Table, tmp_path: Path
) -> None:
    seen = []
    for name, folder in with_stray_files(tmp_path, patients):
        frame = spark.read.parquet(str(folder))
        assert frame.count() == ROWS, name
        assert len(frame.inputFiles()) == 2, name
        assert row_groups(frame, CHOSEN) is None, name
        seen.append(name)
    assert len(seen) == 3


def test_each_file_counts_as_often_as_spark_reads_it(
    spark: SparkSession, folders: dict[str, str]
) -> None:
    folder, other = folders["one large"], folders["many files"]
    file = f"{folder}/part 001.parquet"
    for paths in ([file, file], [folder, folder], [folder, file]):
        assert row_groups(spark.read.parquet(*paths), CHOSEN) is None
    for paths in ([folder, other], [f"{folder}/*.parquet"], [file, f"{folder}/part 000.parquet"]):
        frame = spark.read.parquet(*paths)
        groups = row_groups(frame, CHOSEN)
        assert groups is not None
        assert sum(group.rows for group in groups) == frame.count()


def test_columns_of_folders_are_not_in_the_files(
    spark: SparkSession, patients: pa.Table, tmp_path: Path
) -> None:
    for few in (0, 1):
        (tmp_path / f"few={few}").mkdir()
        pq.write_table(patients, tmp_path / f"few={few}" / "rows.parquet")  # has `few`, too
    frame = spark.read.parquet(str(tmp_path))
    assert row_groups(frame, CHOSEN) is None
    groups = row_groups(frame, ["many", "risk"])
    assert groups is not None
    assert sum(group.rows for group in groups) == 2 * ROWS
    escaped = tmp_path / "of escaped names" / "few%3Dnow=0"
    escaped.mkdir(parents=True)
    few = patients.column("few")
    pq.write_table(patients.append_column("few=now", few), escaped / "rows.parquet")
    frame = spark.read.parquet(str(escaped.parent))
    assert frame.select("few=now").distinct().count() == 1
    assert row_groups(frame, ["few=now", "risk"]) is None


def other_files(folder: Path) -> Iterator[tuple[str, Any]]:
    """Files, the second of which has columns of another kind."""
    first = pa.table({"few": pa.array([1, 2], pa.int64()), "risk": [0.5, 1.5]})
    cells = {
        "another number": pa.array([3, 4], pa.int32()),
        "durations": pa.array([3, 4], pa.duration("us")),
    }
    for name, few in cells.items():
        (folder / name).mkdir()
        pq.write_table(first, folder / name / "a.parquet")
        pq.write_table(pa.table({"few": few, "risk": [0.5, 1.5]}), folder / name / "b.parquet")
        yield name, str(folder / name)
    (folder / "absent").mkdir()
    pq.write_table(first, folder / "absent" / "a.parquet")
    pq.write_table(first.drop_columns("few"), folder / "absent" / "b.parquet")
    yield "absent", str(folder / "absent")


def test_files_that_differ(spark: SparkSession, tmp_path: Path) -> None:
    seen = []
    for name, path in other_files(tmp_path):
        frame = spark.read.schema("few bigint, risk double").parquet(path)
        assert row_groups(frame, ["few", "risk"]) is None, name
        seen.append(name)
    assert len(seen) == 3


def test_names_that_differ_in_case(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"few": [1.0], "FEW": [2.0], "risk": [0.5]}), tmp_path / "a.parquet")
    frame = spark.read.schema("few double, risk double").parquet(str(tmp_path))
    assert row_groups(frame, ["few", "risk"]) is None


def test_other_sources_and_types(
    spark: SparkSession, folders: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = spark.read.parquet(folders["one file"])
    assert row_groups(frame, ["few", "absent"]) is None
    assert row_groups(spark.createDataFrame(pd.DataFrame({"few": [1.0]})), ["few"]) is None
    plain = frame.select(*CHOSEN)
    for kind in ("csv", "orc", "json"):
        path = str(tmp_path / kind)
        plain.write.format(kind).save(path)
        read = spark.read.format(kind).schema(plain.schema).load(path)
        assert row_groups(read, CHOSEN) is None, kind
    text = frame.select(F.col("few").cast("string"), "risk")
    text.write.parquet(str(tmp_path / "text"))
    assert row_groups(spark.read.parquet(str(tmp_path / "text")), ["few", "risk"]) is None
    for name in SPARK_ONLY:
        spark.conf.set(name, "true")
        try:
            assert row_groups(frame, CHOSEN) is None, name
        finally:
            spark.conf.unset(name)
    assert row_groups(frame, CHOSEN) is not None
    monkeypatch.setenv("FIGS_SPARK_PARQUET", "0")
    assert row_groups(frame, CHOSEN) is None


def test_names_with_special_characters(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "a b%20é #1"
    folder.mkdir()
    names = ["heart.rate", "a `b`", "x,y", "ÄÖ", "heart"]
    cells: dict[str, Any] = {name: [float(k), 1.0] for k, name in enumerate(names)}
    pq.write_table(pa.table(cells | {"label": [0.0, 1.0]}), folder / "rows.parquet")
    frame = spark.read.parquet(str(folder))
    for name in names:
        groups = row_groups(frame, [name, "label"])
        if name != "x,y":
            assert groups == [RowGroup(str(folder / "rows.parquet"), 0, 2)], name
    assert row_groups(frame, ["x,y", "label"]) is None  # read by Spark


def test_settings_are_as_before(spark: SparkSession, folders: dict[str, str]) -> None:
    before = {row.key: row.value for row in spark.sql("set").collect()}
    views = set(spark.sql("show views").collect())
    assert row_groups(spark.read.parquet(folders["one file"]), CHOSEN) is not None
    assert {row.key: row.value for row in spark.sql("set").collect()} == before
    assert set(spark.sql("show views").collect()) == views
