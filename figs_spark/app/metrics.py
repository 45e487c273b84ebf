"""How good predictions are, as numbers by name: for two classes, for more, and for an amount."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from figs_spark.clinical.figures import at_threshold, of_score
from figs_spark.clinical.scored import Scored
from figs_spark.dataframes.columns import column
from figs_spark.dataframes.labels import class_number, label_number
from figs_spark.stages.base.outputs import ClassificationOutputs

BINARY, CLASSES, AMOUNT = "binary", "classes", "amount"  # kinds of outcome


def outcome(model: Any) -> str:
    """The kind of outcome that a model predicts."""
    if not isinstance(model, ClassificationOutputs):
        return AMOUNT
    return BINARY if model.numClasses == 2 else CLASSES


def with_label_numbers(model: Any, rows: DataFrame, label: str) -> DataFrame:
    """A text label as the numbers of the classes that the model knows; any other label stays."""
    if not isinstance(rows.schema[label].dataType, StringType):
        return rows
    names = model.classNames if isinstance(model, ClassificationOutputs) else ()
    return rows.withColumn(label, class_number(column(label), names))


def of_binary(
    scored: DataFrame, label: str, score: str, weight: str | None, threshold: float | None = None
) -> dict[str, Any]:
    """The metrics for two classes, from one aggregation."""
    rows = Scored(scored, label, score, weight).overall()
    return of_score(rows) | ({} if threshold is None else at_threshold(rows, threshold))


def by_group(
    scored: DataFrame,
    kind: str,
    label: str,
    weight: str | None,
    group: str | None = None,
    prediction: str = "prediction",
) -> list[dict[str, Any]]:
    """The metrics for more classes, or for an amount: of all rows, or one entry per group."""
    y, predicted = label_number(scored, label, prediction), column(prediction).cast("double")
    w = F.lit(1.0) if weight is None else column(weight).cast("double")
    sums = _accuracy(y, predicted, w) if kind == CLASSES else _errors(y, predicted, w)
    groups = [] if group is None else [column(group).alias("group")]
    totals = scored.groupBy(*groups).agg(F.count(F.lit(1)).alias("rows"), *sums).collect()
    rows = [row.asDict() for row in totals]
    return sorted(rows, key=lambda row: (row.get("group") is None, row.get("group")))


def _accuracy(y: Column, predicted: Column, w: Column) -> list[Column]:
    return [(F.sum(F.when(y == predicted, w).otherwise(0.0)) / F.sum(w)).alias("accuracy")]


def _errors(y: Column, predicted: Column, w: Column) -> list[Column]:
    mean = F.sum(w * y) / F.sum(w)
    squared = F.sum(w * (y - predicted) * (y - predicted)) / F.sum(w)
    variance = F.sum(w * y * y) / F.sum(w) - mean * mean
    return [
        (1 - squared / F.when(variance > 0, variance)).alias("r2"),
        F.sqrt(squared).alias("rmse"),
        (F.sum(w * F.abs(y - predicted)) / F.sum(w)).alias("mae"),
        (F.sum(w * (predicted - y)) / F.sum(w)).alias("bias"),
    ]


def measure(model: Any, rows: DataFrame, label: str, weight: str | None) -> dict[str, Any]:
    """The metrics of a model on these rows."""
    get, kind = model.getOrDefault, outcome(model)
    if kind != BINARY:
        scored = model.transform(rows)
        return by_group(scored, kind, label, weight, prediction=get("predictionCol"))[0]
    threshold = None if get("thresholds") else get("threshold")
    return of_binary(model.transform(rows), label, get("probabilityCol"), weight, threshold)


def plain(value: Any) -> Any:
    """The value as JSON takes it: NaN and infinity become null."""
    if isinstance(value, dict):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value
