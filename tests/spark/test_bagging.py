"""Bagging-FIGS as a Spark ML stage."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from chispa import assert_approx_df_equality
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sklearn.metrics import roc_auc_score

from figs_spark import (
    BaggedFIGSClassificationModel,
    BaggedFIGSClassifier,
    BaggedFIGSRegressor,
    FIGSClassifier,
    FIGSRegressor,
)
from figs_spark.dataframes import compat
from figs_spark.engine import backends
from figs_spark.treesum.serialization import to_dict
from tests.support.patients import FEATURES, patients, strangers

MEMBERS = 6


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return patients(spark, 400).withColumn("id", F.monotonically_increasing_id()).cache()


def classifier(**params: Any) -> BaggedFIGSClassifier:
    given = {"featuresCols": FEATURES, "labelCol": "died", "numEstimators": MEMBERS, "idCol": "id"}
    return BaggedFIGSClassifier(**{**given, "maxSplits": 4, "seed": 5, **params})


@pytest.fixture(scope="module")
def model(data: DataFrame) -> BaggedFIGSClassificationModel:
    return classifier(oobScore=True).fit(data)


def shapes(model: Any) -> list[list[tuple[int, Any, Any]]]:
    """The splits of each member, without their floats of many digits."""
    return [
        [(s.feature, s.threshold, s.categories) for s in member.splits] for member in model.members
    ]


@pytest.mark.parametrize(
    ("bagged", "single", "label"),
    [
        (BaggedFIGSRegressor, FIGSRegressor, "days"),
        (BaggedFIGSClassifier, FIGSClassifier, "triage"),
    ],
)
def test_one_member_on_all_rows_and_features_is_figs(
    data: DataFrame, bagged: Any, single: Any, label: str
) -> None:
    given = {"featuresCols": FEATURES, "labelCol": label, "maxSplits": 5, "regParam": 0}
    one = bagged(numEstimators=1, bootstrap=False, featureSubsetStrategy="all", **given).fit(data)
    assert to_dict(one.members[0]) == to_dict(single(**given).fit(data).treeSum)


@pytest.mark.parametrize("partitions", [1, 5])
@pytest.mark.parametrize("mode", ["driver", "cluster"])
def test_with_an_id_every_layout_and_mode_gives_the_same_ensemble(
    data: DataFrame, model: BaggedFIGSClassificationModel, mode: str, partitions: int
) -> None:
    again = classifier(mode=mode).fit(data.repartition(partitions))
    assert shapes(again) == shapes(model)


def test_groups_of_members_under_a_byte_budget_give_the_same_ensemble(
    data: DataFrame, model: BaggedFIGSClassificationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "HISTOGRAM_BYTES", 1)
    assert shapes(classifier(mode="cluster").fit(data)) == shapes(model)


def test_tasks_that_grow_whole_members_give_the_same_ensemble(
    data: DataFrame, model: BaggedFIGSClassificationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def tasks(growths: Any, backend: Any, spark: Any) -> int:
        asked.append(len(growths))
        return 4

    monkeypatch.setattr(backends, "tasks_that_pay", tasks)
    classifier(mode="driver").fit(data)
    assert asked == []  # the executors may not have the package
    again = classifier(oobScore=True).fit(data)
    assert asked == [MEMBERS]
    assert [to_dict(m) for m in again.members] == [to_dict(m) for m in model.members]
    assert again.oobScore == model.oobScore


def test_tasks_pay_where_spark_has_more_cores_and_the_work_is_long(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    growths: Any = [SimpleNamespace(features_per_step=10, most_steps=10)] * 100
    large: Any = SimpleNamespace(rows=1_000_000, nbytes=50_000_000)  # 100 s of one core
    small: Any = SimpleNamespace(rows=10_000, nbytes=500_000)
    for cores, slots, found in [(2, 2, 0), (2, 16, 16), (2, 400, 100), (16, 32, 0), (64, 400, 0)]:
        monkeypatch.setattr(backends.os, "cpu_count", lambda cores=cores: cores)
        monkeypatch.setattr(backends.compat, "parallelism", lambda spark, slots=slots: slots)
        assert backends.tasks_that_pay(growths, large, spark) == found
        assert backends.tasks_that_pay(growths, small, spark) == 0
    monkeypatch.setattr(backends, "SHIPPED_BYTES", 1_000)
    assert backends.tasks_that_pay(growths, large, spark) == 0


def test_members_differ_and_seeds_matter(
    data: DataFrame, model: BaggedFIGSClassificationModel
) -> None:
    assert len({json.dumps(to_dict(member)) for member in model.members}) == MEMBERS
    assert shapes(classifier(seed=6).fit(data)) != shapes(model)


@pytest.fixture(params=["one by one", "as an array"])
def way_to_python(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How columns reach the function that scores: few one by one, many as one array."""
    if request.param == "as an array":
        monkeypatch.setattr(compat, "SEPARATE", 0)


@pytest.mark.usefixtures("way_to_python")
def test_scoring_is_the_mean_of_the_members(
    spark: SparkSession, data: DataFrame, model: BaggedFIGSClassificationModel
) -> None:
    rows = data.drop("id").unionByName(strangers(spark))
    scored: Any = model.transform(rows).toPandas()
    members = np.array([m.predict(scored)[:, 0].clip(0, 1) for m in model.members])
    probability = np.array([v.toArray() for v in scored["probability"]])
    assert probability[:, 1] == pytest.approx(members.mean(axis=0), abs=1e-12)
    assert (scored["prediction"] == (probability[:, 1] > 0.5)).all()
    assert model.predictProbability(scored) == pytest.approx(probability, abs=1e-12)
    assert (model.predict(scored)["prediction"] == scored["prediction"]).all()


@pytest.mark.usefixtures("way_to_python")
def test_out_of_bag_predictions_come_from_the_members_that_left_out_the_row(
    data: DataFrame, model: BaggedFIGSClassificationModel
) -> None:
    found: Any = model.oobPredictions(data).toPandas()
    held = np.array([value[0] for value in found["oobPrediction"]])
    some = ~np.isnan(held)
    assert 0.8 < some.mean() < 1  # all six members train on a row with probability 0.63^6
    right = (held > 0.5) == found["died"].to_numpy()
    assert model.oobScore == pytest.approx(right[some].mean(), abs=1e-12)
    area = roc_auc_score(found["died"][some], held[some])
    assert model.oobAuc == pytest.approx(area, abs=1e-3)
    assert f"out of bag: {model.oobScore:.4f}, AUC {model.oobAuc:.4f}" in str(model)
    with pytest.raises(ValueError, match="need idCol"):
        classifier(idCol=None).fit(data).oobPredictions(data)


def test_the_out_of_bag_score_is_near_the_test_score(spark: SparkSession) -> None:
    train, test = patients(spark, 2000, seed=1), patients(spark, 2000, seed=2)
    bagged = BaggedFIGSRegressor(
        featuresCols=FEATURES, labelCol="days", numEstimators=30, maxSplits=10, oobScore=True
    ).fit(train)
    scored: Any = bagged.transform(test).select("days", "prediction").toPandas()
    errors = (scored["days"] - scored["prediction"]) ** 2
    variance = scored["days"].var(ddof=0)
    two_errors = 2 * errors.std() / np.sqrt(len(errors)) / variance
    assert abs(bagged.oobScore - (1 - errors.mean() / variance)) < two_errors


def test_truncate_importances_and_text(model: BaggedFIGSClassificationModel) -> None:
    assert all(len(member.splits) <= 2 for member in model.truncate(2).members)
    shares = model.featureImportances.toArray()
    assert shares.sum() == pytest.approx(1)
    text = str(model)
    assert f"the mean of {MEMBERS} members" in text
    assert FEATURES[int(np.argmax(shares))] in text
    assert "accuracy out of bag" in text


def test_saving_and_loading(
    data: DataFrame, model: BaggedFIGSClassificationModel, tmp_path: Path
) -> None:
    model.save(str(tmp_path / "model"))
    loaded = BaggedFIGSClassificationModel.load(str(tmp_path / "model"))
    assert (loaded.uid, str(loaded), loaded.oobScore) == (model.uid, str(model), model.oobScore)
    assert loaded.oobAuc == model.oobAuc
    columns = ["id", "prediction", "rawPrediction"]
    assert_approx_df_equality(
        loaded.transform(data).select(*columns[:2]), model.transform(data).select(*columns[:2]), 0
    )
    estimator = classifier(oobScore=True)
    estimator.save(str(tmp_path / "estimator"))
    assert BaggedFIGSClassifier.load(str(tmp_path / "estimator")).getOobScore() is True


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"numEstimators": 0}, "at least 1"),
        ({"subsamplingRate": 1.5}, "from 1e-09 to 1"),
        ({"featureSubsetStrategy": "half"}, "a number of features"),
        ({"idCol": "nowhere"}, "'nowhere' \\(idCol\\) is not in the DataFrame"),
        ({"idCol": "hurt"}, r"'hurt' \(idCol\) is null in \d+ of \d+ rows"),
        ({"labelCol": "days"}, "holds a value that is not a class in"),
    ],
)
def test_bad_input(data: DataFrame, params: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier(**params).fit(data)


def test_nothing_stays_cached(spark: SparkSession, data: DataFrame) -> None:
    before = spark.sparkContext._jsc.getPersistentRDDs().size()
    classifier(mode="cluster", numEstimators=2, oobScore=True).fit(data)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == before
