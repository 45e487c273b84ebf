"""What the stages do on Spark Connect, as a script: `python -m tests.spark.connect_checks report`.

Classic Spark and Connect cannot share a process. So test_connect.py runs this in one of its own,
with a server that ends with it, and reads the report: the models as JSON, and for each check the
traceback, or nothing where it held.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.evaluation import BinaryClassificationEvaluator, RegressionEvaluator
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder
from pyspark.sql import DataFrame, SparkSession

from figs_spark import FIGSClassificationModel, FIGSClassifier, FIGSRegressor
from figs_spark.treesum.serialization import to_dict
from tests.spark.patients import FEATURES, patients, strangers, with_vector

Models = dict[str, Any]
PIPELINE = "a pipeline"


def training_data(spark: SparkSession) -> DataFrame:
    return with_vector(patients(spark, rows=120))


def pipeline() -> Pipeline:
    inputs = ["age", "gcs", "place"]
    indexer = StringIndexer(inputCol="site", outputCol="place", handleInvalid="keep")
    assembler = VectorAssembler(inputCols=inputs, outputCol="inputs", handleInvalid="keep")
    classifier = FIGSClassifier(featuresCol="inputs", labelCol="died", maxSplits=3)
    return Pipeline(stages=[indexer, assembler, classifier])


def estimators() -> dict[str, Any]:
    columns = {"featuresCols": FEATURES, "maxSplits": 5}
    held = {"validationIndicatorCol": "held", "leafCol": "leaf", "contributionsCol": "parts"}
    balanced = {"weightCol": "weight", "classWeight": "balanced", "maxSplits": 3}
    return {
        "regression of a vector, driver": FIGSRegressor(labelCol="days", mode="driver"),
        "regression of columns, cluster": FIGSRegressor(**columns, labelCol="days", mode="cluster"),
        "two classes, cluster": FIGSClassifier(labelCol="died", mode="cluster", **balanced),
        "three classes, driver": FIGSClassifier(**columns, labelCol="triage", **held),
        PIPELINE: pipeline(),
    }


def fit(df: DataFrame) -> Models:
    return {name: estimator.fit(df) for name, estimator in estimators().items()}


def as_json(models: Models) -> dict[str, Any]:
    figs = models | {PIPELINE: models[PIPELINE].stages[-1]}
    return {name: to_dict(model.treeSum) for name, model in figs.items()}


def columns_score_as_predict(df: DataFrame, models: Models, path: str) -> None:
    model = models["three classes, driver"]
    rows = model.transform(df.union(with_vector(strangers(df.sparkSession)))).collect()
    table = [[row[name] for name in FEATURES] for row in rows]
    assert [row["prediction"] for row in rows] == model.predict(table).tolist()
    assert [row["leaf"].tolist() for row in rows] == model.treeSum.leaf_indices(table).tolist()
    assert [row["parts"] for row in rows] == model.treeSum.contributions(table).tolist()
    expected = model.predictProbability(table).tolist()
    assert [row["probability"].tolist() for row in rows] == expected


def vectors_score_as_predict(df: DataFrame, models: Models, path: str) -> None:
    model = models["regression of a vector, driver"]
    rows = model.transform(df).collect()
    assert [row["prediction"] for row in rows] == [model.predict(row["features"]) for row in rows]


def a_model_is_saved(df: DataFrame, models: Models, path: str) -> None:
    model = models["three classes, driver"]
    model.save(path)
    with pytest.raises(AnalysisException, match="already exists"):
        model.save(path)
    smaller = model.truncate(1).setPredictionCol("p")
    smaller.write().overwrite().save(path)
    loaded = FIGSClassificationModel.load(path)
    assert (loaded.uid, loaded.getPredictionCol()) == (model.uid, "p")
    assert loaded.treeSum == smaller.treeSum


def an_estimator_is_saved_in_a_thread(df: DataFrame, models: Models, path: str) -> None:
    loaded: list[FIGSRegressor] = []

    def work() -> None:
        FIGSRegressor(maxSplits=3).save(path)
        loaded.append(FIGSRegressor.load(path))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [stage.getMaxSplits() for stage in loaded] == [3]


def a_pipeline_is_saved(df: DataFrame, models: Models, path: str) -> None:
    pipeline().save(f"{path}/pipeline")
    stages: Any = Pipeline.load(f"{path}/pipeline").getStages()
    assert stages[-1].getMaxSplits() == 3
    model = models[PIPELINE]
    model.save(f"{path}/model")
    model.write().overwrite().save(f"{path}/model")
    loaded = PipelineModel.load(f"{path}/model")
    assert [stage.uid for stage in loaded.stages] == [stage.uid for stage in model.stages]
    expected = model.transform(df).select("prediction", "probability").collect()
    scored = loaded.transform(df)
    assert scored.select("prediction", "probability").collect() == expected
    assert BinaryClassificationEvaluator(labelCol="died").evaluate(scored) > 0.6


def sizes_are_cross_validated(df: DataFrame, models: Models, path: str) -> None:
    estimator = FIGSRegressor(featuresCols=FEATURES, labelCol="days")
    validator = CrossValidator(
        estimator=estimator,
        estimatorParamMaps=ParamGridBuilder().addGrid(estimator.maxSplits, [1, 4]).build(),
        evaluator=RegressionEvaluator(labelCol="days"),
        numFolds=2,
        parallelism=2,
        seed=0,
    )
    model: Any = validator.fit(df)
    assert model.bestModel.numSplits == 4
    assert model.avgMetrics[1] < model.avgMetrics[0]
    model.save(path)
    loaded: Any = CrossValidatorModel.load(path)
    assert loaded.bestModel.treeSum == model.bestModel.treeSum


def bad_input_is_named(df: DataFrame, models: Models, path: str) -> None:
    for label, message in (("none", r"'none' \(labelCol\) is not in"), ("site", "has type string")):
        with pytest.raises(ValueError, match=message):
            FIGSRegressor(labelCol=label).fit(df)


Check = Callable[[DataFrame, Models, str], None]
CHECKS: tuple[Check, ...] = (
    columns_score_as_predict,
    vectors_score_as_predict,
    a_model_is_saved,
    an_estimator_is_saved_in_a_thread,
    a_pipeline_is_saved,
    sizes_are_cross_validated,
    bad_input_is_named,
)


def failure(check: Check, df: DataFrame, models: Models, path: str) -> str:
    try:
        check(df, models, path)
    except Exception:
        return traceback.format_exc()
    return ""


def main(report: Path) -> None:
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    assert type(spark).__module__.startswith("pyspark.sql.connect")
    try:
        df = training_data(spark)
        models = fit(df)
        with tempfile.TemporaryDirectory() as home:
            found = {c.__name__: failure(c, df, models, f"{home}/{c.__name__}") for c in CHECKS}
        report.write_text(json.dumps({"models": as_json(models), "failures": found}))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
