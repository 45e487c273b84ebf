"""The estimators against imodels' FIGS: the same model after every split, or as good a one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from imodels import FIGSClassifier as TheirClassifier
from imodels import FIGSRegressor as TheirRegressor
from pyspark.sql import DataFrame, SparkSession
from sklearn.datasets import make_friedman1
from sklearn.metrics import r2_score, roc_auc_score

from figs_spark import FIGSClassifier, FIGSRegressor
from figs_spark.treesum import Node

SPLITS = 8


def few_values(rows: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features in steps of 1/4, which float32 holds too; scores without ties; weights."""
    random = np.random.default_rng(3)
    X = random.integers(0, 24, (rows, 5)) / 4
    score = X[:, 0] * (X[:, 1] > 2) + 2 * (X[:, 2] > 3) - X[:, 3] + random.normal(0, 0.5, rows)
    return X, score, random.uniform(0.1, 3, rows)


def frame(spark: SparkSession, X: np.ndarray, **columns: np.ndarray) -> DataFrame:
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    return spark.createDataFrame(table.assign(**columns))


def features(X: np.ndarray) -> dict[str, Any]:
    return {"featuresCols": [f"x{j}" for j in range(X.shape[1])], "mode": "driver"}


def assert_same_tree(ours: Node, theirs: Any, outputs: slice) -> None:
    """Their classifiers keep one output per class; for two classes the second one is ours."""
    if branches := ours.branches:
        split, left, right = branches
        assert (split.feature, split.threshold) == (theirs.feature, theirs.threshold)
        assert_same_tree(left, theirs.left, outputs)
        assert_same_tree(right, theirs.right, outputs)
    else:
        assert theirs.left is None
        np.testing.assert_allclose(ours.value, theirs.value[outputs], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("label", "weighted", "class_weight"),
    [
        ("score", False, None),
        ("score", True, None),
        ("two", False, None),
        ("two", False, "balanced"),
        ("two", True, {0: 0.7, 1: 2.3}),
        ("three", False, None),
    ],
)
def test_the_model_is_the_same_after_every_split(
    spark: SparkSession, label: str, weighted: bool, class_weight: Any
) -> None:
    """Class weights times weights go into our weightCol. Their "balanced" counts rows where ours
    adds up weights, so that the classes weigh the same; without weights the two agree."""
    X, score, w = few_values()
    y = {"score": score, "two": (score > 0.5) + 0, "three": np.digitize(score, [-1, 1])}[label]
    outputs = slice(1, None) if label == "two" else slice(None)
    ours: Any = FIGSRegressor if label == "score" else FIGSClassifier
    theirs = TheirRegressor if label == "score" else TheirClassifier
    estimator = ours(maxSplits=SPLITS, **features(X))
    weights = w
    if weighted:
        estimator.setWeightCol("w")
    if class_weight == "balanced":
        estimator.setClassWeight("balanced")
    elif class_weight:
        weights = w * np.vectorize(class_weight.get)(y)

    model = estimator.fit(frame(spark, X, label=y, w=weights))

    assert model.numSplits == SPLITS
    for k in range(1, SPLITS + 1):
        rival = theirs(max_rules=k, class_weight=class_weight)
        rival.fit(X, y, sample_weight=w if weighted else None)
        for mine, their in zip(model.truncate(k).trees, rival.trees_, strict=True):
            assert_same_tree(mine, their, outputs)


def test_as_good_on_continuous_data(spark: SparkSession) -> None:
    X, y = make_friedman1(20_000, 20, noise=1.0, random_state=0)
    label = (y > np.median(y)).astype(int)
    train, test = slice(10_000), slice(10_000, None)
    data = frame(spark, X[train], y=y[train], label=label[train])

    model = FIGSRegressor(labelCol="y", maxSplits=12, **features(X)).fit(data)
    theirs = TheirRegressor(max_rules=12).fit(X[train], y[train])
    found, expected = (r2_score(y[test], m.predict(X[test])) for m in (model, theirs))
    assert found == pytest.approx(expected, abs=0.003)

    classifier = FIGSClassifier(maxSplits=12, **features(X)).fit(data)
    rival = TheirClassifier(max_rules=12).fit(X[train], label[train])
    found = roc_auc_score(label[test], classifier.predictProbability(X[test])[:, 1])
    expected = roc_auc_score(label[test], rival.predict_proba(X[test])[:, 1])
    assert found == pytest.approx(expected, abs=0.003)
