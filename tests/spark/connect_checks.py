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


def data(spark: SparkSession) -> DataFrame:
    return with_vector(patients(spark, rows=120))


def pipeline() -> Pipeline:
    inputs = ["age", "gcs", "place"]
    indexer = StringIndexer(inputCol="site", outputCol="place", handleInvalid="keep")
    assembler = VectorAssembler(inputCols=inputs, outputCol="inputs", handleInvalid="keep")
    classifier = FIGSClassifier(featuresCol="inputs", labelCol="died", maxSplits=3)
    return Pipeline(stages=[indexer, assembler, classifier])


def estimators() -> dict[str, Any]:
    columns = {"featuresCols": FEATURES, "maxSplits": 5}
    held = {"validationIndicatorCol": "held"}
    balanced = {"weightCol": "weight", "classWeight": "balanced"}
    return {
        "regression of columns, driver": FIGSRegressor(**columns, labelCol="days", mode="driver"),
        "regression of columns, cluster": FIGSRegressor(**columns, labelCol="days", mode="cluster"),
        "regression of a vector, driver": FIGSRegressor(labelCol="days", mode="driver"),
        "two classes, cluster": FIGSClassifier(labelCol="died", mode="cluster", **balanced),
        "three classes, driver": FIGSClassifier(**columns, labelCol="triage", **held),
        "a pipeline": pipeline(),
    }


def models(spark: SparkSession) -> dict[str, Any]:
    """The fitted models as JSON."""
    fitted = {name: estimator.fit(data(spark)) for name, estimator in estimators().items()}
    fitted["a pipeline"] = fitted["a pipeline"].stages[-1]
    return {name: to_dict(model.treeSum) for name, model in fitted.items()}


def scores_equal_predict(spark: SparkSession, path: str) -> None:
    df = data(spark).union(with_vector(strangers(spark)))
    names = {"leafCol": "leaf", "contributionsCol": "parts", "maxSplits": 6}
    model = FIGSClassifier(featuresCols=FEATURES, labelCol="died", **names).fit(df)
    rows = model.transform(df).collect()
    table = [[row[name] for name in FEATURES] for row in rows]
    assert [row["prediction"] for row in rows] == model.predict(table).tolist()
    assert [row["leaf"].tolist() for row in rows] == model.treeSum.leaf_indices(table).tolist()
    expected = model.predictProbability(table).tolist()
    assert [row["probability"].tolist() for row in rows] == expected


def vectors_score_as_predict(spark: SparkSession, path: str) -> None:
    df = data(spark)
    model = FIGSRegressor(labelCol="days").fit(df)
    rows = model.transform(df).collect()
    assert [row["prediction"] for row in rows] == [model.predict(row["features"]) for row in rows]


def a_model_is_saved(spark: SparkSession, path: str) -> None:
    df = data(spark)
    model = FIGSClassifier(featuresCols=FEATURES, labelCol="triage", maxSplits=2).fit(df)
    model.save(path)
    with pytest.raises(AnalysisException, match="already exists"):
        model.save(path)
    smaller = model.truncate(1).setPredictionCol("p")
    smaller.write().overwrite().save(path)
    loaded = FIGSClassificationModel.load(path)
    assert (loaded.uid, loaded.getPredictionCol()) == (model.uid, "p")
    assert loaded.treeSum == smaller.treeSum
    assert loaded.transform(df).collect() == smaller.transform(df).collect()


def an_estimator_is_saved_in_a_thread(spark: SparkSession, path: str) -> None:
    estimator, loaded = FIGSRegressor(maxSplits=3), []

    def work() -> None:
        estimator.save(path)
        loaded.append(FIGSRegressor.load(path))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [stage.getMaxSplits() for stage in loaded] == [3]


def a_pipeline_is_saved(spark: SparkSession, path: str) -> None:
    df = data(spark)
    pipeline().save(f"{path}/pipeline")
    model = Pipeline.load(f"{path}/pipeline").fit(df)
    model.save(f"{path}/model")
    model.write().overwrite().save(f"{path}/model")
    loaded = PipelineModel.load(f"{path}/model")
    assert [stage.uid for stage in loaded.stages] == [stage.uid for stage in model.stages]
    expected = model.transform(df).select("prediction", "probability").collect()
    assert loaded.transform(df).select("prediction", "probability").collect() == expected
    evaluator = BinaryClassificationEvaluator(labelCol="died")
    assert evaluator.evaluate(loaded.transform(df)) > 0.6


def a_cross_validator_works(spark: SparkSession, path: str) -> None:
    df = data(spark).drop("features")
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


def bad_input_is_named(spark: SparkSession, path: str) -> None:
    for label, message in (("none", r"'none' \(labelCol\) is not in"), ("site", "has type string")):
        with pytest.raises(ValueError, match=message):
            FIGSRegressor(labelCol=label).fit(data(spark))


Check = Callable[[SparkSession, str], None]
CHECKS: tuple[Check, ...] = (
    scores_equal_predict,
    vectors_score_as_predict,
    a_model_is_saved,
    an_estimator_is_saved_in_a_thread,
    a_pipeline_is_saved,
    a_cross_validator_works,
    bad_input_is_named,
)


def run(check: Check, spark: SparkSession, path: str) -> str:
    try:
        check(spark, path)
    except Exception:
        return traceback.format_exc()
    return ""


def main(report: Path) -> None:
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    assert type(spark).__module__.startswith("pyspark.sql.connect")
    try:
        with tempfile.TemporaryDirectory() as directory:
            found = {f.__name__: run(f, spark, f"{directory}/{f.__name__}") for f in CHECKS}
            report.write_text(json.dumps({"models": models(spark), "checks": found}))
    finally:
        spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
