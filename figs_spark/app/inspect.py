"""Inspect: a first look at a table before a model is fitted, and settings to start from.

The output is a folder:

    inspection.html   the page: what is in each column, and what training would do with it
    inspection.txt    the same as text, as it is printed
    train.yaml        commented settings; `figs-spark train --config train.yaml` runs with them

No value that fewer than `minCategoryCount` rows have is shown, and no row is written.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from figs_spark.app.config import Settings, key
from figs_spark.app.errors import UNFIT_INPUT, JobError
from figs_spark.app.outputs import appearing, check_output, check_output_here
from figs_spark.app.sources import Input, kind_of, read, require
from figs_spark.inspection.inspection import LEAST, inspect
from figs_spark.inspection.starting_file import Source, train_yaml


@dataclass(frozen=True)
class Inspect(Input):
    """Look at a table: what is in its columns, and what training would do with them."""

    label: str | None = key(None, "column to predict, or an SQL condition: \"readmitted = '<30'\"")
    positive: str | None = key(
        None, "value of the label to predict against all others; default: the rarest"
    )
    minCategoryCount: int = key(LEAST, "no value of fewer rows is shown", low=1)
    output: str | None = key(None, "folder for the page and train.yaml; without one it is printed")


SETTINGS = Inspect


def check(settings: Settings[Any]) -> None:
    require(settings, "input", "a table")
    require(settings, "label", "the column to predict")
    check_output_here(settings)


def run(spark: SparkSession, settings: Settings[Inspect]) -> None:
    job = settings.job
    path = check_output(spark, settings) if job.output is not None else None
    rows = read(spark, settings)
    if settings.dry_run:
        print(
            f"Nothing was written (--dry-run). The job would look at the {len(rows.columns)} "
            f"columns of {job.input}, and write {path or 'nothing'}."
        )
        return
    kind = kind_of(spark, job)
    try:
        look = inspect(
            rows, str(job.label), job.positive,
            min_category_count=job.minCategoryCount, null_text=kind == "csv",
        )  # fmt: skip
    except ValueError as error:
        raise JobError(UNFIT_INPUT, str(error)) from error
    print(look)
    if path is None:
        return
    source = Source(str(job.input), kind, job.options, f"{path}/model", job.where, job.derive)
    with appearing(spark, settings) as folder:
        folder.write("inspection.html", look.to_html(f"A first look at {job.input}"))
        folder.write("inspection.txt", f"{look}\n")
        folder.write("train.yaml", train_yaml(look, source))
    file = f"{path}/train.yaml"
    print(f"\nSaved to {path}. Read {file}, then: figs-spark train --config {file}")
