"""Rows that workers read from Parquet files: the model is that of rows that Spark reads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from figs_spark import FIGSClassifier, FIGSRegressor
from figs_spark.engine import file_rows, packing, sampling, table
from figs_spark.engine.file_rows import FileRows
from figs_spark.stages.base import rows_here
from figs_spark.treesum import TreeSum
from tests.support.parquet_patients import LAYOUTS, NUMBERS, ROWS, in_layouts, patients_table
from tests.support.small import assert_same_model

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
    "a label that weighs": REGRESSOR.copy().setParams(labelCol="w", weightCol="w"),
    "a class without weight": CLASSIFIER.copy().setParams(
        labelCol="kind", weightCol="w of two kinds", classWeight="balanced"
    ),
}


@pytest.fixture(scope="module")
def patients() -> pa.Table:
    return patients_table()


@pytest.fixture(scope="module")
def folders(patients: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return in_layouts(patients, tmp_path_factory.mktemp("patients"))


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


REFUSED = {"many classes": CLASSIFIER.copy().setParams(labelCol="risk")}


def model(problem: str, frame: DataFrame, mode: str) -> TreeSum:
    fitted = {**PROBLEMS, **REFUSED}[problem].copy().setParams(mode=mode).fit(frame)
    assert fitted.numSplits >= 3
    tree_sum: TreeSum = fitted.treeSum
    return tree_sum


@pytest.fixture(scope="module")
def by_spark(spark: SparkSession, folders: dict[str, str]) -> Callable[[str], TreeSum]:
    """The model of a problem, from rows that Spark reads from one file."""
    known: dict[str, TreeSum] = {}

    def model_of(problem: str) -> TreeSum:
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

    return model_of


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
    by_workers = model("held out", spark.read.parquet(folders[layout]), mode)
    assert_same_model(by_workers, by_spark("held out"))
    assert reading.scans >= 3


@pytest.mark.parametrize("problem", ["weights", "arrays"])
def test_small_blocks(
    spark: SparkSession,
    folders: dict[str, str],
    by_spark: Callable[[str], TreeSum],
    reading: Reading,
    monkeypatch: pytest.MonkeyPatch,
    problem: str,
) -> None:
    """Of fewer rows than lie together in a file."""
    monkeypatch.setattr(table, "BLOCK_BYTES", 0)
    frame = spark.read.parquet(folders["small row groups"])
    assert_same_model(model(problem, frame, "driver"), by_spark(problem))
    assert reading.scans >= 3


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
    by_workers = regressor.fit(frame)
    assert reading.scans == 4
    reading.by_spark()
    assert_same_model(regressor.fit(frame).treeSum, by_workers.treeSum)
    assert reading.scans == 4


BAD: dict[str, tuple[str, Any, Any]] = {
    "label": ("regression", {"risk": np.nan}, "risk"),
    "infinite label": ("regression", {"risk": np.inf}, "risk"),
    "infinite class": ("many classes", {"risk": np.inf}, "risk"),
    "weight": ("weights", {"w": -1.0}, "w"),
    "held": ("held out", {"held": None}, "held"),
    "class": ("classes", {"ill": -4}, "ill"),
    "no array": ("arrays", {"together": None}, "together"),
    "short array": ("arrays", {"together": [1.0]}, "together"),
}
EVERY_ROW = {  # what is wrong in all of them
    "no array at all": pa.nulls(9, pa.list_(pa.float64())),
    "empty arrays": pa.array([[]] * 9, pa.list_(pa.float64())),
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


@pytest.mark.parametrize("case", EVERY_ROW)
def test_arrays_without_values_are_refused_in_the_same_words(
    spark: SparkSession, tmp_path: Path, reading: Reading, case: str
) -> None:
    rows = pa.table({"together": EVERY_ROW[case], "risk": np.arange(9.0)})
    pq.write_table(rows, tmp_path / "rows.parquet")
    messages = []
    for reader in ("workers", "spark"):
        if reader == "spark":
            reading.by_spark()
        with pytest.raises(ValueError, match="together") as error:
            model("arrays", spark.read.parquet(str(tmp_path)), "driver")
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_a_file_whose_rows_weigh_nothing(
    spark: SparkSession,
    patients: pa.Table,
    by_spark: Callable[[str], TreeSum],
    tmp_path: Path,
    reading: Reading,
) -> None:
    pq.write_table(patients, tmp_path / "a.parquet")
    nothing = patients.slice(0, 500).set_column(9, "w", [np.zeros(500)])
    assert nothing.column_names == patients.column_names
    pq.write_table(nothing, tmp_path / "b.parquet")
    by_workers = model("weights", spark.read.parquet(str(tmp_path)), "driver")
    assert_same_model(by_workers, by_spark("weights"))
    assert reading.scans >= 3


def test_spark_reads_rows_for_which_a_worker_has_no_room(
    spark: SparkSession,
    folders: dict[str, str],
    by_spark: Callable[[str], TreeSum],
    reading: Reading,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(file_rows, "PIECE_BYTES", 1000)
    own = model("regression", spark.read.parquet(folders["one file"]), "driver")
    assert_same_model(own, by_spark("regression"))
    assert reading.scans == 0


@pytest.mark.parametrize("problem", ["regression", "arrays"])
@pytest.mark.parametrize("change", ["labels", "fewer rows"])
def test_rows_that_change_between_two_readings(
    spark: SparkSession,
    patients: pa.Table,
    tmp_path: Path,
    reading: Reading,
    monkeypatch: pytest.MonkeyPatch,
    problem: str,
    change: str,
) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(patients, path)
    doubled = patients.set_column(6, "risk", [2 * patients["risk"].to_numpy()])

    def replaced(*arguments: Any) -> Any:
        bins = sampling.read_bins(*arguments)
        pq.write_table(doubled if change == "labels" else patients.slice(9), path)
        return bins

    monkeypatch.setattr(packing, "read_bins", replaced)
    with pytest.raises(Exception, match="other rows when it is read again"):
        model(problem, spark.read.parquet(str(tmp_path)), "driver")
    assert reading.scans >= 2


def test_a_struct_beside_a_name_with_a_dot(
    spark: SparkSession, patients: pa.Table, tmp_path: Path, reading: Reading
) -> None:
    """Arrow takes the name for that of a part of the struct, too."""
    struct = pa.array([{"few": 1.0}] * ROWS)
    changed = patients.rename_columns(["x.few", *patients.column_names[1:]])
    pq.write_table(changed.add_column(0, "x", struct), tmp_path / "rows.parquet")
    frame = spark.read.parquet(str(tmp_path))
    names = ["x.few", *NUMBERS[1:]]
    own = REGRESSOR.copy().setParams(featuresCols=names, mode="driver").fit(frame)
    assert reading.scans >= 3
    reading.by_spark()
    other = REGRESSOR.copy().setParams(featuresCols=names, mode="driver").fit(frame)
    assert_same_model(own.treeSum, other.treeSum)


def test_only_some_files_have_columns_that_may_be_null(
    spark: SparkSession,
    patients: pa.Table,
    by_spark: Callable[[str], TreeSum],
    tmp_path: Path,
    reading: Reading,
) -> None:
    """Spark itself writes them so: what cannot be null, and later what can be appended to it."""
    fields = {field.name: field for field in patients.schema}
    for name in ("many", "risk", "w"):
        fields[name] = fields[name].with_nullable(False)
    required = pa.schema(fields.values())
    pq.write_table(patients.slice(0, 900).cast(required), tmp_path / "a.parquet")
    pq.write_table(patients.slice(900), tmp_path / "b.parquet")
    by_workers = model("weights", spark.read.parquet(str(tmp_path)), "driver")
    assert_same_model(by_workers, by_spark("weights"))
    assert reading.scans >= 3


def test_a_file_that_cannot_be_read_is_named(
    spark: SparkSession, patients: pa.Table, tmp_path: Path, reading: Reading
) -> None:
    """Its pages are broken, and the reader was told to leave such files out, which no plan says."""
    pq.write_table(patients, tmp_path / "a.parquet", compression="none")
    pq.write_table(patients, tmp_path / "b.parquet", compression="zstd", use_dictionary=False)
    broken = tmp_path / "b.parquet"
    start = pq.read_metadata(broken).row_group(0).column(0).data_page_offset
    content = bytearray(broken.read_bytes())
    content[start : start + 2000] = b"?" * 2000
    broken.write_bytes(content)
    frame = spark.read.option("ignoreCorruptFiles", "true").parquet(str(tmp_path))
    with pytest.raises(Exception, match=r"b\.parquet.*FIGS_SPARK_PARQUET=0"):
        model("regression", frame, "driver")


def test_a_fit_keeps_the_cache_of_the_user(
    spark: SparkSession, folders: dict[str, str], many_rows: None
) -> None:
    frame = spark.read.parquet(folders["one file"]).cache()
    try:
        model("regression", frame, "driver")
        assert frame.storageLevel.useMemory
    finally:
        frame.unpersist()
