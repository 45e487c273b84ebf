"""Clinical tables from Spark equal scikit-learn's on collected rows; bad input is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.ml.functions import array_to_vector
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sklearn import metrics

from figs_spark import brier_score, calibration, operating_points, roc_auc, roc_curve
from figs_spark.clinical import rows_by_score

EXACT: Any = {"rtol": 1e-12, "atol": 1e-12}
NAMES: Any = {"labelCol": "the label", "scoreCol": "s.c`ore"}
ALL_NAMES = NAMES | {"weightCol": "w", "groupCol": "site"}


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """600 rows with 21 scores, unequal weights (some 0) and sites, of which one is null."""
    random = np.random.default_rng(3)
    risk = random.integers(0, 21, 600) / 20
    return pd.DataFrame(
        {
            "the label": (random.random(600) < risk**2).astype(int),
            "s.c`ore": risk,
            "w": random.choice([0.0, 0.3, 1.0, 2.5], 600),
            "site": random.choice(np.array(["Bern", "Genf", None]), 600).tolist(),
        }
    )


@pytest.fixture(scope="module")
def scored(spark: SparkSession, rows: pd.DataFrame) -> DataFrame:
    return spark.createDataFrame(
        list(rows.itertuples(index=False, name=None)), schema(rows)
    ).repartition(3)


def schema(rows: pd.DataFrame) -> str:
    kinds = {"the label": "int", "site": "string"}
    names = [name.replace("`", "``") for name in rows.columns]
    return ", ".join(f"`{n}` {kinds.get(n, 'double')}" for n in names)


def parts(rows: pd.DataFrame) -> list[tuple[Any, Any]]:
    """The rows that a table takes together, in its order."""
    sites = [(site, rows[rows["site"] == site]) for site in ("Bern", "Genf")]
    return [("all", rows), *sites, (None, rows[rows["site"].isna()])]


def arrays(part: pd.DataFrame) -> tuple[Any, Any, Any]:
    return tuple(part[name].to_numpy() for name in ("the label", "s.c`ore", "w"))


# As scikit-learn's


def test_areas_and_brier_scores(scored: DataFrame, rows: pd.DataFrame) -> None:
    areas, briers = roc_auc(scored, **ALL_NAMES), brier_score(scored, **ALL_NAMES)
    for k, (group, part) in enumerate(parts(rows)):
        y, s, w = arrays(part)
        assert areas["site"][k] == briers["site"][k] == group
        expected = metrics.roc_auc_score(y, s, sample_weight=w)
        np.testing.assert_allclose(areas["auc"][k], expected, **EXACT)
        expected = metrics.brier_score_loss(y, s, sample_weight=w)
        np.testing.assert_allclose(briers["brier"][k], expected, **EXACT)
    assert len(areas) == len(briers) == 4
    assert (areas["aucLow"] < areas["auc"]).all()
    assert (areas["auc"] < areas["aucHigh"]).all()
    plain = roc_auc(scored, **NAMES)
    assert plain.columns[0] == "auc"
    y, s, _ = arrays(rows)
    np.testing.assert_allclose(plain["auc"], [metrics.roc_auc_score(y, s)], **EXACT)
    assert plain["positives"].tolist() == [y.sum()]


def test_operating_points(scored: DataFrame, rows: pd.DataFrame) -> None:
    table = operating_points(scored, (0.5, 0.94, 1.0), **ALL_NAMES)
    assert table["level"].tolist() == [0.5, 0.94, 1.0] * 4
    for k, (group, part) in enumerate((g, p) for g, p in parts(rows) for _ in range(3)):
        y, s, w = arrays(part)
        found = table.loc[k]
        assert found["site"] == group
        flagged = s >= found["threshold"]
        counts = metrics.confusion_matrix(y, flagged, sample_weight=w).ravel()
        np.testing.assert_allclose([found[n] for n in ("tn", "fp", "fn", "tp")], counts, **EXACT)
        recall = metrics.recall_score(y, flagged, sample_weight=w)
        np.testing.assert_allclose(found["sensitivity"], recall, **EXACT)
        f1 = metrics.f1_score(y, flagged, sample_weight=w)
        np.testing.assert_allclose(found["f1"], f1, **EXACT)
        fpr, tpr, _ = metrics.roc_curve(y, s, sample_weight=w, drop_intermediate=False)
        best = 1 - fpr[tpr >= found["level"]].min()
        np.testing.assert_allclose(found["specificity"], best, **EXACT)
    for name in ("sensitivity", "specificity", "ppv", "npv"):
        ends = table[[f"{name}Low", name, f"{name}High"]].dropna().to_numpy()
        assert (np.diff(ends, axis=1) >= 0).all()


def test_counts_are_whole_without_weights(scored: DataFrame, rows: pd.DataFrame) -> None:
    table = operating_points(scored, **NAMES)
    assert table["level"].tolist() == [0.92, 0.94, 0.96, 0.98]
    y, s, _ = arrays(rows)
    for found in table.to_dict("records"):
        counts = metrics.confusion_matrix(y, s >= found["threshold"]).ravel()
        assert [found[n] for n in ("tn", "fp", "fn", "tp")] == counts.tolist()
        assert found["sensitivity"] >= found["level"]


def test_the_curve_has_both_ends(scored: DataFrame, rows: pd.DataFrame) -> None:
    table = roc_curve(scored, weightCol="w", **NAMES)
    y, s, w = arrays(rows)
    fpr, tpr, _ = metrics.roc_curve(y, s, sample_weight=w, drop_intermediate=False)
    np.testing.assert_allclose(table["sensitivity"], tpr, **EXACT)
    np.testing.assert_allclose(1 - table["specificity"], fpr, **EXACT)
    assert table["threshold"].iloc[[0, -1]].tolist() == [np.inf, -np.inf]
    grouped = roc_curve(scored, groupCol="site", **NAMES)
    assert grouped["site"].unique().tolist() == ["all", "Bern", "Genf", None]


def test_calibration(scored: DataFrame, rows: pd.DataFrame) -> None:
    y, s, w = arrays(rows)
    exact = calibration(scored, bins=21, weightCol="w", **NAMES)
    assert (exact["low"] == exact["high"]).all()
    for found in exact.to_dict("records"):
        own = s == found["low"]
        expected = (y * w)[own].sum() / w[own].sum()
        np.testing.assert_allclose(found["observed"], expected, **EXACT)
        np.testing.assert_allclose(found["predicted"], found["low"], **EXACT)
    table = calibration(scored, bins=4, groupCol="site", **NAMES)
    assert table["site"].tolist() == [g for g in ("all", "Bern", "Genf", None) for _ in range(4)]
    overall = table[table["site"] == "all"]
    assert overall["rows"].sum() == 600
    assert overall["rows"].between(100, 200).all()
    for found in overall.to_dict("records"):
        own = (s >= found["low"]) & (s <= found["high"])
        assert found["rows"] == own.sum()
        np.testing.assert_allclose(found["predicted"], s[own].mean(), **EXACT)
        np.testing.assert_allclose(found["observed"], y[own].mean(), **EXACT)
        assert found["observedLow"] < found["observed"] < found["observedHigh"]


@pytest.mark.parametrize("kind", ["vector", "array<double>", "array<float>", "float"])
def test_the_score_may_be_in_a_vector(scored: DataFrame, kind: str) -> None:
    score = F.round(F.col("`s.c``ore`") * 16) / 16  # a float holds it exactly
    pair = F.array(1 - score, score)
    if kind == "vector":
        column = array_to_vector(pair)
    else:
        column = (pair if kind.startswith("array") else score).cast(kind)
    df = scored.select("the label", column.alias("probability"), score.alias("plain"))
    one, other = (
        roc_auc(df, labelCol="the label"),
        roc_auc(df, labelCol="the label", scoreCol="plain"),
    )
    pd.testing.assert_frame_equal(one, other)


@pytest.mark.parametrize("kind", ["int", "double", "boolean", "date"])
def test_groups_of_every_kind(scored: DataFrame, kind: str) -> None:
    code = F.when(F.col("site") == "Bern", 1).when(F.col("site") == "Genf", 0)
    if kind == "date":
        group = F.date_add(F.lit("2024-01-01").cast("date"), code)
    elif kind == "double":
        group = F.coalesce(code.cast("double"), F.lit(float("nan")))
    else:
        group = code.cast(kind)
    df = scored.withColumn("g", group)
    found, expected = roc_auc(df, groupCol="g", **NAMES), roc_auc(scored, groupCol="site", **NAMES)
    assert found["g"].tolist()[3] is None
    np.testing.assert_allclose(found["auc"], expected["auc"][[0, 2, 1, 3]], **EXACT)


# Many scores


def collected(df: DataFrame, *names: str) -> Any:
    return np.array(df.select(*names).collect()).T


@pytest.fixture(scope="module")
def many(spark: SparkSession) -> DataFrame:
    """20,000 rows, all scores different."""
    risk = F.rand(7)
    label = (F.rand(8) < F.col("probability")).cast("int")
    frame = spark.range(20_000).select(risk.alias("probability"), (F.col("id") % 2).alias("g"))
    return frame.withColumn("label", label).withColumn("w", F.rand(9)).localCheckpoint()


@pytest.mark.parametrize("groupCol", [None, "g"])
def test_many_scores_are_merged(
    many: DataFrame, monkeypatch: pytest.MonkeyPatch, groupCol: str | None
) -> None:
    monkeypatch.setattr(rows_by_score, "MOST_ENTRIES", 1000)
    y, s, w = collected(many, "label", "probability", "w")
    curve = roc_curve(many, weightCol="w")
    assert 900 <= len(curve) <= 1001
    assert curve["threshold"].is_monotonic_decreasing
    area = roc_auc(many, weightCol="w", groupCol=groupCol)["auc"][0]
    assert area == pytest.approx(metrics.roc_auc_score(y, s, sample_weight=w), abs=1e-3)
    table = operating_points(many, weightCol="w", groupCol=groupCol)
    for found in table.head(4).to_dict("records"):  # what a threshold does is exact
        flagged = s >= found["threshold"]
        counts = metrics.confusion_matrix(y, flagged, sample_weight=w).ravel()
        names = ("tn", "fp", "fn", "tp")
        np.testing.assert_allclose([found[n] for n in names], counts, rtol=1e-10)
        assert found["level"] <= found["sensitivity"] < found["level"] + 3e-3
    brier = metrics.brier_score_loss(y, s, sample_weight=w)
    found = brier_score(many, weightCol="w", groupCol=groupCol)
    np.testing.assert_allclose(found["brier"][0], brier, **EXACT)


def test_the_bound_holds_as_it_is(many: DataFrame) -> None:
    y, s = collected(many, "label", "probability")
    found = roc_curve(many)
    assert len(found) <= rows_by_score.MOST_ENTRIES + 1
    assert roc_auc(many)["auc"][0] == pytest.approx(metrics.roc_auc_score(y, s), abs=1e-4)


def test_too_many_groups(many: DataFrame) -> None:
    rows = many.withColumn("id", F.monotonically_increasing_id())
    with pytest.raises(ValueError, match=r"groupCol has about \d+ values; at most 1000"):
        roc_auc(rows, groupCol="id")


# Bad input

BAD: list[Any] = [
    ({"labelCol": "z"}, {}, "'z' (labelCol) is not in the DataFrame, which has"),
    ({"scoreCol": "z"}, {}, "'z' (scoreCol) is not in the DataFrame, which has"),
    ({"weightCol": "z"}, {}, "'z' (weightCol) is not in the DataFrame, which has"),
    ({"groupCol": "z"}, {}, "'z' (groupCol) is not in the DataFrame, which has"),
    ({}, {"y": "'a'"}, "'y' (labelCol) is text, and column 's' does not say which class"),
    ({}, {"s": "'a'"}, "'s' (scoreCol) has type string; a number, or a vector"),
    ({}, {"w": "true"}, "'w' (weightCol) has type boolean"),
    ({"groupCol": "g"}, {"g": "array(1)"}, "'g' (groupCol) has type array<int>; text, a number"),
    ({}, {"y": "if(id = 2, null, 1)"}, "'y' (labelCol) is null or NaN in 1 of 6 rows. Drop or"),
    ({}, {"y": "if(id = 2, double('nan'), 1)"}, "'y' (labelCol) is null or NaN in 1 of 6 rows"),
    ({}, {"y": "id"}, "'y' (labelCol) is neither 0 nor 1 in 4 of 6 rows. Score one class"),
    ({}, {"s": "if(id < 2, null, 1)"}, "'s' (scoreCol) is null, NaN or infinite in 2 of 6 rows"),
    ({}, {"s": "if(id < 2, double('nan'), 1)"}, "'s' (scoreCol) is null, NaN or infinite in 2 of"),
    ({}, {"s": "if(id < 2, double('inf'), 1)"}, "'s' (scoreCol) is null, NaN or infinite in 2 of"),
    ({}, {"s": "array(0.1, 0.2, 0.7)"}, "'s' (scoreCol) does not have 2 values in 6 of 6 rows"),
    ({}, {"w": "if(id = 2, null, 1)"}, "'w' (weightCol) is null, NaN or infinite in 1 of 6 rows"),
    ({}, {"w": "id - 3"}, "'w' (weightCol) is negative in 3 of 6 rows. Weights must be 0 or"),
    ({}, {"w": "0"}, "'w' (weightCol) is 0 in all 6 rows. At least one must be positive"),
    ({}, {"y": "0"}, "'y' (labelCol) is 1 in 0 of 6 rows: there are no positives. Take rows"),
    ({}, {"y": "1"}, "'y' (labelCol) is 0 in 0 of 6 rows: there are no negatives. Take rows"),
    ({}, {"w": "1 - y"}, "'y' (labelCol) is 1 in 0 of 3 rows: there are no positives"),
]


@pytest.fixture(scope="module")
def six(spark: SparkSession) -> DataFrame:
    return spark.range(6).selectExpr("id", "id % 2 as y", "id / 5 as s", "1.0 as w", "id % 3 as g")


@pytest.mark.parametrize(("names", "columns", "message"), BAD)
def test_bad_input_is_named(six: DataFrame, names: Any, columns: Any, message: str) -> None:
    for name, expression in columns.items():
        six = six.withColumn(name, F.expr(expression))
    with pytest.raises(ValueError, match=r"\.$") as caught:
        operating_points(six, **{"labelCol": "y", "scoreCol": "s", "weightCol": "w"} | names)
    assert message in str(caught.value)


def test_no_rows(six: DataFrame) -> None:
    for table in (operating_points, roc_curve, roc_auc, brier_score, calibration):
        with pytest.raises(ValueError, match="The DataFrame is empty: 0 rows"):
            table(six.where("id < 0"), labelCol="y", scoreCol="s")


def test_bad_arguments(six: DataFrame) -> None:
    with pytest.raises(ValueError, match=r"levels has 94: a sensitivity lies between 0 and 1"):
        operating_points(six, (0.9, 94), labelCol="y", scoreCol="s")
    for bins in (0, 2.5, True):
        with pytest.raises(ValueError, match=r"bins must be an integer of at least 1, got"):
            calibration(six, bins, labelCol="y", scoreCol="s")


def test_a_group_without_a_class_does_not_stop_the_others(six: DataFrame) -> None:
    names: Any = {"labelCol": "y", "scoreCol": "s", "groupCol": "g"}
    df = six.withColumn("g", F.expr("if(y = 1 and id < 5, 'sick', 'mixed')"))
    points = operating_points(df, (0.9,), **names).set_index("g")
    assert points.loc["sick", "sensitivity"] == 1
    assert np.isnan(points.loc["sick", "specificity"])
    assert np.isnan(roc_auc(df, **names).set_index("g").loc["sick", "auc"])
    assert calibration(df.where("y = 1"), **names)["observed"].eq(1).all()
    assert np.isnan(brier_score(df.where("y = 1"), **names)["skill"]).all()
