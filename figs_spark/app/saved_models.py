"""Loading a model that `train` saved, and checking that a table has the columns it needs."""

from __future__ import annotations

from typing import Any

from pyspark.errors import PySparkException
from pyspark.ml import PipelineModel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

import figs_spark
from figs_spark.app.config import Settings
from figs_spark.app.division import Division
from figs_spark.app.errors import UNFIT_INPUT, JobError
from figs_spark.app.sources import exists
from figs_spark.stages.base.inputs import type_of
from figs_spark.treesum.strict_json import Entry, parse

TYPES: dict[type[DataType], str] = {
    NumericType: "a number",
    BooleanType: "a boolean",
    StringType: "text",
    DateType: "a date",
    TimestampType: "a timestamp",
    TimestampNTZType: "a timestamp without a time zone",
}


def load_model(spark: SparkSession, settings: Settings[Any]) -> Any:
    """The model in a folder that `train` or `model.save` wrote."""
    path = _model_path(spark, settings)
    name = _metadata(spark, path, settings).get("class", "")
    package, _, cls = str(name).partition(".")
    if package != "figs_spark" or cls not in figs_spark.__all__ or not cls.endswith("Model"):
        message = f"'{path}' is {name or 'something else'}, not a model of figs_spark."
        raise settings.error("model", message, UNFIT_INPUT)
    try:
        return getattr(figs_spark, cls).load(path)
    except ValueError as error:
        raise settings.error("model", str(error), UNFIT_INPUT) from error


def load_exportable(spark: SparkSession, settings: Settings[Any]) -> Any:
    """The same, or a fitted pipeline that ends in such a model."""
    path = _model_path(spark, settings)
    if not str(_metadata(spark, path, settings).get("class", "")).endswith(".PipelineModel"):
        return load_model(spark, settings)
    try:
        return figs_spark.exportable(PipelineModel.load(path))
    except ValueError as error:
        raise settings.error("model", str(error), UNFIT_INPUT) from error


def _model_path(spark: SparkSession, settings: Settings[Any]) -> str:
    folder = str(settings.job.model).rstrip("/")
    path = next((p for p in (f"{folder}/model", folder) if exists(spark, f"{p}/metadata")), None)
    if path is None:
        message = f"'{folder}' has no model in it. Name the output of train or of model.save."
        raise settings.error("model", message, UNFIT_INPUT)
    return path


def _metadata(spark: SparkSession, path: str, settings: Settings[Any]) -> dict[str, Any]:
    try:
        metadata = parse(read_text(spark, f"{path}/metadata"), f"'{path}/metadata'")
    except (ValueError, PySparkException) as error:
        raise settings.error("model", str(error), UNFIT_INPUT) from error
    return metadata if isinstance(metadata, dict) else {}


def read_text(spark: SparkSession, path: str) -> str:
    return "\n".join(row[0] for row in spark.read.text(path, wholetext=True).collect())


def load_division(spark: SparkSession, settings: Settings[Any]) -> Division:
    """How `train` divided its rows."""
    path = f"{str(settings.job.model).rstrip('/')}/settings.json"
    if not exists(spark, path):
        message = f"'{path}' does not exist. Only the output of train says which rows it held out."
        raise settings.error("model", message, UNFIT_INPUT)
    try:
        record = Entry(parse(read_text(spark, path), f"'{path}'"), f"'{path}'")
        return Division.from_entry(record.inner("division"))
    except ValueError as error:
        raise settings.error("model", str(error), UNFIT_INPUT) from error


def check_columns(model: Any, data: DataFrame) -> None:
    """Raise a JobError that names every column that is missing or has the wrong type, once what
    the model derives is derived."""
    try:
        data = model._with_derived(data)
    except ValueError as error:
        raise JobError(UNFIT_INPUT, str(error)) from error
    kinds = {field.name: field.dataType for field in data.schema.fields}
    problems = []
    for name, needed in needed_columns(model).items():
        kind = kinds.get(name)
        if kind is None:
            problems.append(f"'{name}' is missing")
        elif needed is not None and not isinstance(kind, needed):
            problems.append(f"'{name}' is {kind.simpleString()}, {TYPES[needed]} is needed")
    if problems:
        columns = f"{len(problems)} column{'s' if len(problems) > 1 else ''}"
        raise JobError(
            UNFIT_INPUT,
            f"{columns} of the input do not fit the model: {'; '.join(problems)}. Rename or cast.",
        )


def needed_columns(model: Any) -> dict[str, type[DataType] | None]:
    """The columns that a model uses, with their types; None: any type."""
    names = model.getOrDefault("featuresCols")
    if names is None:
        kinds: dict[str, type[DataType] | None] = {model.getOrDefault("featuresCol"): None}
    else:
        kinds = {names[j]: type_of(model._features[j]) for j in sorted(model._used)}
    if model.hasParam("groupCol"):
        kinds[model.getOrDefault("groupCol")] = None
    return kinds
