"""Runs what was exported in the engine that is installed here, on test vectors.

Each runner gives the rows of outputs in the order of the vectors, None for no value. An engine that
is not installed raises `NoEngine`, which says what to install.
"""

from __future__ import annotations

import base64
import functools
import importlib
import json
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from figs_spark.exports.dialects import DIALECTS, Dialect
from figs_spark.exports.instrument import Instrument, Patient
from figs_spark.exports.onnx_model import missing_text
from figs_spark.exports.pmml import probability_names, score_names
from figs_spark.treesum import Feature
from figs_spark.treesum.nodes import TEXT

Rows = list[list[Any]]
SqlRunner = Callable[[str, "TableSpec", Sequence[Patient]], Rows]
CHUNK = 50  # rows of one INSERT
IN_DUCKDB = ("duckdb", "postgres", "ansi")  # it takes these as they are


class NoEngine(Exception):
    """No engine for this target is installed here."""


@dataclass(frozen=True)
class Engine:
    """An engine by name and version, which numbers it can hold, and a table that it can make."""

    name: str
    nans: bool = True
    infinities: bool = True
    table: str = "figs_vectors"


# SQL


@dataclass(frozen=True)
class TableSpec:
    """The table that a statement reads: its name in parts, and its columns."""

    model: Instrument
    name: tuple[str, ...]
    keep: tuple[str, ...] = ()

    def types(self, dialect: Dialect) -> dict[str, str]:
        """The columns with their types; those to keep that the model does not read are text."""
        model = self.model
        kinds = {column: _type(dialect, feature) for column, feature in model.inputs.items()}
        if model.group_column is not None:
            kind = {str: dialect.types[1], bool: dialect.types[2]}
            kinds[model.group_column] = kind.get(type(model.groups[0]), "INTEGER")
        return {**dict.fromkeys(self.keep, dialect.types[1]), **kinds} or {"nothing": "INTEGER"}

    def statements(
        self, dialect: Dialect, patients: Sequence[Patient]
    ) -> Iterator[tuple[str, list[Any]]]:
        """What makes the table, with the values of each statement."""
        name = ".".join(map(dialect.quoted, self.name))
        columns = self.types(dialect)
        listed = ", ".join(f"{dialect.quoted(c)} {kind}" for c, kind in columns.items())
        yield f"CREATE TABLE {name} ({listed})", []
        places = f"({', '.join('?' * len(columns))})"
        for start in range(0, len(patients), CHUNK):
            chunk = patients[start : start + CHUNK]
            cells = [patient.get(column) for patient in chunk for column in columns]
            yield f"INSERT INTO {name} VALUES {', '.join([places] * len(chunk))}", cells


def sql_engine(dialect: str) -> tuple[Engine, SqlRunner]:
    """The engine that runs this dialect here."""
    if dialect == "sqlite":
        return Engine(f"SQLite {sqlite3.sqlite_version}", nans=False), run_sqlite
    if dialect == "oracle":  # the translator knows neither its numbers nor its test for NaN
        raise NoEngine("nothing here runs the dialect 'oracle'")
    duckdb = _module("duckdb", f"the dialect '{dialect}'")
    name, target = f"DuckDB {duckdb.__version__}", DIALECTS[dialect]
    engine = Engine(name, target.nan_test is not None, target.infinity is not None)
    if dialect in IN_DUCKDB:
        return engine, run_duckdb
    sqlglot = _module("sqlglot", f"the dialect '{dialect}'")
    engine = replace(engine, name=f"{name} after translation by sqlglot {sqlglot.__version__}")

    def run(sql: str, table: TableSpec, patients: Sequence[Patient]) -> Rows:
        return run_duckdb(translated(sql, dialect), table, patients)

    return engine, run


def _module(name: str, target: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NoEngine(f"{name} is not installed, which runs {target} here") from error


def translated(sql: str, dialect: str) -> str:
    """SQL of a dialect as DuckDB takes it, by sqlglot.

    Collations and character sets, which DuckDB does not have, are left out: it compares texts
    letter by letter anyway.
    """
    import sqlglot
    from sqlglot import expressions

    def plain(node: Any) -> Any:
        if isinstance(node, expressions.Collate):
            return node.this
        if isinstance(node, expressions.National):
            return expressions.Literal.string(node.name)
        if isinstance(node, expressions.Cast) and node.to.is_type("binary", "varbinary"):
            return node.this.this if isinstance(node.this, expressions.Cast) else node.this
        if isinstance(node, expressions.Anonymous) and node.name.upper() == "NCHAR":
            return expressions.Chr(expressions=node.expressions)
        if isinstance(node, expressions.Anonymous) and node.name.upper() == "IDENTIFIER":
            quoted = node.expressions[0].name
            return expressions.column(
                expressions.to_identifier(quoted[1:-1].replace("``", "`"), True)
            )
        return node

    tree = sqlglot.parse_one(sql, read=dialect)
    return tree.transform(plain).sql(dialect="duckdb")


def run_duckdb(sql: str, table: TableSpec, patients: Sequence[Patient]) -> Rows:
    import duckdb

    dialect = DIALECTS["duckdb"]
    *schemas, _ = map(dialect.quoted, table.name)
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.execute("PRAGMA disable_optimizer")  # planning would take longer than running
        if len(schemas) > 1:
            connection.execute(f"ATTACH ':memory:' AS {schemas[0]}")
        if schemas:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {'.'.join(schemas)}")
        for statement, values in table.statements(dialect, patients):
            connection.execute(statement, values)
        return [list(row) for row in connection.execute(sql).fetchall()]


def run_sqlite(sql: str, table: TableSpec, patients: Sequence[Patient]) -> Rows:
    dialect = DIALECTS["sqlite"]
    *schemas, _ = map(dialect.quoted, table.name)
    connection = sqlite3.connect(":memory:")
    try:
        if schemas:
            connection.execute(f"ATTACH ':memory:' AS {schemas[-1]}")
        for statement, values in table.statements(dialect, patients):
            connection.execute(statement, values)
        return [list(row) for row in connection.execute(sql).fetchall()]
    finally:
        connection.close()


def _type(dialect: Dialect, feature: Feature) -> str:
    if feature.holds_numbers:
        return dialect.types[0]
    return dialect.types[1] if feature.kind == TEXT else dialect.types[2]


# Python


def run_python(source: str, model: Instrument, patients: Sequence[Patient]) -> Rows:
    """The file in a fresh interpreter, which sees no other package."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.py")
        path.write_text(source, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _CALL, str(path)],
            input=json.dumps(list(patients)),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
        )
    if done.returncode:
        raise ValueError(f"The exported file fails: {done.stderr.strip().splitlines()[-1]}")
    rows: Rows = json.loads(done.stdout)
    return rows


_CALL = """
import json, runpy, sys
predict = runpy.run_path(sys.argv[1])["predict"]
def row(patient):
    try:
        result = predict(patient)
    except ValueError:
        return None
    many = lambda value: value if isinstance(value, list) else [value]
    own = [] if result["probability"] is None else many(result["probability"])
    return [*many(result["score"]), *own, result["prediction"]]
print(json.dumps([row(patient) for patient in json.load(sys.stdin)]))
"""


# PMML


def run_pmml(text: str, model: Instrument, patients: Sequence[Patient]) -> Rows:
    """By JPMML, which fails in a row of an unknown group: there is no result then."""
    import jpmml_evaluator
    import pandas as pd

    evaluator = jpmml_evaluator.make_evaluator(text, _java())
    names = [*model.inputs, *([model.group_column] if model.group_column is not None else [])]
    cells = {n: pd.Series([p.get(n) for p in patients], dtype=object) for n in names}
    frame = pd.DataFrame(cells if names else {"nothing": [0] * len(patients)})
    results = evaluator.evaluateAll(frame)
    failed = results["errors"].notna() if "errors" in results else None
    if failed is not None and failed.any() and model.kind != "groups":
        raise ValueError(f"JPMML fails: {results['errors'].dropna().iloc[0]}")
    outputs = [*score_names(model), *probability_names(model), "prediction"]
    table = results[outputs].to_numpy(dtype=object)
    return [[None if v is None or v != v else v for v in row] for row in table]


@functools.cache
def _java() -> Any:
    """A Java of its own for JPMML: inside this process a fault of Java would end Python too."""
    import jpmml_evaluator
    from jpmml_evaluator import py4j

    classes = os.pathsep.join(jpmml_evaluator._classpath(user_classpath=[]))
    gateway = py4j.JavaGateway.launch_gateway(classpath=classes, java_path=None, die_on_exit=True)
    return py4j.Py4JBackend(gateway)


# ONNX


def run_onnx(serialized: bytes, model: Instrument, patients: Sequence[Patient]) -> Rows:
    return run_onnx_models([(serialized, model)], patients)[0]


def run_onnx_models(
    models: Sequence[tuple[bytes, Instrument]], patients: Sequence[Patient]
) -> list[Rows]:
    """The rows of each model, by onnxruntime in a process of its own, which alone a fault ends."""
    tasks = []
    for serialized, model in models:
        outputs = ["score", *(["probability"] if model.classes else []), "prediction"]
        inputs = onnx_inputs(model, patients).items()
        arrays = {name: [array.dtype == object, array.tolist()] for name, array in inputs}
        tasks.append([base64.b64encode(serialized).decode(), outputs, arrays])
    done = subprocess.run(
        [sys.executable, "-c", _RUN_ONNX],
        input=json.dumps(tasks),
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines()
        reason = said[-1] if said else "it says nothing"
        raise ValueError(f"onnxruntime ended with code {done.returncode}: {reason}")
    return [
        [[None if math.isnan(v) else v for v in row] for row in table]
        for table in json.loads(done.stdout)
    ]


_RUN_ONNX = """
import base64, json, sys
import numpy, onnxruntime
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = 1
def table(encoded, outputs, arrays):
    model, own = base64.b64decode(encoded), ["CPUExecutionProvider"]
    session = onnxruntime.InferenceSession(model, options, providers=own)
    inputs = {n: numpy.array(v, dtype=object if text else float) for n, (text, v) in arrays.items()}
    return numpy.hstack(session.run(outputs, inputs)).tolist()
print(json.dumps([table(*task) for task in json.load(sys.stdin)]))
"""


def onnx_inputs(model: Instrument, patients: Sequence[Patient]) -> dict[str, Any]:
    """The rows as onnxruntime takes them."""
    missing = missing_text(model)

    def column(values: list[Any], text: bool) -> Any:
        if text:
            return np.array([[missing if v is None else v] for v in values], dtype=object)
        return np.array([[math.nan if v is None else float(v)] for v in values])

    inputs = {}
    for name, feature in model.inputs.items():
        inputs[name] = column([p.get(name) for p in patients], feature.kind == TEXT)
    if not inputs:
        inputs["rows"] = np.zeros((len(patients), 1))
    if model.group_column is not None:
        groups = [p.get(model.group_column) for p in patients]
        inputs[model.group_column] = column(groups, isinstance(model.groups[0], str))
    return inputs


def engine_of(name: str) -> Engine:
    """The engine for PMML, ONNX or Python."""
    if name == "python":
        return Engine(f"Python {sys.version.split()[0]}")
    module = {"pmml": "jpmml_evaluator", "onnx": "onnxruntime"}[name]
    installed = _module(module, name.upper())
    if name == "pmml":
        try:
            _java()
        except OSError as error:
            raise NoEngine("no Java is here; set JAVA_HOME") from error
    return Engine(f"{module} {getattr(installed, '__version__', '')}".strip())
