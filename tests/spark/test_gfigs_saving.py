"""A saved G-FIGS comes back whole: the models of the groups and the membership model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import GBTClassifier, LogisticRegression
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import (
    GFIGSClassificationModel,
    GFIGSClassifier,
    GFIGSRegressionModel,
    GFIGSRegressor,
)
from tests.support.grouped import classifier, grouped, regressor


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return grouped(spark, 200).cache()


def probabilities(model: Any, data: DataFrame) -> list[Any]:
    """Those of known groups, and of an unknown one."""
    lost = data.withColumn("band", F.lit("nowhere"))
    return model.transform(data.union(lost)).select("probability").collect()


def test_a_model_comes_back(data: DataFrame, tmp_path: Path) -> None:
    estimator = classifier(membershipFeaturesCols=["age", "site"], unseenGroup="mixture")
    model = estimator.setMaxSplitsByGroup({"old": 2}).fit(data)
    path = str(tmp_path / "model")
    model.save(path)
    loaded = GFIGSClassificationModel.load(path)
    assert (loaded.uid, str(loaded), loaded.groups) == (model.uid, str(model), model.groups)
    assert loaded.effectiveSampleSizes == model.effectiveSampleSizes
    assert loaded.getMaxSplitsByGroup() == {"old": 2}
    found: Any = loaded.membershipCoefficients
    assert found.equals(model.membershipCoefficients)
    assert probabilities(loaded, data) == probabilities(model, data)
    with pytest.raises(AnalysisException, match="already exists"):
        model.save(path)
    boosted = estimator.setMembershipEstimator(GBTClassifier(maxIter=2)).fit(data)
    boosted.write().overwrite().save(path)
    again = GFIGSClassificationModel.load(path)
    assert type(again.membershipModel).__name__ == "GBTClassificationModel"
    assert probabilities(again, data) == probabilities(boosted, data)
    again.write().overwrite().save(str(tmp_path / "again"))


@pytest.mark.parametrize(("name", "groups"), [("ward", (1, 2, 3)), ("senior", (False, True))])
def test_groups_keep_their_type(
    data: DataFrame, tmp_path: Path, name: str, groups: tuple[Any, ...]
) -> None:
    estimator = regressor(groupCol=name, weighting="separate", maxSplitsByGroup={groups[0]: 1})
    model = estimator.fit(data)
    model.save(str(tmp_path / "model"))
    loaded = GFIGSRegressionModel.load(str(tmp_path / "model"))
    assert loaded.groups == groups
    assert [type(group) for group in loaded.groups] == [type(group) for group in groups]
    assert loaded.membershipModel is None
    assert loaded.models[groups[0]].numSplits == 1
    expected = model.transform(data).select("prediction").collect()
    assert loaded.transform(data).select("prediction").collect() == expected
    estimator.save(str(tmp_path / "estimator"))
    again = GFIGSRegressor.load(str(tmp_path / "estimator"))
    assert again.getMaxSplitsByGroup() == estimator.getMaxSplitsByGroup()
    assert again.fit(data).models[groups[0]].numSplits == 1


def test_an_estimator_comes_back_with_its_membership_estimator(
    spark: SparkSession, tmp_path: Path
) -> None:
    stage = classifier(membershipEstimator=GBTClassifier(maxIter=7), classWeight={1: 3})
    stage.save(str(tmp_path / "stage"))
    loaded = GFIGSClassifier.load(str(tmp_path / "stage"))
    assert loaded.getMembershipEstimator().getMaxIter() == 7
    assert loaded.getClassWeight() == {1: 3.0}
    classifier().save(str(tmp_path / "default"))
    assert GFIGSClassifier.load(str(tmp_path / "default")).getMembershipEstimator() is None


class Foreign(LogisticRegression):
    """A classifier that whoever loads a model need not have."""


def test_a_foreign_membership_estimator_is_named_before_anything_is_written(
    data: DataFrame, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    estimator = classifier(membershipEstimator=Foreign(regParam=0.1), maxSplits=2)
    model = estimator.fit(data)
    assert "Foreign (membershipEstimator) is no class of pyspark.ml or figs_spark" in caplog.text
    model.save(str(tmp_path / "model"))  # what was fitted is a class of pyspark.ml
    refusal = "membershipEstimator is a tests.+Foreign, which cannot be saved: .+Use one of these"
    with pytest.raises(ValueError, match=refusal):
        estimator.save(str(tmp_path / "estimator"))
    assert not (tmp_path / "estimator").exists()


def test_in_a_pipeline_model(data: DataFrame, tmp_path: Path) -> None:
    assembler = VectorAssembler(inputCols=["age", "gcs"], outputCol="in", handleInvalid="keep")
    stage = classifier(featuresCols=None, featuresCol="in", unseenGroup="mixture")
    pipeline = Pipeline(stages=[assembler, stage])
    model = pipeline.fit(data)
    path = str(tmp_path / "model")
    model.save(path)
    model.write().overwrite().save(path)
    assert probabilities(PipelineModel.load(path), data) == probabilities(model, data)
    pipeline.save(str(tmp_path / "pipeline"))
    stages: Any = Pipeline.load(str(tmp_path / "pipeline")).getStages()
    assert stages[1].getUnseenGroup() == "mixture"


def test_damaged_files_are_named(data: DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "model"
    classifier().fit(data).save(str(path))
    (file,) = (path / "model").glob("part-*")
    (checksum,) = (path / "model").glob(".part-*.crc")
    checksum.unlink()
    whole = json.loads(file.read_text())
    messages = {"groups": "not as many of each", "membershipColumns": "membershipColumns"}
    for entry, message in messages.items():
        file.write_text(json.dumps(whole | {entry: [3]}))
        with pytest.raises(ValueError, match=message):
            GFIGSClassificationModel.load(str(path))
