"""Compares G-FIGS with its simpler variants: pooled and separate models, and CART for FIGS."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.ml.evaluation import Evaluator, RegressionEvaluator
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from figs_spark.dataframes.columns import column
from figs_spark.stages.evaluator import SensitivitySpecificityEvaluator
from figs_spark.stages.gfigs.estimator import GFIGSEstimator
from figs_spark.stages.gfigs.params import MEMBERSHIP, MIXTURE, POOLED, SEPARATE

if TYPE_CHECKING:
    import pandas as pd

# The weighting of each variant, and whether it is a single tree.
VARIANTS = {
    "CART": (POOLED, True),
    "CART-SEP": (SEPARATE, True),
    "G-CART": (MEMBERSHIP, True),
    "FIGS": (POOLED, False),
    "FIGS-SEP": (SEPARATE, False),
    "G-FIGS": (MEMBERSHIP, False),
}


@dataclass(frozen=True)
class VariantComparison:
    """`table` has the metric by variant, for all rows ("all") and by group; `models` the models."""

    __module__ = "figs_spark"

    table: pd.DataFrame
    models: dict[str, Any]


def variants(estimator: GFIGSEstimator) -> dict[str, GFIGSEstimator]:
    """The six variants as estimators; all other Params are those of this estimator."""
    trees = estimator.getOrDefault("maxTrees")
    sums = None if trees == 1 else trees
    return {
        name: estimator.copy()._set(weighting=weighting, maxTrees=1 if single else sums)
        for name, (weighting, single) in VARIANTS.items()
    }


def compare_variants(
    estimator: GFIGSEstimator,
    train: DataFrame,
    test: DataFrame,
    evaluator: Evaluator | None = None,
) -> VariantComparison:
    """Fit the six variants on the same rows with the same membership, and evaluate them.

    The default evaluator is the area under the ROC curve or, for a numeric outcome, the root mean
    squared error. All variants have the same maxSplits.
    """
    import pandas as pd

    evaluator = evaluator or _default_evaluator(estimator)
    name = estimator.getOrDefault("groupCol")
    prepared = estimator.copy()._set(weighting=MEMBERSHIP)._prepare(train)
    models, metrics = {}, {}
    for variant, of_variant in variants(estimator).items():
        by_membership = of_variant.getOrDefault("weighting") == MEMBERSHIP
        mixes = of_variant.getOrDefault("unseenGroup") == MIXTURE
        rows = prepared if by_membership or mixes else replace(prepared, membership=None)
        model = models[variant] = of_variant._model(rows, of_variant._grow_prepared(rows))
        metrics[variant] = _metrics(evaluator, model.transform(test), name, rows.groups)
    columns = pd.Index(["all", *prepared.groups], dtype=object, name=name)
    table = pd.DataFrame.from_dict(metrics, orient="index", columns=columns)
    return VariantComparison(table.rename_axis("variant"), models)


def _metrics(
    evaluator: Evaluator, scored: DataFrame, name: str, groups: Sequence[Any]
) -> list[float]:
    """The metric of all rows, and of each group."""
    if isinstance(evaluator, SensitivitySpecificityEvaluator):
        (_, overall), *others = evaluator.evaluateByGroup(scored, name)
        by_group = dict(others)
        return [overall, *(by_group.get(group, math.nan) for group in groups)]
    parts = [scored.where(column(name) == F.lit(group)) for group in groups]
    return [evaluator.evaluate(rows) for rows in (scored, *parts)]


def _default_evaluator(estimator: GFIGSEstimator) -> Evaluator:
    label = estimator.getOrDefault("labelCol")
    if not estimator._classification:
        return RegressionEvaluator(
            labelCol=label, predictionCol=estimator.getOrDefault("predictionCol")
        )
    return SensitivitySpecificityEvaluator(
        metricName="areaUnderROC",
        labelCol=label,
        scoreCol=estimator.getOrDefault("probabilityCol"),
    )
