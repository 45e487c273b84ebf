"""Patients in groups, which age and visits tell imperfectly; every group has all values of FEW."""

from __future__ import annotations

from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import GFIGSClassifier, GFIGSRegressor
from figs_spark.treesum import TreeSum
from tests.support.patients import patients
from tests.support.small import assert_same_model

FEW = ["gcs", "visits", "cost", "hurt", "site"]  # features of few values: bins are exact
ROWS = 600


def grouped(spark: SparkSession, rows: int = ROWS, seed: int = 3) -> DataFrame:
    """With `band` (text), `ward` (1, 2, 3) and `senior` (truth value)."""
    seniority = F.coalesce("age", F.lit(55.0)) + 10 * (F.col("visits") % 3)
    senior = seniority > 65
    ward = F.when(seniority < 50, 1).when(seniority < 78, 2).otherwise(3)
    return patients(spark, rows, seed).withColumns(
        {"band": F.when(senior, "old").otherwise("young"), "ward": ward, "senior": senior}
    )


def classifier(**params: Any) -> GFIGSClassifier:
    given = {"featuresCols": FEW, "labelCol": "died", "groupCol": "band", "maxSplits": 5}
    return GFIGSClassifier(**{**given, **params})


def regressor(**params: Any) -> GFIGSRegressor:
    given = {"featuresCols": FEW, "labelCol": "days", "groupCol": "ward", "maxSplits": 5}
    return GFIGSRegressor(**{**given, **params})


def ones(groups: int) -> Column:
    return F.array(*[F.lit(1.0)] * groups)


def truth(name: str, groups: list[Any]) -> Column:
    """1 for the group of the row, 0 for the others."""
    return F.array(*[F.when(F.col(name) == group, 1.0).otherwise(0.0) for group in groups])


def assert_same_models(found: Any, expected: Any) -> None:
    assert found.groups == expected.groups
    for group, model in expected.models.items():
        assert_same_model(found.models[group].treeSum, model.treeSum)


def shapes(model: Any) -> list[list[tuple[int, Any, Any]]]:
    """The splits of each group, without their floats of many digits."""

    def splits(found: TreeSum) -> list[tuple[int, Any, Any]]:
        return [(s.feature, s.threshold, s.categories) for s in found.splits]

    return [splits(found.treeSum) for found in model.models.values()]
