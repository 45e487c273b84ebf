"""Bad input is refused before any long work: the message names the column, count and remedy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.ml.functions import array_to_vector
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import FIGSClassifier, FIGSRegressionModel, FIGSRegressor
from figs_spark.stages import figs as home

NAN, INFINITY = float("nan"), float("inf")


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    """Six rows with features x, b, s and day, all numbers in v, labels y and c, and a weight w."""
    number = F.col("id").cast("double")
    return spark.range(6).select(
        "id",
        number.alias("x"),
        (number > 3).alias("b"),
        number.cast("string").alias("s"),
        F.current_date().alias("day"),
        F.array(F.lit(1.0), number).alias("v"),
        number.alias("y"),
        (F.col("id") % 2).alias("c"),
        F.lit(1.0).alias("w"),
        (number > 3).alias("held"),
    )


@pytest.fixture(scope="module")
def scalar_model(data: DataFrame) -> FIGSRegressionModel:
    return FIGSRegressor(featuresCols=["x", "b", "s"], labelCol="y").fit(data)


@pytest.fixture(scope="module")
def vector_model(data: DataFrame) -> FIGSRegressionModel:
    return FIGSRegressor(featuresCol="v", labelCol="y").fit(data)


@pytest.fixture(autouse=True)
def _nothing_stays_cached(spark: SparkSession) -> Iterator[None]:
    spark.catalog.clearCache()  # of other files
    yield
    assert spark._jsparkSession.sharedState().cacheManager().isEmpty()


@pytest.fixture
def _no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def train(*args: Any, **keywords: Any) -> None:
        raise AssertionError("The training has started.")

    monkeypatch.setattr(home, "train", train)


def once(value: str, other: str) -> str:
    """A column with a value in the row of id 2 and another one elsewhere."""
    return f"if(id = 2, {value}, {other})"


def case(name: str, params: dict[str, Any], *parts: str, **columns: str) -> Any:
    """Params, what the message says, and columns that are changed, as SQL."""
    return pytest.param(params, columns, parts, id=name)


REGRESSION = {"featuresCols": ["x", "b", "s"], "labelCol": "y"}
CLASSES = {"featuresCols": ["x"], "labelCol": "c"}
VECTOR = {"featuresCol": "v", "labelCol": "y"}
WEIGHT = REGRESSION | {"weightCol": "w"}
HELD = REGRESSION | {"validationIndicatorCol": "held"}
ABSENT = ("'z'", "is not in the DataFrame, which has 'id', 'x', 'b'", "Set")
BAD_LABEL = ("'y' (labelCol) is null, NaN, infinite", "in 1 of 6 rows", "Drop or repair")
BAD_WEIGHT = ("'w' (weightCol) is null, NaN or infinite in 1 of 6 rows", "Fill these weights")
NO_CLASS = (
    "'c' (labelCol) holds a value that is not a class in 1 of 6 rows",
    "0, 1, ..., 254",
    "booleans or text",
)
BAD_TYPE = ("has type", "is needed", "Cast it")
INPUT = [
    case("no features", {"labelCol": "y"}, "'features' (featuresCol) is not in", "Set featuresCol"),
    case("no scalar", REGRESSION | {"featuresCols": ["x", "z"]}, "(featuresCols)", *ABSENT),
    case("no label", REGRESSION | {"labelCol": "z"}, "(labelCol)", *ABSENT),
    case("no weight", REGRESSION | {"weightCol": "z"}, "(weightCol)", *ABSENT),
    case("no indicator", REGRESSION | {"validationIndicatorCol": "z"}, *ABSENT),
    case(
        "a scalar",
        VECTOR | {"featuresCol": "x"},
        "'x' (featuresCol) has type double",
        "featuresCols",
    ),
    case("texts", VECTOR, "'v' (featuresCol) has type array<string>", v="array('a')"),
    case("a list", REGRESSION | {"featuresCols": ["x", "v"]}, "1 of", "'v' array", "Cast them"),
    case("text as label", REGRESSION | {"labelCol": "s"}, "'s' (labelCol)", *BAD_TYPE),
    case("truth as label", REGRESSION | {"labelCol": "held"}, "'held' (labelCol)", *BAD_TYPE),
    case("text as weight", REGRESSION | {"weightCol": "s"}, "'s' (weightCol)", *BAD_TYPE),
    case("number as indicator", HELD, "'held' (validationIndicatorCol)", *BAD_TYPE, held="1"),
    case("label as feature", REGRESSION | {"labelCol": "x"}, "'x' is both labelCol and a feature"),
    case("a feature twice", REGRESSION | {"featuresCols": ["x", "b", "x"]}, "'x' more than once"),
    case("no feature", REGRESSION | {"featuresCols": []}, "featuresCols is an empty list", "Name"),
    case(
        "unknown category",
        REGRESSION | {"categoricalCols": ["x", "z"]},
        "'z'",
        "3 features 'x', 'b'",
    ),
    case(
        "output taken", REGRESSION | {"predictionCol": "x"}, "'x' (predictionCol)", "another name"
    ),
    case(
        "outputs alike",
        REGRESSION | {"leafCol": "prediction"},
        "'prediction' (leafCol)",
        "predictionCol",
    ),
    case("null label", REGRESSION, *BAD_LABEL, y=once("null", "1.0")),
    case("NaN label", REGRESSION, *BAD_LABEL, y=once("double('nan')", "1")),
    case("infinite label", REGRESSION, *BAD_LABEL, y=once("double('-inf')", "1")),
    case("null class", CLASSES, "'c' (labelCol) is null", "in 1 of 6", c=once("null", "1")),
    case("null weight", WEIGHT, *BAD_WEIGHT, w=once("null", "1.0")),
    case("NaN weight", WEIGHT, *BAD_WEIGHT, w=once("double('nan')", "1")),
    case("infinite weight", WEIGHT, *BAD_WEIGHT, w=once("double('inf')", "1")),
    case(
        "negative weight",
        WEIGHT,
        "'w' (weightCol) is negative in 1 of 6",
        "0 or more",
        w=once("-1", "1"),
    ),
    case(
        "two columns wrong",
        WEIGHT,
        "'y' (labelCol) is null, NaN, infinite or beyond 1e+150 in 1 of 6 rows",
        "'w' (weightCol) is negative in 2 of 6 rows",
        y=once("null", "1.0"),
        w="if(id < 2, -1, 1)",
    ),
    case(
        "braces in a name",
        REGRESSION | {"labelCol": "y {0} {}"},
        "'y {0} {}' (labelCol) is null, NaN, infinite or beyond 1e+150 in 1 of 6 rows",
        **{"y {0} {}": once("null", "1.0")},
    ),
    case("zero weights", WEIGHT, "'w' (weightCol) is 0 in all 6 rows", "must be positive", w="0"),
    case("fraction as class", CLASSES, *NO_CLASS, c=once("0.5", "1.0")),
    case("negative class", CLASSES, *NO_CLASS, c=once("-1", "1")),
    case("class too large", CLASSES, *NO_CLASS, c=once("255", "1")),
    case("one class", CLASSES, "'c' (labelCol) has the single class 1 in all 6", "two", c="1"),
    case(
        "one class to train on",
        CLASSES | {"weightCol": "w"},
        "single class 1 in all 5",
        c=once("0", "1"),
        w=once("0", "1"),
    ),
    case(
        "null vector",
        VECTOR,
        "'v' (featuresCol) is null in 1 of 6 rows",
        "Drop",
        v=once("null", "array(1.0)"),
    ),
    case(
        "lengths vary",
        VECTOR,
        "'v' (featuresCol) does not have",
        "in 1 of 6 rows",
        v=once("array(1.0)", "v"),
    ),
    case(
        "no values",
        VECTOR,
        "'v' (featuresCol) has 0 values",
        "6 rows",
        v="cast(array() as array<int>)",
    ),
    case(
        "null indicator",
        HELD,
        "'held' (validationIndicatorCol) is null in 1 of 6",
        "Fill",
        held=once("null", "held"),
    ),
    case(
        "all held",
        HELD,
        "'held' (validationIndicatorCol) is true in all 6",
        "false",
        held="true",
    ),
    case(
        "none held",
        HELD,
        "'held' (validationIndicatorCol) is false in all 6",
        "true",
        held="false",
    ),
    case(
        "both thresholds",
        CLASSES | {"threshold": 0.5, "thresholds": [1, 1]},
        "both set",
        "Clear one",
    ),
    case(
        "thresholds of zero",
        CLASSES | {"thresholds": [0, 0]},
        "thresholds is 0 for 2",
        "At most one",
    ),
    case(
        "thresholds too many",
        CLASSES | {"thresholds": [1, 1, 1]},
        "has 3 values",
        "'c' (labelCol) has 2",
        "one value per class",
    ),
    case(
        "threshold of three",
        CLASSES | {"threshold": 0.5},
        "'c' (labelCol) has 3",
        "thresholds",
        c="id % 3",
    ),
]


def changed(data: DataFrame, columns: dict[str, str]) -> DataFrame:
    for name, expression in columns.items():
        data = data.withColumn(name, F.expr(expression))
    return data


@pytest.mark.usefixtures("_no_training")
@pytest.mark.parametrize(("params", "columns", "parts"), INPUT)
def test_a_fit_refuses(
    data: DataFrame, params: dict[str, Any], columns: dict[str, str], parts: tuple[str, ...]
) -> None:
    estimator = (FIGSClassifier if params["labelCol"] == "c" else FIGSRegressor)(**params)
    with pytest.raises(ValueError, match=r"\.$") as caught:
        estimator.fit(changed(data, columns))
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.usefixtures("_no_training")
def test_a_fit_refuses_no_rows_and_no_vectors(data: DataFrame) -> None:
    for kind in (FIGSClassifier, FIGSRegressor):
        with pytest.raises(ValueError, match="The DataFrame is empty: 0 rows"):
            kind(featuresCol="v", labelCol="c").fit(data.where("id < 0"))
    vectors = data.withColumn("v", F.when(F.col("id") > 1, array_to_vector(F.col("v"))))
    with pytest.raises(ValueError, match=r"'v' \(featuresCol\) is null in 2 of 6 rows. Drop"):
        FIGSRegressor(**VECTOR).fit(vectors)


def test_a_fit_refuses_a_name_that_two_columns_have(data: DataFrame) -> None:
    twice = data.select("*", F.lit(1.0).alias("x"))
    with pytest.raises(ValueError, match=r"2 columns are called 'x' \(featuresCols\). Rename"):
        FIGSRegressor(**REGRESSION).fit(twice)


@pytest.mark.parametrize(("kind", "least"), [("string", 10), ("double", 10), ("string", 1)])
def test_a_fit_takes_any_number_of_categories(spark: SparkSession, kind: str, least: int) -> None:
    count = 10_000
    df = spark.range(count).select(F.col("id").cast(kind).alias("code"), F.rand(1).alias("label"))
    estimator = FIGSRegressor(featuresCols=["code"], categoricalCols=["code"], maxSplits=1)
    model = estimator.setMinCategoryCount(least).setCategorySmoothing(0.0).fit(df)
    kept = 254 if least == 1 else 0
    assert model.treeSum.features[0].others == count - kept
    assert model.numSplits == (least == 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("maxBins", 1),
        ("maxBins", 256),
        ("maxBins", None),
        ("maxBins", "many"),
        ("maxBins", 2.5),
        ("maxBins", True),
        ("maxSplits", -1),
        ("maxTrees", 0),
        ("maxDepth", 0),
        ("minInstancesPerNode", 0),
        ("minWeightFractionPerNode", 0.6),
        ("minWeightFractionPerNode", NAN),
        ("minImpurityDecrease", -0.1),
        ("minImpurityDecrease", INFINITY),
        ("featureSubsetStrategy", "half"),
        ("featureSubsetStrategy", 1.5),
        ("featuresCols", "x"),
        ("featuresCols", [1]),
        ("labelCol", 3),
        ("labelCol", None),
        ("mode", "local"),
        ("classWeight", "fair"),
        ("threshold", 1.1),
        ("thresholds", [0.5, -0.5]),
        ("thresholds", 0.5),
        ("verbose", 1),
        ("seed", "x"),
    ],
)
def test_a_param_refuses(name: str, value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=name):
        FIGSClassifier(**{name: value})


@pytest.mark.parametrize(
    ("columns", "parts"),
    [
        ({"x": "'a'"}, ["'x' (featuresCols) has type string", "a numeric column. Cast it"]),
        ({"prediction": "1"}, ["'prediction' (predictionCol)", "another name"]),
    ],
)
def test_a_model_of_columns_refuses(
    data: DataFrame,
    scalar_model: FIGSRegressionModel,
    columns: dict[str, str],
    parts: list[str],
) -> None:
    with pytest.raises(ValueError, match=r"'x' \(featuresCols\) is not in the DataFrame"):
        scalar_model.transform(data.drop("x"))
    with pytest.raises(ValueError, match=r"\.$") as caught:
        scalar_model.transform(changed(data, columns))
    for part in parts:
        assert part in str(caught.value)


def test_a_model_of_vectors_refuses(data: DataFrame, vector_model: FIGSRegressionModel) -> None:
    with pytest.raises(ValueError, match=r"'v' \(featuresCol\) is not in the DataFrame"):
        vector_model.transform(data.drop("v"))
    with pytest.raises(
        ValueError, match=r"'v' \(featuresCol\) has type double; a vector or an arr"
    ):
        vector_model.transform(data.withColumn("v", F.lit(1.0)))
    longer = data.withColumn("v", F.array(*[F.lit(1.0)] * 3))
    with pytest.raises(Exception, match=r"'v' \(featuresCol\) has a row without the 2 values"):
        vector_model.transform(longer).collect()


def test_other_thresholds_for_a_model(data: DataFrame) -> None:
    model = FIGSClassifier(**CLASSES, maxSplits=1).fit(data).setThresholds([1, 1, 1])
    with pytest.raises(ValueError, match="thresholds has 3 values, and column 'c'"):
        model.transform(data)
    with pytest.raises(ValueError, match="thresholds has 3 values, and column 'c'"):
        model.predict([1.0])


def test_other_columns_for_a_model(data: DataFrame, scalar_model: FIGSRegressionModel) -> None:
    renamed = scalar_model.copy().setFeaturesCols(["w", "held", "s"])
    *rows, scored = zip(*renamed.transform(data).select("w", "held", "s", "prediction").collect())
    assert list(scored) == scalar_model.predict(list(zip(*rows, strict=True))).tolist()
    with pytest.raises(
        ValueError, match="featuresCols names 1 columns, and the model was trained on 3"
    ):
        scalar_model.copy().setFeaturesCols(["x"]).transform(data)
