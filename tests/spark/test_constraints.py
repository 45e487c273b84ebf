"""What a clinician states holds on Spark, in every family; what cannot hold is named at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from figs_spark import BaggedFIGSClassifier, FIGSClassifier, FIGSRegressor, GFIGSClassifier
from figs_spark.treesum import TreeSum
from tests.support.patients import FEATURES, patients
from tests.support.small import assert_same_model

STATED: dict[str, Any] = {
    "featuresCols": FEATURES,
    "labelCol": "died",
    "maxSplits": 5,
    "monotone": {"gcs": -1, "age": 1},
    "forbidden": ["temp"],
    "required": ["site"],
    "interactionGroups": [["gcs", "age", "cost"], ["visits", "site"]],
    "featureCosts": {"cost": 0.02},
    "newFeaturePenalty": 0.1,
    "maxFeatures": 4,
    "allowedCuts": {"age": [30, 50, 65], "visits": 2},
}


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return patients(spark, rows=300).cache()


def assert_as_stated(model: TreeSum) -> None:
    names = [feature.name for feature in model.features]
    used = {names[split.feature] for split in model.splits}
    assert "temp" not in used
    assert "site" in used
    assert len(used) <= 4
    for tree in model.trees:
        own = {names[node.split.feature] for node in tree.walk() if node.split}
        assert own <= {"gcs", "age", "cost"} or own <= {"visits", "site"} or len(own) == 1
    for split in model.splits:
        if names[split.feature] == "age":
            assert split.threshold in (30, 50, 65, np.inf)  # inf: missing or not
        if names[split.feature] == "visits":
            assert split.threshold in (0, 2, 4, 6, np.inf)
    row: list[Any] = [50.0, 9.0, 3.0, 100.0, 37.5, True, "Bern"]
    for place, values, sign in ((0, range(18, 95), 1), (1, range(3, 16), -1)):
        rows = [[*row[:place], float(value), *row[place + 1 :]] for value in values]
        assert (sign * np.diff(model.predict(rows)[:, 0]) >= 0).all()


@pytest.mark.parametrize("more", [{}, {"regParam": "auto", "refit": "logistic"}], ids=str)
def test_constraints_hold_in_both_modes(data: DataFrame, more: dict[str, Any]) -> None:
    model = FIGSClassifier(mode="driver", **STATED, **more).fit(data)
    assert_as_stated(model.treeSum)
    other = FIGSClassifier(mode="cluster", **STATED, **more).fit(data.repartition(4))
    assert_same_model(other.treeSum, model.treeSum)


def test_constraints_hold_in_every_family(data: DataFrame) -> None:
    bagged = BaggedFIGSClassifier(numEstimators=3, **STATED).fit(data)
    grouped = GFIGSClassifier(groupCol="held", weighting="separate", **STATED).fit(data)
    for model in (*bagged.members, *(m.treeSum for m in grouped.models.values())):
        assert_as_stated(model)


def test_what_cannot_hold_is_named_at_once(data: DataFrame) -> None:
    wrong = STATED | {
        "monotone": {"site": 1, "weight": 1},
        "required": ["temp", "age"],
        "allowedCuts": {"hurt": [0.5]},
        "maxFeatures": 1,
        "maxTrees": 1,
    }
    with pytest.raises(ValueError, match="monotone names") as error:
        FIGSClassifier(**wrong).fit(data)
    for problem in (
        "monotone names 'weight', which are not among the 7 features",
        "monotone names 'site', which are split as sets of categories",
        "allowedCuts names 'hurt'",
        "'temp' are both required and forbidden",
        "required names 2 features, and maxFeatures allows 1",
        "cannot share 1 tree",
    ):
        assert problem in str(error.value)
    unknown = {"featuresCols": FEATURES, "labelCol": "days", "refit": "logistic"}
    with pytest.raises(ValueError, match=r"refit 'logistic' is for classes(.|\n)*forbidden names"):
        FIGSRegressor(**unknown, forbidden=["weight"]).fit(data)
    with pytest.raises(ValueError, match="monotone is for numbers and two classes"):
        FIGSClassifier(featuresCols=FEATURES, labelCol="triage", monotone={"age": 1}).fit(data)
    for param, value, problem in (
        ("monotone", {"age": 2}, "'age': 1 .rises. or -1 .falls. is needed, got 2"),
        ("allowedCuts", {"age": []}, "'age': at least one cut is needed"),
        ("featureCosts", {"age": -1}, "'age': a finite number at least 0"),
        ("newFeaturePenalty", 2, "from 0 to 1"),
        ("interactionGroups", [], "at least one group"),
    ):
        with pytest.raises((TypeError, ValueError), match=problem):
            FIGSRegressor(**{param: value})
