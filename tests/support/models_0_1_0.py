"""The models that version 0.1.0 was recorded with: their rows, their estimators, what they predict.

`make_models_0_1_0` wrote the fixtures by this description, and the tests fit by it again.
"""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import (
    BaggedFIGSClassifier,
    BaggedFIGSRegressor,
    FIGSClassifier,
    FIGSRegressor,
    GFIGSClassifier,
    GFIGSRegressor,
)

FIXTURES = Path(__file__).parents[1] / "fixtures"
RECORDED = FIXTURES / "models_0_1_0"  # rows.csv, environment.json, one JSON file per model
SAVED = FIXTURES / "saved_0_1_0"  # one folder per saved model

SCHEMA = (
    "id int, a double, b double, c double, flag boolean, site string, code int, weight double, "
    "ward string, held boolean, amount double, event int, grade int"
)
WARDS = ("east", "north", "west")

FEATURES: dict[str, Any] = {
    "featuresCols": ["a", "b", "c", "flag", "site", "code"],
    "categoricalCols": ["code"],
}
AMOUNT: dict[str, Any] = {**FEATURES, "labelCol": "amount", "maxSplits": 8}
EVENT: dict[str, Any] = {**FEATURES, "labelCol": "event", "maxSplits": 8}
GRADE: dict[str, Any] = {**FEATURES, "labelCol": "grade", "maxSplits": 8}
MEMBERS: dict[str, Any] = {
    "numEstimators": 5,
    "idCol": "id",
    "oobScore": True,
    "seed": 7,
    "regParam": 0,
}

ESTIMATORS: dict[str, Any] = {
    "regression": FIGSRegressor(**AMOUNT),
    "regression_weighted": FIGSRegressor(**AMOUNT, weightCol="weight"),
    "regression_one_tree": FIGSRegressor(**AMOUNT, maxTrees=1),
    "regression_shallow": FIGSRegressor(**AMOUNT, maxDepth=2),
    "regression_large_leaves": FIGSRegressor(**AMOUNT, minInstancesPerNode=60),
    "regression_few_bins": FIGSRegressor(**AMOUNT, maxBins=8),
    "regression_cluster": FIGSRegressor(**AMOUNT, weightCol="weight", mode="cluster"),
    "binary": FIGSClassifier(**EVENT),
    "binary_operating_point": FIGSClassifier(**EVENT, classWeight="inverse"),
    "three_classes": FIGSClassifier(**GRADE),
    "vector": FIGSClassifier(featuresCol="features", labelCol="event", maxSplits=8),
    "held_rows": FIGSClassifier(**{**EVENT, "maxSplits": 16}, validationIndicatorCol="held"),
    "bagged_classes": BaggedFIGSClassifier(**{**EVENT, "maxSplits": 6}, **MEMBERS),
    "bagged_regression": BaggedFIGSRegressor(
        **{**AMOUNT, "maxSplits": 6}, **MEMBERS, weightCol="weight"
    ),
    "groups_by_membership": GFIGSClassifier(
        **{**EVENT, "maxSplits": 5},
        groupCol="ward",
        membershipFeaturesCols=["a", "c", "site"],
        unseenGroup="mixture",
    ),
    "groups_separate": GFIGSRegressor(
        **{**AMOUNT, "maxSplits": 5}, groupCol="ward", weighting="separate"
    ),
    "groups_of_known_probability": GFIGSClassifier(
        **{**GRADE, "maxSplits": 4},
        groupCol="ward",
        membershipProbabilityCol="shares",
        maxSplitsByGroup={"east": 2},
    ),
}
SENSITIVITIES = {"binary_operating_point": 0.9}  # of the operating point that is set after the fit

# One model of each class, by name.
SAVED_MODELS = {
    "regression": "FIGSRegressionModel",
    "binary_operating_point": "FIGSClassificationModel",
    "bagged_classes": "BaggedFIGSClassificationModel",
    "bagged_regression": "BaggedFIGSRegressionModel",
    "groups_by_membership": "GFIGSClassificationModel",
    "groups_separate": "GFIGSRegressionModel",
}


def read_rows(spark: SparkSession) -> DataFrame:
    """The recorded rows, in their order in one partition, so that every sum has one order.

    With `features`, a vector, and `shares`, a probability for each ward.
    """
    table = spark.read.csv(str(RECORDED / "rows.csv"), schema=SCHEMA, header=True)
    ordered = table.coalesce(1).sortWithinPartitions("id")
    indexer = StringIndexer(
        inputCol="code",
        outputCol="kind",
        handleInvalid="keep",
        stringOrderType="alphabetAsc",
    )
    assembler = VectorAssembler(
        inputCols=["a", "c", "kind"], outputCol="features", handleInvalid="keep"
    )
    shares = [F.when(F.col("ward") == ward, 0.7).otherwise(0.15) for ward in WARDS]
    with_vector = assembler.transform(indexer.fit(ordered).transform(ordered))
    return with_vector.withColumn("shares", F.array(*shares))


def fit_model(name: str, rows: DataFrame) -> Any:
    model = ESTIMATORS[name].fit(rows)
    if name in SENSITIVITIES:
        model.setOperatingPoint(sensitivity=SENSITIVITIES[name], on=rows)
    return model


def predictions(model: Any, rows: DataFrame) -> dict[str, list[Any]]:
    """The outputs of all rows, by the name of the column.

    Every fifth row comes from a ward that is new, where the model takes such rows.
    """
    if model.hasParam("unseenGroup") and model.getUnseenGroup() == "mixture":
        is_new = F.col("id") % 5 == 0
        rows = rows.withColumn("ward", F.when(is_new, "new").otherwise(F.col("ward")))
    scored = sorted(model.transform(rows).collect(), key=lambda row: row["id"])
    outputs = {"prediction": [row["prediction"] for row in scored]}
    if model.hasParam("probabilityCol"):
        outputs["probability"] = [row["probability"].tolist() for row in scored]
    return outputs


def coefficients(model: Any) -> list[list[float]] | None:
    """Those of a logistic regression that tells the groups."""
    table = getattr(model, "membershipCoefficients", None)
    return None if table is None else table.to_numpy().tolist()


def environment() -> dict[str, str]:
    """What the last bits of a fit depend on: the kernel, BLAS, Spark's logistic regression."""
    cpu_info = Path("/proc/cpuinfo")
    lines = cpu_info.read_text().splitlines() if cpu_info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return {
        "processor": names[0] if names else platform.processor(),
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": version("numpy"),
        "numba": version("numba") if os.environ.get("FIGS_SPARK_NUMBA", "1") != "0" else "off",
        "spark": version("pyspark"),
    }
