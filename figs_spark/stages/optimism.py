"""How much better a model looks on its own training rows than on others, by the bootstrap.

The model is grown again on bootstrap samples, all in one batch. Each is measured on its own sample
and on all rows: the mean difference is the optimism of the procedure, by which the figures of the
model itself are corrected (Harrell 1996).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from pyspark.sql import DataFrame

from figs_spark.clinical.calibrated import slope_of
from figs_spark.clinical.curves import RowsByScore
from figs_spark.engine.histograms import Floats
from figs_spark.engine.resampled import ALL, NEGATIVES, OWN, POSITIVES, SCORES, resampled
from figs_spark.engine.weights import Perturbation, PerturbedWeights
from figs_spark.stages.base.estimator import progress_bar
from figs_spark.stages.figs import FIGSEstimator
from figs_spark.stages.stability import training_inputs


@dataclass(frozen=True)
class Optimism:
    """Figures on the training rows, by how much they flatter, and corrected.

    The slope is that of calibration; NaN if the classes are separated.
    """

    __module__ = "figs_spark"

    auc: float
    aucOptimism: float
    slope: float
    slopeOptimism: float
    repeats: int

    @property
    def correctedAuc(self) -> float:
        return self.auc - self.aucOptimism

    @property
    def correctedSlope(self) -> float:
        return self.slope - self.slopeOptimism


def optimism(
    estimator: FIGSEstimator, dataset: DataFrame, repeats: int = 100, seed: int = 0
) -> Optimism:
    """Grow the model of a FIGS estimator for two classes on bootstrap samples, and compare.

    What the estimator does to grow and to fit values is repeated, but not the choice of its
    Params. Which rows are drawn
    depends on the seed and on what the rows hold.
    """
    _check(estimator, repeats)
    table, plan, _ = training_inputs(estimator, dataset)
    if table.target.classes != 2:
        raise ValueError(
            f"Optimism is for two classes, and column '{estimator.getOrDefault('labelCol')}' "
            f"(labelCol) has {table.target.classes or 'no'} classes."
        )
    samples = (Perturbation(), *[Perturbation(bootstrap=True)] * repeats)
    table = replace(table, mergeable=False).with_content_ids()
    weights = PerturbedWeights(table.target, samples, 1, seed)
    with progress_bar(estimator.getOrDefault("verbose"), None) as step:
        sums = resampled(table, plan, len(samples), weights, step).sums
    figures = np.array(
        [[_figures(sums[k, sample]) for sample in (OWN, ALL)] for k in range(len(sums))]
    )
    apparent, gaps = figures[0, ALL], figures[1:, OWN] - figures[1:, ALL]
    auc, slope = (_mean(gaps[:, k]) for k in range(2))
    return Optimism(float(apparent[0]), auc, float(apparent[1]), slope, repeats)


def _check(estimator: Any, repeats: int) -> None:
    if not isinstance(estimator, FIGSEstimator):
        raise ValueError(f"A FIGS estimator is needed, got {type(estimator).__name__}. Name one.")
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, got {repeats}.")


def _figures(sums: Floats) -> tuple[float, float]:
    """AUC and calibration slope of counted scores."""
    rows = rows_of(sums)
    return rows.auc()[0], slope_of(rows).value


def rows_of(sums: Floats) -> RowsByScore:
    """The cells that hold rows, as rows by score."""
    weights = sums[POSITIVES] + sums[NEGATIVES]
    counted = weights > 0
    means = sums[SCORES][counted] / weights[counted]
    columns = {
        "low": means,
        "high": means,
        "positives": sums[POSITIVES][counted],
        "negatives": sums[NEGATIVES][counted],
        "positive_squares": sums[POSITIVES][counted],
        "negative_squares": sums[NEGATIVES][counted],
        "rows": weights[counted],
        "scores": sums[SCORES][counted],
        "errors": np.zeros(int(counted.sum())),
    }
    return RowsByScore.of(means, columns)


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")
