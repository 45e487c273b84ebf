"""What MLflow serves without Spark is what `transform` gives, for fitted models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.ml.functions import vector_to_array
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import BaggedFIGSClassifier, FIGSClassifier, FIGSRegressor, GFIGSClassifier
from figs_spark.datasets import FEATURES, LABEL, trauma_registry
from figs_spark.mlflow import load_model, save_model

mlflow = pytest.importorskip("mlflow")
pytestmark = pytest.mark.filterwarnings("ignore:.*input example was not provided")
INPUTS: dict[str, Any] = {"featuresCols": FEATURES, "labelCol": LABEL, "maxSplits": 6}


@pytest.fixture(scope="module")
def patients(spark: SparkSession) -> DataFrame:
    return trauma_registry(spark, rows=3_000, partitions=2).cache()


@pytest.mark.parametrize(
    "estimator",
    [
        FIGSClassifier(**INPUTS, classWeight="inverse", threshold=0.4),
        BaggedFIGSClassifier(**INPUTS, numEstimators=3, threshold=0.05),
        GFIGSClassifier(**INPUTS, groupCol="age_group", membershipExcludeCols=["age_years"]),
        FIGSRegressor(**{**INPUTS, "labelCol": "weight_kg", "featuresCols": FEATURES[:4]}),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_served_as_spark_scores(
    estimator: Any, patients: DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    rows = patients.where(F.col(estimator.getOrDefault("labelCol")).isNotNull())
    model = estimator.fit(rows)
    save_model(model, str(tmp_path / "saved"))
    table: Any = rows.orderBy("patient_id").toPandas()
    numbers = table.select_dtypes("number").columns
    served = mlflow.pyfunc.load_model(str(tmp_path / "saved"))
    found = served.predict(table.astype(dict.fromkeys(numbers, float)))
    scored = load_model(str(tmp_path / "saved")).transform(rows).orderBy("patient_id")
    assert found["prediction"].tolist() == [row[0] for row in scored.select("prediction").collect()]
    if "probability" in found:
        share = scored.select(vector_to_array(F.col("probability"))[1]).toPandas().iloc[:, 0]
        np.testing.assert_allclose(found["probability"], share, rtol=0, atol=1e-12)
