"""Rows that workers read from Parquet files themselves: the files are those of the DataFrame, and
the model is the one that Spark's own reading gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import FIGSClassifier, FIGSRegressor
from figs_spark.dataframes.parquet_files import RowGroup, row_groups, shares
from figs_spark.engine import packing, sampling, table
from figs_spark.engine.file_rows import FileRows
from figs_spark.stages.base import rows_here
from figs_spark.treesum import TreeSum
from tests.support.small import assert_same_model

NUMBERS = ["few", "many", "often", "count", "single", "flag"]
ROWS = 4000
REGRESSOR = FIGSRegressor(featuresCols=NUMBERS, labelCol="risk", maxSplits=5)
CLASSIFIER = FIGSClassifier(featuresCols=NUMBERS, labelCol="ill", maxSplits=5)
PROBLEMS: dict[str, Any] = {
    "regression": REGRESSOR,
    "weights": REGRESSOR.copy().setParams(weightCol="w"),
    "held out": REGRESSOR.copy().setParams(weightCol="w", validationIndicatorCol="held"),
    "classes": CLASSIFIER.copy().setParams(classWeight="balanced"),
    "weighted classes": CLASSIFIER.copy().setParams(classWeight="balanced", weightCol="w"),
    "true or false": CLASSIFIER.copy().setParams(labelCol="died"),
    "many bins": REGRESSOR.copy().setParams(maxBins=8),
    "arrays": FIGSRegressor(featuresCol="together", labelCol="risk", maxSplits=5),
}


@pytest.fixture(scope="module")
def patients() -> pa.Table:
    """Numbers of all kinds, null and NaN among them; weights, some of which are 0."""
    random = np.random.default_rng(5)
    few, many = random.integers(0, 12, ROWS) / 4, random.normal(size=ROWS)
    often = np.where(random.random(ROWS) < 0.1, random.normal(size=ROWS), -0.0)
    count, flag = random.integers(-3, 4000, ROWS), random.random(ROWS) < 0.3
    risk = few * (many > 0.3) + 3 * often * flag + (count > 1500) + random.normal(0, 0.2, ROWS)
    missing = random.random((2, ROWS)) < 0.1
    cells = np.column_stack([few, many, often, count, many, flag]).ravel()
    return pa.table(
        {
            "few": pa.array(np.where(missing[0], np.nan, few), mask=missing[1]),
            "many": many,
            "often": often,
            "count": pa.array(count, mask=missing[0]),
            "single": many.astype(np.float32),
            "flag": pa.array(flag, mask=missing[1]),
            "risk": risk,
            "ill": (risk > 1).astype(np.int32),
            "died": risk > 2,
            "w": random.choice([0.0, 0.1, 0.7, 1 / 3], ROWS),
            "held": random.random(ROWS) < 0.3,
            "together": pa.ListArray.from_arrays(
                np.arange(0, 6 * ROWS + 1, 6, dtype=np.int32),
                pa.array(cells, mask=np.arange(6 * ROWS) % 17 == 3),
            ),
        }
    )


LAYOUTS = ["one file", "small row groups", "many files", "one large"]


@pytest.fixture(scope="module")
def folders(patients: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The same rows in other files."""
    folder = tmp_path_factory.mktemp("patients")
    ends = {
        "one file": [ROWS],
        "small row groups": [ROWS],
        "many files": [*range(80, ROWS + 1, 80)],
        "one large": [10, 3700, 3800, ROWS],
    }
    for name, stops in ends.items():
        (folder / name).mkdir()
        for k, (start, stop) in enumerate(zip([0, *stops], stops, strict=False)):
            size = 333 if name == "small row groups" else None
            part = patients.slice(start, stop - start)
            pq.write_table(part, folder / name / f"part {k:03d}.parquet", row_group_size=size)
    return {name: str(folder / name) for name in ends}


@pytest.fixture
def many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is small elsewhere is not small here, and bins are made from a sample."""
    monkeypatch.setattr(table, "SMALL_ROWS", 1000)
    monkeypatch.setattr(table, "SAMPLE_ROWS", 1000)
    monkeypatch.setattr(rows_here, "SMALL_BYTES", 0)


class Reading:
    """Who reads the rows, and how often workers have read them."""

    def __init__(self, patch: pytest.MonkeyPatch):
        self.patch, self.scans = patch, 0
        mapped = FileRows.mapped

        def counted(*arguments: Any, **more: Any) -> DataFrame:
            self.scans += 1
            return mapped(*arguments, **more)

        patch.setattr(FileRows, "mapped", counted)

    def by_spark(self) -> None:
        self.patch.setenv("FIGS_SPARK_PARQUET", "0")


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch, many_rows: None) -> Reading:
    return Reading(monkeypatch)


def model(problem: str, frame: DataFrame, mode: str) -> TreeSum:
    fitted = PROBLEMS[problem].copy().setParams(mode=mode).fit(frame)
    assert fitted.numSplits >= 3
    found: TreeSum = fitted.treeSum
    return found


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, folders: dict[str, str]) -> Callable[[str], TreeSum]:
    """The model of a problem, from rows that Spark reads from one file."""
    known: dict[str, TreeSum] = {}

    def found(problem: str) -> TreeSum:
        if problem not in known:
            frame = spark.read.parquet(folders["one file"])
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(table, "SMALL_ROWS", 1000)
                patch.setattr(table, "SAMPLE_ROWS", 1000)
                patch.setattr(rows_here, "SMALL_BYTES", 0)
                own = Reading(patch)
                own.by_spark()
                known[problem] = model(problem, frame, "driver")
                assert own.scans == 0
        return known[problem]

    return found


@pytest.mark.parametrize("mode", ["driver", "cluster"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_model_of_rows_that_spark_reads(
    spark: SparkSession,
    folders: dict[str, str],
    by_spark: Callable[[str], TreeSum],
    reading: Reading,
    problem: str,
    mode: str,
) -> None:
    frame = spark.read.parquet(folders["small row groups"])
    assert_same_model(model(problem, frame, mode), by_spark(problem))
    assert reading.scans >= 3  # checked, sampled and packed


@pytest.mark.parametrize("mode", ["driver", "cluster"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_same_model_from_other_files(
    spark: SparkSession,
    folders: dict[str, str],
    by_spark: Callable[[str], TreeSum],
    reading: Reading,
    layout: str,
    mode: str,
) -> None:
    found = model("held out", spark.read.parquet(folders[layout]), mode)
    assert_same_model(found, by_spark("held out"))
    assert reading.scans >= 3


@pytest.mark.parametrize("problem", ["weights", "arrays"])
def test_small_batches(
    spark: SparkSession,
    folders: dict[str, str],
    by_spark: Callable[[str], TreeSum],
    reading: Reading,
    monkeypatch: pytest.MonkeyPatch,
    problem: str,
) -> None:
    """Of fewer rows than a block has, and blocks of fewer rows than a batch."""
    monkeypatch.setattr("figs_spark.engine.file_rows.BATCH_VALUES", 6 * 70)
    frame = spark.read.parquet(folders["small row groups"])
    assert_same_model(model(problem, frame, "driver"), by_spark(problem))
    monkeypatch.setattr("figs_spark.engine.file_rows.BATCH_VALUES", 1 << 20)
    monkeypatch.setattr(table, "BLOCK_BYTES", 0)
    assert_same_model(model(problem, frame, "driver"), by_spark(problem))


def test_all_columns_draw_the_sample_where_some_do_not_tell_rows_apart(
    spark: SparkSession, tmp_path: Path, reading: Reading
) -> None:
    """Eight features are hashed first; here they are constant, as is the label of most rows."""
    random, rows = np.random.default_rng(0), 5000
    cells = {f"x{j}": np.where(j % 2, random.normal(size=rows), 1.0) for j in range(16)}
    label = 2.0 * (cells["x1"] > 0.8) * (cells["x3"] > 0)
    pq.write_table(pa.table({**cells, "label": label}), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path))
    regressor = FIGSRegressor(featuresCols=list(cells), maxSplits=3, mode="driver")
    found = regressor.fit(frame)
    assert reading.scans == 4
    reading.by_spark()
    assert_same_model(regressor.fit(frame).treeSum, found.treeSum)
    assert reading.scans == 4


BAD: dict[str, tuple[str, Any, Any]] = {
    "label": ("regression", {"risk": np.nan}, "risk"),
    "infinite label": ("regression", {"risk": np.inf}, "risk"),
    "weight": ("weights", {"w": -1.0}, "w"),
    "held": ("held out", {"held": None}, "held"),
    "class": ("classes", {"ill": -4}, "ill"),
    "no array": ("arrays", {"together": None}, "together"),
    "short array": ("arrays", {"together": [1.0]}, "together"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_rows_are_refused_in_the_same_words(
    spark: SparkSession, patients: pa.Table, tmp_path: Path, reading: Reading, case: str
) -> None:
    problem, changed, named = BAD[case]
    bad = patients.slice(0, 300).to_pylist()
    for row in bad[100:103]:
        row |= changed
    pq.write_table(pa.Table.from_pylist(bad, patients.schema), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path))
    with pytest.raises(ValueError, match=f"'{named}'") as by_workers:
        model(problem, frame, "driver")
    assert reading.scans == 1
    reading.by_spark()
    with pytest.raises(ValueError, match=f"'{named}'") as by_spark:
        model(problem, frame, "driver")
    assert reading.scans == 1
    assert str(by_workers.value) == str(by_spark.value)
    assert "3 " in str(by_workers.value)


def test_rows_that_change_between_two_readings(
    spark: SparkSession,
    patients: pa.Table,
    tmp_path: Path,
    reading: Reading,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(patients, path)

    def replaced(*arguments: Any) -> Any:
        bins = sampling.read_bins(*arguments)
        doubled = patients.set_column(6, "risk", [2 * patients["risk"].to_numpy()])
        pq.write_table(doubled, path)
        return bins

    monkeypatch.setattr(packing, "read_bins", replaced)
    with pytest.raises(ValueError, match="other rows when it is read again"):
        model("regression", spark.read.parquet(str(tmp_path)), "driver")


PLAIN: dict[str, Callable[[DataFrame], DataFrame]] = {
    "as it is": lambda frame: frame,
    "other order": lambda frame: frame.select("risk", "w", "many", "few"),
    "other partitions": lambda frame: frame.select("*"),
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
    finally:
        frame.unpersist()
    assert row_groups(frame, CHOSEN) is not None


def test_each_file_counts_as_often_as_spark_reads_it(
    spark: SparkSession, folders: dict[str, str]
) -> None:
    folder, other = folders["one large"], folders["many files"]
    file = f"{folder}/part 001.parquet"
    for paths in ([file, file], [folder, folder], [folder, file]):
        frame = spark.read.parquet(*paths)
        groups = row_groups(frame, CHOSEN)
        assert groups is None or sum(group.rows for group in groups) == frame.count()
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
    for name in ("fieldId.read.enabled", "ignoreCorruptFiles"):
        section = "parquet" if name.startswith("field") else "files"
        spark.conf.set(f"spark.sql.{section}.{name}", "true")
        try:
            assert row_groups(frame, CHOSEN) is None, name
        finally:
            spark.conf.unset(f"spark.sql.{section}.{name}")
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
    views = {view.name for view in spark.catalog.listTables()}
    assert row_groups(spark.read.parquet(folders["one file"]), CHOSEN) is not None
    assert {row.key: row.value for row in spark.sql("set").collect()} == before
    assert {view.name for view in spark.catalog.listTables()} == views


@pytest.mark.parametrize("count", [1, 2, 3, 50])
def test_shares_are_even(count: int) -> None:
    groups = [RowGroup("a", k, 100) for k in range(20)] + [RowGroup("b", 0, 500)]
    parts = shares(groups, count)
    assert [group for part in parts for group in part] == groups
    assert len(parts) <= count
    if count == 2:
        assert [sum(group.rows for group in part) for part in parts] == [1200, 1300]
    assert shares([], count) == []
