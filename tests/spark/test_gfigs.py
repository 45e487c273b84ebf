"""G-FIGS as a Spark ML stage: weights, groups, scoring."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pyspark.ml import Pipeline
from pyspark.ml.classification import GBTClassifier, LogisticRegression, RandomForestClassifier
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import (
    FIGSClassificationModel,
    FIGSClassifier,
    FIGSRegressor,
    GFIGSClassificationModel,
    SensitivitySpecificityEvaluator,
)
from figs_spark.stages.gfigs import weights as group_weights
from figs_spark.stages.gfigs.membership_columns import MembershipColumn, vector
from figs_spark.treesum.nodes import NUMBER, TEXT
from figs_spark.treesum.text import number as rounded
from tests.support.grouped import (
    FEW,
    ROWS,
    assert_same_models,
    classifier,
    grouped,
    ones,
    regressor,
    shapes,
    truth,
)
from tests.support.small import assert_same_model


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return grouped(spark).cache()


@pytest.fixture(scope="module")
def model(data: DataFrame) -> GFIGSClassificationModel:
    return classifier(membershipFeaturesCols=["age", "visits", "site"]).fit(data)


def figs(**params: Any) -> FIGSClassifier:
    given = {"featuresCols": FEW, "labelCol": "died", "maxSplits": 5}
    return FIGSClassifier(**{**given, **params})


# Weights


def test_probabilities_of_1_give_the_pooled_model(data: DataFrame) -> None:
    every = {"weightCol": "weight", "classWeight": "balanced"}
    given = data.withColumn("p", ones(2))
    found = classifier(membershipProbabilityCol="p", **every).fit(given)
    expected = figs(**every).fit(data).treeSum
    for other in (found, classifier(weighting="pooled", **every).fit(data)):
        assert other.groups == ("old", "young")
        for group in other.groups:
            assert_same_model(other.models[group].treeSum, expected)


@pytest.mark.parametrize(
    ("make", "single", "name", "groups"),
    [
        (classifier, figs, "band", ["old", "young"]),
        (classifier, figs, "senior", [False, True]),
        (
            regressor,
            lambda **p: FIGSRegressor(featuresCols=FEW, labelCol="days", maxSplits=5, **p),
            "ward",
            [1, 2, 3],
        ),
    ],
    ids=["text", "truth values", "integers"],
)
def test_true_membership_gives_the_models_of_each_group_alone(
    data: DataFrame, make: Any, single: Any, name: str, groups: list[Any]
) -> None:
    given = data.withColumn("p", truth(name, groups))
    every = {"groupCol": name, "weightCol": "weight"}
    found = make(membershipProbabilityCol="p", **every).fit(given)
    assert list(found.groups) == groups
    assert [type(group) for group in found.groups] == [type(group) for group in groups]
    assert_same_models(found, make(weighting="separate", **every).fit(data))
    for group in groups:
        own = single(weightCol="weight").fit(data.where(F.col(name) == group))
        assert_same_model(found.models[group].treeSum, own.treeSum)


def test_weights_are_probability_times_class_weight_times_weight(data: DataFrame) -> None:
    share = 0.2 + 0.6 * (F.col("temp") > 37).cast("double")
    given = data.withColumn("p", array_to_vector(F.array(share, 1 - share))).where("temp > 0")
    given = given.withColumn("weight", F.when(F.col("visits") == 5, 0.0).otherwise(F.col("weight")))
    found = classifier(membershipProbabilityCol="p", weightCol="weight", classWeight="inverse").fit(
        given
    )
    died, survived = (
        given.where(F.col("died") == k).agg(F.sum("weight")).collect()[0][0] for k in (1, 0)
    )
    ratio = F.when(F.col("died") == 1, survived / died).otherwise(1.0)
    for k, group in enumerate(found.groups):
        weight = vector_to_array(F.col("p"))[k] * F.col("weight") * ratio
        rows: Any = given.withColumn("w", weight)
        assert_same_model(found.models[group].treeSum, figs(weightCol="w").fit(rows).treeSum)
        w = rows.select("w").toPandas()["w"].to_numpy()
        assert found.effectiveSampleSizes[group] == pytest.approx(w.sum() ** 2 / (w @ w))


def test_membership_is_that_of_a_logistic_regression(data: DataFrame) -> None:
    names = ["gcs", "visits"]
    found = classifier(membershipFeaturesCols=names).fit(data)
    assembled = VectorAssembler(inputCols=names, outputCol="v").transform(
        data.withColumn("young", (F.col("band") == "young").cast("double"))
    )
    regression = LogisticRegression(
        featuresCol="v", labelCol="young", regParam=0.01, tol=1e-14, maxIter=1000
    )
    expected = regression.fit(assembled)
    scored = expected.transform(assembled).withColumn("w", vector_to_array(F.col("probability"))[1])
    own = figs(weightCol="w", predictionCol="q", probabilityCol="pp", rawPredictionCol="r")
    assert_same_model(
        found.models["young"].treeSum,
        own.fit(scored.drop("probability", "rawPrediction", "prediction")).treeSum,
    )
    table = found.membershipCoefficients
    assert table.index.tolist() == ["gcs", "visits", "(intercept)"]
    assert table["young"].tolist() == pytest.approx(
        [*expected.coefficients.toArray(), expected.intercept], abs=1e-6
    )


def test_missing_is_a_category_of_its_own(model: GFIGSClassificationModel) -> None:
    table: Any = model.membershipCoefficients
    text = [f"site = {name}" for name in ("", "Bern", "Zürich", "it's")]
    slots = ["age", "age is missing", "visits", *text, "site is missing", "(intercept)"]
    assert table.index.tolist() == slots
    assert table.columns.tolist() == ["young"]
    assert table.loc["age", "young"] < 0


def test_features_without_the_excluded_ones_are_the_default(data: DataFrame) -> None:
    named = classifier(membershipFeaturesCols=["gcs", "cost", "hurt"]).fit(data)
    found = classifier(membershipExcludeCols=["visits", "site"]).fit(data)
    assert found.membershipCoefficients.equals(named.membershipCoefficients)
    assert_same_models(found, named)


def test_a_vector_of_features_tells_the_group_too(data: DataFrame) -> None:
    inputs = ["age", "gcs", "visits"]
    assembler = VectorAssembler(inputCols=inputs, outputCol="inputs", handleInvalid="keep")
    rows = assembler.transform(data)
    params = {"featuresCols": None, "featuresCol": "inputs", "membershipExcludeCols": ["gcs"]}
    found = classifier(**params, unseenGroup="mixture").fit(rows)
    named = classifier(featuresCols=inputs, membershipExcludeCols=["gcs"]).fit(data)
    assert found.membershipCoefficients.index.tolist()[:2] == ["age", "age is missing"]
    assert_same_models(found, named)
    lost = rows.withColumn("band", F.lit("elsewhere"))
    expected = named.setUnseenGroup("mixture").transform(lost).select("prediction").collect()
    assert found.transform(lost).select("prediction").collect() == expected


def test_out_of_fold_probabilities(data: DataFrame, model: GFIGSClassificationModel) -> None:
    columns = ["age", "visits", "site"]
    found = classifier(membershipFeaturesCols=columns, membershipFolds=3).fit(data)
    coefficients: Any = model.membershipCoefficients
    assert np.allclose(found.membershipCoefficients, coefficients, atol=1e-4)  # MLlib stops early
    assert found.effectiveSampleSizes != model.effectiveSampleSizes
    assert found.effectiveSampleSizes == pytest.approx(model.effectiveSampleSizes, rel=0.1)


def test_equal_values_of_the_fold_column_stay_in_one_fold(data: DataFrame) -> None:
    """A name of the group that differs from cost to cost says nothing in the fold of other costs:
    every row then weighs the same."""
    named = data.withColumn("name", F.concat_ws(" ", "cost", "band"))
    estimator = classifier(membershipFeaturesCols=["name"], membershipFolds=2)
    apart = estimator.fit(named).effectiveSampleSizes
    together = estimator.setMembershipFoldCol("cost").fit(named).effectiveSampleSizes
    rows = {row["band"]: row["count"] for row in data.groupBy("band").count().collect()}
    assert apart == pytest.approx(rows, rel=0.2)
    assert together == pytest.approx(dict.fromkeys(rows, ROWS), rel=0.01)
    with pytest.raises(ValueError, match=r"Group .* lies in one of the 2 folds"):
        estimator.setMembershipFoldCol("band").fit(named)


@pytest.mark.parametrize("partitions", [1, 5])
@pytest.mark.parametrize("mode", ["driver", "cluster"])
def test_every_mode_and_layout_gives_the_same_models(
    data: DataFrame, model: GFIGSClassificationModel, mode: str, partitions: int
) -> None:
    again = classifier(membershipFeaturesCols=["age", "visits", "site"], mode=mode)
    assert shapes(again.fit(data.repartition(partitions))) == shapes(model)


def test_other_classifiers_tell_the_groups(data: DataFrame) -> None:
    boosted = GBTClassifier(maxIter=3, seed=1)
    found = classifier(membershipEstimator=boosted, weightCol="weight").fit(data)
    assert type(found.membershipModel).__name__ == "GBTClassificationModel"
    assert found.membershipCoefficients is None
    forest = RandomForestClassifier(numTrees=3, seed=1)
    three = classifier(groupCol="ward", membershipEstimator=forest, labelCol="triage").fit(data)
    assert three.groups == (1, 2, 3)
    assert three.numClasses == 3
    three.transform(data).select("prediction", "probability").collect()
    with pytest.raises(ValueError, match=r"GBTClassifier .* is for 2 groups, and there are 3"):
        classifier(groupCol="ward", membershipEstimator=boosted).fit(data)


# Warnings


def test_a_column_that_gives_the_group_away_is_named(
    data: DataFrame, caplog: pytest.LogCaptureFixture
) -> None:
    rows = data.withColumn("code", F.when(F.col("band") == "old", "o").otherwise("y"))
    rows = rows.withColumn("known", F.when(F.col("band") == "old", F.col("gcs")))
    with caplog.at_level("WARNING", "figs_spark"):
        classifier(membershipFeaturesCols=["age", "code", "known"]).fit(rows)
    assert [record.args[0] for record in caplog.records] == ["code", "known"]  # type: ignore
    assert "Put it in membershipExcludeCols" in caplog.text


def test_a_membership_model_that_did_not_converge_is_told(
    data: DataFrame, caplog: pytest.LogCaptureFixture
) -> None:
    hasty = LogisticRegression(maxIter=1)
    with caplog.at_level("WARNING", "figs_spark"):
        classifier(membershipEstimator=hasty).fit(data)
    assert "did not converge in 1 iterations. Raise its maxIter" in caplog.text


# Sizes


def test_sizes_by_group(data: DataFrame) -> None:
    whole = regressor(weighting="separate").fit(data)
    found = regressor(weighting="separate", maxSplits=2, maxSplitsByGroup={1: 5, 3: 0}).fit(data)
    assert [found.models[group].numSplits for group in (1, 2, 3)] == [5, 2, 0]
    assert_same_models(found, whole.truncate({2: 2, 3: 0}))
    assert [m.numSplits for m in whole.truncate(1).models.values()] == [1, 1, 1]
    with pytest.raises(ValueError, match="no group 4"):
        whole.truncate({4: 1})


def test_cross_validation_shares_one_fit_by_size(
    data: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits: list[int] = []
    before = group_weights.estimated

    def counted(*args: Any) -> Any:
        fits.append(1)
        return before(*args)

    monkeypatch.setattr(group_weights, "estimated", counted)
    estimator = classifier()
    validator = CrossValidator(
        estimator=estimator,
        estimatorParamMaps=ParamGridBuilder().addGrid(estimator.maxSplits, [0, 4]).build(),
        evaluator=SensitivitySpecificityEvaluator(labelCol="died", metricName="areaUnderROC"),
        numFolds=2,
        seed=1,
    )
    found: Any = validator.fit(data)
    assert found.avgMetrics[1] > found.avgMetrics[0]
    assert [m.numSplits for m in found.bestModel.models.values()] == [4, 4]
    assert len(fits) == 3  # one per fold, and one for the best on all rows


# Scoring


def test_a_row_is_scored_by_the_model_of_its_group(
    data: DataFrame, model: GFIGSClassificationModel
) -> None:
    detailed = model.copy().setLeafCol("leaf").setContributionsCol("parts").truncate({"old": 2})
    scored: Any = detailed.transform(data).toPandas()
    assert set(scored.columns) - set(data.columns) == {
        "rawPrediction", "probability", "prediction", "leaf", "parts"
    }  # fmt: skip
    for group, own in detailed.models.items():
        assert isinstance(own, FIGSClassificationModel)
        rows = scored[scored["band"] == group]
        expected = own.predictProbability(rows[FEW])
        assert np.array(rows["probability"].tolist()) == pytest.approx(expected, abs=0)
        assert rows["prediction"].tolist() == own.predict(rows[FEW])["prediction"].tolist()
        assert rows["leaf"].map(list).tolist() == own.treeSum.leaf_indices(rows[FEW]).tolist()
        assert rows["parts"].map(list).tolist() == own.treeSum.contributions(rows[FEW]).tolist()
        predicted = detailed.predict(rows)
        assert predicted["prediction"].tolist() == rows["prediction"].tolist()
        assert predicted["probability"].tolist() == rows["probability"].tolist()


@pytest.mark.parametrize("group", [None, "middle"])
def test_an_unseen_group_is_an_error_or_a_mixture(
    data: DataFrame, model: GFIGSClassificationModel, group: str | None
) -> None:
    lost = data.withColumn("band", F.lit(group).cast("string"))
    with pytest.raises(Exception, match=f"'band' .* is {group or 'null'}, which no training row"):
        model.transform(lost).select("prediction").collect()
    mixing = model.copy().setUnseenGroup("mixture")
    rows: Any = mixing.transform(lost).toPandas()
    table: Any = model.membershipCoefficients
    linear = table["young"]
    age = rows["age"].fillna(data.agg(F.avg("age")).collect()[0][0])
    score = linear["(intercept)"] + linear["age"] * age + linear["visits"] * rows["visits"]
    score += linear["age is missing"] * rows["age"].isna()
    score += rows["site"].map(lambda s: linear["site is missing" if s is None else f"site = {s}"])
    young = 1 / (1 + np.exp(-score))
    parts = [model.predictProbability(rows[FEW], name)[:, 1] for name in ("old", "young")]
    expected = (1 - young) * parts[0] + young * parts[1]
    assert np.array(rows["probability"].tolist())[:, 1] == pytest.approx(expected, abs=1e-9)
    known = mixing.transform(data).select("probability").collect()
    assert known == model.transform(data).select("probability").collect()


def test_a_mixture_of_given_probabilities(data: DataFrame) -> None:
    given = data.withColumn("p", F.array(F.lit(0.25), F.lit(0.5), F.lit(0.25)))
    found = regressor(membershipProbabilityCol="p", weighting="separate", unseenGroup="mixture")
    fitted = found.fit(given)
    rows: Any = fitted.transform(given.withColumn("ward", F.lit(9))).toPandas()
    one, two, three = (fitted.predict(rows[FEW].to_numpy(), k) for k in (1, 2, 3))
    expected = (one + 2 * two + three) / 4
    assert rows["prediction"].to_numpy() == pytest.approx(expected, abs=1e-12)


def test_a_mixture_needs_a_membership_model(data: DataFrame) -> None:
    found = classifier(weighting="separate").fit(data).setUnseenGroup("mixture")
    with pytest.raises(ValueError, match="the model has no membershipModel"):
        found.transform(data)


def test_names_with_any_characters(data: DataFrame) -> None:
    names = {
        "band": "a.`b` größe",
        "age": "años.x",
        "gcs": "g.`c`s",
        "died": "to`t",
        "weight": "w.1",
    }
    rows = data.withColumnsRenamed(names)
    params = {"membershipFeaturesCols": ["años.x", "g.`c`s"], "unseenGroup": "mixture"}
    found = classifier(
        featuresCols=["g.`c`s", "visits"], labelCol="to`t", groupCol="a.`b` größe",
        weightCol="w.1", **params,
    ).fit(rows)  # fmt: skip
    expected = classifier(
        featuresCols=["gcs", "visits"], weightCol="weight", unseenGroup="mixture",
        membershipFeaturesCols=["age", "gcs"],
    ).fit(data)  # fmt: skip
    assert_same_models(found, expected)
    scored = found.transform(rows).select("prediction").collect()
    assert scored == expected.transform(data).select("prediction").collect()


@pytest.mark.parametrize("categories", [0, 1, 8, 9, 250])
def test_categories_become_slots(spark: SparkSession, categories: int) -> None:
    names = [f"c{k:03}" for k in range(categories)]
    column = MembershipColumn("code", TEXT, missing=True, categories=tuple(names))
    number = MembershipColumn("age", NUMBER, fill=7.0)
    cells = [*names, "unseen", "", None]
    rows = spark.createDataFrame([(k, c) for k, c in enumerate(cells)], "k int, code string")
    age = F.when(F.col("k") > 0, F.col("k"))
    slots = vector_to_array(vector([number, column], [age, F.col("code")]))
    vectors = rows.orderBy("k").select(slots).collect()
    for k, (row, cell) in enumerate(zip(vectors, cells, strict=True)):
        told = [float(cell == name) for name in names]
        assert list(row[0]) == [float(k or 7), *told, float(cell is None)]


def test_in_a_pipeline(data: DataFrame) -> None:
    assembler = VectorAssembler(inputCols=["age", "gcs"], outputCol="inputs", handleInvalid="keep")
    stage = classifier(featuresCols=None, featuresCol="inputs", membershipFeaturesCols=["age"])
    scored = Pipeline(stages=[assembler, stage]).fit(data).transform(data)
    area = SensitivitySpecificityEvaluator(labelCol="died", metricName="areaUnderROC")
    assert area.evaluate(scored) > 0.6


def test_an_operating_point(data: DataFrame, model: GFIGSClassificationModel) -> None:
    chosen = model.copy().setOperatingPoint(sensitivity=0.9, on=data)
    rows = chosen.transform(data).where("died = 1").select("prediction").collect()
    threshold = rounded(chosen.getThreshold())
    assert sum(row[0] for row in rows) / len(rows) >= 0.9
    assert chosen.models["old"].getThreshold() == chosen.getThreshold()
    assert "Operating point" in str(chosen)
    for group in chosen.groups:  # the threshold was measured on the rows of all groups
        of_group = chosen.models[group]
        patient = {**dict.fromkeys(chosen.featureNames), "age": 3, "gcs": 8, "band": group}
        assert "Threshold: " in str(of_group.explain(patient))
        assert str(chosen.explain(patient)) == str(of_group.explain(patient))
        assert "Above " in of_group.toSVG()
        assert f"Threshold: predict 1 if the probability is above {threshold}" in str(of_group)
    with pytest.raises(ValueError, match="The row lacks 'band'"):
        chosen.explain({"age": 3, "gcs": 8})


def test_text_and_picture(model: GFIGSClassificationModel, data: DataFrame) -> None:
    text = str(model)
    assert text.startswith("GFIGSClassificationModel: 2 groups of band, membership weights\n")
    assert text.count("Start at 0") == 1
    for group, size in model.effectiveSampleSizes.items():
        assert f"band = {group} (effective sample size {size:,.0f}): " in text
    assert model.toDebugString == text
    assert model._repr_html_().count("<svg") == 1 + 2  # the overview, then a picture of each group
    pooled = classifier(weighting="pooled").fit(data)
    assert "one model for 2 groups" in str(pooled)
    assert str(pooled).count("Tree 1") == 1


def test_nothing_stays_cached(spark: SparkSession, data: DataFrame) -> None:
    before = spark.sparkContext._jsc.getPersistentRDDs().size()
    classifier(mode="cluster").fit(data)
    broken = F.when(F.col("age") < 21, F.raise_error("no such age")).otherwise(F.col("gcs"))
    with pytest.raises(Exception, match="no such age"):
        classifier(mode="cluster", weighting="separate").fit(
            data.withColumn("gcs", broken.cast("int"))
        )
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == before
