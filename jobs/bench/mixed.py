"""Tables with text: hospital stays and flights, real ones or generated ones of their shape."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark.datasets import encounters
from jobs.bench.data import FILES, LABEL, Data, log
from jobs.bench.presets import BANDS, FLIGHTS, STAYS

BAND = "band"
LEFT_OUT = ("encounter_id", "patient_nbr", "weight", "examide", "citoglipton", "readmitted")
WITH_BANDS = (
    "race", "gender", "admission_type_id", "discharge_disposition_id", "admission_source_id",
    "time_in_hospital", "num_lab_procedures", "num_procedures", "num_medications",
    "number_outpatient", "number_emergency", "number_inpatient", "number_diagnoses", "insulin",
    "change", "diabetesMed",
)  # fmt: skip
ON_FLIGHTS = ("origin", "destination", "distance", "month", "weekday", "minute")
LATE = 15  # minutes
TRAINED_FLIGHTS = 0.8
AIRPORTS = 230
MEDICINES = 18


@dataclass(frozen=True)
class Recipe:
    """How a table with text is made of its source."""

    features: Sequence[str] | None  # None: all that is not left out
    label: Column
    added: dict[str, Column]
    others: Sequence[str] = ()  # columns besides features and label


def prepare_mixed(
    spark: SparkSession, folder: Path, kind: str, rows: int, seed: int, source: Path | None
) -> Data:
    """A table of this kind in Parquet files, written once; `source` is the file of a real one."""
    path = folder / (f"{kind}-real" if source else f"{kind}-{rows}-seed{seed}")
    if not path.exists():
        log.info("writing %s", path)
        whole = _real(spark, source, kind) if source else _generated(spark, kind, rows, seed)
        unfinished = path.with_suffix(".unfinished")
        _selected(whole, _recipe(kind)).repartition(FILES).write.mode("overwrite").parquet(
            str(unfinished)
        )
        unfinished.rename(path)
    files = tuple(sorted(map(str, path.glob("*.parquet"))))
    names, others = pq.read_schema(files[0]).names, tuple(_recipe(kind).others)
    features = tuple(name for name in names if name not in (LABEL, *others))
    count = sum(pq.read_metadata(file).num_rows for file in files)
    return Data(kind, count, features, files, None, others, _most_texts(files, features))


def _most_texts(files: Sequence[str], features: Sequence[str]) -> int:
    """The most different texts that a feature has."""
    table = pq.read_table(list(files), columns=list(features))
    texts = [column for column in table.columns if pa.types.is_string(column.type)]
    return max(len(column.unique()) for column in texts)


def _real(spark: SparkSession, source: Path, kind: str) -> DataFrame:
    if kind != FLIGHTS:
        return spark.read.csv(str(source), header=True, inferSchema=True, nullValue="?")
    flights = spark.read.parquet(str(source))
    share = F.pmod(F.xxhash64("date", "origin", "destination"), F.lit(1000))
    return flights.where(share < int(1000 * TRAINED_FLIGHTS))


def _generated(spark: SparkSession, kind: str, rows: int, seed: int) -> DataFrame:
    if kind != FLIGHTS:
        return encounters(spark, rows, seed).replace("?", None).withColumns(_medicines())
    random = np.random.default_rng(seed)
    codes = np.array([f"{c}{c % 7}{c % 13}" for c in range(AIRPORTS)])
    often = 1 / np.arange(1, AIRPORTS + 1)
    places = random.choice(AIRPORTS, (2, rows), p=often / often.sum())
    delay = random.exponential(20, rows) - 15 + 20 * (places[0] % 5 == 0)
    table = pa.table(
        {
            "date": pa.array(random.integers(978_307_200, 993_945_600, rows) * 10**6).cast(
                pa.timestamp("us")
            ),
            "delay": delay.astype(np.int64),
            "distance": random.integers(21, 4962, rows),
            "origin": codes[places[0]],
            "destination": codes[places[1]],
        }
    )
    return spark.createDataFrame(table.to_pandas())


def _medicines() -> dict[str, Column]:
    """As many more than `encounters` has as the extract has, each given to some."""
    draws = {k: F.pmod(F.xxhash64("encounter_id", F.lit(k)), F.lit(100)) for k in range(MEDICINES)}
    return {f"medicine {k}": F.when(d < k, "Steady").otherwise("No") for k, d in draws.items()}


def _recipe(kind: str) -> Recipe:
    early = F.col("readmitted") == "<30"
    if kind == STAYS:
        return Recipe(None, early, {})
    if kind == BANDS:
        youngest = F.col("age").isin("[0-10)", "[10-20)")
        band = F.when(youngest, "[0-20)").otherwise(F.col("age"))
        return Recipe(WITH_BANDS, early, {BAND: band}, (BAND,))
    moment = F.col("date")
    parts = {
        "month": F.month(moment),
        "weekday": F.weekday(moment),
        "minute": F.hour(moment) * 60 + F.minute(moment),
    }
    return Recipe(ON_FLIGHTS, F.col("delay") > LATE, parts)


def _selected(whole: DataFrame, recipe: Recipe) -> DataFrame:
    features = recipe.features or [name for name in whole.columns if name not in LEFT_OUT]
    table = whole.withColumns(recipe.added) if recipe.added else whole
    return table.select(*features, *recipe.others, recipe.label.cast("double").alias(LABEL))
