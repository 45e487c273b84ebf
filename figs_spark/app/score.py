"""Score: a table and a model become a table with predictions, once or as a stream.

The output has the columns of the input and these:

    prediction      the class, or the amount
    probability     of a classifier: of class 1 if there are two classes, else one number per class
    contributions   what each tree adds to the score
    rules           if asked for: for each tree the conditions that the row meets
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
from figs_spark.app.inherited import training_source, with_reader_options
from figs_spark.app.known_values import report_unknown
from figs_spark.app.metrics import AMOUNT, BINARY, outcome
from figs_spark.app.outputs import FileFormat, appearing, check_output, check_output_here
from figs_spark.app.saved_models import check_columns, load_model
from figs_spark.app.sources import Input, need_columns, read, require
from figs_spark.app.streams import check_stream, score_stream
from figs_spark.dataframes.columns import column, folding
from figs_spark.stages.gfigs.model import GroupedModel

log = logging.getLogger("figs_spark")
PROBABILITIES, LEAVES = "figs_spark_probabilities", "figs_spark_leaves"


@dataclass(frozen=True)
class Score(Input):
    """Add a model's predictions to a table, once or as a stream."""

    model: str | None = key(None, "folder that train or model.save wrote")
    keep: list[str] | None = key(None, "columns of the input to keep; default: all")
    predictionCol: str = key("prediction", "output column: the predicted class or amount; '': none")
    probabilityCol: str = key(
        "probability", "output column: of class 1, or of each class; '': none"
    )
    contributionsCol: str = key("contributions", "output column: what each tree adds; '': none")
    rulesCol: str = key("", "output column: for each tree the conditions that the row meets")
    output: str | None = key(None, "folder for the scored table")
    outputFormat: FileFormat = key("parquet", "format of the output; csv holds lists as JSON")
    stream: bool = key(False, "score files as they arrive, instead of one table once")
    schema: str | None = key(
        None, "columns of a stream: 'age INT, sex STRING'; default: as in the files"
    )
    trigger: str = key(
        "availableNow", "when to score: availableNow (once, then end) or '10 seconds'"
    )
    checkpoint: str | None = key(None, "folder for a stream's progress; default: OUTPUT_checkpoint")


SETTINGS = Score


def check(settings: Settings[Score]) -> None:
    for name, what in (("input", "a table"), ("model", "a model"), ("output", "a path to write")):
        require(settings, name, what)
    if settings.job.stream:
        check_stream(settings)
    else:
        check_output_here(settings)


def run(spark: SparkSession, settings: Settings[Score]) -> None:
    if not settings.job.stream:
        check_output(spark, settings)
    model = load_model(spark, settings)
    source = training_source(spark, settings)
    settings = with_reader_options(spark, settings, source)
    if settings.job.stream:
        score_stream(spark, settings, lambda rows: scored(model, rows, settings))
        return
    data = read(spark, settings)
    rows = scored(model, data, settings)
    if settings.dry_run:
        print(plan(rows, settings.job))
        return
    report_unknown(model._with_derived(data), model, source.known)
    with appearing(spark, settings) as folder:
        folder.table(rows, settings.job.outputFormat)
    print(f"Scored with {type(model).__name__}; saved to {settings.job.output}")


def plan(rows: DataFrame, values: Score) -> str:
    lines = [
        "Nothing was written (--dry-run). The input fits the model; the job would",
        f"  read   {values.input}",
        f"  score  with {values.model}{', as a stream' if values.stream else ''}",
        f"  write  {values.output} ({values.outputFormat}) with",
        *(f"           {f.name} ({f.dataType.simpleString()})" for f in rows.schema.fields),
    ]
    return "\n".join(lines)


def scored(model: Any, rows: DataFrame, settings: Settings[Score]) -> DataFrame:
    """The rows with the outputs; a JobError if the columns do not fit."""
    values = settings.job
    check_columns(model, rows)
    need_columns(rows, values.keep or [])
    names = values.keep if values.keep is not None else rows.columns
    fold = folding(rows)
    taken = {fold(name): name for name in names}
    for param in ("predictionCol", "probabilityCol", "contributionsCol", "rulesCol"):
        if (name := taken.get(fold(getattr(values, param) or ""))) is not None:
            message = f"the input already has a column '{name}'. Give the output another name."
            raise settings.error(param, message, UNFIT_INPUT)
    model = model.copy()._set(**_output_params(model, settings))
    try:
        predicted = model.transform(rows)
    except ValueError as error:
        raise settings.error("input", str(error), UNFIT_INPUT) from error
    outputs = _outputs(model, values)
    columns = [*map(column, names), *(value.alias(name) for name, value in outputs.items())]
    selected = predicted.select(*columns)
    return _lists_as_json(selected) if values.outputFormat == "csv" else selected


def _output_params(model: Any, settings: Settings[Score]) -> dict[str, str]:
    """The output Params that this kind of model has; a message names the ones it lacks."""
    values = settings.job
    params = {
        "predictionCol": values.predictionCol,
        "probabilityCol": PROBABILITIES if values.probabilityCol else "",
        "rawPredictionCol": "",
        "contributionsCol": values.contributionsCol,
        "leafCol": LEAVES if values.rulesCol else "",
    }
    lacking = [name for name, value in params.items() if value and not model.hasParam(name)]
    kind = type(model).__name__
    if "leafCol" in lacking:
        message = f"a {kind} is not a single sum of trees, so it has no rules."
        raise settings.error("rulesCol", message, UNFIT_INPUT)
    if "contributionsCol" in lacking:
        log.info("No contributions: a %s is not a single sum of trees.", kind)
    return {name: value for name, value in params.items() if model.hasParam(name)}


def _outputs(model: Any, values: Score) -> dict[str, Column]:
    outputs = {values.predictionCol: column(values.predictionCol)} if values.predictionCol else {}
    if outcome(model) != AMOUNT and values.probabilityCol:
        all_classes = vector_to_array(F.col(PROBABILITIES))
        one = F.get(all_classes, F.lit(1)) if outcome(model) == BINARY else all_classes
        outputs[values.probabilityCol] = one
    if values.contributionsCol and model.hasParam("contributionsCol"):
        outputs[values.contributionsCol] = column(values.contributionsCol)
    if values.rulesCol:
        outputs[values.rulesCol] = _rules(model)
    return outputs


def _rules(model: Any) -> Column:
    """For each tree the conditions of the leaf that the row is in; G-FIGS takes the row's group."""
    if not isinstance(model, GroupedModel):
        return _rules_of_trees(model)
    group = column(model.getOrDefault("groupCol"))
    cases = [F.when(group == name, _rules_of_trees(part)) for name, part in model.models.items()]
    return F.coalesce(*cases)


def _rules_of_trees(model: Any) -> Column:
    trees, leaves = model.rules().groupby("tree", sort=True), vector_to_array(F.col(LEAVES))
    texts: list[Sequence[str]] = [list(tree["path"]) for _, tree in trees]
    rules = [
        F.get(F.array(*map(F.lit, by_leaf)), leaves[k].cast("int"))
        for k, by_leaf in enumerate(texts)
    ]
    return F.array(*rules)


def _lists_as_json(rows: DataFrame) -> DataFrame:
    """Lists as JSON text: CSV has no lists."""
    for field in rows.schema.fields:
        if isinstance(field.dataType, ArrayType):
            rows = rows.withColumn(field.name, F.to_json(column(field.name)))
    return rows
