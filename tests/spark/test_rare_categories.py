"""Text and codes with any number of values: rare ones are "other" and are never named."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import BaggedFIGSRegressor, FIGSClassifier, FIGSRegressor, GFIGSRegressor
from figs_spark.stages.base import categories
from figs_spark.stages.base.categories import Counted, count_categories

ROWS = 3000


def codes_frame() -> pd.DataFrame:
    """A text and a code with 600 values each, of which few are frequent; y depends on these."""
    rng = np.random.default_rng(3)
    rank = np.minimum(rng.geometric(0.08, ROWS), 200)
    rare = rng.random(ROWS) < 0.2
    number = np.where(rare, 1000 + rng.integers(0, 400, ROWS), rank)
    return pd.DataFrame(
        {
            "diag": [f"D{n}" if n % 50 else None for n in number],
            "ward": number * 1.5,
            "x": rng.random(ROWS),
            "group": np.where(rng.random(ROWS) < 0.5, "a", "b"),
            "y": (number % 3 == 0) * 2.0 + (number >= 1000) * 5.0 + rng.normal(0, 0.1, ROWS),
        }
    )


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    return codes_frame()


@pytest.fixture(scope="module")
def frame(spark: SparkSession, data: pd.DataFrame) -> DataFrame:
    return spark.createDataFrame(data).repartition(3)


@pytest.mark.parametrize("many", [1 << 17, 100])
def test_counts_equal_those_of_pandas(
    frame: DataFrame, data: pd.DataFrame, many: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether all values come to the driver or, as they are many, the categories alone."""
    monkeypatch.setattr(categories, "MANY_VALUES", many)
    assert data["diag"].nunique() > 100
    values = {0: F.col("diag"), 7: F.col("group"), 9: F.lit(None).cast("string")}
    found = count_categories(frame, values, least=10, most=20)
    counts = data["diag"].value_counts()
    order = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    expected = tuple(name for name, count in order if count >= 10)[:19]
    assert found == {
        0: Counted(expected, len(counts) - 19, int(counts.sum())),
        7: Counted(tuple(data["group"].value_counts().index), 0, ROWS),
        9: Counted((), 0, 0),
    }


@pytest.mark.parametrize("max_bins", [2, 16, 255])
def test_any_number_of_values_trains_and_the_rare_are_not_named(
    frame: DataFrame, data: pd.DataFrame, max_bins: int
) -> None:
    estimator = FIGSRegressor(featuresCols=["diag", "ward", "x"], categoricalCols=["ward"])
    estimator.setParams(labelCol="y", maxBins=max_bins, maxSplits=8)
    models = [estimator.setMode(mode).fit(frame) for mode in ("driver", "cluster")]
    paths = [model.rules()[["path", "rows"]].to_numpy().tolist() for model in models]
    assert paths[0] == paths[1]
    model = models[0]
    for feature in model.treeSum.features[:2]:
        counts = data[feature.name].value_counts()
        allowed = set(counts.index[counts >= 10])
        assert feature.others >= len(counts) - min(len(allowed), max_bins - 1)
        listed = {c for s in model.treeSum.splits for c in s.categories or ()}
        assert set(feature.categories or ()) <= allowed & listed
    assert "other (" in str(model)
    scores = model.transform(frame).select("diag", "ward", "x", "prediction").toPandas()
    np.testing.assert_array_equal(model.treeSum.predict(scores)[:, 0], scores["prediction"])
    if max_bins == 255:
        mean = ((data["y"] - data["y"].mean()) ** 2).mean()
        assert model.treeSum.losses[-1] < 0.3 * mean


def test_unseen_values_go_where_the_rare_ones_went(frame: DataFrame) -> None:
    model = FIGSRegressor(featuresCols=["diag"], labelCol="y", maxSplits=1).fit(frame)
    rare, unseen = model.predict(pd.DataFrame({"diag": ["D1001", "never seen"]}))["prediction"]
    assert rare == unseen
    assert rare > 4


def test_one_turns_it_off(spark: SparkSession) -> None:
    rows = [(f"t{k}", float(k >= 4)) for k in range(8)]
    frame = spark.createDataFrame(rows, "town string, y double")
    off = FIGSRegressor(featuresCols=["town"], labelCol="y", minCategoryCount=1).fit(frame)
    assert off.treeSum.features[0].categories == ("t4", "t5", "t6", "t7") or (
        off.treeSum.features[0].categories == ("t0", "t1", "t2", "t3")
    )
    assert off.treeSum.features[0].others == 0
    on = FIGSRegressor(featuresCols=["town"], labelCol="y").fit(frame)
    assert (on.numSplits, on.treeSum.features[0].others) == (0, 8)
    assert on.treeSum.features[0].kind == "text"
    assert on.transform(frame).select("prediction").distinct().collect()[0][0] == 0.5


def test_an_indexed_vector_keeps_only_labels_that_a_split_lists(
    spark: SparkSession, frame: DataFrame, data: pd.DataFrame
) -> None:
    known = frame.where("diag is not null")
    indexed = StringIndexer(inputCol="diag", outputCol="i").fit(known).transform(known)
    vectors = VectorAssembler(inputCols=["i", "x"], outputCol="features").transform(indexed)
    model = FIGSRegressor(labelCol="y", maxSplits=3).fit(vectors)
    feature = model.treeSum.features[0]
    counts = data["diag"].value_counts()
    assert feature.labels
    assert all(counts[label] >= 10 for label in feature.labels)
    assert feature.others == (counts < 10).sum()
    text = FIGSRegressor(featuresCols=["diag", "x"], labelCol="y", maxSplits=3).fit(known)
    assert text.treeSum.losses == pytest.approx(model.treeSum.losses)


def test_truncated_models_keep_the_categories_of_their_splits(
    frame: DataFrame, tmp_path: Any
) -> None:
    columns = ["diag", "x"]
    large = FIGSRegressor(featuresCols=columns, labelCol="y", maxSplits=6).fit(frame)
    small = FIGSRegressor(featuresCols=columns, labelCol="y", maxSplits=0).fit(frame)
    assert large.truncate(0).treeSum == small.treeSum
    assert small.treeSum.features[0].categories == ()
    small.save(str(tmp_path / "small"))
    loaded = type(small).load(str(tmp_path / "small"))
    assert loaded.treeSum == small.treeSum
    assert loaded.treeSum.features[0].kind == "text"
    expected = small.transform(frame).select("prediction").distinct().collect()
    assert loaded.transform(frame).select("prediction").distinct().collect() == expected


def test_bagging_and_groups_share_their_features(frame: DataFrame) -> None:
    settings: dict[str, Any] = {"featuresCols": ["diag", "x"], "labelCol": "y", "maxSplits": 3}
    bagged = BaggedFIGSRegressor(**settings, numEstimators=3, mode="driver").fit(frame)
    listed = {c for m in bagged.members for s in m.splits for c in s.categories or ()}
    assert set(bagged.members[0].features[0].categories or ()) == listed
    assert len({member.features for member in bagged.members}) == 1
    rows = frame.select("diag", "x", "y").limit(50).toPandas()
    scored = bagged.transform(frame.sparkSession.createDataFrame(rows)).toPandas()
    predicted = bagged.predict(rows)["prediction"]
    np.testing.assert_allclose(predicted, scored["prediction"], rtol=1e-12)
    grouped = GFIGSRegressor(**settings, groupCol="group", mode="driver").fit(frame)
    assert len({model.treeSum.features for model in grouped.models.values()}) == 1


def test_a_nearly_unique_text_is_warned_of(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [(f"patient {k}", "abc"[k % 3], float(k % 2)) for k in range(150)]
    frame = spark.createDataFrame(rows, "name string, site string, y double")
    with caplog.at_level(logging.INFO, "figs_spark"):
        FIGSClassifier(featuresCols=["name", "site"], labelCol="y", maxSplits=2).fit(frame)
    warnings = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert [w for w in warnings if "identifier" in w] == [
        "Column 'name' (featuresCols) has 150 different values in 150 rows: it looks like an "
        "identifier. Leave it out."
    ]


def test_the_log_names_no_category(frame: DataFrame, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "figs_spark"):
        model = FIGSRegressor(featuresCols=["diag", "x"], labelCol="y", maxSplits=3).fit(frame)
    splits = [r.getMessage() for r in caplog.records if r.getMessage().startswith("split ")]
    assert "tree 1, a set of diag, gain" in splits[0]
    listed = {c for s in model.treeSum.splits for c in s.categories or ()}
    assert listed
    assert not any(f"{c}," in line or f"{c}}}" in line for c in listed for line in splits)
