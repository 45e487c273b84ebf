"""How well do the models predict? FIGS and Bagging-FIGS next to their alternatives.

    spark-submit jobs/compare.py --data folder --output build/compare

`folder` has Parquet files of numbers, with the outcome in the last column. An outcome with two
distinct values is a classification, measured by AUC; any other is a regression, measured by R2.
Every model is fitted to the same random 80% of the rows and measured on the rest, several times.
The table has the means.

With `--sums` it compares ways to grow one sum of trees instead, size by size, see `jobs/sums.py`:

    spark-submit jobs/compare.py --data folder --sums --rows 3000
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.ml import Pipeline
from pyspark.ml.classification import RandomForestClassifier
from pyspark.ml.evaluation import BinaryClassificationEvaluator, RegressionEvaluator
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.regression import RandomForestRegressor
from pyspark.sql import DataFrame, SparkSession

from figs_spark import (
    BaggedFIGSClassifier,
    BaggedFIGSRegressor,
    FIGSClassifier,
    FIGSRegressor,
)
from figs_spark.app.spreadsheets import safe_csv

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # spark-submit has only jobs there

from jobs.reports import add_output, check_output
from jobs.sums import compare_sums, sums_table

LABEL = "label"
COLUMNS = ["data", "classification", "split", "model", "score", "seconds"]
GAM_COST = 10_000_000  # rows times features squared; above it, one fit takes minutes
LEFT_OUT = "left out"

log = logging.getLogger("compare")


@dataclass(frozen=True)
class DataSet:
    """The rows of one file, under plain names."""

    name: str
    frame: DataFrame
    classification: bool

    @property
    def features(self) -> list[str]:
        return [name for name in self.frame.columns if name != LABEL]


Fit = Callable[[DataSet, DataFrame, DataFrame], float]  # fits to the first, scores the second


def figs(data: DataSet, train: DataFrame, test: DataFrame) -> float:
    kind = FIGSClassifier if data.classification else FIGSRegressor
    return _spark_score(data, kind(featuresCols=data.features, maxSplits=10).fit(train), test)


def bagged(data: DataSet, train: DataFrame, test: DataFrame) -> float:
    kind = BaggedFIGSClassifier if data.classification else BaggedFIGSRegressor
    return _spark_score(data, kind(featuresCols=data.features).fit(train), test)


def forest(data: DataSet, train: DataFrame, test: DataFrame) -> float:
    kind = RandomForestClassifier if data.classification else RandomForestRegressor
    return _assembled(data, kind(numTrees=100, seed=0), train, test)


def xgboost(data: DataSet, train: DataFrame, test: DataFrame) -> float:
    from xgboost.spark import SparkXGBClassifier, SparkXGBRegressor

    kind = SparkXGBClassifier if data.classification else SparkXGBRegressor
    return _assembled(data, kind(label_col=LABEL), train, test)


def gam(data: DataSet, train: DataFrame, test: DataFrame) -> float:
    from pygam import LinearGAM, LogisticGAM
    from sklearn.metrics import r2_score, roc_auc_score

    if train.count() * len(data.features) ** 2 > GAM_COST:
        return np.nan
    fitted: Any = train.toPandas()
    others: Any = test.toPandas()
    kind = LogisticGAM if data.classification else LinearGAM
    model = kind().fit(fitted[data.features].to_numpy(), fitted[LABEL].to_numpy())
    values = others[data.features].to_numpy()
    if data.classification:
        return float(roc_auc_score(others[LABEL], model.predict_proba(values)))
    return float(r2_score(others[LABEL], model.predict(values)))


MODELS: dict[str, tuple[Fit, str]] = {
    "FIGS (10 splits)": (figs, "figs_spark"),
    "Bagging-FIGS (100)": (bagged, "figs_spark"),
    "MLlib RandomForest (100)": (forest, "pyspark"),
    "xgboost.spark": (xgboost, "xgboost"),
    "GAM (pygam)": (gam, "pygam"),
}


def _assembled(data: DataSet, estimator: Any, train: DataFrame, test: DataFrame) -> float:
    assembler = VectorAssembler(inputCols=data.features, outputCol="features")
    return _spark_score(data, Pipeline(stages=[assembler, estimator]).fit(train), test)


def _spark_score(data: DataSet, model: Any, test: DataFrame) -> float:
    evaluator: Any = RegressionEvaluator(metricName="r2")
    if data.classification:
        evaluator = BinaryClassificationEvaluator()
    return float(evaluator.evaluate(model.transform(test)))


def read(spark: SparkSession, path: Path) -> DataSet:
    frame = spark.read.parquet(str(path))
    names = [*(f"x{j}" for j in range(len(frame.columns) - 1)), LABEL]
    frame = frame.toDF(*names)
    frame = frame.select([frame[name].cast("double").alias(name) for name in names])
    return DataSet(path.stem, frame, frame.select(LABEL).distinct().count() == 2)


def compare(spark: SparkSession, options: argparse.Namespace) -> pd.DataFrame:
    """One row per data set, split and model: score and seconds."""
    records = []
    for path in sorted(Path(options.data).glob("*.parquet")):
        if options.only and path.stem not in options.only:
            continue
        data = read(spark, path)
        for seed in range(options.splits):
            train, test = (
                part.coalesce(2).cache() for part in data.frame.randomSplit([0.8, 0.2], seed)
            )
            for name, (fit, package) in MODELS.items():
                if find_spec(package) is None:
                    log.warning("%s is left out: the package %s is not installed", name, package)
                    continue
                started = time.perf_counter()
                score = fit(data, train, test)
                seconds = np.nan if np.isnan(score) else time.perf_counter() - started
                log.info("%s, split %d, %s: %.4f in %.1f s", data.name, seed, name, score, seconds)
                records.append((data.name, data.classification, seed, name, score, seconds))
            train.unpersist()
            test.unpersist()
    return pd.DataFrame(records, columns=COLUMNS)


def tables(results: pd.DataFrame) -> str:
    """Mean scores with standard errors, and seconds, as Markdown."""
    order = [name for name in MODELS if name in set(results["model"])]

    def by(value: str, how: str) -> pd.DataFrame:
        return results.pivot_table(value, "data", "model", how, dropna=False)[order]

    mean, error, seconds = by("score", "mean"), by("score", "sem"), by("seconds", "median")
    cells = mean.map("{:.3f}".format) + error.map(" ± {:.3f}".format).where(error.notna(), "")
    cells = cells.where(mean.notna(), LEFT_OUT)
    whole = mean.dropna(axis=1)
    cells.loc["mean"] = [f"{mean[name].mean():.3f}" if name in whole else "" for name in order]
    parts = ["## Score on held-out rows (AUC, R2)", _markdown(cells)]
    parts += ["## Seconds to fit and score (median)", _markdown(_seconds(seconds))]
    return "\n\n".join(parts) + "\n"


def _seconds(seconds: pd.DataFrame) -> pd.DataFrame:
    return seconds.map("{:.1f}".format).where(seconds.notna(), LEFT_OUT)


def _markdown(table: pd.DataFrame) -> str:
    rows = [["data", *table.columns], ["---"] * (1 + len(table.columns))]
    rows += [[str(name), *map(str, row)] for name, row in zip(table.index, table.to_numpy())]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="compare.py", description="Compare how well models predict."
    )
    parser.add_argument("--data", required=True, help="folder with Parquet files")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="use only these files, named without .parquet"
    )
    parser.add_argument(
        "--splits", type=int, default=6, help="how often to divide the rows at random (%(default)s)"
    )
    parser.add_argument(
        "--sums", action="store_true", help="compare ways to grow one sum, at equal sizes"
    )
    parser.add_argument("--rows", type=int, help="with --sums: take as many rows of a file at most")
    add_output(parser, "build/compare")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser().parse_args(arguments)
    if not any(Path(options.data).glob("*.parquet")):
        raise SystemExit(f"compare.py: no *.parquet in {options.data}")
    lacking = [n for n in options.only or () if not (Path(options.data) / f"{n}.parquet").is_file()]
    if lacking:
        raise SystemExit(f"compare.py: --only: {options.data} has no {lacking[0]}.parquet")
    check_output(options, "compare.csv")
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    log.setLevel(logging.INFO)
    spark = SparkSession.builder.appName("figs_spark compare").getOrCreate()
    try:
        if options.sums:
            folder, only = Path(options.data), options.only
            results = compare_sums(spark, folder, only, options.splits, options.rows)
        else:
            results = compare(spark, options)
    finally:
        spark.stop()
    text = sums_table(results) if options.sums else tables(results)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "compare.csv").write_text(safe_csv(results), "utf-8")
    (options.output / "compare.md").write_text(text)
    print(text)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
