"""Report: a model as one HTML file with calculator, evaluation and checklist.

The file needs nothing else and no network. What only people know comes from the section `about`.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import DataFrame, SparkSession

from figs_spark import datasets
from figs_spark.app.config import Settings, key
from figs_spark.app.errors import OUTPUT_EXISTS, UNFIT_INPUT, WRONG_USAGE
from figs_spark.app.inherited import (
    training_source,
    with_derivations,
    with_reader_options,
    with_rows_in_use,
)
from figs_spark.app.labels import with_label
from figs_spark.app.metrics import with_label_numbers
from figs_spark.app.outputs import local_path
from figs_spark.app.saved_models import check_columns, load_division, load_model, read_text
from figs_spark.app.sources import Input, exists, need_columns, prepared, read, require
from figs_spark.clinical.measures import SENSITIVITIES
from figs_spark.exports.files import check_absent
from figs_spark.treesum.small_cells import STRICT

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Report(Input):
    """Write a model as one page: calculator, evaluation and checklist."""

    model: str | None = key(None, "folder that train or model.save wrote")
    part: Literal["all", "train", "validation", "test"] = key(
        "all", "rows to evaluate on: all of the input, or a part that train divided them into"
    )
    rows: int | None = key(None, "patients to generate and evaluate on if there is no input", low=1)
    weight: str | None = key(None, "column with row weights")
    groups: list[str] = key([], "columns whose groups of patients are compared")
    validation: list[str] = key([], "columns with dates or sites; of dates the years are compared")
    sensitivities: list[float] = key(
        list(SENSITIVITIES), "sensitivities of the operating points", low=0, high=1
    )
    about: dict[str, Any] = key({}, "what only people know: intended use, owner, ...")
    fields: dict[str, Any] = key({}, "by column: name, unit, help, range, labels, yesNo")
    smallCell: int = key(STRICT, "smallest count that is shown", low=1)
    output: str | None = key(None, "local file to write, such as report.html")


SETTINGS = Report


def check(settings: Settings[Report]) -> None:
    require(settings, "model", "a model")
    path = Path(local_path(require(settings, "output", "a file to write")))
    if path.is_dir():
        raise settings.error("output", f"'{path}' is a folder. Name a file.", WRONG_USAGE)
    try:
        check_absent([path], settings.overwrite)
    except FileExistsError as error:
        raise settings.error("output", str(error), OUTPUT_EXISTS) from error
    if not settings.job.input and settings.job.rows is None:
        for name in ("groups", "validation"):
            if getattr(settings.job, name):
                raise settings.error(name, "rows are needed for this. Set input.")


def run(spark: SparkSession, settings: Settings[Report]) -> None:
    job = settings.job
    model = load_model(spark, settings)
    rows, training = None, None
    if job.input or job.rows:
        rows, training = _rows(spark, settings, model)
    if settings.dry_run:
        print(plan(settings))
        return
    try:
        path = model.report(
            local_path(str(job.output)),
            rows,
            about=job.about,
            fields=job.fields,
            groupCols=job.groups,
            validationCols=job.validation,
            weightCol=job.weight,
            sensitivities=job.sensitivities,
            training=training,
            sizes=_sizes(spark, settings),
            smallCell=job.smallCell,
            overwrite=settings.overwrite,
        )
    except FileExistsError as error:
        raise settings.error("output", str(error), OUTPUT_EXISTS) from error
    except ValueError as error:
        raise settings.error(_about(str(error)), str(error), UNFIT_INPUT) from error
    print(f"Wrote {path}, {path.stat().st_size:,} bytes; fingerprint {model.fingerprint}")


def _about(message: str) -> str:
    """The key that an error is about."""
    return next((name for name in ("about", "fields") if message.startswith(name)), "input")


def _rows(
    spark: SparkSession, settings: Settings[Report], model: Any
) -> tuple[DataFrame, DataFrame | None]:
    """The rows to evaluate on, and those that the model was trained on, if that is known."""
    source = training_source(spark, settings)
    settings = with_rows_in_use(settings, source)
    job = settings.job
    division = load_division(spark, settings) if job.part != "all" else None
    names = [source.label, job.weight, job.where, *job.groups, *job.validation]
    names += division.columns if division else []
    settings = with_derivations(settings, source, names)
    if job.input:
        rows = read(spark, with_reader_options(spark, settings, source))
    else:
        rows = prepared(datasets.trauma_registry(spark, job.rows or 1, with_risk=True), settings)
    training = None
    if source.label is not None:
        rows = with_label(rows, settings, source.label, source.positive)
    label = model.getOrDefault("labelCol")
    need_columns(rows, [label, *job.groups, *job.validation, *([job.weight] if job.weight else [])])
    rows = with_label_numbers(model, rows, label)
    if division:
        rows, training = division.rows(rows, job.part), division.rows(rows, "train")
    check_columns(model, rows)
    return rows, training


def _sizes(spark: SparkSession, settings: Settings[Report]) -> pd.DataFrame | None:
    """The losses of every size by cross-validation, if train wrote them."""
    import pandas as pd

    path = f"{str(settings.job.model).rstrip('/')}/sizes.csv"
    if not exists(spark, path):
        return None
    table = pd.read_csv(io.StringIO(read_text(spark, path)))
    return table if {"loss", "standardError", "trainingLoss"} <= set(table.columns) else None


def plan(settings: Settings[Report]) -> str:
    job = settings.job
    return "\n".join(
        [
            "Nothing was written (--dry-run). The model can be loaded; the job would",
            f"  read      {job.model}",
            f"  evaluate  {_source(job)}",
            f"  by group  {', '.join([*job.groups, *job.validation]) or 'no'}",
            f"  write     {job.output}",
        ]
    )


def _source(job: Report) -> str:
    source = job.input or (f"{job.rows:,} generated rows" if job.rows else "")
    return f"{source} (rows: {job.part})" if source else "nothing"
