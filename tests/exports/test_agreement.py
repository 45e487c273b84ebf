"""Generated models on generated rows: every engine gives what `TreeSum.predict` gives."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql.types import BooleanType, DoubleType, StringType, StructType

from figs_spark.exports import engines
from figs_spark.exports.dialects import DIALECTS
from figs_spark.exports.engines import run_onnx, run_onnx_models, run_pmml, translated
from figs_spark.exports.instrument import Instrument
from figs_spark.exports.onnx_model import to_onnx
from figs_spark.exports.pmml import to_pmml
from figs_spark.exports.python_source import to_python
from figs_spark.exports.vectors import Vectors
from tests.exports import batches
from tests.exports.batches import MODELS, ROWS, agree, check, create, finite, models, patients

Record = Callable[[str, object], None]
seeds = st.integers(0, 2**32 - 1)


def runs(engine: str, batch: int) -> Any:
    """As many batches as make the models of this engine."""
    return settings(
        max_examples=MODELS[engine] // batch,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )


def distinct(seed: int, done: list[int]) -> int:
    """Hypothesis may try a seed twice; then another one is taken."""
    while seed in done:
        seed += 1
    done.append(seed)
    return seed


def said(record: Record, engine: str, count: int) -> None:
    """Say how many models were run, each on 100 rows."""
    assert count >= MODELS[engine]
    record("exports", f"{engine}: {count} models x {ROWS} rows")


def test_enough_models() -> None:
    assert sum(MODELS.values()) >= 2_000
    assert ROWS >= 100


def test_duckdb(record_property: Record) -> None:
    done: list[int] = []

    @runs("DuckDB", 16)
    @given(seed=seeds)
    def run(seed: int) -> None:
        batch, rows = models(distinct(seed, done), 16, heavy=False), patients(seed)
        with duckdb.connect(config={"threads": 1}) as connection:
            if len(done) > 2:  # the first batches are optimised, which takes longer than the rest
                connection.execute("PRAGMA disable_optimizer")
            connection.execute(create(DIALECTS["duckdb"]))
            places = ", ".join("?" * len(rows[0]))
            for start in range(0, len(rows), 50):
                chunk = rows[start : start + 50]
                values = ", ".join([f"({places})"] * len(chunk))
                cells = [cell for row in chunk for cell in row.values()]
                connection.execute(f"INSERT INTO rows VALUES {values}", cells)
            table = connection.execute(batches.select(batch, "duckdb")).fetchall()
        check(batch, rows, [list(row) for row in table])

    run()
    said(record_property, "DuckDB", 16 * len(done))


def test_sqlite(record_property: Record) -> None:
    """Values of leaves may be read a unit in the last place off; thresholds may not."""
    done: list[int] = []

    @runs("SQLite", 60)
    @given(seed=seeds)
    def run(seed: int) -> None:
        batch, rows = models(distinct(seed, done), 60, heavy=False), patients(seed)
        connection = sqlite3.connect(":memory:")
        connection.execute(create(DIALECTS["sqlite"]))
        places = ", ".join("?" * len(rows[0]))
        connection.executemany(
            f"INSERT INTO rows VALUES ({places})", [list(row.values()) for row in rows]
        )
        table = connection.execute(batches.select(batch, "sqlite")).fetchall()
        connection.close()
        check(batch, rows, [list(row) for row in table], exact=False)

    run()
    said(record_property, "SQLite", 60 * len(done))


def test_postgres(postgres: Any, record_property: Record) -> None:
    done: list[int] = []

    @runs("PostgreSQL", 50)
    @given(seed=seeds)
    def run(seed: int) -> None:
        batch, rows = models(distinct(seed, done), 50, heavy=False), patients(seed)
        with postgres.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS rows")
            cursor.execute(create(DIALECTS["postgres"]).encode())
            with cursor.copy("COPY rows FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(list(row.values()))
            cursor.execute(batches.select(batch, "postgres").encode())
            table = [list(row) for row in cursor.fetchall()]
        check(batch, rows, table)

    run()
    said(record_property, "PostgreSQL", 50 * len(done))


def test_spark_sql(spark: SparkSession, record_property: Record) -> None:
    done: list[int] = []
    schema = StructType()
    kinds = {"DOUBLE": DoubleType(), "STRING": StringType(), "BOOLEAN": BooleanType()}
    for name, kind in batches.types(DIALECTS["spark"]).items():
        schema.add(name, kinds[kind])

    @runs("Spark SQL", 10)
    @given(seed=seeds)
    def run(seed: int) -> None:
        batch, rows = models(distinct(seed, done), 10, heavy=False), patients(seed)
        frame = spark.createDataFrame([tuple(row.values()) for row in rows], schema)
        frame.createOrReplaceTempView("rows")
        table = [list(row) for row in spark.sql(batches.select(batch, "spark")).collect()]
        check(batch, rows, table)

    run()
    said(record_property, "Spark SQL", 10 * len(done))


def test_plain_python(tmp_path: Path, record_property: Record) -> None:
    """All files in one fresh interpreter that has the standard library only."""
    done: list[int] = []

    @runs("Python", 100)
    @given(seed=seeds)
    def run(seed: int) -> None:
        batch, rows = models(distinct(seed, done), 100), patients(seed)
        for k, model in enumerate(batch):
            (tmp_path / f"model_{k}.py").write_text(to_python(model), encoding="utf-8")
        (tmp_path / "rows.json").write_text(json.dumps(rows))
        command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("run_files.py"))]
        done_run = subprocess.run(
            [*command, str(tmp_path), str(len(batch))], capture_output=True, text=True, check=False
        )
        assert done_run.returncode == 0, done_run.stderr
        results = json.loads(done_run.stdout)
        for model, found in zip(batch, results, strict=True):
            agree(model, Vectors(tuple(rows), tuple(model.evaluate(rows))), found)

    run()
    said(record_property, "Python", 100 * len(done))


def test_onnxruntime(record_property: Record) -> None:
    done: list[int] = []

    @runs("onnxruntime", 60)
    @given(seed=seeds)
    def run(seed: int) -> None:
        _in_onnxruntime(models(distinct(seed, done), 60), patients(seed))

    run()
    said(record_property, "onnxruntime", 60 * len(done))


def _in_onnxruntime(batch: list[Instrument], rows: list[dict[str, Any]]) -> None:
    tables = run_onnx_models([(to_onnx(model), model) for model in batch], rows)
    for model, table in zip(batch, tables, strict=True):
        agree(model, Vectors(tuple(rows), tuple(model.evaluate(rows))), table)


def test_onnxruntime_with_a_missing_category_below_another_set() -> None:
    """As NaN it went to the wrong side in one of these models."""
    _in_onnxruntime(models(1030, 10), patients(1030))


@pytest.mark.parametrize("crash", ["import os; os.abort()", "raise SystemExit(3)"])
def test_a_fault_of_onnxruntime_ends_no_other_process(
    crash: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "_RUN_ONNX", crash)
    (model,) = models(1, 1)
    with pytest.raises(ValueError, match=r"onnxruntime ended with code (-6|3): it says nothing"):
        run_onnx(to_onnx(model), model, patients(1))


@pytest.mark.spark
def test_jpmml(record_property: Record) -> None:
    done: list[int] = []

    @runs("JPMML", 10)
    @given(seed=seeds)
    def run(seed: int) -> None:
        rows = patients(seed)
        for model in models(distinct(seed, done), 10):
            found = run_pmml(to_pmml(model), model, rows)
            agree(model, Vectors(tuple(rows), tuple(model.evaluate(rows))), found)

    run()
    said(record_property, "JPMML", 10 * len(done))


@pytest.mark.parametrize(
    "dialect", ["tsql", "snowflake", "bigquery", "redshift", "mysql", "databricks"]
)
def test_other_dialects_after_translation(dialect: str, record_property: Record) -> None:
    """Parsed by sqlglot in the dialect, and run as DuckDB takes it."""
    done: list[int] = []
    target = DIALECTS[dialect]

    @settings(max_examples=1, deadline=None, database=None)
    @given(seed=seeds)
    def run(seed: int) -> None:
        batch = models(distinct(seed, done), 10, heavy=False, plain=True)
        rows = patients(seed, plain=True, count=4 * ROWS)
        if target.nan_test is None or target.infinity is None:
            rows = finite(rows)
        rows = rows[:ROWS]
        with duckdb.connect(config={"threads": 1}) as connection:
            connection.execute("PRAGMA disable_optimizer")
            connection.execute(create(DIALECTS["duckdb"], plain=True))
            places = ", ".join("?" * len(rows[0]))
            connection.executemany(
                f"INSERT INTO rows VALUES ({places})", [list(row.values()) for row in rows]
            )
            sql = translated(batches.select(batch, dialect), dialect)
            table = [list(row) for row in connection.execute(sql).fetchall()]
        check(batch, rows, table)

    run()
    record_property("exports", f"{dialect} in DuckDB: {10 * len(done)} models x {ROWS} rows")
