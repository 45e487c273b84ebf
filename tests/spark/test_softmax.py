"""More than two classes by the logistic loss: the same wherever the rows are, in every family."""

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
    GFIGSClassifier,
)
from tests.support.patients import FEATURES, patients
from tests.support.small import assert_same_model

SHARED: dict[str, Any] = {"featuresCols": FEATURES, "labelCol": "triage", "maxSplits": 4}


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return patients(spark, rows=300).cache()


def shares(scored: DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities and raw scores, (rows, 3)."""
    columns = (vector_to_array(name) for name in ("probability", "rawPrediction"))
    rows = scored.select(*columns).collect()
    p, raw = zip(*rows)
    return np.array(p), np.array(raw)


@pytest.mark.parametrize("how", [{"loss": "logistic"}, {"refit": "logistic", "regParam": "auto"}])
def test_driver_and_cluster_give_the_same_model_that_scores_and_loads(
    data: DataFrame, how: dict[str, Any], tmp_path: Path
) -> None:
    model = FIGSClassifier(**SHARED, **how, mode="driver").fit(data)
    other = FIGSClassifier(**SHARED, **how, mode="cluster").fit(data.repartition(5))
    assert_same_model(other.treeSum, model.treeSum)
    assert model.link == other.link == "softmax"
    p, raw = shares(model.transform(data))
    powers = np.exp(raw)
    np.testing.assert_allclose(p, powers / powers.sum(axis=1, keepdims=True), atol=1e-12)
    counts = {row["triage"]: row["count"] for row in data.groupBy("triage").count().collect()}
    rates = [counts[k] / 300 for k in sorted(counts)]
    np.testing.assert_allclose(p.mean(axis=0), rates, atol=1e-6)
    np.testing.assert_allclose(model.predictProbability(data.toPandas()), p, atol=1e-12)
    model.save(str(tmp_path / "model"))
    again = FIGSClassificationModel.load(str(tmp_path / "model"))
    assert again.fingerprint == model.fingerprint
    assert again.link == "softmax"
    for method in ("intercept", "slope", "refit"):
        changed = model.calibrate(data.where("gcs > 5"), method)
        assert changed.link == "softmax"


def test_every_family(data: DataFrame) -> None:
    asked = SHARED | {"loss": "logistic", "maxSplits": 2}
    bagged = BaggedFIGSClassifier(numEstimators=2, **asked).fit(data)
    mixed = {"groupCol": "held", "unseenGroup": "mixture"}
    grouped = GFIGSClassifier(**mixed, **asked).fit(data)
    shrunken = GFIGSClassifier(groupCol="held", weighting="shrink", **asked).fit(data)
    for model in (bagged, grouped, shrunken):
        assert model.link == "softmax"
        p, _ = shares(model.transform(data))
        np.testing.assert_allclose(p, model.predictProbability(data.toPandas()), atol=1e-9)
    unseen = data.limit(5).withColumn("held", F.lit(None).cast("boolean"))
    p, _ = shares(grouped.transform(unseen))
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_rates_without_class_weights_and_sizes(data: DataFrame) -> None:
    weighted = FIGSClassifier(**SHARED, loss="logistic", classWeight="balanced", calibrate=True)
    p, _ = shares(weighted.fit(data).transform(data))
    share = data.where("triage = 2").count() / 300
    assert p[:, 2].mean() == pytest.approx(share, abs=1e-6)
    path = FIGSClassifier(**SHARED, refit="logistic").crossValidatePath(data, numFolds=3)
    assert path.model.link == "softmax"
    greedy = FIGSClassifier(**SHARED).crossValidatePath(data, numFolds=3)
    assert greedy.table["lossWithRefit"].tolist() == pytest.approx(path.table["loss"].tolist())
