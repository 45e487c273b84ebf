"""What runs in an environment of its own: `python client.py sc://host:port report`. For classic
Spark a master such as local[2] takes the place of the address.

databricks-connect brings a pyspark of its own, so nothing of the tests is imported here: only
figs_spark, as a user of Databricks would. The trees go into the report as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import DataFrame

from figs_spark import (
    BaggedFIGSClassifier,
    FIGSClassificationModel,
    FIGSClassifier,
    FIGSRegressor,
    GFIGSClassifier,
    SensitivitySpecificityEvaluator,
)
from figs_spark.treesum.serialization import to_dict

NUMBERS, TEXT, SIGN = ["age", "gcs"], "site", "vomiting"
FEATURES = [*NUMBERS, TEXT, SIGN]


def rows(spark: Any) -> DataFrame:
    """300 patients, the same on every client."""
    frame: DataFrame = spark.range(0, 300, 1, 3).selectExpr(
        "id",
        "double(id % 90) age",
        "if(id % 17 = 0, null, double(3 + id * 7 % 13)) gcs",
        "concat('site ', string(id % 4)) site",
        "id % 5 = 0 vomiting",
        "double(id % 90) / 10 + if(id % 5 = 0, 4, 0) days",
        "int(id * 7 % 13 < 4 or (id % 5 = 0 and id % 90 > 45)) died",
        "if(id % 90 < 18, 'child', 'adult') band",
        "if(id % 90 < 18, array(0.1D, 0.9D), array(0.8D, 0.2D)) shares",
    )
    return frame


def fits(data: DataFrame) -> dict[str, Any]:
    common: dict[str, Any] = {"featuresCols": FEATURES, "maxSplits": 4}
    classes = {**common, "labelCol": "died"}
    groups = {**classes, "groupCol": "band"}
    return {
        "numbers": FIGSRegressor(**common, labelCol="days").fit(data),
        "classes": FIGSClassifier(**classes).fit(data),
        "classes, cluster": FIGSClassifier(**classes, mode="cluster").fit(data),
        "bagged": BaggedFIGSClassifier(**classes, numEstimators=3, idCol="id").fit(data),
        "groups": GFIGSClassifier(**groups, weighting="separate").fit(data),
        "groups by probability": GFIGSClassifier(**groups, membershipProbabilityCol="shares").fit(
            data
        ),
    }


def trees(model: Any) -> Any:
    if hasattr(model, "members"):
        return [to_dict(member) for member in model.members]
    if hasattr(model, "models"):
        return {group: to_dict(own.treeSum) for group, own in model.models.items()}
    return to_dict(model.treeSum)


def check_scores(data: DataFrame, models: dict[str, Any]) -> None:
    for name, model in models.items():
        scored = model.transform(data)
        assert scored.count() == 300, name
        assert scored.where("prediction is null").count() == 0, name


def check_scores_equal_numpy(data: DataFrame, models: dict[str, Any]) -> None:
    model = models["classes"]
    scored = model.transform(data).toPandas()
    assert scored["prediction"].tolist() == model.predict(scored[FEATURES])["prediction"].tolist()


def check_saved_models_load(data: DataFrame, models: dict[str, Any]) -> None:
    folder = f"{tempfile.mkdtemp()}/model"  # server and client share this machine
    models["classes"].write().overwrite().save(folder)
    assert FIGSClassificationModel.load(folder).treeSum == models["classes"].treeSum


def check_the_evaluator(data: DataFrame, models: dict[str, Any]) -> None:
    scored = models["classes"].transform(data)
    evaluator = SensitivitySpecificityEvaluator(labelCol="died", metricName="areaUnderROC")
    assert 0.8 < evaluator.evaluate(scored) <= 1.0


def check_errors_name_the_column(data: DataFrame, models: dict[str, Any]) -> None:
    message = ""
    try:
        FIGSRegressor(featuresCols=["age"], labelCol="nowhere").fit(data)
    except ValueError as error:
        message = str(error)
    assert "Column 'nowhere' (labelCol) is not in the DataFrame" in message


CHECKS: list[Callable[[DataFrame, dict[str, Any]], None]] = [
    check_scores,
    check_scores_equal_numpy,
    check_saved_models_load,
    check_the_evaluator,
    check_errors_name_the_column,
]


def session(place: str) -> Any:
    if not place.startswith("sc://"):
        return pyspark.sql.SparkSession.builder.master(place).getOrCreate()
    from pyspark.sql.connect.session import SparkSession

    return SparkSession.builder.remote(place).getOrCreate()


def main(place: str, report: str) -> None:
    spark = session(place)
    data = rows(spark)
    models = fits(data)
    for check in CHECKS:
        check(data, models)
    outcome = {
        "pyspark": pyspark.__version__,
        "server": spark.version,
        "checks": [check.__name__ for check in CHECKS],
        "trees": {name: trees(model) for name, model in models.items()},
    }
    Path(report).write_text(json.dumps(outcome), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
