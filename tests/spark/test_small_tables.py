"""A small table comes to the driver in one job. Its model is the one that Spark's counts give, and
so is every complaint about its rows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.ml.classification import LogisticRegression
from pyspark.ml.feature import VectorAssembler
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import (
    BaggedFIGSClassifier,
    BaggedFIGSRegressor,
    FIGSClassifier,
    FIGSRegressor,
    GFIGSClassificationModel,
    GFIGSClassifier,
    GFIGSRegressor,
)
from figs_spark.engine import logistic_regression, table
from figs_spark.engine.content_hashes import content_hashes
from figs_spark.stages.base import checks, rows_here

Params = tuple[type[Any], dict[str, Any]]

NUMBERS = ["age", "dose", "price", "smokes", "seen", "at"]
MIXED = [*NUMBERS, "ward", "code"]


@pytest.fixture(scope="module")
def patients(spark: SparkSession) -> DataFrame:
    """900 rows of all types, with nulls, NaN and a negative zero, in uneven partitions."""
    rows = spark.range(0, 900, 1, 1).selectExpr(
        "id",
        "case when id % 13 = 0 then null else int(id % 50) end age",
        "case when id % 17 = 0 then double('NaN') when id % 5 = 0 then -0.0D"
        " else sqrt(id % 97) end dose",
        "cast(id % 31 / 7 as decimal(10, 4)) price",
        "case when id % 19 = 0 then null else id % 3 = 0 end smokes",
        "date_add(date'2020-02-01', int(id * 7 % 400)) seen",
        "timestamp_seconds(id * 977 % 100000) at",
        "case when id % 23 = 0 then null else concat('ward ', id % 4) end ward",
        "double(id % 6) code",
        "double(id % 3) + 0.5D * double(id % 2) weight",
        "id % 4 = 0 held",
        "1.5D * double(id % 50 > 20) + double(id % 4 = 1) + sqrt(id % 97) + double(id % 3 = 0) y",
        "int((id % 50 > 20 or id % 3 = 0) and id % 97 > 9) died",
        "case when id % 50 > 30 then 'severe' when id % 97 > 60 then 'mild' else 'none' end triage",
    )
    return rows.repartition(3, (F.col("id") > 800).cast("int")).cache()


def regressor(**params: Any) -> FIGSRegressor:
    given = {"featuresCols": MIXED, "categoricalCols": ["code"], "labelCol": "y", "maxSplits": 8}
    return FIGSRegressor(**(given | params))


def classifier(**params: Any) -> FIGSClassifier:
    given = {"featuresCols": MIXED, "categoricalCols": ["code"], "labelCol": "died", "maxSplits": 6}
    return FIGSClassifier(**(given | params))


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "regression": regressor,
    "weights": lambda: regressor(weightCol="weight"),
    "validation": lambda: regressor(validationIndicatorCol="held", weightCol="weight"),
    "classes": classifier,
    "class weights": lambda: classifier(classWeight="balanced", weightCol="weight"),
    "text label": lambda: classifier(labelCol="triage", classWeight="balanced"),
    "intervals": lambda: classifier(intervalSamples=20),
    "bagging": lambda: BaggedFIGSRegressor(
        featuresCols=MIXED, labelCol="y", numEstimators=4, maxSplits=3, oobScore=True
    ),
    "bagging by id": lambda: BaggedFIGSClassifier(
        featuresCols=MIXED, labelCol="triage", numEstimators=4, maxSplits=3, idCol="id"
    ),
}


def job_count(spark: SparkSession) -> int:
    return 1 + max(spark.sparkContext.statusTracker().getJobIdsForGroup(), default=-1)


def counted_by_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "rows_here", lambda *_: None)


def contents(model: Any) -> Any:
    return model._contents()


def close(found: Any, expected: Any, within: float) -> bool:
    """Whether two trees of JSON are the same, numbers up to rounding."""
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            close(found[name], expected[name], within) for name in expected
        )
    if isinstance(expected, list | tuple):
        pairs = zip(found, expected, strict=True)
        return len(found) == len(expected) and all(close(a, b, within) for a, b in pairs)
    if isinstance(expected, float):
        return bool(found == pytest.approx(expected, rel=within, abs=within))
    return bool(found == expected)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_one_job_gives_the_same_model(
    name: str, spark: SparkSession, patients: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    patients.count()
    before = job_count(spark)
    model = ESTIMATORS[name]().fit(patients)
    assert job_count(spark) - before == 1
    counted_by_spark(monkeypatch)
    assert close(contents(ESTIMATORS[name]().fit(patients)), contents(model), 1e-9)
    assert job_count(spark) - before > 2


def test_a_vector_of_known_length_takes_one_job(
    spark: SparkSession, patients: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    assembler = VectorAssembler(
        inputCols=["age", "dose", "code"], outputCol="features", handleInvalid="keep"
    )
    rows = assembler.transform(patients.select("age", "dose", "code", "y"))
    figs = FIGSRegressor(labelCol="y", maxSplits=5)
    before = job_count(spark)
    model = figs.fit(rows)
    assert job_count(spark) - before == 1
    counted_by_spark(monkeypatch)
    assert close(contents(figs.fit(rows)), contents(model), 1e-9)


def test_many_columns_come_as_one(patients: DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    model = regressor().fit(patients)
    monkeypatch.setattr(rows_here, "MANY_COLUMNS", 3)
    assert contents(regressor().fit(patients)) == contents(model)


def test_rows_that_python_made_take_one_job(spark: SparkSession) -> None:
    numbers = np.random.default_rng(0).integers(0, 9, (200, 2)).tolist()
    rows = spark.createDataFrame(
        [(float(a), float(b), float(a > 3)) for a, b in numbers], ["a", "b", "y"]
    )
    before = job_count(spark)
    FIGSRegressor(featuresCols=["a", "b"], labelCol="y", maxSplits=2).fit(rows)
    assert job_count(spark) - before == 1


@pytest.mark.parametrize("made_by_python", [False, True])
def test_more_rows_than_are_small_stay_with_spark(
    made_by_python: bool,
    spark: SparkSession,
    patients: DataFrame,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No partition has so many that its rows alone would tell."""
    rows = patients.select("age", "dose", "y")
    if made_by_python:
        rows = spark.createDataFrame(
            rows.toPandas().astype("float64").values.tolist(), rows.columns
        )
    figs = FIGSRegressor(featuresCols=["age", "dose"], labelCol="y", maxSplits=4)
    model = figs.fit(rows)
    monkeypatch.setattr(table, "SMALL_ROWS", 899)
    before = job_count(spark)
    larger = figs.fit(rows)
    assert job_count(spark) - before > 2
    assert [s.feature for s in larger.treeSum.splits] == [s.feature for s in model.treeSum.splits]


@pytest.mark.parametrize("most", [0, 8 << 20])
def test_what_spark_expects_to_read_decides(
    most: int, spark: SparkSession, patients: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows_here, "SMALL_BYTES", most)
    before = job_count(spark)
    regressor(maxSplits=1).fit(patients)
    assert (job_count(spark) - before == 1) == (most > 0)


WEIGHTED: Params = (
    FIGSRegressor,
    {"featuresCols": NUMBERS, "labelCol": "y", "weightCol": "weight"},
)
HELD: Params = (
    FIGSRegressor,
    {"featuresCols": NUMBERS, "labelCol": "y", "validationIndicatorCol": "held"},
)
NUMBER: Params = (FIGSRegressor, {"featuresCols": NUMBERS, "labelCol": "y"})
CLASS: Params = (FIGSClassifier, {"featuresCols": NUMBERS, "labelCol": "died"})
TEXT: Params = (FIGSClassifier, {"featuresCols": NUMBERS, "labelCol": "triage"})
DRAWN: Params = (BaggedFIGSRegressor, {"featuresCols": NUMBERS, "labelCol": "y", "idCol": "id"})
VECTOR: Params = (FIGSRegressor, {"labelCol": "y"})
WRONG: dict[str, tuple[str, Params]] = {  # a column as SQL, and what is fitted then
    "label": ("if(id % 7 = 0, null, y) y", NUMBER),
    "huge label": ("if(id % 7 = 0, 1e200D, y) y", NUMBER),
    "weight": ("if(id % 7 = 0, -1D, if(id % 7 = 1, double('NaN'), weight)) weight", WEIGHTED),
    "no weight": ("0D weight", WEIGHTED),
    "tiny weight": ("1e-200D weight", WEIGHTED),
    "validation": ("if(id % 7 = 0, null, held) held", HELD),
    "all held": ("true held", HELD),
    "none held": ("false held", HELD),
    "no class": ("died + 0.5D died", CLASS),
    "one class": ("1 died", CLASS),
    "gap": ("if(died = 1, 7, 0) died", CLASS),
    "texts": ("string(id) triage", TEXT),
    "missing text": ("if(id % 7 = 0, null, triage) triage", TEXT),
    "id": ("if(id % 7 = 0, null, id) id", DRAWN),
    "one id": ("3 id", DRAWN),
    "length": ("if(id % 7 = 0, array(1D), if(id % 7 = 1, null, array(dose, 2D))) features", VECTOR),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_same_is_said_of_wrong_rows(
    name: str, patients: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    expression, (kind, params) = WRONG[name]
    changed = expression.split()[-1]
    kept = [column for column in patients.columns if column != changed]
    rows = patients.selectExpr(*kept, expression)
    said = []
    for _ in range(2):
        with pytest.raises(ValueError, match="Column '") as error:
            kind(**params).fit(rows)
        said.append(str(error.value))
        counted_by_spark(monkeypatch)
    assert said[0] == said[1]


# G-FIGS

GROUPED: dict[str, dict[str, Any]] = {
    "membership": {},
    "weights": {"weightCol": "weight", "classWeight": "balanced"},
    "mixture": {"weighting": "separate", "unseenGroup": "mixture"},
    "separate": {"weighting": "separate"},
    "pooled": {"weighting": "pooled"},
    "three groups": {"groupCol": "triage", "membershipFeaturesCols": ["age", "ward", "smokes"]},
}


def grouped(**params: Any) -> GFIGSClassifier:
    given = {"featuresCols": ["age", "dose", "price", "ward"], "groupCol": "smokes"}
    return GFIGSClassifier(**(given | {"labelCol": "died", "maxSplits": 4} | params))


@pytest.mark.parametrize("name", GROUPED)
def test_one_job_gives_the_same_models_of_groups(
    name: str, spark: SparkSession, patients: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = patients.where("smokes is not null").cache()
    rows.count()
    before = job_count(spark)
    model = grouped(**GROUPED[name]).fit(rows)
    assert job_count(spark) - before == 1
    counted_by_spark(monkeypatch)
    accurate = grouped(**GROUPED[name])
    if model.membershipModel is not None:
        accurate.setMembershipEstimator(LogisticRegression(regParam=0.01, tol=1e-14, maxIter=1000))
    slow = accurate.fit(rows)
    found, expected = contents(model), contents(slow)
    assert (found.pop("membershipLogistic", None) is None) == (model.membershipModel is None)
    assert close(found, expected, 1e-5)
    rows.unpersist()


def test_a_membership_model_of_the_driver_scores_and_is_saved(
    patients: DataFrame, tmp_path: Path
) -> None:
    for group, unknown in (("smokes", "boolean(null)"), ("triage", "'nowhere'")):
        rows = patients.where("smokes is not null")
        estimator = grouped(groupCol=group, unseenGroup="mixture")
        model = estimator.fit(rows)
        known = LogisticRegression(regParam=0.01, tol=1e-14, maxIter=1000)
        expected = estimator.copy().setMembershipEstimator(known).fit(rows)
        lost = rows.withColumn(group, F.expr(unknown)).select("id", *rows.columns[1:])
        path = str(tmp_path / group)
        model.save(path)
        loaded = GFIGSClassificationModel.load(path)
        scores = [
            np.array([row.probability[1] for row in one.transform(lost).orderBy("id").collect()])
            for one in (model, loaded, expected)
        ]
        assert scores[0].tolist() == scores[1].tolist()
        assert scores[0] == pytest.approx(scores[2], abs=1e-5)
        assert loaded.membershipCoefficients.equals(model.membershipCoefficients)
        assert loaded.fingerprint == model.fingerprint
        assert np.allclose(model.membershipCoefficients, expected.membershipCoefficients, atol=1e-5)


def test_a_classifier_that_is_too_large_is_left_to_spark(
    patients: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logistic_regression, "MOST_PARAMETERS", 2)
    model = grouped().fit(patients.where("smokes is not null"))
    assert type(model.membershipModel).__name__ == "LogisticRegressionModel"


GROUPS_WRONG = {
    "null": ("if(id % 7 = 0, null, smokes) smokes", {}),
    "single": ("true smokes", {}),
    "many": ("int(id) smokes", {}),
    "one class": ("id % 50 > 20 or id % 3 = 0 smokes", {"weighting": "separate"}),
    "infinite": ("if(id % 7 = 0, double('Infinity'), dose) dose", {}),
    "no text": ("string(id) ward", {"membershipFeaturesCols": ["ward"]}),
}


@pytest.mark.parametrize("name", GROUPS_WRONG)
def test_the_same_is_said_of_wrong_groups(
    name: str, patients: DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    expression, params = GROUPS_WRONG[name]
    changed = expression.split()[-1]
    kept = [column for column in patients.columns if column != changed]
    rows = patients.where("smokes is not null").selectExpr(*kept, expression)
    said = []
    for _ in range(2):
        with pytest.raises(ValueError, match=r"Cols?\)|Group|membership") as error:
            grouped(**params).fit(rows)
        said.append(str(error.value))
        counted_by_spark(monkeypatch)
    assert said[0] == said[1]


def test_groups_of_numbers_take_one_job(spark: SparkSession, patients: DataFrame) -> None:
    before = job_count(spark)
    model = GFIGSRegressor(
        featuresCols=["age", "dose"], groupCol="code", labelCol="y", maxSplits=3
    ).fit(patients.withColumn("code", F.col("code").cast("int")))
    assert job_count(spark) - before == 1
    assert model.groups == (0, 1, 2, 3, 4, 5)


def test_an_empty_table(patients: DataFrame) -> None:
    for make in (regressor, classifier):
        with pytest.raises(ValueError, match="The DataFrame is empty: 0 rows"):
            make().fit(patients.limit(0))


def test_hashes_are_those_of_spark(spark: SparkSession) -> None:
    random = np.random.default_rng(0)
    matrix = random.normal(size=(300, 4)) * 10.0 ** random.integers(-9, 9, (300, 4))
    matrix[::7, 1], matrix[::5, 2], matrix[::9, 0] = np.nan, -0.0, np.inf
    nulls = random.random(matrix.shape) < 0.1
    y, w = random.integers(0, 3, 300).astype(float), random.random(300)
    features = [
        [None if null else value for value, null in zip(values, missing)]
        for values, missing in zip(matrix.tolist(), nulls.tolist())
    ]
    cells = list(zip(features, y.tolist(), w.tolist()))
    frame = spark.createDataFrame(cells, "x array<double>, y double, w double")
    numbers = np.column_stack([y, w])
    for hashed in ("x, y, w", "x, y, array(w)"):
        expected = frame.selectExpr(f"xxhash64({hashed}) hash").toPandas()["hash"]
        assert content_hashes(matrix, nulls, numbers).tolist() == expected.tolist()


def test_nothing_stays_in_the_session(spark: SparkSession, patients: DataFrame) -> None:
    before = sorted(spark.sql("set").collect())
    regressor(maxSplits=1).fit(patients)
    with pytest.raises(ValueError, match="is null, NaN"):
        regressor().fit(patients.withColumn("y", F.lit(None).cast("double")))
    assert sorted(spark.sql("set").collect()) == before
    views = [row["tableName"] for row in spark.sql("show tables").collect()]
    assert not [name for name in views if name.startswith("figs_spark")]
