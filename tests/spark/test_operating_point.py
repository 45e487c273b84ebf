"""A model carries its operating point: the threshold holds exactly, and it says how it came."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.ml import PipelineModel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import (
    BaggedFIGSClassificationModel,
    BaggedFIGSClassifier,
    FIGSClassificationModel,
    FIGSClassifier,
    operating_points,
)
from tests.support.patients import FEATURES, patients

LEVELS = (0.0, 0.5, 0.92, 0.96, 1.0)
KINDS = ["FIGS", "bagged"]


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return patients(spark, rows=300).cache()


@pytest.fixture(scope="module")
def models(data: DataFrame) -> dict[str, Any]:
    columns: dict[str, Any] = {"featuresCols": FEATURES, "labelCol": "died"}
    bagged = BaggedFIGSClassifier(**columns, numEstimators=3, maxSplits=4)
    return {"FIGS": FIGSClassifier(**columns, maxSplits=6).fit(data), "bagged": bagged.fit(data)}


def shares(scored: DataFrame) -> tuple[float, float]:
    """Sensitivity and specificity of the predictions."""
    died, flagged = np.array(scored.select("died", "prediction").collect()).T
    return float(flagged[died == 1].mean()), float(1 - flagged[died == 0].mean())


@pytest.mark.parametrize("kind", KINDS)
def test_the_sensitivity_is_reached(data: DataFrame, models: Any, kind: str) -> None:
    table = operating_points(models[kind].transform(data), LEVELS, labelCol="died")
    for level, found in zip(LEVELS, table.to_dict("records"), strict=True):
        model = models[kind].copy().setOperatingPoint(sensitivity=level, on=data)
        sensitivity, specificity = shares(model.transform(data))
        assert sensitivity >= level
        point = model.operatingPoint
        assert (sensitivity, specificity) == pytest.approx((point.sensitivity, point.specificity))
        assert specificity == pytest.approx(found["specificity"])
        assert model.getThreshold() == point.threshold
        assert point.level == level
        rows = data.select(*FEATURES).collect()
        predicted = model.transform(data).select("prediction").collect()
        assert model.predict([list(row) for row in rows]).tolist() == [p[0] for p in predicted]


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_printed_copied_and_saved(
    data: DataFrame, models: Any, kind: str, tmp_path: Path
) -> None:
    model = models[kind].copy().setOperatingPoint(0.92, data)
    assert models[kind].operatingPoint is None
    assert "Operating point" not in str(models[kind])
    assert all(len(line) <= 100 for line in str(model).splitlines())
    (shown,) = (part for part in str(model).split("\n\n") if part.startswith("Operating point"))
    shown = shown.replace("\n", " ")
    assert shown.startswith("Operating point: predict 1 if the probability is above 0.")
    assert "at a sensitivity of 0.92 or more on" in shown
    assert model.toDebugString == str(model)
    classes = {"FIGS": FIGSClassificationModel, "bagged": BaggedFIGSClassificationModel}
    model.save(str(tmp_path / "model"))
    loaded: Any = classes[kind].load(str(tmp_path / "model"))
    for other in (loaded, model.copy()):
        assert other.operatingPoint == model.operatingPoint
        assert str(other) == str(model)
        assert shares(other.transform(data)) == shares(model.transform(data))


@pytest.mark.parametrize("kind", KINDS)
def test_no_export_tells_how_few_were_missed(data: DataFrame, models: Any, kind: str) -> None:
    model, row = models[kind].copy().setOperatingPoint(0.92, data), data.first()
    assert 0 < model.operatingPoint.fn < 11
    exports: dict[str, Any] = {
        "PMML": model.toPMML,
        "Python": model.toPython,
        "ONNX": lambda smallCell=None: model.toONNX(smallCell).decode("latin-1"),
        "FHIR": lambda smallCell=None: str(model.toFHIR(row, "Patient/1", smallCell=smallCell)),
        "CDS Hooks": lambda smallCell=None: str(model.toCDSHooks(row, smallCell=smallCell)),
    }
    for name, export in exports.items():
        assert "positives and" in export(), name
        assert "positives and" not in export(smallCell=11), name
        assert "at a sensitivity of 0.92 or more" in export(smallCell=11), name


def test_it_survives_a_pipeline(data: DataFrame, models: Any, tmp_path: Path) -> None:
    model = models["FIGS"].copy().setOperatingPoint(0.96, data)
    PipelineModel([model]).save(str(tmp_path / "pipeline"))
    loaded: Any = PipelineModel.load(str(tmp_path / "pipeline"))
    assert loaded.stages[0].operatingPoint == model.operatingPoint


def test_another_threshold_or_size_and_it_is_gone(data: DataFrame, models: Any) -> None:
    model = models["FIGS"].copy().setOperatingPoint(0.92, data)
    assert model.copy({model.threshold: 0.7}).operatingPoint is None
    assert model.copy().setThreshold(0.7).operatingPoint is None
    assert "Operating point" not in str(model.copy().setThreshold(0.7))
    assert model.copy().setThresholds([0.4, 0.6]).operatingPoint is None
    smaller = model.truncate(2)
    assert (smaller.operatingPoint, smaller.getThreshold()) == (None, 0.5)
    assert models["FIGS"].copy().setThreshold(0.3).truncate(2).getThreshold() == 0.3
    assert model.operatingPoint is not None


def test_thresholds_make_way(data: DataFrame, models: Any) -> None:
    model = models["FIGS"].copy().setThresholds([0.4, 0.6]).setOperatingPoint(0.92, data)
    assert model.getThresholds() is None
    assert shares(model.transform(data))[0] >= 0.92


def test_scored_rows_odd_outputs_and_weights(data: DataFrame, models: Any) -> None:
    model = models["FIGS"].copy()
    point = model.copy().setOperatingPoint(0.92, data).operatingPoint
    again = model.copy().setOperatingPoint(0.92, model.transform(data))
    assert again.operatingPoint == point
    bare = model.copy().setProbabilityCol("").setLeafCol("leaf").setOperatingPoint(0.92, data)
    assert bare.operatingPoint == point
    weighted = model.copy().setOperatingPoint(0.92, data, weightCol="weight")
    rows = weighted.transform(data).where("died = 1").select("weight", "prediction").collect()
    weight, flagged = np.array(rows).T
    assert weight @ flagged / weight.sum() >= 0.92
    assert weighted.operatingPoint.tp == pytest.approx(weight @ flagged)


def test_everyone_and_no_one(
    data: DataFrame, models: Any, caplog: pytest.LogCaptureFixture
) -> None:
    constant = models["FIGS"].truncate(0)
    with caplog.at_level(logging.WARNING, "figs_spark"):
        constant.setOperatingPoint(0.5, data)
    assert "reached only if everyone is flagged" in caplog.text
    assert shares(constant.transform(data)) == (1, 0)
    assert "predict 1 always" in str(constant)
    assert constant.getThreshold() == -1
    nobody = models["FIGS"].truncate(0).setOperatingPoint(0, data)
    assert shares(nobody.transform(data)) == (0, 1)


def test_a_leap_to_nearly_everyone_is_told(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    """Of 99 sick 58 have the probability of most others, and there is little below it."""
    counts = [("high", 1.0, 40), ("high", 0.0, 100), ("low", 1.0, 58), ("low", 0.0, 1850)]
    rows = [(site, died) for site, died, n in [*counts, ("no", 0.0, 50)] for _ in range(n)]
    data = spark.createDataFrame([*rows, ("no", 1.0)], "site string, died double")
    model = FIGSClassifier(featuresCols=["site"], labelCol="died", maxSplits=2).fit(data)
    caplog.clear()
    with caplog.at_level(logging.WARNING, "figs_spark"):
        model.setOperatingPoint(sensitivity=0.4, on=data)
    assert not caplog.records
    with caplog.at_level(logging.WARNING, "figs_spark"):
        model.setOperatingPoint(sensitivity=0.8, on=data)
    assert caplog.messages == [
        "A sensitivity of 0.8 is reached only if 98% of the rows are flagged. The next threshold "
        "flags 7% and reaches 0.40. Ask for less, or take a model with more splits."
    ]


def test_clipped_probabilities(spark: SparkSession) -> None:
    """Scores below 0 and above 1 become ties; some at 0 are positive, so everyone is flagged."""
    df = spark.range(400).selectExpr("id % 20 as a", "id % 7 as b", "int(id % 20 > 9) as label")
    noisy = df.withColumn("label", F.expr("if(a = 0 and b = 0, 1, label)"))
    model = FIGSClassifier(featuresCols=["a", "b"], maxSplits=1).fit(df)
    model.setOperatingPoint(1.0, noisy)
    scored = model.transform(noisy).where("label = 1")
    assert scored.where("prediction = 1").count() == scored.count()
    assert model.getThreshold() == -1


# Bad input


def test_bad_input(data: DataFrame, models: Any) -> None:
    model = models["FIGS"].copy()
    three = FIGSClassifier(featuresCols=FEATURES, labelCol="triage", maxSplits=1).fit(data)
    with pytest.raises(ValueError, match=r"for two classes, and column 'triage' \(labelCol\) has"):
        three.setOperatingPoint(0.96, data)
    with pytest.raises(
        ValueError, match=r"'died' \(labelCol\) is 1 in 0 of \d+ rows: there are no"
    ):
        model.setOperatingPoint(0.96, data.where("died = 0"))
    with pytest.raises(
        ValueError, match=r"'died' \(labelCol\) is 0 in 0 of \d+ rows: there are no"
    ):
        model.setOperatingPoint(0.96, data.where("died = 1"))
    with pytest.raises(ValueError, match=r"'died' \(labelCol\) is not in the DataFrame"):
        model.setOperatingPoint(0.96, data.drop("died"))
    for level in (96, -0.1, float("nan")):
        with pytest.raises(ValueError, match=r"sensitivity: a finite number from 0 to 1"):
            model.setOperatingPoint(level, data)
    with pytest.raises(TypeError, match=r"sensitivity: a number is needed"):
        model.setOperatingPoint("high", data)
    assert (model.operatingPoint, model.isSet("threshold")) == (None, False)


def test_a_damaged_operating_point(data: DataFrame, models: Any, tmp_path: Path) -> None:
    models["FIGS"].copy().setOperatingPoint(0.9, data).save(str(tmp_path / "model"))
    file = next((tmp_path / "model" / "model").glob("part-*.txt"))
    file.with_name(f".{file.name}.crc").unlink()
    contents = json.loads(file.read_text())
    del contents["operatingPoint"]["squares"]
    file.write_text(json.dumps(contents))
    with pytest.raises(ValueError, match="'squares' is missing in the entry 'operatingPoint'"):
        FIGSClassificationModel.load(str(tmp_path / "model"))
    for entry in ("operatingPoint", "format", "fingerprint"):  # as the first version saved it
        del contents[entry]
    file.write_text(json.dumps(contents))
    assert FIGSClassificationModel.load(str(tmp_path / "model")).operatingPoint is None
