"""Leaf values that are fitted together: the same wherever the rows are, in every family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import (
    BaggedFIGSClassifier,
    FIGSClassificationModel,
    FIGSClassifier,
    FIGSRegressor,
    GFIGSClassifier,
)
from tests.support.patients import FEATURES, patients
from tests.support.small import assert_same_model


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return patients(spark, rows=300).cache()


def logistic(**params: Any) -> FIGSClassifier:
    given: dict[str, Any] = {"featuresCols": FEATURES, "labelCol": "died", "maxSplits": 4}
    given |= {"refit": "logistic", "classWeight": "inverse", "calibrate": True}
    return FIGSClassifier(**(given | params))


def risks(scored: DataFrame) -> np.ndarray:
    rows = scored.select(vector_to_array("probability")[1], "died", "rawPrediction").collect()
    return np.array([(p, died, raw[1]) for p, died, raw in rows])


def test_driver_and_cluster_give_the_same_model_that_scores_and_loads(
    data: DataFrame, tmp_path: Path
) -> None:
    model = logistic(mode="driver").fit(data)
    other = logistic(mode="cluster").fit(data.repartition(5))
    assert_same_model(other.treeSum, model.treeSum)
    assert model.link == other.link == "logit"
    table = risks(model.transform(data))
    np.testing.assert_allclose(table[:, 0], 1 / (1 + np.exp(-table[:, 2])), atol=1e-12)
    assert table[:, 0].mean() == pytest.approx(table[:, 1].mean(), abs=1e-6)
    frame = data.select(*FEATURES).toPandas()
    np.testing.assert_allclose(np.sort(model.predictProbability(frame)[:, 1]), np.sort(table[:, 0]))
    model.save(str(tmp_path / "model"))
    again = FIGSClassificationModel.load(str(tmp_path / "model"))
    assert again.fingerprint == model.fingerprint
    assert again.truncate(2).fingerprint == model.truncate(2).fingerprint
    sql = data.select(F.expr(model.toSQL()).alias("p"), "died")
    np.testing.assert_allclose(
        np.sort([row["p"] for row in sql.collect()]), np.sort(table[:, 0]), atol=1e-12
    )


def test_the_splits_are_those_of_the_weighted_fit(data: DataFrame) -> None:
    plain = logistic(refit="none", calibrate=False).fit(data).treeSum
    for how in ("linear", "logistic"):
        assert logistic(refit=how).fit(data).treeSum.splits == plain.splits
    assert "without their class weights" in str(logistic(refit="none").fit(data))


def test_every_family_fits_log_odds(data: DataFrame) -> None:
    shared = {"featuresCols": FEATURES, "labelCol": "died", "refit": "logistic", "maxSplits": 3}
    bagged = BaggedFIGSClassifier(numEstimators=3, oobScore=True, **shared).fit(data)
    assert 0 < bagged.oobScore <= 1
    grouped = GFIGSClassifier(groupCol="held", unseenGroup="mixture", **shared).fit(data)
    for model in (bagged, grouped):
        assert model.link == "logit"
        assert risks(model.transform(data))[:, 0] == pytest.approx(
            model.predictProbability(data.toPandas())[:, 1], abs=1e-9
        )
    unseen = risks(grouped.transform(data.limit(5).withColumn("held", F.lit(None).cast("boolean"))))
    assert ((unseen[:, 0] > 0) & (unseen[:, 0] < 1)).all()


def test_sizes_are_chosen_by_the_fitted_values(data: DataFrame) -> None:
    held = logistic(validationIndicatorCol="held").fit(data)
    assert len(held.summary) == 5
    path = logistic(calibrate=False).crossValidatePath(data, numFolds=3)
    assert path.model.link == "logit"
    assert path.table["loss"].between(0, 0.26).all()
    greedy = logistic(refit="none", calibrate=False).crossValidatePath(data, numFolds=3)
    for one, other in ((path, greedy), (greedy, path)):
        with_refit = one.table["lossWithRefit"].tolist()
        assert with_refit == pytest.approx(path.table["loss"].tolist())
        assert other.table["lossWithoutRefit"].tolist() == pytest.approx(
            greedy.table["loss"].tolist()
        )
    assert path.chosen.numSplits == path.recommended


def test_log_odds_of_numbers_are_refused(data: DataFrame) -> None:
    with pytest.raises(ValueError, match=r"refit 'logistic'.*has numbers. Use 'linear'"):
        FIGSRegressor(featuresCols=FEATURES, labelCol="died", refit="logistic").fit(data)


def test_a_model_is_calibrated_on_new_rows(spark: SparkSession, data: DataFrame) -> None:
    new = patients(spark, rows=150, seed=5).withColumn("died", F.expr("int(died = 1 and gcs > 4)"))
    model = logistic().fit(data)
    model.setOperatingPoint(0.9, on=data)
    for method in ("intercept", "slope", "refit"):
        changed = model.calibrate(new, method)
        table = risks(changed.transform(new))
        assert table[:, 0].mean() == pytest.approx(table[:, 1].mean(), abs=1e-6)
        assert changed.operatingPoint is None
        assert "150 new rows" in str(changed)
        assert changed.fingerprint != model.fingerprint
    assert "new rows" not in str(model)
    grouped = GFIGSClassifier(
        featuresCols=FEATURES, labelCol="died", groupCol="held", weighting="separate", maxSplits=2
    ).fit(data)
    by_group = grouped.calibrate(new)
    for held in (False, True):
        rows = risks(by_group.transform(new.where(F.col("held") == held)))
        assert rows[:, 2].mean() == pytest.approx(rows[:, 1].mean(), abs=1e-9)


def test_rows_that_cannot_calibrate_are_named(spark: SparkSession, data: DataFrame) -> None:
    model = logistic().fit(data)
    bad = data.withColumn("died", F.when(F.col("gcs") > 8, F.col("died").cast("double")))
    missing = data.where("gcs <= 8").count()
    with pytest.raises(ValueError, match=rf"\(labelCol\) is null.* in {missing} of 300 rows"):
        model.calibrate(bad)
    with pytest.raises(ValueError, match="is not one of the classes 0 to 1"):
        model.calibrate(data.withColumn("died", F.lit(2)))
    with pytest.raises(ValueError, match="method is one of intercept, slope, refit, got 'platt'"):
        model.calibrate(data, "platt")
    with pytest.raises(ValueError, match="0 rows"):
        model.calibrate(data.limit(0))


@pytest.mark.parametrize("ridge", ["auto", 5.0])
def test_growing_with_a_ridge_is_the_same_everywhere(data: DataFrame, ridge: Any) -> None:
    regressor = FIGSRegressor(
        featuresCols=FEATURES, labelCol="days", weightCol="weight", regParam=ridge, maxSplits=6
    )
    model = regressor.copy()._set(mode="driver").fit(data)
    other = regressor.copy()._set(mode="cluster").fit(data.repartition(5))
    assert_same_model(other.treeSum, model.treeSum)
    assert model.numSplits == 6
    assert model.treeSum.path is not None
    frame = data.toPandas()
    scored = model.transform(data).select("prediction").toPandas()["prediction"]
    np.testing.assert_allclose(scored, model.predict(frame)["prediction"], atol=1e-12)
    sizes = regressor.crossValidatePath(data, numFolds=3)
    assert sizes.model.treeSum.path is not None
    assert len(sizes.table) == 7


def test_a_ridge_in_every_family(data: DataFrame) -> None:
    shared = {"featuresCols": FEATURES, "labelCol": "died", "maxSplits": 3, "regParam": "auto"}
    bagged = BaggedFIGSClassifier(numEstimators=3, **shared).fit(data)
    assert all(member.path is None for member in bagged.members)
    plain = BaggedFIGSClassifier(numEstimators=3, **(shared | {"regParam": 0})).fit(data)
    assert bagged.members != plain.members
    grouped = GFIGSClassifier(groupCol="held", weighting="separate", **shared).fit(data)
    assert all(model.treeSum.path is not None for model in grouped.models.values())
    risky = logistic(regParam="auto").fit(data)
    assert risky.link == "logit"
    table = risks(risky.transform(data))
    assert table[:, 0].mean() == pytest.approx(table[:, 1].mean(), abs=1e-6)


def test_bad_ridges_are_named(data: DataFrame) -> None:
    with pytest.raises(ValueError, match="regParam: a finite number at least 0"):
        FIGSRegressor(regParam=-1)
    with pytest.raises(TypeError, match="a number is needed, got 'much'"):
        FIGSRegressor(regParam="much")
    with pytest.raises(ValueError, match=r"featureSubsetStrategy is 'sqrt'\. Set it to 'all'"):
        logistic(regParam=1, featureSubsetStrategy="sqrt").fit(data)


def test_growing_by_the_logistic_loss(data: DataFrame) -> None:
    model = logistic(loss="logistic", mode="driver").fit(data)
    other = logistic(loss="logistic", mode="cluster").fit(data.repartition(5))
    assert_same_model(other.treeSum, model.treeSum)
    assert model.link == "logit"
    table = risks(model.transform(data))
    assert table[:, 0].mean() == pytest.approx(table[:, 1].mean(), abs=1e-6)
    loose = logistic(loss="logistic", regParam=0.5).fit(data)
    assert loose.treeSum != model.treeSum
    shared = {"featuresCols": FEATURES, "labelCol": "died", "maxSplits": 2, "loss": "logistic"}
    bagged = BaggedFIGSClassifier(numEstimators=2, **shared).fit(data)
    grouped = GFIGSClassifier(groupCol="held", weighting="separate", **shared).fit(data)
    assert bagged.link == grouped.link == "logit"


def test_a_contradiction_about_log_odds_is_named(data: DataFrame) -> None:
    with pytest.raises(ValueError, match="refit 'linear' a probability"):
        logistic(loss="logistic", refit="linear").fit(data)


def test_driver_and_cluster_polish_the_same_model(data: DataFrame) -> None:
    asked: dict[str, Any] = {"featuresCols": FEATURES, "labelCol": "days", "maxSplits": 5}
    asked |= {"regParam": "auto", "polish": True, "minInstancesPerNode": 5}
    here, there = (FIGSRegressor(**asked, mode=mode).fit(data) for mode in ("driver", "cluster"))
    assert_same_model(there.treeSum, here.treeSum)
    assert there.summary["loss"].is_monotonic_decreasing
