"""Variants beside G-FIGS, and the choice of sizes and membership model."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.ml.classification import LogisticRegression, RandomForestClassifier
from pyspark.ml.evaluation import RegressionEvaluator
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import compare_variants, operating_points, select_gfigs
from tests.support.grouped import assert_same_models, classifier, grouped, regressor

NAMES = ["CART", "CART-SEP", "G-CART", "FIGS", "FIGS-SEP", "G-FIGS"]
SIZES = (1, 4)


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    train, test = grouped(spark, 600, seed=1).cache(), grouped(spark, 600, seed=2).cache()
    assert train.count() == test.count() == 600  # a cache that is not filled yet has no known size
    return train, test


def test_six_variants(data: tuple[DataFrame, DataFrame]) -> None:
    train, test = data
    found = compare_variants(classifier(), train, test)
    assert found.table.index.tolist() == NAMES
    assert found.table.columns.tolist() == ["all", "old", "young"]
    assert found.table.gt(0.6).all(axis=None)
    assert_same_models(found.models["FIGS-SEP"], classifier(weighting="separate").fit(train))
    assert_same_models(found.models["G-CART"], classifier(maxTrees=1).fit(train))
    for name, model in found.models.items():
        if "CART" in name:
            assert {own.numTrees for own in model.models.values()} == {1}
        assert (model.membershipModel is None) == (not name.startswith("G-"))


def test_variants_of_a_regression(data: tuple[DataFrame, DataFrame]) -> None:
    train, test = data
    judge = RegressionEvaluator(labelCol="days", metricName="r2")
    found = compare_variants(regressor(maxTrees=1), train, test, judge)
    assert found.table.columns.tolist() == ["all", 1, 2, 3]
    scored = found.models["FIGS"].transform(test)
    assert found.table.loc["FIGS", "all"] == pytest.approx(judge.evaluate(scored))
    assert found.models["FIGS"].models[1].numTrees > 1


def specificities(model: Any, rows: DataFrame, levels: tuple[float, ...]) -> dict[Any, list[float]]:
    scored = model.transform(rows)
    points = operating_points(scored, levels, "died", "rawPrediction", groupCol="band")
    return {group: own["specificity"].tolist() for group, own in points.groupby("band")}


def test_two_stages(data: tuple[DataFrame, DataFrame]) -> None:
    train, validation = data
    candidates = [
        LogisticRegression(regParam=0.5, maxIter=5),
        RandomForestClassifier(numTrees=2, maxDepth=2, seed=1),
    ]
    levels = (0.8, 0.7)
    estimator = classifier(classWeight="inverse")
    found = select_gfigs(estimator, train, validation, SIZES, candidates, levels)
    table = found.table
    assert len(table) == len(candidates) * (2 * len(SIZES) + 1)
    expected: list[Any] = []
    for k, candidate in enumerate(candidates):
        own = estimator.copy()._set(membershipEstimator=candidate, maxSplits=max(SIZES))
        model = own.fit(train)
        tried = {size: specificities(model.truncate(size), validation, levels) for size in SIZES}
        sizes = {
            group: min(SIZES, key=lambda s: (*(-v for v in tried[s][group]), s))
            for group in ("old", "young")
        }
        pooled = specificities(model.truncate(sizes), validation, levels)["all"]
        expected.append((*(-v for v in pooled), sum(sizes.values()), k, sizes))
        rows = table[(table["membership"] == k) & (table["group"] == "old")]
        assert rows["specificityAt0.8"].tolist() == [tried[size]["old"][0] for size in SIZES]
        assert rows[rows["chosen"]]["maxSplits"].tolist() == [sizes["old"]]
    *_, best, sizes = min(expected)
    last = table[table["group"] == "all"]
    assert last[last["chosen"]]["membership"].tolist() == [best]
    assert {g: found.model.models[g].numSplits for g in sizes} == sizes
    refit = estimator.copy()._set(
        membershipEstimator=candidates[best], maxSplits=max(SIZES), maxSplitsByGroup=sizes
    )
    assert_same_models(found.model, refit.fit(train.unionByName(validation)))


def test_the_last_fit_has_out_of_fold_weights(data: tuple[DataFrame, DataFrame]) -> None:
    train, validation = data
    estimator = classifier(membershipFolds=2, maxSplits=3)
    found = select_gfigs(estimator, train, validation, [3], None, [0.8], membershipOnBoth=True)
    assert_same_models(found.model, estimator.fit(train.unionByName(validation)))


@pytest.mark.parametrize("weighting", ["pooled", "separate"])
def test_sizes_of_the_other_variants(data: tuple[DataFrame, DataFrame], weighting: str) -> None:
    train, validation = data
    found = select_gfigs(
        classifier(weighting=weighting), train, validation, SIZES, [LogisticRegression()] * 2
    )
    groups = 1 if weighting == "pooled" else 2
    assert len(found.table) == groups * len(SIZES) + 1
    assert found.model.membershipModel is None


def test_a_weighting_is_chosen_and_the_reason_told(data: tuple[DataFrame, DataFrame]) -> None:
    train, validation = data
    weightings = ("shrink", "separate", "pooled")
    found = select_gfigs(
        classifier(refit="logistic"), train, validation, [2, 4], sensitivities=[0.8],
        weightings=weightings,
    )  # fmt: skip
    last = found.table.groupby("membership").tail(1).set_index("weighting")
    assert last.index.tolist() == list(weightings)
    best = last["specificityAt0.8"].max()
    (chosen,) = last.index[last["chosen"]]
    assert last.loc[chosen, "specificityAt0.8"] == best
    assert found.model.getWeighting() == found.estimator.getWeighting() == chosen
    assert found.reason.startswith(f"{chosen}: specificity {best:.3f} at sensitivity 0.8")
    assert all(name in found.reason for name in weightings)
    with pytest.raises(ValueError, match="weightings are some of membership, shrink"):
        select_gfigs(classifier(), train, validation, weightings=["mixed"])


def test_without_validation_rows_folds_choose(data: tuple[DataFrame, DataFrame]) -> None:
    train, validation = data
    rows = train.withColumn("fold", F.lit(0)).unionByName(validation.withColumn("fold", F.lit(1)))
    pooled = classifier(weighting="pooled")
    found = select_gfigs(pooled, rows, None, [3], sensitivities=[0.8], numFolds=2, foldCol="fold")
    one, other = pooled.copy()._set(maxSplits=3).fit(train), pooled.copy()._set(maxSplits=3)
    parts = [one.transform(validation), other.fit(validation).transform(train)]
    scored = parts[0].unionByName(parts[1])
    point = operating_points(scored, [0.8], "died", "rawPrediction")["specificity"][0]
    assert found.table["specificityAt0.8"].tolist() == [point, point]
    assert "rows of other folds" in found.reason


def test_what_cannot_be_chosen(data: tuple[DataFrame, DataFrame]) -> None:
    train, validation = data
    with pytest.raises(ValueError, match="A GFIGSClassifier is needed, got GFIGSRegressor"):
        select_gfigs(regressor(), train, validation)
    with pytest.raises(ValueError, match="at least one value each"):
        select_gfigs(classifier(), train, validation, sizes=())
    two: Any = [None, None]
    with pytest.raises(ValueError, match="memberships has 2 models, and 1 membershipEstimators"):
        select_gfigs(classifier(), train, validation, memberships=two)
    well = validation.withColumn("died", F.when(F.col("band") == "old", 0).otherwise(F.col("died")))
    with pytest.raises(ValueError, match=r"Group 'old' .* has no positives to choose by"):
        select_gfigs(classifier(), train, well, SIZES)
    with pytest.raises(ValueError, match=r"Group 'old' .* has 0 validation rows"):
        select_gfigs(classifier(), train, validation.where("band = 'young'"), SIZES)
