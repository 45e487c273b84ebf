"""The estimators and models: what goes in, what comes out, and that both paths of scoring agree."""

from __future__ import annotations

import inspect
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chispa import assert_df_equality
from pyspark.ml.evaluation import BinaryClassificationEvaluator, MulticlassClassificationEvaluator
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.linalg import Vectors
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from sklearn.metrics import log_loss, roc_auc_score

from figs_spark import (
    FIGSClassificationModel,
    FIGSClassifier,
    FIGSRegressionModel,
    FIGSRegressor,
)
from tests.support.patients import FEATURES, NUMBERS, patients, strangers, with_vector

STAGES = [FIGSRegressor, FIGSRegressionModel, FIGSClassifier, FIGSClassificationModel]


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return patients(spark)


@pytest.fixture(scope="module")
def everything(data: DataFrame, spark: SparkSession) -> DataFrame:
    return data.union(strangers(spark))


@pytest.fixture(scope="module")
def regression(data: DataFrame) -> FIGSRegressionModel:
    outputs = {"leafCol": "leaf", "contributionsCol": "parts"}
    return FIGSRegressor(featuresCols=FEATURES, labelCol="days", maxSplits=16, **outputs).fit(data)


@pytest.fixture(scope="module")
def binary(data: DataFrame) -> FIGSClassificationModel:
    return FIGSClassifier(featuresCols=FEATURES, labelCol="died", weightCol="weight").fit(data)


@pytest.fixture(scope="module")
def multiclass(data: DataFrame) -> FIGSClassificationModel:
    names = {"leafCol": "leaf", "contributionsCol": "parts"}
    return FIGSClassifier(featuresCols=FEATURES, labelCol="triage", **names).fit(data)


@pytest.fixture(scope="module")
def vector_model(data: DataFrame) -> FIGSRegressionModel:
    return FIGSRegressor(labelCol="days").fit(with_vector(data))


def columns(df: DataFrame, *names: str) -> list[np.ndarray]:
    """The values of columns, vectors and arrays as rows of a table."""
    rows = df.select(*names).collect()
    return [np.array([np.array(row[name]) for row in rows]) for name in names]


def cells(df: DataFrame) -> list[list[Any]]:
    return [list(row) for row in df.select(*FEATURES).collect()]


# What goes in


@pytest.mark.parametrize("kind", ["array<double>", "array<float>", "array<int>"])
def test_arrays_are_as_good_as_vectors(
    data: DataFrame, vector_model: FIGSRegressionModel, kind: str
) -> None:
    df = with_vector(data, kind)
    model = FIGSRegressor(labelCol="days").fit(df)
    assert model.treeSum == vector_model.treeSum
    assert model.featureNames == ["features[0]", "features[1]", "features[2]"]
    expected = vector_model.transform(with_vector(data)).drop("features")
    assert_df_equality(model.transform(df).drop("features"), expected, allow_nan_equality=True)


def test_scalar_columns_are_as_good_as_a_vector(
    data: DataFrame, vector_model: FIGSRegressionModel
) -> None:
    model = FIGSRegressor(featuresCols=NUMBERS, labelCol="days").fit(data.fillna(-1.0, ["age"]))
    assert model.trees == vector_model.trees
    assert model.featureNames == NUMBERS


def test_columns_of_every_type(regression: FIGSRegressionModel) -> None:
    used = {regression.featureNames[split.feature] for split in regression.treeSum.splits}
    assert used == set(FEATURES)
    kinds = {f.name: f.categories for f in regression.treeSum.features}
    assert kinds["hurt"] == (False, True)
    assert kinds["site"] == ("", "Bern", "Zürich", "it's")
    assert all(kinds[name] is None for name in FEATURES[:5])


def test_numbers_as_categories(data: DataFrame) -> None:
    df = data.withColumn("days", F.when(F.col("visits").isin(0, 3, 5), 1.0).otherwise(0.0))
    estimator = FIGSRegressor(featuresCols=NUMBERS, categoricalCols=["visits"], labelCol="days")
    model = estimator.fit(df)
    assert model.numSplits == 1
    assert sorted(model.rules()["path"]) == [
        "visits in {0, 3, 5}",
        "visits not in {0, 3, 5} or missing",
    ]
    assert columns(model.transform(df.where("visits = 3")), "prediction")[0] == pytest.approx(1.0)


def test_names_and_labels_from_ml_attributes(data: DataFrame) -> None:
    df = data.fillna({"age": -1.0, "site": "none"})
    df = StringIndexer(inputCol="site", outputCol="place").fit(df).transform(df)
    df = VectorAssembler(inputCols=["place", "age"], outputCol="features").transform(df)
    model = FIGSRegressor(labelCol="days", maxSplits=1).fit(df)
    assert model.featureNames == ["place", "age"]
    assert model.treeSum.features[0].labels is not None
    assert set(model.treeSum.features[0].labels) == {"Bern", ""}  # what the split lists
    assert 'place in {Bern, ""}' in str(model)
    scored, features = columns(model.transform(df), "prediction", "features")
    assert scored.tolist() == model.predict(features).tolist()


ODD_NAMES = ["blood.pressure (mmHg)", "tick`tick", "Größe 😀", "  ", "a.b.`c`"]


def test_any_column_name(data: DataFrame, spark: SparkSession) -> None:
    odd = ["age", "gcs", "site", "days", "weight"]
    df = data.select(odd).toDF(*ODD_NAMES)
    *features, label, weight = ODD_NAMES
    estimator = FIGSRegressor(featuresCols=features, labelCol=label, weightCol=weight)
    model = estimator.setPredictionCol("the.`prediction`").fit(df)
    assert set(model.featureNames) == set(features)
    assert "blood.pressure (mmHg)" in str(model)
    scored = [row[-1] for row in model.transform(df).collect()]
    assert scored == model.predict(df.toPandas())["the.`prediction`"].tolist()


def test_balanced_classes_equal_explicit_weights(data: DataFrame) -> None:
    totals: dict[int, float] = dict(data.groupBy("died").agg(F.sum("weight")).collect())
    share = {k: sum(totals.values()) / (2 * total) for k, total in totals.items()}
    factor = F.when(F.col("died") == 1, share[1]).otherwise(share[0])
    df = data.withColumn("explicit", F.col("weight") * factor)
    estimator = FIGSClassifier(featuresCols=FEATURES, labelCol="died", maxSplits=5)
    balanced = estimator.copy({estimator.weightCol: "weight", estimator.classWeight: "balanced"})
    explicit = estimator.copy({estimator.weightCol: "explicit"})
    rules, expected = balanced.fit(df).rules(), explicit.fit(df).rules()
    assert rules["path"].tolist() == expected["path"].tolist()
    assert rules["value"].to_numpy() == pytest.approx(expected["value"].to_numpy(), abs=1e-12)
    assert rules["weight"].to_numpy() == pytest.approx(expected["weight"].to_numpy())
    everyone = df.agg(F.sum("explicit")).collect()[0][0]
    assert rules.groupby("tree")["weight"].sum().tolist() == pytest.approx(
        [everyone] * rules["tree"].nunique()
    )


# What comes out


@pytest.mark.parametrize("name", ["regression", "multiclass"])
def test_scores_equal_predict(
    everything: DataFrame, name: str, request: pytest.FixtureRequest
) -> None:
    model = request.getfixturevalue(name)
    tree_sum, table = model.treeSum, cells(everything)
    scores = tree_sum.predict(table)
    raw = "rawPrediction" if name == "multiclass" else "prediction"
    scored, leaves, parts = columns(model.transform(everything), raw, "leaf", "parts")
    assert scored.reshape(scores.shape).tolist() == scores.tolist()
    assert leaves.tolist() == tree_sum.leaf_indices(table).tolist()
    assert parts.reshape(len(table), model.numTrees, -1).sum(axis=1) == pytest.approx(scores)


def test_probabilities_equal_predict(
    everything: DataFrame, binary: FIGSClassificationModel, multiclass: FIGSClassificationModel
) -> None:
    for model, classes in ((binary, 2), (multiclass, 3)):
        probability, predicted = columns(model.transform(everything), "probability", "prediction")
        assert model.numClasses == classes
        assert probability.tolist() == model.predictProbability(cells(everything)).tolist()
        assert predicted.tolist() == model.predict(cells(everything)).tolist()
        assert probability.shape == (everything.count(), classes)
        assert probability.min() >= 0
        assert probability.sum(axis=1) == pytest.approx(1.0)


def test_scores_of_vectors(spark: SparkSession, vector_model: FIGSRegressionModel) -> None:
    nan, inf = float("nan"), float("inf")
    table = [[50.0, 9.0, 3.0], [nan, 9.0, 3.0], [50.0, nan, nan], [inf, -inf, 0.0], [nan] * 3]
    vectors = [(Vectors.dense(row),) for row in table] + [(Vectors.sparse(3, [1], [4.0]),), (None,)]
    schema = with_vector(patients(spark, 1)).select("features").schema
    df = spark.createDataFrame(vectors, schema)
    expected = vector_model.predict([*table, [0.0, 4.0, 0.0], [nan] * 3])
    assert columns(vector_model.transform(df), "prediction")[0].tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["regression", "binary", "multiclass", "vector_model"])
def test_no_python_in_the_plan(
    data: DataFrame,
    name: str,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model = request.getfixturevalue(name)
    scored = model.transform(with_vector(data))
    capsys.readouterr()
    scored.explain("extended")
    plan = capsys.readouterr().out
    assert "CASE WHEN" in plan
    assert "Python" not in plan
    assert not [name for name in scored.columns if model.uid in name]


def test_a_stream_is_scored(
    data: DataFrame, binary: FIGSClassificationModel, tmp_path: Path
) -> None:
    data.write.parquet(str(tmp_path / "rows"))
    stream = data.sparkSession.readStream.schema(data.schema).parquet(str(tmp_path / "rows"))
    scored = binary.transform(stream)
    query = scored.writeStream.format("memory").queryName("scored").trigger(availableNow=True)
    query.start().awaitTermination()
    assert_df_equality(
        data.sparkSession.table("scored"),
        binary.transform(data),
        ignore_row_order=True,
        ignore_nullable=True,
        allow_nan_equality=True,
    )


def test_outputs_can_be_left_out(data: DataFrame, binary: FIGSClassificationModel) -> None:
    model = binary.copy().setRawPredictionCol("").setPredictionCol("").setProbabilityCol("p")
    assert model.transform(data).columns == [*data.columns, "p"]


@pytest.mark.parametrize(
    ("params", "score"),
    [
        ({}, lambda p: p[:, 1] > 0.5),
        ({"threshold": 0.2}, lambda p: p[:, 1] > 0.2),
        ({"threshold": 1.0}, lambda p: p[:, 1] > 1.0),
        ({"thresholds": [0.8, 0.2]}, lambda p: p[:, 1] / 0.2 > p[:, 0] / 0.8),
        ({"thresholds": [1.0, 0.0]}, lambda p: p[:, 1] >= 0),
        ({"thresholds": [0.0, 1.0]}, lambda p: p[:, 1] < 0),
    ],
)
def test_thresholds(
    data: DataFrame, binary: FIGSClassificationModel, params: dict[str, Any], score: Any
) -> None:
    model = binary.copy().setParams(**params)
    probability, predicted = columns(model.transform(data), "probability", "prediction")
    assert predicted.tolist() == score(probability).astype(float).tolist()
    assert predicted.tolist() == model.predict(cells(data)).tolist()


def test_thresholds_of_many_classes(data: DataFrame, multiclass: FIGSClassificationModel) -> None:
    model = multiclass.copy().setThresholds([0.9, 0.5, 0.1])
    probability, predicted = columns(model.transform(data), "probability", "prediction")
    assert predicted.tolist() == np.argmax(probability / [0.9, 0.5, 0.1], axis=1).tolist()
    assert predicted.tolist() == model.predict(cells(data)).tolist()


def test_one_kind_of_threshold_clears_the_other() -> None:
    estimator = FIGSClassifier(threshold=0.3).setThresholds([0.5, 0.5])
    assert estimator.getThresholds() == [0.5, 0.5]
    assert not estimator.isSet("threshold")
    assert estimator.setThreshold(0.1).getThresholds() is None


def test_evaluators(
    data: DataFrame, binary: FIGSClassificationModel, multiclass: FIGSClassificationModel
) -> None:
    scored = binary.transform(data)
    label, raw = columns(scored, "died", "rawPrediction")
    area = BinaryClassificationEvaluator(labelCol="died").evaluate(scored)
    assert area == pytest.approx(roc_auc_score(label, raw[:, 1]))
    scored = multiclass.transform(data)
    label, predicted, probability = columns(scored, "triage", "prediction", "probability")
    accuracy = MulticlassClassificationEvaluator(labelCol="triage", metricName="accuracy")
    assert accuracy.evaluate(scored) == pytest.approx((label == predicted).mean())
    loss = accuracy.setMetricName("logLoss")  # type: ignore[arg-type]
    assert loss.evaluate(scored) == pytest.approx(log_loss(label, probability))


# Without Spark


def test_predict_takes_rows_and_tables(
    data: DataFrame, binary: FIGSClassificationModel, vector_model: FIGSRegressionModel
) -> None:
    row = [50.0, 9.0, 3.0]
    single = vector_model.predict(row)
    assert isinstance(single, float)
    assert vector_model.predict(Vectors.dense(row)) == single
    assert vector_model.predict(Vectors.sparse(3, [0, 1, 2], row)) == single
    assert vector_model.predict(np.array(row)) == single
    assert vector_model.predict(np.array([row, row])).tolist() == [single, single]
    assert vector_model.predict([row]).tolist() == [single]
    table: Any = data.toPandas()
    named = binary.predict(table[FEATURES[::-1]])
    scored: Any = binary.transform(data).toPandas()
    assert named.equals(scored[["prediction", "probability"]])
    assert named["prediction"].tolist() == binary.predict(cells(data)).tolist()
    assert binary.predict(table.iloc[7]).equals(named.iloc[7])
    first = cells(data)[0]
    assert binary.predict(first) == binary.predict([first])[0]
    probability = binary.predictProbability(first)
    assert binary.predictProbability([first]).tolist() == [probability.tolist()]


def test_truncate_and_summary(regression: FIGSRegressionModel, data: DataFrame) -> None:
    assert regression.truncate(5).numSplits == 5
    assert regression.truncate(0).numTrees == 1
    summary, days = regression.summary, np.array(columns(data, "days")[0])
    assert summary.columns.tolist() == ["splits", "tree", "feature", "gain", "loss"]
    assert summary["splits"].tolist() == list(range(17))
    for k in (0, 1, 7, 16):
        loss = np.mean((days - regression.truncate(k).predict(cells(data))) ** 2)
        assert summary["loss"][k] == pytest.approx(loss)
    drop = -np.diff(summary["loss"]) * len(days)
    assert drop[0] == pytest.approx(summary["gain"][1])
    assert np.all(drop > summary["gain"][1:] - 1e-9)
    assert summary["tree"].max() == regression.numTrees


def test_importances_are_shares_of_the_gain(regression: FIGSRegressionModel) -> None:
    gains = regression.summary.groupby("feature")["gain"].sum()
    expected = [gains.get(name, 0.0) / gains.sum() for name in FEATURES]
    assert regression.featureImportances.toArray() == pytest.approx(np.array(expected))
    assert regression.numFeatures == len(FEATURES)


def test_rules_and_text(
    regression: FIGSRegressionModel,
    binary: FIGSClassificationModel,
    multiclass: FIGSClassificationModel,
) -> None:
    rules = regression.rules()
    assert rules.columns.tolist() == ["tree", "leaf", "path", "value", "rows", "weight"]
    assert len(rules) == regression.numSplits + regression.numTrees
    assert rules.groupby("tree")["rows"].sum().unique().tolist() == [200]
    assert {"value_0", "value_1", "value_2"} < set(multiclass.rules().columns)
    text = str(regression)
    assert text == regression.toDebugString
    assert text.startswith(f"FIGSRegressionModel: {regression.numTrees} trees, 16 splits\n")
    assert "the sum is the prediction of days." in text
    assert "the sum is the probability of died = 1, clipped to [0, 1]." in str(binary)
    assert "the score of each class of triage" in str(multiclass)


def test_labels_of_the_outcome_are_printed(data: DataFrame) -> None:
    outcome = F.when(F.col("died") == 1, "dead").otherwise("well")
    df = data.withColumn("outcome", outcome)
    indexed = StringIndexer(inputCol="outcome", outputCol="label").fit(df).transform(df)
    model = FIGSClassifier(featuresCols=FEATURES, maxSplits=1).fit(indexed)
    assert "the probability of label = dead" in str(model)


# Params


@pytest.mark.parametrize("stage", STAGES)
def test_every_param_has_a_keyword_a_setter_and_a_getter(stage: Any) -> None:
    samples = {
        "featuresCols": ["a"],
        "categoricalCols": ["a"],
        "orderedCols": {"a": ["low", "high"]},
        "codeSystems": {"a": "icd9"},
        "derivedCols": {"b": "a + 1"},
        "thresholds": [0.5, 0.5],
        "monotone": {"a": 1},
        "forbidden": ["a"],
        "required": ["a"],
        "interactionGroups": [["a", "b"]],
        "featureCosts": {"a": 2.0},
        "allowedCuts": {"a": [2.0, 5.0]},
    }
    assert {p.name for p in stage().params} == {item.name for item in stage.declared}
    for item in stage.declared:
        title = item.name[0].upper() + item.name[1:]
        value = samples.get(item.name, item.default)
        if value is None:
            value = "name" if item.name.endswith(("Col", "Dir")) else 3
        empty = stage()
        assert getattr(empty, f"get{title}")() == item.default
        assert not empty.isSet(item.name)
        assert getattr(empty, f"set{title}")(value) is empty
        keyword = {item.name: value}
        for filled in (empty, stage(**keyword), stage().setParams(**keyword)):
            assert filled.isSet(item.name)
            assert getattr(filled, f"get{title}")() == value
        assert item.text in empty.explainParams()


def test_only_known_keywords() -> None:
    with pytest.raises(TypeError, match="has no Param 'maxSplit'; it has "):
        FIGSRegressor(maxSplit=3)
    with pytest.raises(TypeError, match="positional"):
        FIGSRegressor(3)
    assert inspect.signature(FIGSRegressor).parameters["maxSplits"].default == 12


def test_copy(data: DataFrame, binary: FIGSClassificationModel) -> None:
    extra = {binary.predictionCol: "p", binary.threshold: 0.1}
    other = binary.copy(extra)
    assert (other.uid, other.treeSum) == (binary.uid, binary.treeSum)
    assert (other.getPredictionCol(), other.getThreshold()) == ("p", 0.1)
    assert (binary.getPredictionCol(), binary.isSet("threshold")) == ("prediction", False)
    scored = binary.transform(data, extra)
    assert_df_equality(scored, other.transform(data), allow_nan_equality=True)


# Progress


def test_a_log_line_per_split_and_a_bar(
    data: DataFrame, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    estimator = FIGSRegressor(featuresCols=NUMBERS, labelCol="days", maxSplits=3, verbose=True)
    with caplog.at_level(logging.INFO, logger="figs_spark"):
        model = estimator.fit(data)
    lines = [r.getMessage() for r in caplog.records if r.getMessage().startswith("split ")]
    assert len(lines) == model.numSplits == 3
    for line, (_, row) in zip(lines, model.summary[1:].iterrows(), strict=True):
        start = f"split {row['splits']}: tree {row['tree']}, {row['feature']} "
        assert line.startswith(start)
        assert f", gain {row['gain']:.6g}, " in line
        assert line.endswith(" s")
    bar = capsys.readouterr().err
    phases = [bar.index(f"FIGS, {phase}") for phase in ("profile", "pack", "grow")]
    assert phases == sorted(phases)
    assert "3/3" in bar


def test_no_bar_by_default(data: DataFrame, capsys: pytest.CaptureFixture[str]) -> None:
    FIGSRegressor(featuresCols=NUMBERS, labelCol="days", maxSplits=1).fit(data)
    assert "FIGS" not in capsys.readouterr().err
