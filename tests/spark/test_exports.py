"""Exports of models that Spark fitted give what `transform` gives on the same rows."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import Bucketizer, SQLTransformer, StringIndexer, VectorAssembler
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import BaggedFIGSClassifier, FIGSClassifier, FIGSRegressor, exportable
from tests.support.grouped import FEW, classifier, grouped

TOLERANCE = 1e-12


@pytest.fixture(scope="module")
def visits(spark: SparkSession) -> DataFrame:
    return grouped(spark, 400).withColumn("cost", F.col("cost").cast("double")).cache()


@pytest.fixture(scope="module")
def pipeline(visits: DataFrame) -> PipelineModel:
    stages = [
        StringIndexer(inputCol="site", outputCol="site_index", handleInvalid="keep"),
        Bucketizer(
            inputCol="cost",
            outputCol="cost_bucket",
            splits=[-float("inf"), 60.0, 110.0, 160.0, float("inf")],
        ),
        VectorAssembler(
            inputCols=["site_index", "cost_bucket", "gcs"], outputCol="x", handleInvalid="keep"
        ),
        FIGSClassifier(featuresCol="x", labelCol="died", maxSplits=6),
    ]
    return Pipeline(stages=stages).fit(visits.na.fill({"cost": 300.0, "site": "none"}))


def python_results(model: Any, rows: DataFrame) -> list[Mapping[str, Any]]:
    """What the exported Python source says of each row."""
    source: dict[str, Any] = {}
    exec(compile(exportable(model).toPython(), "exported.py", "exec"), source)
    return [source["predict"](row.asDict()) for row in rows.collect()]


def assert_same_results(model: Any, rows: DataFrame) -> None:
    scored = model.transform(rows).collect()
    exported = python_results(model, rows)
    assert len({one["prediction"] for one in exported}) > 1
    for row, one in zip(scored, exported, strict=True):
        assert one["prediction"] == pytest.approx(row["prediction"], abs=TOLERANCE)
        if "probability" in row:
            assert one["probability"] == pytest.approx(row["probability"][1], abs=TOLERANCE)


ESTIMATORS = {
    "numbers": FIGSRegressor(featuresCols=[*FEW, "age"], labelCol="days", maxSplits=6),
    "classes": FIGSClassifier(featuresCols=[*FEW, "age"], labelCol="died", maxSplits=6),
    "bagged": BaggedFIGSClassifier(featuresCols=FEW, labelCol="died", numEstimators=3, maxSplits=4),
    "groups": classifier(),
}


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_fitted_model_leaves_spark_unchanged(visits: DataFrame, kind: str) -> None:
    model = ESTIMATORS[kind].fit(visits)
    assert_same_results(model, visits)
    sql = F.expr(model.toSQL(output="prediction"))
    columns = model.transform(visits).select("prediction", sql.alias("exported")).collect()
    assert [row.exported for row in columns] == [row.prediction for row in columns]


def test_a_pipeline_leaves_spark_in_terms_of_the_raw_columns(
    visits: DataFrame, pipeline: PipelineModel
) -> None:
    rows = visits.na.fill({"cost": 300.0, "site": "none"})
    assert_same_results(pipeline, rows)
    text = exportable(pipeline).toSQL()
    assert "`site_index`" not in text
    assert "`cost_bucket`" not in text
    exported = pipeline.transform(rows).withColumn("exported", F.expr(text)).collect()
    for row in exported:
        assert row.exported == pytest.approx(row.probability[1], abs=TOLERANCE)


def test_a_pipeline_is_verified_in_spark_and_written(
    pipeline: PipelineModel, tmp_path: Path
) -> None:
    written = exportable(pipeline).export(tmp_path / "model.sql", dialect="spark", table="visits")
    text = (tmp_path / "model.sql").read_text()
    assert "-- Verified in Spark" in text
    assert str(written.proof).startswith("verified in Spark")


def test_another_stage_is_named(visits: DataFrame, pipeline: PipelineModel) -> None:
    stage = SQLTransformer(statement="SELECT *, gcs + 1 AS more FROM __THIS__")
    with pytest.raises(ValueError, match=f"SQLTransformer \\({stage.uid}\\)"):
        exportable(PipelineModel([stage, *pipeline.stages]))
