"""What the stages do on Spark Connect: `python -m tests.support.connect_checks report.json`.

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

import numpy as np
import pytest
from pyspark.errors import AnalysisException
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.classification import GBTClassifier
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import (
    BaggedFIGSClassificationModel,
    BaggedFIGSClassifier,
    FIGSClassificationModel,
    FIGSClassifier,
    FIGSRegressor,
    GFIGSClassificationModel,
    GFIGSClassifier,
    SensitivitySpecificityEvaluator,
    operating_points,
    roc_auc,
    roc_curve,
)
from figs_spark.clinical import rows_by_score
from figs_spark.treesum.serialization import to_dict
from tests.support.patients import FEATURES, patients, strangers, with_vector

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
    stated = {"monotone": {"age": 1}, "allowedCuts": {"age": 5}, "forbidden": ["temp"]}
    sure = {"intervalSamples": 20, "riskIntervalCol": "between"}
    return {
        "regression of a vector, driver": FIGSRegressor(labelCol="days", mode="driver"),
        "regression of columns, cluster": FIGSRegressor(**columns, labelCol="days", mode="cluster"),
        "two classes, cluster": FIGSClassifier(labelCol="died", mode="cluster", **balanced),
        "three classes, driver": FIGSClassifier(**columns, labelCol="triage", **held),
        "log odds, cluster": FIGSClassifier(
            **columns, labelCol="died", loss="logistic", mode="cluster", **stated, **sure
        ),
        "log weights, cluster": FIGSClassifier(
            **columns, labelCol="triage", loss="logistic", mode="cluster"
        ),
        "log weights of a ridge, driver": FIGSClassifier(
            **columns, labelCol="triage", regParam="auto", refit="logistic"
        ),
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


def logarithms_score_as_predict(df: DataFrame, models: Models, path: str) -> None:
    named = {name: model for name, model in models.items() if name.startswith("log ")}
    assert {model.link for model in named.values()} == {"logit", "softmax"}
    for name, model in named.items():
        model.save(f"{path}/{name}")
        loaded = FIGSClassificationModel.load(f"{path}/{name}")
        assert (loaded.link, loaded.fingerprint) == (model.link, model.fingerprint)
        rows = loaded.transform(df.union(with_vector(strangers(df.sparkSession)))).collect()
        table = [[row[name] for name in FEATURES] for row in rows]
        probabilities = [row["probability"].tolist() for row in rows]
        np.testing.assert_allclose(probabilities, model.predictProbability(table), rtol=1e-12)
        assert [row["prediction"] for row in rows] == model.predict(table).tolist()


def risks_have_intervals_and_are_calibrated(df: DataFrame, models: Models, path: str) -> None:
    model = models["log odds, cluster"]
    row = model.transform(df).first()
    assert row["between"][0] <= row["probability"][1] <= row["between"][1]
    ages = [split.threshold for split in model.treeSum.splits if split.feature == 0]
    assert all(age % 5 == 0 or age == float("inf") for age in ages)
    some = df.where("visits > 1")
    rate = some.agg(F.avg("died")).first()[0]
    with pytest.raises(ValueError, match="monotone features"):
        model.calibrate(some, method="refit")
    for method in ("intercept", "slope"):
        calibrated = model.calibrate(some, method=method).setRiskIntervalCol("")
        calibrated.save(f"{path}/{method}")
        loaded = FIGSClassificationModel.load(f"{path}/{method}")
        assert loaded.treeSum == calibrated.treeSum
        risks = [row["probability"][1] for row in loaded.transform(some).collect()]
        assert abs(np.mean(risks) - rate) < 1e-6


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
    estimator = FIGSClassifier(featuresCols=FEATURES, labelCol="died", classWeight={1: 3})
    validator = CrossValidator(
        estimator=estimator,
        estimatorParamMaps=ParamGridBuilder().addGrid(estimator.maxSplits, [0, 3]).build(),
        evaluator=SensitivitySpecificityEvaluator(labelCol="died", minSensitivity=0.7),
        numFolds=2,
        parallelism=2,
        seed=0,
    )
    model: Any = validator.fit(df)
    assert model.avgMetrics[0] == 0 < model.avgMetrics[1]
    assert model.bestModel.numSplits == 3
    model.save(path)
    loaded: Any = CrossValidatorModel.load(path)
    assert loaded.bestModel.treeSum == model.bestModel.treeSum
    assert loaded.getEvaluator().getMinSensitivity() == 0.7
    assert loaded.getEstimator().getClassWeight() == {1: 3.0}


def folds_are_grown_together(df: DataFrame, models: Models, path: str) -> None:
    estimator = FIGSRegressor(featuresCols=FEATURES, labelCol="days", maxSplits=4)
    path_of_sizes = estimator.crossValidatePath(df, numFolds=3)
    assert path_of_sizes.table.index.tolist() == [0, 1, 2, 3, 4]
    assert path_of_sizes.best > 0


def an_ensemble_is_grown(df: DataFrame, models: Models, path: str) -> None:
    columns = {"featuresCols": FEATURES, "labelCol": "died"}
    bagged = BaggedFIGSClassifier(
        **columns, numEstimators=3, maxSplits=2, idCol="id", oobScore=True, mode="cluster"
    )
    model = bagged.fit(df.withColumn("id", F.monotonically_increasing_id()))
    assert 0 < model.oobScore <= 1
    model.save(path)
    loaded = BaggedFIGSClassificationModel.load(path)
    rows = loaded.transform(df).collect()
    table = [[row[name] for name in FEATURES] for row in rows]
    expected = model.predictProbability(table).tolist()
    assert [row["probability"].tolist() for row in rows] == expected


def an_operating_point_is_kept(df: DataFrame, models: Models, path: str) -> None:
    model = models["two classes, cluster"].copy().setOperatingPoint(sensitivity=0.9, on=df)
    model.save(path)
    loaded = FIGSClassificationModel.load(path)
    assert loaded.operatingPoint == model.operatingPoint
    rows = loaded.transform(df).where("died = 1").select("prediction").collect()
    found = sum(row[0] for row in rows) / len(rows)
    assert 0.9 <= found == loaded.operatingPoint.sensitivity


def scores_are_judged(df: DataFrame, models: Models, path: str) -> None:
    scored = models["two classes, cluster"].transform(df)
    table = operating_points(scored, (0.9,), labelCol="died", weightCol="weight", groupCol="hurt")
    assert table["hurt"].tolist() == ["all", False, True, None]
    area = roc_auc(scored, labelCol="died")["auc"][0]
    judge = BinaryClassificationEvaluator(labelCol="died", numBins=0)
    assert abs(area - judge.evaluate(scored)) < 1e-12
    before, rows_by_score.MOST_ENTRIES = rows_by_score.MOST_ENTRIES, 20
    try:
        merged = roc_curve(df, labelCol="died", scoreCol="days")
    finally:
        rows_by_score.MOST_ENTRIES = before
    assert 20 < len(merged) <= rows_by_score.FEWEST_RANGES + 1


def groups_have_their_models(df: DataFrame, models: Models, path: str) -> None:
    band = F.when(F.coalesce("age", F.lit(50.0)) + 5 * F.col("visits") > 65, "old")
    rows = df.withColumn("band", band.otherwise("young"))
    estimator = GFIGSClassifier(
        featuresCols=FEATURES,
        labelCol="died",
        groupCol="band",
        maxSplits=3,
        membershipExcludeCols=["age"],
        membershipFolds=2,
        unseenGroup="mixture",
        mode="cluster",
    )
    model = Pipeline(stages=[estimator]).fit(rows)
    model.save(f"{path}/pipeline")
    loaded: Any = PipelineModel.load(f"{path}/pipeline").stages[0]
    found: Any = model.stages[0]
    assert str(loaded) == str(found)
    assert loaded.membershipCoefficients.equals(found.membershipCoefficients)
    new = rows.union(rows.withColumn("band", F.lit(None).cast("string")))
    expected = found.transform(new).select("probability").collect()
    assert loaded.transform(new).select("probability").collect() == expected
    found.write().overwrite().save(f"{path}/pipeline")
    assert GFIGSClassificationModel.load(f"{path}/pipeline").groups == ("old", "young")
    with pytest.raises(Exception, match=r"'band' .* is null, which no training row had"):
        found.setUnseenGroup("error").transform(new).collect()
    boosted = estimator.setMembershipEstimator(GBTClassifier(maxIter=2)).setMembershipFolds(0)
    boosted.save(f"{path}/estimator")
    again = GFIGSClassifier.load(f"{path}/estimator")
    assert again.getMembershipEstimator().getMaxIter() == 2


def bad_input_is_named(df: DataFrame, models: Models, path: str) -> None:
    for label, message in (("none", r"'none' \(labelCol\) is not in"), ("site", "has type string")):
        with pytest.raises(ValueError, match=message):
            FIGSRegressor(labelCol=label).fit(df)


Check = Callable[[DataFrame, Models, str], None]
CHECKS: tuple[Check, ...] = (
    columns_score_as_predict,
    vectors_score_as_predict,
    logarithms_score_as_predict,
    risks_have_intervals_and_are_calibrated,
    a_model_is_saved,
    an_estimator_is_saved_in_a_thread,
    a_pipeline_is_saved,
    sizes_are_cross_validated,
    folds_are_grown_together,
    an_ensemble_is_grown,
    an_operating_point_is_kept,
    scores_are_judged,
    groups_have_their_models,
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
