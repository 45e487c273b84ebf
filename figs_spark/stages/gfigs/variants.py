"""G-FIGS beside what it is made of: pooled and separate models, and CART in place of FIGS."""

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

# The weighting of each, and whether it is a single tree.
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
    """The metric by variant, for all rows ("all") and by group; and the models."""

    table: pd.DataFrame
    models: dict[str, Any]


def variants(estimator: GFIGSEstimator) -> dict[str, GFIGSEstimator]:
    """The six as estimators, with all other Params of this one."""
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
    """Fit the six variants on the same rows with the same membership, and judge them.

    The evaluator is by default the area under the ROC curve, for a numeric outcome the root of the
    mean squared error. All have the same maxSplits.
    """
    import pandas as pd

    judge = evaluator or _evaluator(estimator)
    name = estimator.getOrDefault("groupCol")
    prepared = estimator.copy()._set(weighting=MEMBERSHIP)._prepare(train)
    models, table = {}, {}
    for variant, own in variants(estimator).items():
        needed = own.getOrDefault("unseenGroup") == MIXTURE
        unneeded = own.getOrDefault("weighting") != MEMBERSHIP and not needed
        rows = replace(prepared, membership=None) if unneeded else prepared
        model = models[variant] = own._model(rows, own._grow_prepared(rows))
        table[variant] = _judged(judge, model.transform(test), name, rows.groups)
    columns = pd.Index(["all", *prepared.groups], dtype=object, name=name)
    found = pd.DataFrame.from_dict(table, orient="index", columns=columns)
    return VariantComparison(found.rename_axis("variant"), models)


def _judged(judge: Evaluator, scored: DataFrame, name: str, groups: Sequence[Any]) -> list[float]:
    """The metric of all rows, and of each group."""
    if isinstance(judge, SensitivitySpecificityEvaluator):
        (_, overall), *others = judge.evaluateByGroup(scored, name)
        found = dict(others)
        return [overall, *(found.get(group, math.nan) for group in groups)]
    own = [scored.where(column(name) == F.lit(group)) for group in groups]
    return [judge.evaluate(rows) for rows in (scored, *own)]


def _evaluator(estimator: GFIGSEstimator) -> Evaluator:
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
