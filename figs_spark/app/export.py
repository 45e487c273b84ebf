"""Export: a model becomes a file for a database or a service, which is run before it is written.

The file says how it was verified; beside it, OUTPUT.proof.json has the test vectors with what the
model gives for them.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import SparkSession

from figs_spark.app.config import Settings, key
from figs_spark.app.errors import OUTPUT_EXISTS, UNEXPECTED, UNFIT_INPUT, WRONG_USAGE, JobError
from figs_spark.app.inherited import Privacy, training_source, with_privacy
from figs_spark.app.outputs import local_path
from figs_spark.app.saved_models import load_exportable
from figs_spark.app.sources import require
from figs_spark.exports.files import check_absent
from figs_spark.exports.proof import ExportDiffers
from figs_spark.exports.targets import PROOF_SUFFIX
from figs_spark.treesum.small_cells import STRICT

log = logging.getLogger("figs_spark")

Format = Literal["sql", "pmml", "onnx", "python", "fhir"]
Output = Literal["score", "probability", "prediction", "risk_group", "contributions", "rules"]
Dialect = Literal[
    "spark", "databricks", "ansi", "postgres", "tsql", "oracle", "snowflake", "bigquery",
    "redshift", "mysql", "duckdb", "sqlite",
]  # fmt: skip


@dataclass(frozen=True)
class Export:
    """Write a model as SQL, PMML, ONNX or Python, or one patient's result as FHIR."""

    model: str | None = key(None, "folder that train, model.save or a pipeline's save wrote")
    format: Format = key("sql", "what to write")
    dialect: Dialect = key("spark", "of SQL")
    outputs: list[str] | None = key(
        None, "of SQL: score, probability, prediction, risk_group, contributions, rules"
    )
    table: list[str] | None = key(
        None, "SQL as SELECT over this table; schema and table: two words"
    )
    keep: list[str] | None = key(None, "columns of the table to select; default: all")
    function: list[str] | None = key(None, "SQL as CREATE FUNCTION of this name")
    patient: dict[str, Any] = key({}, "for FHIR: the values of one patient by column")
    subject: str | None = key(None, "for FHIR: a reference such as Patient/123")
    privacy: Privacy | None = key(
        None,
        "strict: no figure of the operating point that tells a count of fewer than 11 rows; "
        "default: as the model was trained, or open",
    )
    verify: bool = key(True, "run the file on test vectors before it is written")
    output: str | None = key(None, "local file to write")


SETTINGS = Export


def check(settings: Settings[Export]) -> None:
    job = settings.job
    require(settings, "model", "a model")
    path = Path(local_path(require(settings, "output", "a file to write")))
    if job.table and job.function:
        raise settings.error("function", "a table is named as well. Name one of them.")
    if job.keep is not None and not job.table:
        raise settings.error("keep", "columns to keep need a table. Name it with --table.")
    if job.format != "sql" and (job.table or job.function or job.outputs):
        name = "table" if job.table else "function" if job.function else "outputs"
        raise settings.error(name, f"this is for SQL, and the format is {job.format}.")
    if job.format == "fhir" and not (job.patient and job.subject):
        raise settings.error("patient", "FHIR is about one patient: set patient and subject.")
    if path.is_dir():
        raise settings.error("output", f"'{path}' is a folder. Name a file.", WRONG_USAGE)
    try:
        beside = path.with_name(path.name + PROOF_SUFFIX)
        check_absent([path] if job.format == "fhir" else [path, beside], settings.overwrite)
    except FileExistsError as error:
        raise settings.error("output", str(error), OUTPUT_EXISTS) from error


def run(spark: SparkSession, settings: Settings[Export]) -> None:
    model = load_exportable(spark, settings)
    settings = with_privacy(settings, training_source(spark, settings))
    job = settings.job
    path = local_path(str(job.output))
    if settings.dry_run:
        print(plan(settings))
        return
    asked: dict[str, Any] = {"dialect": job.dialect, "output": job.outputs, "keep": job.keep}
    asked |= {"table": job.table, "function": job.function}
    asked |= {"smallCell": STRICT if job.privacy == "strict" else None}
    patient = {"row": job.patient or None, "subject": job.subject}
    try:
        written = model.export(
            path, job.format, verify=job.verify, overwrite=settings.overwrite, **asked, **patient
        )
    except FileExistsError as error:
        raise settings.error("output", str(error), OUTPUT_EXISTS) from error
    except ExportDiffers as error:
        raise JobError(UNEXPECTED, str(error)) from error
    except ImportError as error:
        raise settings.error("format", str(error), WRONG_USAGE) from error
    except ValueError as error:
        raise settings.error("model", str(error), UNFIT_INPUT) from error
    if written.proof.startswith("not verified"):
        log.warning("%s is %s", path, written.proof)
    print(f"Exported {written}")


def plan(settings: Settings[Export]) -> str:
    job = settings.job
    what = f"{job.format} ({job.dialect})" if job.format == "sql" else job.format
    lines = [
        "Nothing was written (--dry-run). The model can be loaded; the job would",
        f"  read    {job.model}",
        f"  write   {job.output} as {what}",
        f"  verify  {'before it is written' if job.verify else 'nothing'}",
    ]
    return "\n".join(lines)
