"""A small table with columns of every kind, on which the stages are tested."""

from __future__ import annotations

import math
from decimal import Decimal
from random import Random
from typing import Any

from pyspark.ml.functions import array_to_vector
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

SCHEMA = (
    "age double, gcs int, visits bigint, cost decimal(8,2), temp float, hurt boolean, site string, "
    "days double, died int, triage int, weight double, held boolean"
)
FEATURES = ["age", "gcs", "visits", "cost", "temp", "hurt", "site"]
NUMBERS = ["age", "gcs", "visits"]
SITES = ("Bern", "Zürich", "it's", "")


def patients(spark: SparkSession, rows: int = 200, seed: int = 0) -> DataFrame:
    random = Random(seed)
    return spark.createDataFrame([_patient(random) for _ in range(rows)], SCHEMA).coalesce(2)


def strangers(spark: SparkSession) -> DataFrame:
    """Rows with missing values, infinities and categories that no training row has."""
    whole = (50.0, 9, 3, Decimal("12.50"), 37.5, True, "Bern", 0.0, 0, 0, 1.0, False)
    odd: list[list[Any]] = [
        [None, math.nan, math.inf, -math.inf],
        [None, 999],
        [None, -(1 << 60)],
        [None, Decimal("-1.00")],
        [None, math.nan, math.inf],
        [None, False],
        [None, "elsewhere", "bern"],
    ]
    rows = [(*whole[:j], cell, *whole[j + 1 :]) for j, cells in enumerate(odd) for cell in cells]
    nothing = (None,) * len(FEATURES) + whole[len(FEATURES) :]
    return spark.createDataFrame([whole, nothing, *rows], SCHEMA)


def with_vector(df: DataFrame, kind: str = "vector") -> DataFrame:
    """With the column `features`, in which the numeric columns lie one after the other."""
    array = F.array(*[F.coalesce(F.col(name).cast("double"), F.lit(-1.0)) for name in NUMBERS])
    vector = array_to_vector(array) if kind == "vector" else array.cast(kind)
    return df.withColumn("features", vector)


def _patient(random: Random) -> tuple[Any, ...]:
    age, gcs, visits = float(random.randrange(20, 90)), random.randrange(3, 16), random.randrange(6)
    cost, temp = Decimal(random.randrange(9)) * 25, 36.0 + random.randrange(30) / 10
    hurt, site = random.random() < 0.4, random.choice(SITES)
    days = (
        0.1 * (age > 60)
        + 0.3 * (gcs < 9) * (1 + (age > 40))
        + 0.25 * (visits > 3)
        + 0.2 * (cost > 110)
        + 0.15 * (temp > 38)
        + 0.3 * hurt
        + 0.35 * (site in SITES[1:3])
        + 0.01 * random.random()
    )
    return (
        None if random.random() < 0.1 else age,
        gcs,
        visits,
        cost,
        math.nan if random.random() < 0.1 else temp,
        None if random.random() < 0.1 else hurt,
        None if random.random() < 0.1 else site,
        days,
        int(random.random() < days / 2),
        int(days > 0.5) + int(days > 0.9),
        random.choice([0.5, 1.0, 2.0]),
        random.random() < 0.3,
    )
