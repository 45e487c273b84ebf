"""Saved stages come back as they were; what cannot be read says what is wrong with it."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.errors import AnalysisException
from pyspark.ml.evaluation import BinaryClassificationEvaluator
from pyspark.ml.feature import Binarizer
from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder
from pyspark.sql import DataFrame, SparkSession

from figs_spark import (
    FIGSClassificationModel,
    FIGSClassifier,
    FIGSRegressionModel,
    FIGSRegressor,
)
from tests.support import treesums
from tests.support.patients import FEATURES, patients


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return patients(spark, rows=100)


@pytest.fixture(scope="module")
def model(data: DataFrame) -> FIGSClassificationModel:
    estimator = FIGSClassifier(featuresCols=FEATURES, labelCol="triage", thresholds=[0.2, 0.3, 0.5])
    return estimator.setValidationIndicatorCol("held").setLeafCol("leaf").fit(data)


@pytest.fixture(scope="module")
def saved(model: FIGSClassificationModel, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("saved") / "a model"
    model.save(str(path))
    return path


def params(stage: Any) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The uid, and the Params that are set and the defaults, apart."""
    given = {param.name: value for param, value in stage._paramMap.items()}
    defaults = {param.name: value for param, value in stage._defaultParamMap.items()}
    return stage.uid, given, defaults


# What was saved comes back


@pytest.mark.parametrize(
    "stage",
    [
        FIGSRegressor(),
        FIGSRegressor(
            featuresCols=["a.b", "größe\n`x`"], weightCol="w", minImpurityDecrease=1e-300
        ),
        FIGSClassifier(thresholds=[0.1, 0.2], classWeight="balanced", maxSplits=None, verbose=True),
    ],
    ids=["defaults", "regressor", "classifier"],
)
def test_an_estimator_comes_back(spark: SparkSession, tmp_path: Path, stage: Any) -> None:
    stage.save(str(tmp_path / "stage"))
    loaded = type(stage).load(str(tmp_path / "stage"))
    assert type(loaded) is type(stage)
    assert params(loaded) == params(stage)


def test_a_model_comes_back(data: DataFrame, model: FIGSClassificationModel, saved: Path) -> None:
    loaded = FIGSClassificationModel.load(str(saved))
    assert params(loaded) == params(model)
    assert loaded.treeSum == model.treeSum
    assert (loaded.numClasses, str(loaded)) == (3, str(model))
    assert loaded.summary.equals(model.summary)
    assert_df_equality(loaded.transform(data), model.transform(data), allow_nan_equality=True)


def test_every_kind_of_split_comes_back(spark: SparkSession, tmp_path: Path) -> None:
    names = [feature.name for feature in treesums.FEATURES]
    model = FIGSRegressionModel(featuresCols=names, contributionsCol="parts")
    model.treeSum = treesums.random_tree_sum(Random(3), splits=40)
    thresholds = [s.threshold for s in model.treeSum.splits if s.threshold is not None]
    assert {math.inf, -math.inf} < set(thresholds)
    model.save(str(tmp_path / "model"))
    loaded = FIGSRegressionModel.load(str(tmp_path / "model"))
    assert loaded.treeSum == model.treeSum
    rows = treesums.random_rows(Random(4), 20)
    assert loaded.predict(rows).tolist() == model.predict(rows).tolist()


def test_a_loaded_model_can_be_saved_and_changed(tmp_path: Path, saved: Path) -> None:
    first = FIGSClassificationModel.load(str(saved)).setThresholds([1, 1, 1]).truncate(1)
    first.write().save(str(tmp_path / "again"))
    second = FIGSClassificationModel.load(str(tmp_path / "again"))
    assert second.getThresholds() == [1.0, 1.0, 1.0]
    assert second.treeSum == first.treeSum


def test_files_are_json_text(saved: Path, model: FIGSClassificationModel) -> None:
    lines = {
        path.parent.name: path.read_text().splitlines()
        for path in saved.rglob("*")
        if path.is_file() and not path.name.startswith((".", "_"))
    }
    assert lines.pop("a model") == []
    assert set(lines) == {"metadata", "model"}
    metadata, contents = (json.loads(lines[name][0]) for name in ("metadata", "model"))
    assert [len(found) for found in lines.values()] == [1, 1]
    assert metadata["class"] == "figs_spark.FIGSClassificationModel"
    assert contents["format"] == 2
    assert contents["fingerprint"] == model.fingerprint
    assert str(model).endswith(f"\n\nFingerprint {model.fingerprint[:12]}")


# What is there already


def test_an_existing_path_is_an_error(saved: Path, model: FIGSClassificationModel) -> None:
    before = {path: path.stat().st_mtime for path in saved.rglob("*")}
    for stage in (model, FIGSRegressor()):
        with pytest.raises(AnalysisException, match="a model already exists"):
            stage.save(str(saved))
    assert {path: path.stat().st_mtime for path in saved.rglob("*")} == before


def test_overwrite_leaves_nothing_of_the_old(
    tmp_path: Path, saved: Path, model: FIGSClassificationModel
) -> None:
    path = tmp_path / "stage"
    shutil.copytree(saved, path)
    estimator = FIGSRegressor(maxSplits=3)
    estimator.write().overwrite().save(str(path))
    assert params(FIGSRegressor.load(str(path))) == params(estimator)
    assert not (path / "model").exists()
    model.write().overwrite().save(str(path))
    assert FIGSClassificationModel.load(str(path)).treeSum == model.treeSum


# What cannot be read


def rewrite(path: Path, change: Callable[[Any], Any]) -> None:
    """Change the one line of JSON in a directory that Spark wrote."""
    file = next(path.glob("part-*.txt"))
    file.with_name(f".{file.name}.crc").unlink()
    changed = change(json.loads(file.read_text()))
    file.write_text(changed if isinstance(changed, str) else json.dumps(changed))


def without(name: str) -> Callable[[Any], Any]:
    return lambda data: {key: value for key, value in data.items() if key != name}


DAMAGE: list[tuple[str, Callable[[Any], Any], str]] = [
    ("metadata", lambda data: json.dumps(data)[:-20], "metadata is damaged: it is not JSON"),
    ("metadata", lambda data: "[]", "metadata is damaged: it holds a list, and an object"),
    ("metadata", lambda data: "", "metadata is damaged: it is not JSON"),
    ("metadata", without("class"), "holds a file without the entry 'class'"),
    ("metadata", without("uid"), "metadata is damaged: the entry 'uid' is missing"),
    ("metadata", without("paramMap"), "metadata is damaged: the entry 'paramMap' is missing"),
    ("metadata", lambda data: data | {"paramMap": {"depth": 3}}, "damaged: .*'depth'"),
    ("metadata", lambda data: data | {"paramMap": {"maxBins": 999}}, "damaged: maxBins: .* 999"),
    ("metadata", lambda data: data | {"class": "figs_spark.Forest"}, "holds a figs_spark.Forest"),
    ("model", lambda data: json.dumps(data)[:99], "model is damaged: it is not JSON"),
    ("metadata", lambda data: data | {"uid": "x"}, "metadata is damaged: its entry 'digest' is"),
    ("metadata", lambda data: data | {"parts": []}, "metadata is damaged: its entry 'digest' is"),
    ("model", without("treeSum"), "model is damaged: the entry 'treeSum' is missing"),
    ("model", without("classes"), "model is damaged: the entry 'classes' is missing"),
    ("model", lambda data: data | {"classes": 2}, r"2 classes, and a leaf has 3 value\(s\)"),
    ("model", lambda data: data | {"classes": 0}, "'classes' is 0, and a number from 2 to 255"),
    ("model", lambda data: data | {"classNames": ["a", "b"]}, "2 names for 3 classes"),
    ("model", lambda data: data | {"format": 9}, "has format 9, and this version .* reads 2"),
    ("model", without("format"), "has format None, and this version"),
    ("model", lambda data: data | {"treeSum": data["treeSum"] | {"trees": []}}, "are no trees"),
    ("model", lambda data: data | {"fingerprint": 64 * "0"}, "'fingerprint' is '0000"),
    ("model", lambda data: data | {"extra": 1}, "the entry 'extra' is unknown"),
]


@pytest.mark.parametrize(("part", "change", "message"), DAMAGE)
def test_a_damaged_file_says_what_is_wrong(
    tmp_path: Path, saved: Path, part: str, change: Callable[[Any], Any], message: str
) -> None:
    path = tmp_path / "stage"
    shutil.copytree(saved, path)
    rewrite(path / part, change)
    with pytest.raises(ValueError, match=message) as caught:
        FIGSClassificationModel.load(str(path))
    assert str(path) in str(caught.value)


def test_an_incomplete_or_foreign_directory(
    spark: SparkSession, tmp_path: Path, saved: Path
) -> None:
    path = tmp_path / "stage"
    shutil.copytree(saved, path)
    for part in ("model", "metadata"):
        shutil.rmtree(path / part)
        with pytest.raises(ValueError, match=f"{path}/{part} cannot be read: .*does not exist"):
            FIGSClassificationModel.load(str(path))
    Binarizer(inputCol="x").save(str(tmp_path / "other"))
    with pytest.raises(
        ValueError, match=r"holds a org.*Binarizer, not a figs_spark.FIGSRegressor\."
    ):
        FIGSRegressor.load(str(tmp_path / "other"))
    with pytest.raises(ValueError, match=r"FIGSClassificationModel, not a figs_spark\.FIGSReg"):
        FIGSRegressionModel.load(str(saved))


# Inside stages of Spark


def test_a_cross_validator_and_its_model_come_back(data: DataFrame, tmp_path: Path) -> None:
    estimator = FIGSClassifier(featuresCols=FEATURES, labelCol="died")
    grid = ParamGridBuilder().addGrid(estimator.maxSplits, [1, 3]).build()
    evaluator = BinaryClassificationEvaluator(labelCol="died")
    validator = CrossValidator(
        estimator=estimator, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=0
    )
    validator.save(str(tmp_path / "validator"))
    again: Any = CrossValidator.load(str(tmp_path / "validator"))
    assert params(again.getEstimator()) == params(estimator)
    assert again.getEstimatorParamMaps() == grid
    model: Any = validator.fit(data)
    model.save(str(tmp_path / "model"))
    loaded: Any = CrossValidatorModel.load(str(tmp_path / "model"))
    assert loaded.avgMetrics == model.avgMetrics
    assert params(loaded.bestModel) == params(model.bestModel)
    assert_df_equality(loaded.transform(data), model.transform(data), allow_nan_equality=True)
