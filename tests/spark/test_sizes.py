"""The size from data: a batch of folds gives what fitting fold by fold gives."""

from __future__ import annotations

from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import FIGSClassifier, FIGSRegressor
from tests.support.patients import FEATURES, patients

mpl.use("Agg")


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    fold = F.pmod(F.monotonically_increasing_id(), F.lit(3)).cast("int")
    return patients(spark, 300).withColumn("fold", fold).cache()


@pytest.mark.parametrize("mode", ["driver", "cluster"])
def test_the_losses_are_those_of_fits_fold_by_fold(data: DataFrame, mode: str) -> None:
    figs = FIGSClassifier(
        featuresCols=FEATURES, labelCol="died", weightCol="weight", maxSplits=4, mode=mode
    )
    path = figs.crossValidatePath(data, numFolds=3, foldCol="fold")
    losses = np.zeros((3, 5))
    for fold in range(3):
        model = figs.fit(data.where(F.col("fold") != fold))
        rows: Any = data.where(F.col("fold") == fold).toPandas()
        for k in range(5):
            p = model.truncate(k).predictProbability(rows)[:, 1]
            losses[fold, k] = np.average((p - rows["died"]) ** 2, weights=rows["weight"])
    assert path.table["loss"].to_numpy() == pytest.approx(losses.mean(axis=0))
    errors = losses.std(axis=0, ddof=1) / np.sqrt(3)
    assert path.table["standardError"].to_numpy() == pytest.approx(errors)
    whole = figs.fit(data)
    assert str(path.model) == str(whole)
    assert path.table["trainingLoss"].to_numpy() == pytest.approx(whole.treeSum.losses)
    assert 0 <= path.smallest <= path.best <= 4
    assert path.recommended <= path.best
    assert path.foldLosses.mean().tolist() == pytest.approx(path.table["loss"].tolist())


def test_equal_values_of_the_fold_column_stay_together(data: DataFrame) -> None:
    """The label copied into a feature that differs between sites cannot be used across folds."""
    sites = data.where("site is not null")
    leak = sites.withColumn("leak", F.abs(F.hash("site", "died")).cast("double"))
    figs = FIGSClassifier(
        featuresCols=["leak"], labelCol="died", maxSplits=6, categoricalCols=["leak"]
    )
    apart = figs.crossValidatePath(leak, numFolds=3)
    together = figs.crossValidatePath(leak, numFolds=2, foldCol="site")
    assert apart.table["loss"].min() < 0.01
    assert together.table["loss"].min() > 0.05


def test_random_folds_are_reproducible_and_the_picture_is_drawn(data: DataFrame) -> None:
    figs = FIGSRegressor(featuresCols=FEATURES, labelCol="days", maxSplits=5, seed=3)
    first, second = (figs.crossValidatePath(data, numFolds=4) for _ in range(2))
    assert first.table.equals(second.table)
    axes = first.plot()
    assert axes.get_xlabel() == "splits"
    assert f"best: {first.best}" in [text.get_text() for text in axes.get_legend().get_texts()]


def test_bad_input(data: DataFrame) -> None:
    figs = FIGSRegressor(featuresCols=FEATURES, labelCol="days", maxSplits=2)
    with pytest.raises(ValueError, match="numFolds must be from 2"):
        figs.crossValidatePath(data, numFolds=1)
    with pytest.raises(ValueError, match="'nowhere' \\(foldCol\\) is not in the DataFrame"):
        figs.crossValidatePath(data, foldCol="nowhere")
    with pytest.raises(ValueError, match="Fold 3 of 4 has no rows"):
        figs.crossValidatePath(data, numFolds=4, foldCol="fold")
