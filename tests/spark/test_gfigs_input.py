"""What G-FIGS says to input that it cannot use: the column, the count and the remedy."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.ml.classification import LinearSVC, LogisticRegression
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.support.grouped import classifier, grouped, regressor

IF_OLD = "if(band = 'old', {}, {})"


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return grouped(spark, 200).cache()


@pytest.mark.parametrize(
    ("columns", "params", "message"),
    [
        ({"band": IF_OLD.format("band", "null")}, {}, r"'band' \(groupCol\) is null in \d+ of 200"),
        ({"band": "'old'"}, {}, "has the single group 'old' in all 200 rows"),
        ({"band": "age"}, {}, "has type double; a string, an integer or a boolean"),
        ({"band": "monotonically_increasing_id()"}, {}, "has 200 values, and at most 64 groups"),
        ({}, {"groupCol": "nowhere"}, r"'nowhere' \(groupCol\) is not in the DataFrame"),
        (
            {"died": IF_OLD.format("0", "1")},
            {"weighting": "separate"},
            r"Group 'old' of column 'band' \(groupCol\) has no positives: column 'died' "
            r"\(labelCol\) is 1 in 0 of its \d+ rows.\n"
            r"Group 'young' .* has no negatives: .*\nMerge such groups",
        ),
        (
            {"died": IF_OLD.format("1", "died")},
            {"weighting": "separate"},
            "Group 'old' of column 'band' .* has no negatives",
        ),
        (
            {"triage": IF_OLD.format("2", "triage")},
            {"labelCol": "triage", "weighting": "separate"},
            "Group 'old' .* has the single class 2 of column 'triage'",
        ),
        ({}, {"membershipFeaturesCols": ["age", "band"]}, "'band', the groupCol itself"),
        ({}, {"membershipFeaturesCols": ["died"]}, "'died', the labelCol itself"),
        ({}, {"membershipFeaturesCols": ["age", "BAND"]}, "'BAND', the groupCol itself"),
        ({}, {"featuresCols": ["band"], "groupCol": "Band"}, "No column is left to estimate"),
        ({}, {"membershipFeaturesCols": []}, "No column is left to estimate the group from"),
        ({}, {"membershipExcludeCols": ["agee"]}, "membershipExcludeCols names 'agee', which are"),
        (
            {"day": "current_date()"},
            {"membershipFeaturesCols": ["day"]},
            r"'day' \(membershipFeaturesCols\) has type date",
        ),
        (
            {"temp": IF_OLD.format("double('inf')", "1.0D")},
            {"membershipFeaturesCols": ["temp"]},
            r"'temp' \(membershipFeaturesCols\) is infinite in \d+ of 200 rows",
        ),
        (
            {"p": "array(0.5D)"},
            {"membershipProbabilityCol": "p"},
            r"'p' \(membershipProbabilityCol\) does not have 2 numbers .* in 200 of 200 rows",
        ),
        (
            {"p": "array(0.5D, " + IF_OLD.format("1.5D", "0.5D") + ")"},
            {"membershipProbabilityCol": "p"},
            r"from 0 to 1, one per group, in \d+ of 200 rows",
        ),
        (
            {"p": "array(0D, 1D)"},
            {"membershipProbabilityCol": "p"},
            "All 200 rows have the weight 0 in group 'old'",
        ),
        ({}, {"membershipProbabilityCol": "age"}, "has type double; a vector or an array"),
        ({}, {"maxSplitsByGroup": {"young": 3, "baby": 2}}, "names the group 'baby', and column"),
        ({"died": "int(null)"}, {}, r"'died' \(labelCol\) is null"),
    ],
)
def test_bad_rows(
    data: DataFrame, columns: dict[str, str], params: dict[str, Any], message: str
) -> None:
    rows = data.withColumns({name: F.expr(sql) for name, sql in columns.items()} or {"a": F.lit(1)})
    with pytest.raises(ValueError, match=message):
        classifier(**params).fit(rows)


def test_rare_categories_have_no_slots(spark: SparkSession) -> None:
    note = F.monotonically_increasing_id().cast("string")
    rows = grouped(spark, 300).withColumn("note", note)
    message = r"The 1 membership features 'note' have no value that 10 rows share"
    with pytest.raises(ValueError, match=message):
        classifier(membershipFeaturesCols=["note"]).fit(rows)
    some = F.when(F.rand(1) < 0.5, "often").otherwise(F.col("note"))
    model = classifier(membershipFeaturesCols=["note"]).fit(rows.withColumn("note", some))
    assert model._membership is not None
    assert [column.slots for column in model._membership.columns] == [["note = often"]]


@pytest.mark.parametrize("params", [{}, {"membershipFolds": 2}], ids=["driver", "Spark"])
@pytest.mark.parametrize(("first", "named"), [(0, range(69, 100)), (68, range(68, 100))])
def test_the_most_frequent_categories_have_slots(
    spark: SparkSession, params: dict[str, Any], first: int, named: range
) -> None:
    """Code 0 has 1 row, code 1 has 2, and so on to code 99. 32 codes are not too many."""
    code = F.floor((F.sqrt(8 * F.monotonically_increasing_id() + 1) - 1) / 2)
    rows = grouped(spark, 5050).coalesce(1).withColumn("code", code.cast("string"))
    features = {"featuresCols": ["code", "gcs"], "maxSplits": 1}
    model = classifier(**features, **params).fit(rows.where(F.col("code") >= first))
    assert model._membership is not None
    slots = model._membership.columns[0].slots
    assert sorted(slots) == [f"code = {k}" for k in named]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"weighting": "own"}, "one of 'membership', 'shrink', 'separate', 'pooled'"),
        ({"unseenGroup": "skip"}, "one of 'error', 'mixture'"),
        ({"membershipFolds": 1}, "at least 2 folds"),
        ({"membershipEstimator": LinearSVC}, "a pyspark.ml classifier"),
        ({"maxSplitsByGroup": 3}, "a dict of groups"),
        ({"maxSplitsByGroup": {"old": -1}}, "at least 0"),
        ({"validationIndicatorCol": "held"}, "has no Param 'validationIndicatorCol'"),
    ],
)
def test_bad_params(spark: SparkSession, params: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        classifier(**params)


def test_a_classifier_without_probabilities_is_refused(spark: SparkSession) -> None:
    with pytest.raises(TypeError, match="with a probabilityCol is needed"):
        classifier(membershipEstimator=LinearSVC())


def test_a_membership_model_that_diverged(data: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    from figs_spark.stages.gfigs import membership

    def broken(model: Any) -> Any:
        import numpy as np

        return np.array([[np.nan, 1.0]])

    monkeypatch.setattr(membership, "_coefficients", broken)
    with pytest.raises(ValueError, match="diverged: 1 of its 2 coefficients are not finite"):
        classifier(membershipEstimator=LogisticRegression()).fit(data)


def test_a_regression_needs_no_classes(data: DataFrame) -> None:
    rows = data.withColumn("days", F.when(F.col("ward") == 1, 0.0).otherwise(F.col("days")))
    assert regressor().fit(rows).groups == (1, 2, 3)


def test_the_group_column_at_scoring(data: DataFrame) -> None:
    model = regressor(weighting="separate").fit(data)
    with pytest.raises(ValueError, match=r"'ward' \(groupCol\) is not in the DataFrame"):
        model.transform(data.drop("ward"))
    with pytest.raises(ValueError, match=r"has type string, and the model was trained on groups"):
        model.transform(data.withColumn("ward", F.col("ward").cast("string")))
    with pytest.raises(ValueError, match="There is no group 7"):
        model.predict([[1, 1, 1, True, "Bern"]], 7)
