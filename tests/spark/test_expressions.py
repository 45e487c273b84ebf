"""Columns and SQL text give what TreeSum.predict gives, to the last bit, without Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from chispa import assert_df_equality
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from figs_spark.dataframes.expressions import (
    contribution_columns,
    leaf_columns,
    score_columns,
)
from figs_spark.treesum import Feature, Node, Split, TreeSum
from tests.support.instruments import score_sql
from tests.support.treesums import FEATURES, TEXTS, Row, chain, random_rows, random_tree_sum

TYPES = ("double", "double", "double", "double", "string", "boolean", "double")


def columns() -> list[Column]:
    return [F.col("`" + feature.name.replace("`", "``") + "`") for feature in FEATURES]


def frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    schema = StructType()
    for feature, kind in zip(FEATURES, TYPES, strict=True):
        schema.add(feature.name, kind)
    return spark.createDataFrame(list(rows), schema)


@pytest.fixture(params=["compiled", "interpreted"], autouse=True)
def plans(request: pytest.FixtureRequest) -> None:
    if request.param == "compiled":
        request.getfixturevalue("compiled")


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return random_rows(Random(11), 400)


def named(columns: Sequence[Column]) -> list[Column]:
    return [column.alias(f"c{i}") for i, column in enumerate(columns)]


def table(df: DataFrame) -> list[list[float]]:
    return [list(row) for row in df.collect()]


@pytest.mark.parametrize("seed", range(3))
def test_scores_and_sql_equal_predict(spark: SparkSession, rows: list[Row], seed: int) -> None:
    random = Random(seed)
    models = [random_tree_sum(random, splits=splits) for splits in (0, 1, 5, 12, 30)]
    scores = [score for model in models for score in score_columns(model, columns())]
    texts = [F.expr(score_sql(model)) for model in models]
    answers = zip(*(model.predict(rows)[:, 0].tolist() for model in models), strict=True)
    expected = [[*answer, *answer] for answer in answers]
    assert table(frame(spark, rows).select(named([*scores, *texts]))) == expected


def test_many_outputs(spark: SparkSession, rows: list[Row]) -> None:
    model = random_tree_sum(Random(7), splits=8, outputs=3)
    df = frame(spark, rows)
    scores = named(score_columns(model, columns()))
    texts = named([F.expr(score_sql(model, output)) for output in range(3)])
    assert table(df.select(scores)) == model.predict(rows).tolist()
    assert_df_equality(df.select(texts), df.select(scores))
    parts = contribution_columns(model, columns())
    contributions = F.array(*(F.array(*outputs) for outputs in parts))
    assert table(df.select(contributions)) == [[p] for p in model.contributions(rows).tolist()]


def test_leaves(spark: SparkSession, rows: list[Row]) -> None:
    model = random_tree_sum(Random(8), splits=20)
    leaves = frame(spark, rows).select(named(leaf_columns(model, columns())))
    assert table(leaves) == model.leaf_indices(rows).tolist()


@pytest.mark.parametrize("leftwards", [True, False])
def test_a_chain_stays_flat(spark: SparkSession, leftwards: bool) -> None:
    model = chain(50, leftwards)
    cells = [None, math.nan, -math.inf, math.inf, *(i / 2 for i in range(-2, 104))]
    rows = [(cell, *[None] * 6) for cell in cells]
    text = score_sql(model)
    assert text.count("CASE") == 1
    assert text.count("WHEN") == 50
    both = named([*score_columns(model, columns()), F.expr(text)])
    expected = [[score, score] for score in model.predict(rows)[:, 0].tolist()]
    assert table(frame(spark, rows).select(both)) == expected


def test_a_hundred_trees(spark: SparkSession, rows: list[Row]) -> None:
    random = Random(9)
    models = [random_tree_sum(random, splits=1) for _ in range(100)]
    model = replace(models[0], trees=tuple(m.trees[0] for m in models))
    both = named([*score_columns(model, columns()), F.expr(score_sql(model))])
    expected = [[score, score] for score in model.predict(rows)[:, 0].tolist()]
    assert table(frame(spark, rows).select(both)) == expected


@pytest.mark.parametrize("others", [0, 20])  # Spark tests short and long lists by different means
def test_every_text_is_matched_by_itself_alone(spark: SparkSession, others: int) -> None:
    more = tuple(f"other {i}" for i in range(others))
    feature = Feature("x", (*TEXTS, *more))
    yes, no = Node((1.0,), 1, 1.0), Node((0.0,), 1, 1.0)

    def sql(text: str) -> str:
        split = Split(0, 0, 1.0, missing_left=False, categories=(text, *more))
        root = Node((0.0,), 2, 2.0, split, yes, no)
        return score_sql(TreeSum((feature,), (root,), (0.5,), (0.0, 0.0)))

    df = spark.createDataFrame([(text,) for text in TEXTS], "x string")
    hits = table(df.select(named([F.expr(sql(text)) for text in TEXTS])))
    assert hits == [[float(text == other) for other in TEXTS] for text in TEXTS]


@pytest.mark.parametrize("kind", ["tinyint", "int", "bigint", "float", "decimal(10,2)"])
def test_sql_takes_columns_of_every_numeric_type(spark: SparkSession, kind: str) -> None:
    leaves = Node((1.0,), 1, 1.0), Node((2.0,), 1, 1.0)
    numeric = Node((0.0,), 2, 2.0, Split(0, 0, 1.0, True, threshold=1.5), *leaves)
    coded = Node((0.0,), 2, 2.0, Split(1, 1, 1.0, False, categories=(1.0, 3.0)), *leaves)
    features = (Feature("x"), Feature("code", (1.0, 2.0, 3.0)))
    model = TreeSum(features, (numeric, coded), (1.5,), (0.0,) * 3)
    rows = [(1.0, 1.0), (2.0, 2.0), (None, None), (9.0, 3.0)]
    df = spark.createDataFrame(rows, "x double, code double")
    typed = df.select(*(F.col(name).cast(kind).alias(name) for name in df.columns))
    scores = model.predict(rows).tolist()
    assert table(typed.select(F.expr(score_sql(model)))) == scores


def test_no_python_in_the_plan(
    spark: SparkSession, rows: list[Row], capsys: pytest.CaptureFixture[str]
) -> None:
    model = random_tree_sum(Random(4), splits=12)
    scored = frame(spark, rows).select(named(score_columns(model, columns())))
    capsys.readouterr()
    scored.explain("extended")
    plan = capsys.readouterr().out
    assert "CASE WHEN" in plan
    assert "Python" not in plan


def test_sql_text_reads_well() -> None:
    leaves = Node((0.25,), 1, 1.0), Node((-0.5,), 1, 1.0)
    site = Node((0.0,), 2, 2.0, Split(1, 1, 1.0, False, categories=("it's", "B")), *leaves)
    gcs = Node((0.0,), 3, 3.0, Split(0, 0, 1.0, True, threshold=8.5), leaves[0], site)
    model = TreeSum(
        (Feature("gcs"), Feature("the `site`", ("it's", "B"))), (gcs, leaves[0]), (0.0,), (0.0,)
    )
    assert score_sql(model) == (
        "(CASE\n"
        "  WHEN `gcs` <= 8.5D OR `gcs` IS NULL OR isnan(`gcs`) THEN 0.25D\n"
        "  WHEN `the ``site``` IN ('it\\'s', 'B') THEN 0.25D\n"
        "  ELSE -0.5D\n"
        "END\n"
        "+ 0.25D)"
    )
