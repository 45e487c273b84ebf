"""The place of a text in a list of texts, as Spark finds it."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from figs_spark.dataframes.positions import SHORT, position

ODD = [
    "",
    " ",
    "it's",
    'a "b"',
    "back\\slash",
    "new\nline",
    "Ünïcode",
    "北京",
    "a,b",
    "NULL",
    "\x00",
]


@pytest.mark.parametrize("count", [0, 1, SHORT, SHORT + 1, 250])
@pytest.mark.parametrize("escaped", ["true", "false"])
def test_every_text_is_found_where_it_is(spark: SparkSession, count: int, escaped: str) -> None:
    texts = [*ODD, *(f"code {k}" for k in range(250))][:count]
    cells = [*texts, "none of them", "code", *ODD[count:], None]
    setting = "spark.sql.parser.escapedStringLiterals"
    before = spark.conf.get(setting, "false")
    spark.conf.set(setting, escaped)
    try:
        rows = spark.createDataFrame([(cell,) for cell in cells], "cell string")
        found = rows.select("cell", position(F.col("cell"), texts).alias("place")).collect()
    finally:
        spark.conf.set(setting, before)
    known = {text: k for k, text in enumerate(texts)}
    for cell, place in found:
        assert place == (None if cell is None else known.get(cell, -1)), cell


@pytest.mark.usefixtures("compiled")
def test_a_missing_text_has_no_place(spark: SparkSession) -> None:
    texts = [f"code {k}" for k in range(SHORT + 1)]
    cells = [(None if k % 2 else texts[k],) for k in range(8)]
    rows = spark.createDataFrame(cells, "cell string").repartition(2).cache()
    places = rows.select("cell", F.array(position(F.col("cell"), texts).cast("double"))).collect()
    assert dict(map(tuple, places)) == {None: [None]} | {
        t: [float(texts.index(t))] for t in texts[:8:2]
    }


def test_a_long_list_is_one_constant_of_the_plan(spark: SparkSession) -> None:
    """Lists that Spark made again for every row would be slower than comparing with each text."""
    texts = [f"code {k}" for k in range(200)]
    frame = spark.range(1).select(F.col("id").cast("string").alias("cell"))
    plan = (
        frame.select(position(F.col("cell"), texts).alias("place"))
        ._jdf.queryExecution()
        .optimizedPlan()
    )
    assert "array_position" in plan.toString()
    assert "array(" not in plan.toString()
