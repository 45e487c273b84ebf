"""A classifier as the last stage of a Pipeline, alone, tuned, and after saving and loading."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.tuning import CrossValidator, ParamGridBuilder, TrainValidationSplit
from pyspark.sql import DataFrame, SparkSession

from figs_spark import FIGSClassifier
from tests.support.patients import patients


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    columns = ("age", "gcs", "visits", "site", "int(triage > 0) as died")
    return patients(spark, rows=150).selectExpr(*columns)


@pytest.fixture(scope="module")
def classifier() -> FIGSClassifier:
    return FIGSClassifier(labelCol="died", maxSplits=4)


@pytest.fixture(scope="module")
def pipeline(spark: SparkSession, classifier: FIGSClassifier) -> Pipeline:
    indexer = StringIndexer(inputCol="site", outputCol="place", handleInvalid="keep")
    assembler = VectorAssembler(
        inputCols=["age", "gcs", "visits", "place"], outputCol="features", handleInvalid="keep"
    )
    return Pipeline(stages=[indexer, assembler, classifier])


@pytest.fixture(scope="module")
def model(pipeline: Pipeline, data: DataFrame) -> PipelineModel:
    return pipeline.fit(data)


def assert_alike(one: Any, other: Any, data: DataFrame) -> None:
    """Two models score alike; a vector with NaN is never equal to itself, so it is left out."""
    first, second = (model.transform(data).drop("features") for model in (one, other))
    assert_df_equality(first, second, allow_nan_equality=True)


def test_names_and_categories_come_through(model: PipelineModel) -> None:
    figs: Any = model.stages[-1]
    assert figs.featureNames == ["age", "gcs", "visits", "place"]
    labels = figs.treeSum.features[3].labels
    assert set(labels) == {"Zürich"}  # the only one that a split names
    assert "place in {Zürich}" in str(figs)
    assert figs.numSplits == 4


def test_it_predicts_new_sites_and_missing_ages(
    spark: SparkSession, data: DataFrame, model: PipelineModel
) -> None:
    evaluator = BinaryClassificationEvaluator(labelCol="died")
    assert evaluator.evaluate(model.transform(data)) > 0.8
    new = spark.createDataFrame([(None, 3, 5, "Genf", 1), (50.0, 15, 0, None, 0)], data.schema)
    rows = model.transform(new).collect()
    figs: Any = model.stages[-1]
    expected = [figs.predict(row["features"]) for row in rows]
    assert [row["prediction"] for row in rows] == expected


def test_it_comes_back(
    data: DataFrame, pipeline: Pipeline, model: PipelineModel, tmp_path: Path
) -> None:
    model.save(str(tmp_path / "model"))
    loaded = PipelineModel.load(str(tmp_path / "model"))
    assert [stage.uid for stage in loaded.stages] == [stage.uid for stage in model.stages]
    assert_alike(loaded, model, data)
    model.write().overwrite().save(str(tmp_path / "model"))
    pipeline.save(str(tmp_path / "pipeline"))
    refitted = Pipeline.load(str(tmp_path / "pipeline")).fit(data)
    assert_alike(refitted, model, data)


@pytest.mark.parametrize("kind", [CrossValidator, TrainValidationSplit])
def test_it_is_tuned(
    data: DataFrame, pipeline: Pipeline, classifier: FIGSClassifier, kind: Any, tmp_path: Path
) -> None:
    grid = ParamGridBuilder().addGrid(classifier.maxSplits, [0, 4]).build()
    folds = {"numFolds": 2} if kind is CrossValidator else {}
    evaluator = BinaryClassificationEvaluator(labelCol="died")
    tuner = kind(estimator=pipeline, estimatorParamMaps=grid, evaluator=evaluator, seed=2, **folds)
    tuned = tuner.fit(data)
    metrics = tuned.avgMetrics if kind is CrossValidator else tuned.validationMetrics
    assert metrics[0] == pytest.approx(0.5)
    assert metrics[1] > 0.6
    assert tuned.bestModel.stages[-1].getMaxSplits() == 4
    tuned.save(str(tmp_path / "tuned"))
    loaded = type(tuned).load(str(tmp_path / "tuned"))
    assert_alike(loaded, tuned, data)


def test_params_reach_the_stage(
    data: DataFrame, pipeline: Pipeline, classifier: FIGSClassifier
) -> None:
    fitted: Any = pipeline.copy({classifier.maxSplits: 1, classifier.predictionCol: "p"}).fit(data)
    assert fitted.stages[-1].numSplits == 1
    assert "p" in fitted.transform(data).columns
    assert classifier.getMaxSplits() == 4
