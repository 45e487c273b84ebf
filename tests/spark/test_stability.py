"""How much a model changes when its data do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import DataFrame, SparkSession

from figs_spark import (
    BaggedFIGSClassifier,
    FIGSClassifier,
    FIGSRegressor,
    GFIGSClassifier,
    stability,
)
from figs_spark.engine.row_numbers import running_numbers
from figs_spark.engine.table import Target
from figs_spark.engine.weights import BootstrapWeights, uniform
from figs_spark.stages.base.checks import check_with_spark

FEATURES = [f"x{j}" for j in range(6)]
SEED = 3


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """One strong sign, one weaker, four of noise; two sites that use them differently."""
    random = np.random.default_rng(0)
    x = (random.random((600, 6)) < 0.5).astype(float)
    site = np.where(x[:, 5] + random.random(600) > 0.9, "b", "a")
    risk = 0.1 + 0.6 * x[:, 0] + np.where(site == "b", 0.25, 0.0) * x[:, 1]
    frame = pd.DataFrame(x, columns=FEATURES)
    return frame.assign(site=site, ill=(random.random(600) < risk).astype(float))


@pytest.fixture(scope="module")
def data(spark: SparkSession, rows: pd.DataFrame) -> DataFrame:
    return spark.createDataFrame(rows).coalesce(1).cache()


def figs(**params: Any) -> FIGSClassifier:
    return FIGSClassifier(featuresCols=FEATURES, labelCol="ill", **{"maxSplits": 4, **params})


def names(model: Any) -> set[str]:
    return {FEATURES[split.feature] for split in model.treeSum.splits}


def content_numbers(data: DataFrame) -> np.ndarray:
    """The number by which each row is drawn, in the order of the rows."""
    table = check_with_spark(data, figs(), True).table.with_content_ids()
    return running_numbers(table.frame.select("id").toPandas()["id"].to_numpy())


@pytest.mark.parametrize("mode", ["driver", "cluster"])
def test_a_perturbed_model_is_that_of_rows_with_swapped_labels(
    spark: SparkSession, rows: pd.DataFrame, data: DataFrame, mode: str
) -> None:
    found = stability(figs(mode=mode), data, flip=(0.3,), repeats=1, seed=SEED)
    swapped = uniform(content_numbers(data), SEED, 1) < 0.3
    assert 0.2 < swapped.mean() < 0.4
    other = rows.assign(ill=np.where(swapped, 1 - rows["ill"], rows["ill"]))
    base, perturbed = names(figs().fit(data)), names(figs().fit(spark.createDataFrame(other)))
    shares = found.frequencies.set_index("feature")
    assert {name for name in shares.index if shares["unperturbed"][name]} == base
    assert {n for n in shares.index if shares["30.0% of labels swapped"][n]} == perturbed
    assert found.table["jaccard"].tolist() == [len(base & perturbed) / len(base | perturbed)]


def test_a_bootstrap_sample_is_one_of_bagging(
    spark: SparkSession, rows: pd.DataFrame, data: DataFrame
) -> None:
    found = stability(figs(), data, flip=(), bootstrap=True, repeats=1, seed=SEED)
    times = BootstrapWeights(Target(2), SEED).times(content_numbers(data), 1)
    drawn = spark.createDataFrame(rows.assign(times=times))
    shares = found.frequencies.set_index("feature")["bootstrap"]
    assert set(shares.index[shares > 0]) == names(figs(weightCol="times").fit(drawn))


def test_more_noise_makes_models_less_alike(data: DataFrame) -> None:
    found = stability(figs(), data, flip=(0.001, 0.4), repeats=6).table.set_index("perturbation")
    little, much = found.index
    assert found["jaccard"][little] > found["jaccard"][much]
    assert found["jaccard"][little] > 0.8
    assert found["repeats"].tolist() == [6, 6]


def test_each_group_is_judged_by_itself(data: DataFrame) -> None:
    estimator = GFIGSClassifier(
        featuresCols=FEATURES, labelCol="ill", groupCol="site", maxSplits=2, seed=0
    )
    found = stability(estimator, data, flip=(0.01,), repeats=3)
    assert found.table["group"].tolist() == ["a", "b"]
    model = estimator.fit(data)
    for group in model.groups:
        own = found.frequencies[found.frequencies["group"] == group]
        kept = set(own["feature"][own["unperturbed"] == 1])
        assert kept == names(model.models[group])
        assert "x0" in kept


@pytest.mark.parametrize(
    ("estimator", "options", "message"),
    [
        (BaggedFIGSClassifier(), {}, "FIGS or G-FIGS estimator is needed, got Bagged"),
        (figs(), {"flip": (0.7,)}, r"flip has 0\.7"),
        (figs(), {"repeats": 0}, "At least one repeat"),
        (
            FIGSRegressor(featuresCols=FEATURES, labelCol="ill"),
            {},
            r"'ill' \(labelCol\) has no classes. Use flip=\(\)",
        ),
    ],
)
def test_bad_requests_are_named(
    data: DataFrame, estimator: Any, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        stability(estimator, data, **options)
