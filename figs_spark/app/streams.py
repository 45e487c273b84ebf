"""Scoring as a stream: files that arrive in a folder are scored and appended to another.

The checkpoint records what was scored, so a stream that was stopped continues from there: no row is
lost or scored twice. `availableNow` scores what is there and ends; a scheduler can start it again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from figs_spark.app.config import Settings
from figs_spark.app.errors import OUTPUT_EXISTS, UNFIT_INPUT
from figs_spark.app.reader_options import reader_options
from figs_spark.app.sources import exists, kind_of, prepared, read, short
from figs_spark.app.spreadsheets import safe_frame

NOW = "availableNow"

log = logging.getLogger("figs_spark")


def check_stream(settings: Settings[Any]) -> None:
    if settings.overwrite:
        raise settings.error(
            "--overwrite", "a stream appends. Remove output and checkpoint yourself."
        )
    if settings.job.options.get("path"):
        raise settings.error("options.path", "use the key input for the folder.")


def score_stream(
    spark: SparkSession, settings: Settings[Any], score: Callable[[DataFrame], DataFrame]
) -> None:
    """Score what arrives until stopped; with availableNow, until all that is there is scored."""
    values = settings.job
    output = values.output.rstrip("/")
    checkpoint = values.checkpoint or f"{output}_checkpoint"
    if exists(spark, output) and not exists(spark, checkpoint):
        message = f"'{output}' exists without a checkpoint '{checkpoint}': no stream wrote it."
        raise settings.error("output", message, OUTPUT_EXISTS)
    rows = score(source(spark, settings))
    rows = safe_frame(rows) if values.outputFormat == "csv" else rows
    if settings.dry_run:
        columns = ", ".join(f"{f.name} {f.dataType.simpleString()}" for f in rows.schema.fields)
        print(f"Nothing was started (--dry-run). A stream would write to {output}: {columns}")
        return
    writer = rows.writeStream.format(values.outputFormat).outputMode("append")
    writer = writer.option("path", output).option("checkpointLocation", checkpoint)
    once = values.trigger == NOW
    writer = writer.trigger(availableNow=True) if once else _every(writer, settings)
    query = writer.start()
    try:
        query.awaitTermination()
    except KeyboardInterrupt:
        query.stop()
    counted = sum(progress["numInputRows"] for progress in query.recentProgress)
    print(f"{counted:,} rows scored; saved to {output}")


def _every(writer: Any, settings: Settings[Any]) -> Any:
    try:
        return writer.trigger(processingTime=settings.job.trigger)
    except (ValueError, PySparkException) as error:
        message = f"{NOW} or an interval such as '10 seconds' is needed: {short(error)}"
        raise settings.error("trigger", message) from error


def source(spark: SparkSession, settings: Settings[Any]) -> DataFrame:
    """The arriving rows; the schema is a setting, or read from the files that are there."""
    values = settings.job
    kind = kind_of(spark, values)
    reader = spark.readStream.options(**reader_options(kind, values.options))
    try:
        if kind == "table":
            return prepared(reader.table(values.input), settings)
        if kind != "delta":
            reader = reader.schema(values.schema or read(spark, settings).schema)
        return prepared(reader.format(kind).load(values.input), settings)
    except PySparkException as error:
        message = f"'{values.input}' cannot be read as a stream of {kind}: {short(error)}"
        raise settings.error("input", message, UNFIT_INPUT) from error
