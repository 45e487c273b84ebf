"""Whether codes by the hundred lower the AUC: the same fits with them and without, by seed.

    spark-submit jobs/codes.py --extract diabetic_data.csv.gz --flights flights-3m.parquet

Two tables as they are: the UCI extract "Diabetes 130-US hospitals", where the codes are diag_1 to
diag_3, and the flights of the npm package vega-datasets, where they are origin and destination.
Each seed holds out another fifth, of the patients or of the days. The number of splits is fixed.
Prints the mean AUC and the difference within seeds, with standard errors.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.ml.functions import vector_to_array
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # spark-submit has only jobs there

from figs_spark import FIGSClassifier
from jobs.readmission import CODES, DIAGNOSES, LABEL, PERSON, ROW, area, read

PARTS = 5  # one of them is held out
LATE = 15  # minutes
FLIGHTS_PER_SEED = 250_000
WITHOUT, SETS, LEVELS = "without codes", "codes as sets", "codes with levels"


@dataclass(frozen=True)
class Trial:
    """A table, the columns of codes in it, and what is held out together."""

    name: str
    frame: DataFrame
    features: list[str]
    codes: list[str]
    together: str
    categorical: list[str]
    system: str | None = None
    rows: int | None = None  # drawn for each seed

    def variants(self) -> dict[str, dict[str, Any]]:
        plain = [name for name in self.features if name not in self.codes]
        variants: dict[str, dict[str, Any]] = {
            WITHOUT: {"featuresCols": plain},
            SETS: {"featuresCols": self.features},
        }
        if self.system:
            systems = dict.fromkeys(self.codes, self.system)
            variants[LEVELS] = {"featuresCols": self.features, "codeSystems": systems}
        return variants

    def areas(self, seed: int, splits: int) -> Iterator[tuple[str, float]]:
        """The held-out AUC of each variant."""
        held_out = self._drawn(F.col(self.together), seed) % PARTS == 0
        frame = self.frame
        if self.rows is not None:
            share = self.rows / frame.count()
            frame = frame.where(self._drawn(F.struct("*"), seed) % 10_000 < int(10_000 * share))
        frame = frame.cache()
        train, test = frame.where(~held_out), frame.where(held_out)
        for name, params in self.variants().items():
            estimator = FIGSClassifier(
                labelCol=LABEL, maxSplits=splits, categoricalCols=self.categorical, **params
            )
            yield name, _area(estimator.fit(train).transform(test))
        frame.unpersist()

    @staticmethod
    def _drawn(cell: Column, seed: int) -> Column:
        return F.pmod(F.xxhash64(cell, F.lit(seed)), F.lit(10_000 * PARTS))


def _area(scored: DataFrame) -> float:
    risk = vector_to_array(F.col("probability"))[1].alias("risk")
    table: Any = scored.select(F.col(LABEL).cast("boolean").alias(LABEL), risk).toPandas()
    labels, risks = table[LABEL].to_numpy(), table["risk"].to_numpy()
    return float(area(labels, risks, np.ones(len(table)))[0])


def extract(spark: SparkSession, path: str | None) -> Trial:
    frame = read(spark, path, rows=20_000)
    features = [name for name in frame.columns if name not in (ROW, PERSON, LABEL)]
    return Trial("extract", frame, features, DIAGNOSES, PERSON, CODES, "icd9")


def flights(spark: SparkSession, path: str) -> Trial:
    moment = F.col("date")
    frame = spark.read.parquet(path).select(
        "origin",
        "destination",
        "distance",
        F.month(moment).alias("month"),
        F.weekday(moment).alias("weekday"),
        (F.hour(moment) * 60 + F.minute(moment)).alias("minute"),
        F.to_date(moment).alias("day"),
        (F.col("delay") > LATE).alias(LABEL),
    )
    features = [name for name in frame.columns if name not in ("day", LABEL)]
    airports = ["origin", "destination"]
    return Trial("flights", frame, features, airports, "day", [], rows=FLIGHTS_PER_SEED)


def summary(areas: pd.DataFrame) -> pd.DataFrame:
    """A line per table and variant: mean AUC, and by how much more than without codes."""
    lines = []
    for (table, variant), part in areas.groupby(["table", "variant"], sort=False):
        auc = part.set_index("seed")["auc"]
        without = areas[(areas["table"] == table) & (areas["variant"] == WITHOUT)]
        more = auc - without.set_index("seed")["auc"]
        line = {"table": table, "features": variant, "AUC": f"{auc.mean():.4f}"}
        error = more.std(ddof=1) / np.sqrt(len(more))
        line["more than without"] = (
            "" if variant == WITHOUT else f"{more.mean():+.4f} ± {error:.4f}"
        )
        lines.append(line)
    return pd.DataFrame(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--extract", help="the UCI extract; without one, a table is generated")
    parser.add_argument("--flights", help="flights-3m.parquet; without it, no flights")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(range(10, 20)))
    parser.add_argument("--splits", type=int, default=16)
    parser.add_argument("--output", help="a CSV file for the AUC by seed")
    options = parser.parse_args(arguments)
    spark = SparkSession.builder.appName("codes").getOrCreate()
    trials = [extract(spark, options.extract)]
    if options.flights:
        trials.append(flights(spark, options.flights))
    found = []
    for seed in options.seeds:
        for trial in trials:
            for variant, auc in trial.areas(seed, options.splits):
                print(f"{trial.name}, seed {seed}, {variant}: {auc:.4f}", flush=True)
                found.append({"table": trial.name, "seed": seed, "variant": variant, "auc": auc})
        if options.output:
            pd.DataFrame(found).to_csv(options.output, index=False)
    print(summary(pd.DataFrame(found)).to_string(index=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
