"""What every fitted model can leave Spark as: SQL, PMML, ONNX, Python, FHIR."""

from __future__ import annotations

import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import SparkSession
from pyspark.sql.types import BooleanType, DataType, DoubleType, LongType, StringType, StructType
from pyspark.sql.utils import is_remote

from figs_spark.exports import fhir, targets
from figs_spark.exports.dialects import SPARK
from figs_spark.exports.engines import Engine, Rows, SqlRunner, TableSpec
from figs_spark.exports.instrument import Instrument, Patient
from figs_spark.exports.onnx_model import to_onnx
from figs_spark.exports.pmml import to_pmml
from figs_spark.exports.python_source import to_python
from figs_spark.exports.targets import Exported, Sql

NOT_RUN = "not verified: `export` writes a file and verifies it"


def version() -> str:
    """The version of the library."""
    return str(import_module("figs_spark").__version__)


class Exporting(ABC):
    """A model that can be written in other languages."""

    @abstractmethod
    def _instrument(self, small_cell: int | None = None) -> Instrument:
        """The model as plain data, with the names of the columns that it reads.

        Figures of the operating point that tell a count below `small_cell` are left out.
        """

    @abstractmethod
    def _patient(self, row: Any) -> Patient:
        """One row as values by column."""

    def export(
        self,
        path: str | Path,
        format: Literal["sql", "pmml", "onnx", "python", "fhir"] | None = None,
        *,
        verify: bool = True,
        overwrite: bool = False,
        dialect: str = "spark",
        output: str | Sequence[str] | None = None,
        table: str | Sequence[str] | None = None,
        keep: Sequence[str] | None = None,
        function: str | Sequence[str] | None = None,
        row: Any = None,
        subject: str | None = None,
        smallCell: int | None = None,
    ) -> Exported:
        """Write the model to a local file, and its proof to a file beside it.

        Without a format the end of the path decides: .sql, .pmml, .onnx, .py or .json (FHIR). The
        file is run on test vectors before it is written, in the engine that is installed here; if
        any result differs, nothing is written. `dialect` to `function` are those of `toSQL`, `row`
        and `subject` those of `toFHIR`. With `smallCell` the file has no figure of the
        operating point that tells a smaller count.
        """
        model = self._instrument(smallCell)
        sql = None
        if targets.format_of(path, format) == "sql":
            sql = Sql.asked(model, dialect, output, table, keep, function)
        patient = None if row is None else self._patient(row)
        return targets.export(
            model, path, format, sql, verify, overwrite, spark_engine(), patient, subject
        )

    def toSQL(
        self,
        dialect: str = "spark",
        output: str | Sequence[str] | None = None,
        table: str | Sequence[str] | None = None,
        keep: Sequence[str] | None = None,
        function: str | Sequence[str] | None = None,
    ) -> str:
        """The model as SQL: one expression, a SELECT over `table`, or CREATE FUNCTION `function`.

        `dialect` is spark, databricks, ansi, postgres, tsql, oracle, snowflake, bigquery, redshift,
        mysql, duckdb or sqlite. `output` is score, probability, prediction, risk_group,
        contributions or rules; for a table also a list of these. Without it, the probability of a
        class or the predicted number. A name with dots is one name: give schema and table as a
        list. `keep` names the columns of the table to select; default: all.
        """
        model = self._instrument()
        return Sql.asked(model, dialect, output, table, keep, function).text(model)

    def toPMML(self, smallCell: int | None = None) -> str:
        """The model as PMML 4.4; `smallCell` as in `export`."""
        return to_pmml(self._instrument(smallCell), NOT_RUN)

    def toONNX(self, smallCell: int | None = None) -> bytes:
        """The model as ONNX, with a TreeEnsemble in double; needs the package onnx.

        `smallCell` as in `export`.
        """
        return to_onnx(self._instrument(smallCell), NOT_RUN)

    def toPython(self, smallCell: int | None = None) -> str:
        """The model as the source of one Python file with `predict(patient)`, without imports.

        `smallCell` as in `export`.
        """
        return to_python(self._instrument(smallCell), NOT_RUN)

    def toFHIR(
        self,
        row: Any,
        subject: str,
        release: Literal["R4", "R5"] = "R4",
        occurrence: str | None = None,
        observations: Mapping[str, str] | None = None,
        smallCell: int | None = None,
    ) -> dict[str, Any]:
        """The result for one row as a RiskAssessment of FHIR, with the rules that fired.

        `subject` is a reference such as "Patient/123", `occurrence` a date or time, `observations`
        for columns the references of the resources that the values are from. `smallCell` as in
        `export`.
        """
        patient = self._patient(row)
        model = self._instrument(smallCell)
        return fhir.risk_assessment(model, patient, subject, release, occurrence, observations)

    def toCDSHooks(
        self, row: Any, source: str = "figs_spark", smallCell: int | None = None
    ) -> dict[str, Any]:
        """The result for one row as a card of CDS Hooks, with the rules that fired.

        `smallCell` as in `export`.
        """
        return fhir.card(self._instrument(smallCell), self._patient(row), source)


# Spark as the engine that verifies its own SQL


def spark_engine() -> tuple[Engine, SqlRunner] | None:
    """The session that is running; None if there is none."""
    session = _active_session()
    if session is None:
        return None

    def run(sql: str, table: TableSpec, patients: Sequence[Patient]) -> Rows:
        return _run(session, sql, table, patients)

    return Engine(f"Spark {session.version}", table=f"figs_vectors_{uuid.uuid4().hex[:8]}"), run


def _active_session() -> SparkSession | None:
    if is_remote():
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        return ConnectSession.getActiveSession()  # type: ignore[return-value]
    return SparkSession.getActiveSession()


def _run(session: SparkSession, sql: str, table: TableSpec, patients: Sequence[Patient]) -> Rows:
    kinds: dict[str, DataType] = dict(
        zip((*SPARK.types, "INTEGER"), (DoubleType(), StringType(), BooleanType(), LongType()))
    )
    schema = StructType()
    for column, kind in table.types(SPARK).items():
        schema.add(column, kinds[kind])
    rows = [tuple(patient.get(name) for name in schema.names) for patient in patients]
    session.createDataFrame(rows, schema).createOrReplaceTempView(table.name[0])
    try:
        return [list(row) for row in session.sql(sql).collect()]
    finally:
        session.catalog.dropTempView(table.name[0])
