"""Codes with levels in Spark: every family and mode, scoring, saving, SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from figs_spark import (
    BaggedFIGSClassifier,
    FIGSClassificationModel,
    FIGSClassifier,
    GFIGSClassifier,
)
from figs_spark.app.known_values import known_values, report_unknown
from figs_spark.dataframes.codes import level_column, resolved_column
from figs_spark.dataframes.columns import column
from figs_spark.treesum.code_systems import code_system
from figs_spark.treesum.levels import LevelFeature
from figs_spark.treesum.nodes import TEXT, Feature

HEART = [str(code) for code in range(401, 440)]  # each too rare to be named
OTHERS = ["250.01", "486", "V45", "E909", "8", "?x"]
PARAMS = {"featuresCols": ["d", "age"], "codeSystems": {"d": "icd9"}, "maxSplits": 2}


@pytest.fixture(scope="module")
def rows(spark: SparkSession) -> DataFrame:
    random = np.random.default_rng(5)
    codes = [*random.choice(HEART, 150), *random.choice(OTHERS, 240), *[None] * 10]
    sick = [float(code in HEART) if random.random() < 0.9 else 0.0 for code in codes]
    table = [
        (code, float(random.integers(20, 90)), y, "ab"[k % 2])
        for k, (code, y) in enumerate(zip(codes, sick, strict=True))
    ]
    return spark.createDataFrame(table, "d string, age double, label double, g string").coalesce(2)


@pytest.fixture(scope="module")
def model(rows: DataFrame) -> FIGSClassificationModel:
    return FIGSClassifier(**PARAMS).fit(rows)


def test_a_level_wins_where_its_codes_are_too_rare(model: FIGSClassificationModel) -> None:
    assert "d in circulatory (390-459)" in str(model)
    assert model.featureNames == ["d", "age"]


def test_scoring_knows_the_level_of_every_code(
    spark: SparkSession, model: FIGSClassificationModel, rows: DataFrame, tmp_path: Path
) -> None:
    codes = [*HEART, *OTHERS, "428.9", "4019", "39", None, "390-459"]
    table = spark.createDataFrame([(code, 50.0) for code in codes], "d string, age double")
    expected = model.predictProbability([[code, 50.0] for code in codes])[:, 1]
    scored = [row["probability"][1] for row in model.transform(table).collect()]
    assert scored == expected.tolist()
    assert len(set(expected[: len(HEART)])) == 1
    assert expected[0] > 0.5
    table.createOrReplaceTempView("codes_to_score")
    sql = spark.sql(f"SELECT {model.toSQL()} AS p FROM codes_to_score").collect()
    assert [row["p"] for row in sql] == expected.tolist()
    model.save(str(tmp_path / "model"))
    again = FIGSClassificationModel.load(str(tmp_path / "model"))
    assert again.treeSum == model.treeSum


def test_every_family_and_mode(model: FIGSClassificationModel, rows: DataFrame) -> None:
    cluster = FIGSClassifier(**PARAMS, mode="cluster").fit(rows)
    assert cluster.treeSum == model.treeSum
    params: dict[str, Any] = {**PARAMS, "maxSplits": 1}
    bagged = BaggedFIGSClassifier(**params, numEstimators=2, featureSubsetStrategy="all").fit(rows)
    grouped = GFIGSClassifier(**params, groupCol="g", weighting="separate").fit(rows)
    for fitted in (bagged, grouped):
        row = fitted.transform(rows.where("d = '428'").limit(1)).collect()[0]
        assert row["probability"][1] > 0.5


def test_forbidden_codes_have_no_levels_either(rows: DataFrame) -> None:
    fitted = FIGSClassifier(**{**PARAMS, "forbidden": ["d"], "maxSplits": 1}).fit(rows)
    assert {fitted.featureNames[s.feature] for s in fitted.treeSum.splits} <= {"age"}


def test_columns_and_python_agree(spark: SparkSession) -> None:
    codes = {
        "icd9": [*OTHERS, "428.9", "E8809", "V4581", "45.1", "v45", "E88", ""],
        "icd10": ["I50.2", "c4a", "D3A1", "M1A", "Z3A", "U071", "I5", "11"],
        "dotted": ["1.2.840.3", "1.2", "1"],
        "prefix:2,4": ["XYZ", "XYZAB", "X"],
    }
    every = [code for values in codes.values() for code in values]
    features, cells = {}, []
    for name, values in codes.items():
        system = code_system(name)
        known = tuple(dict.fromkeys(k for v in values for k in system.keys(v)[:2] if k))
        features[name] = Feature("d", known[:3], kind=TEXT, system=name)
        cells += [level_column(level(name, k), column("d")) for k in range(len(system.levels))]
        cells.append(resolved_column(features[name], column("d")))
    table = spark.createDataFrame([(code,) for code in every], "d string").coalesce(1)
    for code, *row in table.select("d", *cells).collect():
        found = iter(row)
        for name, feature in features.items():
            system = code_system(name)
            assert tuple(next(found) or None for _ in system.levels) == system.keys(code), name
            assert next(found) == feature.resolved(code), (name, code)


def level(name: str, depth: int) -> LevelFeature:
    return LevelFeature("l", (), kind=TEXT, system=name, source="d", depth=depth)


def test_codes_must_be_text(rows: DataFrame) -> None:
    with pytest.raises(ValueError, match="codeSystems names 'age'"):
        FIGSClassifier(**{**PARAMS, "codeSystems": {"age": "icd9"}}).fit(rows)


def test_a_code_that_a_level_of_the_model_holds_is_not_reported_as_other(
    spark: SparkSession,
    model: FIGSClassificationModel,
    rows: DataFrame,
    caplog: pytest.LogCaptureFixture,
) -> None:
    known = known_values(model, rows)
    assert known["d"].other_share == 0.0  # the rare codes of the heart are in the chapter
    table = [(code,) for code in ("428.9", "4019", "250.01", "E999.1", None)]
    with caplog.at_level("INFO", logger="figs_spark"):
        report_unknown(spark.createDataFrame(table, "d string"), model, known)
    (said,) = caplog.messages
    assert said.startswith("Column 'd': 1 of 5 rows (20%) have a value")
    assert "of training nor in a level that the model names (different ones: about 1)" in said


def test_a_code_is_looked_up_once_for_all_splits(
    rows: DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    few, many = (FIGSClassifier(**{**PARAMS, "maxSplits": k}).fit(rows) for k in (1, 12))
    assert "d in circulatory (390-459)" in str(few)
    splits_on_codes = [s for s in many.treeSum.splits if s.feature == 0]
    assert len(splits_on_codes) > 2
    for model in (few, many):
        scored = model.transform(rows)
        assert scored.columns == [*rows.columns, "rawPrediction", "probability", "prediction"]
        capsys.readouterr()
        scored.explain()
        known = map(str, model.treeSum.features[0].categories or ())
        levels = list(filter(code_system("icd9").is_level, known))
        assert capsys.readouterr().out.count("RLIKE") == len(levels)
