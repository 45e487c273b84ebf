"""Bootstrap intervals of a FIGS model: drawn with the fit, and added to the rows that it scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from pyspark.sql import Column

from figs_spark.dataframes.compat import table_udf
from figs_spark.engine.ensemble_scores import Ensemble
from figs_spark.engine.table import Table
from figs_spark.engine.weights import Perturbation, PerturbedWeights
from figs_spark.stages.base.inputs import used_numbers
from figs_spark.treesum import TreeSum
from figs_spark.treesum.intervals import Interval, prediction_intervals, sampled_sums
from figs_spark.treesum.prediction import Outcome


def resampled(table: Table, samples: int, seed: int) -> tuple[Table, PerturbedWeights]:
    """The table, and weights by which member 0 has the rows themselves and member k a sample."""
    table = replace(table, mergeable=False).with_content_ids()
    perturbations = (Perturbation(), *[Perturbation(bootstrap=True)] * samples)
    return table, PerturbedWeights(table.target, perturbations, 1, seed)


def check_intervals(stage: Any, classes: int) -> None:
    """ValueError if the intervals that are asked for cannot be given."""
    name, samples = stage.getOrDefault("riskIntervalCol"), stage.getOrDefault("intervalSamples")
    if name and not samples:
        raise ValueError(
            "riskIntervalCol needs bootstrap samples, and intervalSamples is 0. Set it to 200, or "
            "riskIntervalCol to ''."
        )
    if name and classes > 2:
        raise ValueError(
            f"riskIntervalCol is for numbers and two classes, and column "
            f"'{stage.getOrDefault('labelCol')}' (labelCol) has {classes} classes. Set it to ''."
        )


def interval_column(model: TreeSum, outcome: Outcome, features: Sequence[Column]) -> Column:
    """The two ends of the interval of each row's prediction, as array<double>."""
    if model.samples is None:
        raise ValueError(
            "riskIntervalCol is set, and the model has no bootstrap samples: it was fitted with "
            "intervalSamples=0, or was truncated, edited or calibrated since. Fit it again, or set "
            "riskIntervalCol to ''."
        )
    ensemble = Ensemble.of(sampled_sums(model), outcome)
    cells = used_numbers(model.features, features, ensemble.used)
    return table_udf(ensemble.interval, ensemble.width)(cells)


def row_interval(
    model: TreeSum, outcome: Outcome, cells: Sequence[Any]
) -> tuple[Interval, ...] | None:
    """The interval of each output for one row; None without samples."""
    if model.samples is None:
        return None
    table = np.empty((1, len(cells)), dtype=object)
    table[0, :] = list(cells)
    ends = prediction_intervals(model, outcome, table)[0]
    return tuple((float(low), float(high)) for low, high in ends)
