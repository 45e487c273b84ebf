"""Fit a FIGS model, print it, judge it on held-out rows, and save it.

    spark-submit jobs/train.py --output model
    spark-submit jobs/train.py --input visits.parquet --label died --id patient_id --output model

Without `--input` the rows are those of `figs_spark.datasets.trauma_registry`, whose true risk is
known: the model's AUC is then shown next to the best one attainable.

Exit codes: 0 done, 1 the work failed, 2 wrong arguments, 3 unfit input, 4 the output exists.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Sequence

from pyspark.errors import AnalysisException, PySparkException
from pyspark.ml.evaluation import (
    BinaryClassificationEvaluator,
    Evaluator,
    MulticlassClassificationEvaluator,
    RegressionEvaluator,
)
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import (
    FIGSClassificationModel,
    FIGSClassifier,
    FIGSRegressionModel,
    FIGSRegressor,
)
from figs_spark.datasets import FEATURES, LABEL, trauma_registry

UNFIT_INPUT, OUTPUT_EXISTS = 3, 4
TEST_PERCENT = 30


FIGSModel = FIGSClassificationModel | FIGSRegressionModel


class JobError(Exception):
    def __init__(self, exit_code: int, message: str) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    logging.getLogger("figs_spark").setLevel(logging.INFO)
    spark = SparkSession.builder.appName("figs_spark train").getOrCreate()
    try:
        train(spark, options)
    except JobError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return error.exit_code
    finally:
        spark.stop()
    return 0


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="train.py", description="Fit, print and save a FIGS model."
    )
    source = parser.add_argument_group("data")
    source.add_argument("--input", metavar="PATH", help="Parquet; without it rows are generated")
    source.add_argument(
        "--rows", type=positive, default=100_000, help="generated rows (%(default)s)"
    )
    source.add_argument("--seed", type=int, default=0, help="of the generated rows (%(default)s)")
    source.add_argument("--label", metavar="COLUMN", help="what to predict; needed with --input")
    source.add_argument(
        "--features", metavar="COLUMN", nargs="+", help="default: all but label and id"
    )
    source.add_argument("--id", metavar="COLUMN", help="rows of one id are held out together")
    model = parser.add_argument_group("model")
    model.add_argument("--task", choices=["classification", "regression"], default="classification")
    model.add_argument("--max-splits", type=positive, default=12, help="rules (%(default)s)")
    model.add_argument("--output", metavar="PATH", help="where to save the model; must not exist")
    model.add_argument("--overwrite", action="store_true", help="replace what --output holds")
    options = parser.parse_args(arguments)
    if options.input is None:
        options.label = options.label or LABEL
        options.id = options.id or "patient_id"
        options.features = options.features or list(FEATURES)
    elif options.label is None:
        parser.error("--input needs --label, the column to predict")
    if options.overwrite and options.output is None:
        parser.error("--overwrite needs --output, the path to replace")
    return options


def positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return number


def train(spark: SparkSession, options: argparse.Namespace) -> None:
    if options.output and not options.overwrite and exists(spark, options.output):
        message = f"{options.output} exists: choose another --output or pass --overwrite"
        raise JobError(OUTPUT_EXISTS, message)
    data = load(spark, options)
    features = options.features or [c for c in data.columns if c not in (options.label, options.id)]
    keys = [options.id] if options.id else [*features, options.label]
    truth = ["true_risk"] if options.input is None else []
    training, held_out = split(choose(data, [*features, options.label, *keys, *truth]), keys)

    kind = FIGSRegressor if options.task == "regression" else FIGSClassifier
    estimator = kind(featuresCols=features, labelCol=options.label, maxSplits=options.max_splits)
    start = time.perf_counter()
    try:
        model = estimator.fit(training)
    except ValueError as error:
        raise JobError(UNFIT_INPUT, str(error)) from error
    print(f"\nFitted in {time.perf_counter() - start:.1f} s:\n\n{model}\n")

    print(f"On {held_out.count():,} held-out rows:")
    for name, value in judge(model, held_out, options).items():
        print(f"  {name:<20} {value:.4f}")
    if options.output:
        writer = model.write().overwrite() if options.overwrite else model.write()
        writer.save(options.output)
        print(f"Saved to {options.output}")


def exists(spark: SparkSession, path: str) -> bool:
    """Whether a path holds anything, on any file system that Spark reads."""
    try:
        return bool(spark.read.format("binaryFile").load(path).columns)
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error):
            return False
        raise


def load(spark: SparkSession, options: argparse.Namespace) -> DataFrame:
    if options.input is None:
        return trauma_registry(spark, options.rows, options.seed, with_risk=True)
    try:
        return spark.read.parquet(options.input)
    except PySparkException as error:
        raise JobError(UNFIT_INPUT, f"--input {options.input} cannot be read: {error}") from error


def choose(data: DataFrame, columns: Sequence[str]) -> DataFrame:
    """Only these columns, so that a stray one cannot be in the way of the model's outputs."""
    wanted = dict.fromkeys(columns)
    missing = [name for name in wanted if name not in data.columns]
    if missing:
        message = f"no such column: {', '.join(missing)}; there are {', '.join(data.columns)}"
        raise JobError(UNFIT_INPUT, message)
    return data.select(*map(quoted, wanted))


def split(data: DataFrame, keys: Sequence[str]) -> tuple[DataFrame, DataFrame]:
    """Training and held-out rows; rows with equal keys fall on the same side, in every run."""
    percentile = F.pmod(F.xxhash64(*map(quoted, keys)), F.lit(100))
    return data.filter(percentile >= TEST_PERCENT), data.filter(percentile < TEST_PERCENT)


def judge(model: FIGSModel, held_out: DataFrame, options: argparse.Namespace) -> dict[str, float]:
    evaluators: dict[str, Evaluator]
    if not isinstance(model, FIGSClassificationModel):
        evaluators = {name: RegressionEvaluator(metricName=name) for name in ("r2", "rmse")}
    elif model.numClasses > 2:
        evaluators = {"accuracy": MulticlassClassificationEvaluator(metricName="accuracy")}
    else:
        evaluators = {"AUC": BinaryClassificationEvaluator()}
        if options.input is None and options.label == LABEL:
            best = BinaryClassificationEvaluator(rawPredictionCol="true_risk")
            evaluators["best attainable AUC"] = best
    label = F.col(quoted(options.label)).cast("double")
    scored = model.transform(held_out).withColumn("label", label)
    return {name: evaluator.evaluate(scored) for name, evaluator in evaluators.items()}


def quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


if __name__ == "__main__":
    sys.exit(main())
