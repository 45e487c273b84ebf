"""Score: a table and a model become a table with predictions, at once or as a stream.

Columns that the output has beside those of the input: `prediction`; of a classifier `probability`,
of two classes that of class 1, a number, else one number per class; `contributions`, what each tree
adds; and on request `rules`, for each tree the conditions that the row fulfils.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.ml.functions import vector_to_array
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType

from figs_spark.app.config import Settings, key
from figs_spark.app.errors import UNFIT_INPUT
from figs_spark.app.metrics import AMOUNT, BINARY, outcome
from figs_spark.app.outputs import FileFormat, appearing, check_output
from figs_spark.app.saved_models import check_columns, load_model
from figs_spark.app.sources import Input, need_columns, read, require
from figs_spark.app.streams import check_stream, score_stream
from figs_spark.dataframes.columns import column

log = logging.getLogger("figs_spark")
PROBABILITIES, LEAVES = "figs_spark_probabilities", "figs_spark_leaves"


@dataclass(frozen=True)
class Score(Input):
    """Add a model's predictions to a table, once or as a stream."""

    model: str | None = key(None, "folder that train wrote, or model.save")
    keep: list[str] | None = key(None, "columns of the input to keep; default: all")
    predictionCol: str = key("prediction", "output: the class, or the amount")
    probabilityCol: str = key("probability", "output: of class 1, or of each of several; '': none")
    contributionsCol: str = key("contributions", "output: what each tree adds; '': none")
    rulesCol: str = key("", "output: the conditions that hold, one text per tree; '': none")
    output: str | None = key(None, "folder for the scored table")
    outputFormat: FileFormat = key("parquet", "of the output; in csv, lists are JSON")
    stream: bool = key(False, "score files as they arrive, instead of a table once")
    schema: str | None = key(None, "of a stream, as in 'age INT, sex STRING'; default: read")
    trigger: str = key("availableNow", "of a stream: availableNow, what is there, or '10 seconds'")
    checkpoint: str | None = key(None, "folder where a stream keeps its place; default: beside")


SETTINGS = Score


def check(settings: Settings[Score]) -> None:
    for name, what in (("input", "a table"), ("model", "a model"), ("output", "a path to write")):
        require(settings, name, what)
    if settings.given.stream:
        check_stream(settings)


def run(spark: SparkSession, settings: Settings[Score]) -> None:
    model = load_model(spark, settings)
    if settings.given.stream:
        score_stream(spark, settings, lambda rows: scored(model, rows, settings))
        return
    path = check_output(spark, settings)
    found = scored(model, read(spark, settings), settings)
    if settings.dry_run:
        print(plan(found, settings))
        return
    with appearing(spark, settings) as folder:
        folder.table(found, settings.given.outputFormat)
    print(f"Scored by {type(model).__name__}; saved to {path}")


def plan(found: DataFrame, settings: Settings[Score]) -> str:
    given = settings.given
    lines = [
        "Nothing was written (--dry-run). The input fits the model; the job would",
        f"  read   {given.input}",
        f"  score  by {given.model}{', as a stream' if given.stream else ''}",
        f"  write  {given.output} ({given.outputFormat}) with",
        *(f"           {f.name} ({f.dataType.simpleString()})" for f in found.schema.fields),
    ]
    return "\n".join(lines)


def scored(model: Any, rows: DataFrame, settings: Settings[Score]) -> DataFrame:
    """The rows with the outputs; a JobError where the columns do not fit."""
    given = settings.given
    check_columns(model, rows)
    need_columns(rows, given.keep or [])
    names = given.keep if given.keep is not None else rows.columns
    for param in ("predictionCol", "probabilityCol", "contributionsCol", "rulesCol"):
        if (name := getattr(given, param)) in names:
            message = f"the input has a column '{name}' already. Give the output another name."
            raise settings.error(param, message, UNFIT_INPUT)
    model = model.copy()._set(**_asked(model, settings))
    try:
        found = model.transform(rows)
    except ValueError as error:
        raise settings.error("input", str(error), UNFIT_INPUT) from error
    outputs = _outputs(model, given)
    columns = [*map(column, names), *(value.alias(name) for name, value in outputs.items())]
    found = found.select(*columns)
    return _as_text(found) if given.outputFormat == "csv" else found


def _asked(model: Any, settings: Settings[Score]) -> dict[str, str]:
    """The output Params; what a kind of model does not have is left out, with a word."""
    given = settings.given
    wanted = {
        "predictionCol": given.predictionCol,
        "probabilityCol": PROBABILITIES if given.probabilityCol else "",
        "rawPredictionCol": "",
        "contributionsCol": given.contributionsCol,
        "leafCol": LEAVES if given.rulesCol else "",
    }
    lost = [name for name, value in wanted.items() if value and not model.hasParam(name)]
    if "leafCol" in lost:
        message = f"a {type(model).__name__} is no single sum of trees; it has no rules to show."
        raise settings.error("rulesCol", message, UNFIT_INPUT)
    if "contributionsCol" in lost:
        log.info("No contributions: a %s is no single sum of trees.", type(model).__name__)
    return {name: value for name, value in wanted.items() if model.hasParam(name)}


def _outputs(model: Any, given: Score) -> dict[str, Column]:
    found = {given.predictionCol: column(given.predictionCol)} if given.predictionCol else {}
    if outcome(model) != AMOUNT and given.probabilityCol:
        all_classes = vector_to_array(F.col(PROBABILITIES))
        one = F.get(all_classes, F.lit(1)) if outcome(model) == BINARY else all_classes
        found[given.probabilityCol] = one
    if given.contributionsCol and model.hasParam("contributionsCol"):
        found[given.contributionsCol] = column(given.contributionsCol)
    if given.rulesCol:
        found[given.rulesCol] = _fired(model)
    return found


def _fired(model: Any) -> Column:
    """For each tree the conditions of the leaf that the row is in; of G-FIGS, by group."""
    if not hasattr(model, "groups"):
        return _fired_in_trees(model)
    group = column(model.getOrDefault("groupCol"))
    cases = [F.when(group == own, _fired_in_trees(m)) for own, m in model.models.items()]
    return F.coalesce(*cases)


def _fired_in_trees(model: Any) -> Column:
    rules, leaves = model.rules(), vector_to_array(F.col(LEAVES))
    texts: list[Sequence[str]] = [list(own["path"]) for _, own in rules.groupby("tree", sort=True)]
    fired = [
        F.get(F.array(*map(F.lit, paths)), leaves[k].cast("int")) for k, paths in enumerate(texts)
    ]
    return F.array(*fired)


def _as_text(found: DataFrame) -> DataFrame:
    """Lists as JSON, which CSV has no form for."""
    for field in found.schema.fields:
        if isinstance(field.dataType, ArrayType):
            found = found.withColumn(field.name, F.to_json(column(field.name)))
    return found
