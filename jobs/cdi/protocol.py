"""One seed of the experiment: divide the rows, choose, fit again, evaluate on test rows."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from pyspark.ml.classification import GBTClassifier, LogisticRegression
from pyspark.sql import DataFrame, SparkSession
from sklearn.model_selection import train_test_split

from figs_spark import GFIGSClassifier, SelectedGFIGS, roc_curve, select_gfigs
from figs_spark.stages.gfigs.variants import VARIANTS
from jobs.cdi.studies import GROUP, LABEL, Study

LEVELS = (0.92, 0.94, 0.96, 0.98)
SIZES = (8, 12, 16)  # splits of FIGS, leaves of CART
LOGISTIC = (2.783, 0.01, 0.1)  # C of scikit-learn
BOOSTED = (100, 50)  # trees

log = logging.getLogger("cdi_experiment")


def run_seed(spark: SparkSession, study: Study, seed: int, boosted: bool) -> list[dict[str, Any]]:
    """The metrics of every variant, overall and by group."""
    return [row for _, rows in run_variants(spark, study, seed, boosted) for row in rows]


def parts(study: Study, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """60% of the rows to train, 20% to choose, 20% to test."""
    rest, test = train_test_split(study.rows, test_size=0.2, random_state=seed)
    return (*train_test_split(rest, test_size=0.25, random_state=seed), test)


def run_variants(
    spark: SparkSession, study: Study, seed: int, boosted: bool
) -> Iterator[tuple[SelectedGFIGS, list[dict[str, Any]]]]:
    """For every variant what was chosen, and its metrics."""
    train, validation, test = parts(study, seed)
    frames = [spark.createDataFrame(part).coalesce(2).cache() for part in (train, validation, test)]
    try:
        fitted: Any = ()  # the membership models, which G-CART and G-FIGS share
        for variant, (weighting, single) in VARIANTS.items():
            estimator = _estimator(study, train, weighting, single)
            chosen = select_gfigs(
                estimator,
                frames[0],
                frames[1],
                sizes=[size - single for size in SIZES],
                membershipEstimators=memberships(len(train) + len(validation), boosted),
                sensitivities=study.sensitivities,
                membershipOnBoth=True,
                memberships=fitted if weighting == "membership" else (),
            )
            fitted = chosen.memberships or fitted
            measured = evaluate(chosen.model.transform(frames[2]))
            log.info("%s, seed %d, %s: AUC %.3f", study.name, seed, variant, measured[0]["AUC"])
            common = {"study": study.name, "seed": seed, "model": variant}
            sizes = {"splits": _splits(chosen.model)}
            yield chosen, [common | sizes | row for row in measured]
    finally:
        for frame in frames:
            frame.unpersist()


def _estimator(study: Study, train: pd.DataFrame, weighting: str, single: bool) -> GFIGSClassifier:
    positives = int(train[LABEL].sum())
    return GFIGSClassifier(
        featuresCols=list(study.features),
        membershipFeaturesCols=list(study.membership),
        labelCol=LABEL,
        groupCol=GROUP,
        classWeight={1: 1 + (len(train) - positives) // positives},
        weighting=weighting,
        maxTrees=1 if single else None,
    )


def memberships(rows: int, boosted: bool) -> list[Any]:
    """The membership models to try; scikit-learn's C is 1 / (regParam * rows)."""
    classifiers: list[Any] = [
        LogisticRegression(regParam=1 / (c * rows), standardization=False, maxIter=1000)
        for c in LOGISTIC
    ]
    if boosted:
        classifiers += [GBTClassifier(maxIter=n, maxDepth=3, stepSize=0.1, seed=0) for n in BOOSTED]
    return classifiers


def evaluate(scored: DataFrame) -> list[dict[str, Any]]:
    """Specificity at each level of sensitivity, AUC and the best F1, of all rows and by group.

    The raw score is used: in the probability all scores of 0 and below are the same.
    """
    curves = roc_curve(scored, labelCol=LABEL, scoreCol="rawPrediction", groupCol=GROUP)
    return [
        {"group": group, **metrics(curve)} for group, curve in curves.groupby(GROUP, sort=False)
    ]


def metrics(curve: pd.DataFrame) -> dict[str, float]:
    """The metrics from the points of a ROC curve, both ends included."""
    sensitivity, specificity = curve["sensitivity"], curve["specificity"]
    if curve[["sensitivity", "specificity"]].isna().any(axis=None):
        return dict.fromkeys([*map(_specificity, LEVELS), "AUC", "F1"], np.nan)
    tp, fp = curve["tp"], curve["fp"]
    numbers = {
        _specificity(level): float(specificity[sensitivity >= level].max()) for level in LEVELS
    }
    numbers["AUC"] = float(np.trapezoid(sensitivity, 1 - specificity))
    numbers["F1"] = float((2 * tp / (tp + fp + tp.max()).clip(lower=1e-300)).max())
    return numbers


def _specificity(level: float) -> str:
    return f"specificity at {level:.0%}"


def _splits(model: Any) -> int:
    """The splits of all groups together; a pooled model is counted once."""
    sizes = [part.numSplits for part in model.models.values()]
    return sizes[0] if model.getWeighting() == "pooled" else sum(sizes)


def summary(results: pd.DataFrame, study: str, group: str, statistic: str) -> pd.DataFrame:
    """For each model, the mean or the standard error over the seeds."""
    columns = [*map(_specificity, LEVELS), "AUC", "F1", "splits"]
    rows = results[(results["study"] == study) & (results["group"] == group)]
    return rows.groupby("model", sort=False)[columns].agg(statistic)


def names(columns: Sequence[str]) -> list[str]:
    return [name.replace("specificity at ", "spec. ") for name in columns]
