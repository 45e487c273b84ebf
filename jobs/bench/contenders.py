"""Who competes. A contender fits a model to Parquet files and returns what scores rows."""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial, reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from pyspark.ml import Estimator, Pipeline
from pyspark.ml.classification import DecisionTreeClassifier, RandomForestClassifier
from pyspark.ml.feature import StringIndexer, VectorAssembler
from pyspark.ml.functions import vector_to_array
from pyspark.ml.regression import DecisionTreeRegressor, GBTRegressor, RandomForestRegressor
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from figs_spark import (
    BaggedFIGSClassifier,
    BaggedFIGSRegressor,
    FIGSClassifier,
    FIGSRegressionModel,
    FIGSRegressor,
    GFIGSClassifier,
    GFIGSRegressor,
)
from figs_spark.engine.training import train
from figs_spark.stages.base.checks import check
from figs_spark.stages.gfigs.groups import group_number
from figs_spark.stages.gfigs.membership import GROUP, VECTOR, classifier_for, fit_classifier
from figs_spark.stages.gfigs.membership_columns import vector
from jobs.bench import presets, releases
from jobs.bench.data import LABEL, Data
from jobs.bench.layouts import ARRAY, as_array, file_by_file, in_files
from jobs.bench.measuring import Measured, in_turns

PREDICTION = "prediction"
IMODELS_ROWS = 100_000  # above it, one fit takes minutes to hours
WARM_VALUES = 12_500_000  # numbers that a contender sees before it is timed


@dataclass(frozen=True)
class Task:
    """A model to fit: the rows and the size."""

    data: Data
    splits: int
    bins: int
    cached: DataFrame | None = None  # the rows, if they are in Spark's cache

    def frame(self, spark: SparkSession) -> DataFrame:
        return self.data.frame(spark) if self.cached is None else self.cached


Scorer = Callable[[Any], Any]  # DataFrame to DataFrame with predictions, or array to array


@dataclass(frozen=True)
class Contender:
    fit: Callable[[SparkSession, Task], Scorer | Measured | None]
    package: str = "pyspark"
    on_spark: bool = True
    most_rows: int | None = None
    release: str = ""  # an earlier one: it runs, and warms up, in a process of its own

    def obstacle(self, rows: int) -> str:
        """Why it cannot take part; empty if it can."""
        if find_spec(self.package) is None:
            return f"not installed: {self.package}"
        if self.most_rows is not None and rows > self.most_rows:
            return f"skipped: {rows:,} rows, more than {self.most_rows:,}"
        return releases.obstacle(self.release) if self.release else ""

    def r2(self, spark: SparkSession, scorer: Scorer, data: Data) -> float:
        """R2 on the held-out rows; for classes, R2 of the probability."""
        if self.on_spark:
            scored = scorer(data.held_out.frame(spark)).select(LABEL, PREDICTION).toPandas()
            label, predicted = scored[LABEL].to_numpy(), scored[PREDICTION].to_numpy()
        else:
            features, label = data.held_out.arrays()
            predicted = scorer(features)
        return float(1 - np.mean((label - predicted) ** 2) / np.var(label))


def figs(mode: str) -> Callable[[SparkSession, Task], Scorer]:
    def fit(spark: SparkSession, task: Task) -> Scorer:
        return figs_scorer(figs_estimator(task, mode).fit(task.frame(spark)))

    return fit


def by_spark(fit: Callable[[SparkSession, Task], Any]) -> Callable[[SparkSession, Task], Any]:
    """The same with rows that Spark reads and hands over, as it does after a filter, from a cache
    or from another store."""

    def fit_by_spark(spark: SparkSession, task: Task) -> Any:
        with patch.dict("os.environ", FIGS_SPARK_PARQUET="0"):
            return fit(spark, task)

    return fit_by_spark


def on_files(
    fit: Callable[[SparkSession, Task], Any], files: int | str
) -> Callable[[SparkSession, Task], Any]:
    """The same rows in other files, each of which is a split of the input."""

    def fit_on_files(spark: SparkSession, task: Task) -> Any:
        with file_by_file(spark):
            return fit(spark, replace(task, data=in_files(task.data, files)))

    return fit_on_files


def one_scan(spark: SparkSession, task: Task) -> None:
    """No model: what it takes to read all columns once."""
    add_up(spark, task.data)


def add_up(spark: SparkSession, data: Data) -> None:
    total = reduce(operator.add, map(F.col, data.features))
    data.frame(spark).agg(F.sum(total)).collect()


def figs_on_array(spark: SparkSession, task: Task) -> Scorer:
    """The features as one column of arrays."""
    estimator = figs_estimator(task, "cluster").setParams(featuresCols=None, featuresCol=ARRAY)
    model = estimator.fit(as_array(spark, task.data))
    return lambda frame: model.transform(
        frame.select(F.array(*task.data.features).alias(ARRAY), LABEL)
    )


def figs_released(release: str) -> Callable[[SparkSession, Task], Measured]:
    """The package of an earlier release; its model is read and scored by the present one."""

    def fit(spark: SparkSession, task: Task) -> Measured:
        folder = Path(task.data.files[0]).parents[1]
        order = releases.Order(
            files=task.data.files,
            warming=warming(task.data).files,
            features=task.data.features,
            label=LABEL,
            splits=task.splits,
            bins=task.bins,
            heap=str(spark.conf.get("spark.driver.memory")),
            model=str(folder / "model-of-a-release"),
        )
        done = releases.fit_with(release, order, folder)
        return Measured(FIGSRegressionModel.load(done.model).transform, done.seconds, done.peaks)

    return fit


def figs_groups(spark: SparkSession, task: Task) -> Scorer:
    """G-FIGS; the group is whether the first feature is above one half."""
    with_group = [F.col("*"), (F.col(task.data.features[0]) > 0.5).cast("int").alias("group")]
    estimator = GFIGSRegressor(
        featuresCols=list(task.data.features),
        groupCol="group",
        labelCol=LABEL,
        maxSplits=task.splits,
        maxBins=task.bins,
    )
    model = estimator.fit(task.frame(spark).select(*with_group))
    return lambda frame: model.transform(frame.select(*with_group))


def figs_unmerged(spark: SparkSession, task: Task) -> Scorer:
    """Pack each row by itself, even if equal rows could be merged."""
    estimator = figs_estimator(task, "auto")
    checked = check(task.data.frame(spark), estimator, not task.data.is_numeric)
    table = replace(checked.table, mergeable=False)
    trained = train(table, estimator._plan(checked))
    return figs_scorer(estimator._model(checked, trained))


def figs_scorer(model: Any) -> Scorer:
    if isinstance(model, FIGSRegressionModel):
        return model.transform
    return of_probability(model)


def of_probability(model: Any) -> Scorer:
    """The probability of class 1 as the prediction."""
    probability = vector_to_array(F.col("probability"))[1]
    return lambda frame: model.transform(frame).withColumn(PREDICTION, probability)


def figs_estimator(task: Task, mode: str) -> FIGSRegressor | FIGSClassifier:
    kind = FIGSRegressor if task.data.is_numeric else FIGSClassifier
    return kind(
        featuresCols=list(task.data.features),
        labelCol=LABEL,
        maxSplits=task.splits,
        maxBins=task.bins,
        mode=mode,
    )


def mllib_tree(spark: SparkSession, task: Task) -> Scorer:
    tree = DecisionTreeRegressor(labelCol=LABEL, maxDepth=4, maxBins=task.bins)
    return on_vectors(spark, task, tree)


def mllib_boosted(spark: SparkSession, task: Task) -> Scorer:
    """Without shrinkage, like FIGS: MLlib fits twice the residual, so 0.5 is a full step."""
    stumps = GBTRegressor(
        labelCol=LABEL, maxDepth=1, maxIter=task.splits, maxBins=task.bins, stepSize=0.5
    )
    return on_vectors(spark, task, stumps)


def xgboost(spark: SparkSession, task: Task) -> Scorer:
    """Stumps without shrinkage, like FIGS."""
    params = {"n_estimators": task.splits, "max_depth": 1, "learning_rate": 1.0}
    return on_vectors(spark, task, xgboost_estimator(spark, task, **params))


def xgboost_trees(spark: SparkSession, task: Task) -> Scorer:
    return on_vectors(spark, task, xgboost_estimator(spark, task, n_estimators=100, max_depth=4))


def xgboost_estimator(spark: SparkSession, task: Task, **params: Any) -> Estimator[Any]:
    from xgboost.spark import SparkXGBRegressor

    logging.getLogger("XGBoost-PySpark").setLevel(logging.WARNING)
    estimator: Estimator[Any] = SparkXGBRegressor(
        label_col=LABEL,
        max_bin=task.bins,
        tree_method="hist",
        num_workers=spark.sparkContext.defaultParallelism,
        verbose=False,
        **params,
    )
    return estimator


def on_vectors(spark: SparkSession, task: Task, estimator: Estimator[Any]) -> Scorer:
    return assembled(spark, task, estimator).transform


def assembled(spark: SparkSession, task: Task, estimator: Estimator[Any]) -> Any:
    assembler = VectorAssembler(inputCols=list(task.data.features), outputCol="features")
    return Pipeline(stages=[assembler, estimator]).fit(task.frame(spark))


def indexed_tree(spark: SparkSession, task: Task) -> Scorer:
    """A tree of depth 4 on text by its index; each value has a bin, as MLlib needs it."""
    frame = task.frame(spark)
    texts = [name for name, kind in frame.dtypes if kind == "string"]
    indices = [f"{name} index" for name in texts]
    inputs = [*indices, *(name for name in task.data.features if name not in texts)]
    bins = max(task.bins, task.data.most_texts + 1)
    stages: list[Any] = [
        StringIndexer(inputCols=texts, outputCols=indices, handleInvalid="keep"),
        VectorAssembler(inputCols=inputs, outputCol="features", handleInvalid="keep"),
        DecisionTreeClassifier(labelCol=LABEL, maxDepth=4, maxBins=bins),
    ]
    return of_probability(Pipeline(stages=stages).fit(frame))


def band_model(spark: SparkSession, task: Task) -> Any:
    """G-FIGS by the column of groups."""
    estimator = GFIGSClassifier(
        featuresCols=list(task.data.features),
        groupCol=task.data.others[0],
        labelCol=LABEL,
        maxSplits=task.splits,
        maxBins=task.bins,
    )
    return estimator.fit(task.frame(spark))


def figs_by_band(spark: SparkSession, task: Task) -> Scorer:
    return of_probability(band_model(spark, task))


def band_regression(spark: SparkSession, task: Task) -> Scorer:
    """Only the regression by which G-FIGS estimates membership, on the same vectors."""
    membership = band_membership(spark, task.data)
    cells = [F.col(source.name) for source in membership.columns]
    frame = task.frame(spark).select(
        vector(membership.columns, cells).alias(VECTOR),
        group_number(membership.groups, F.col(task.data.others[0])).alias(GROUP),
    )
    regression = classifier_for(None, membership.groups, weighted=False)
    model: Any = fit_classifier(regression, frame, membership.groups)
    return model.transform


@cache
def band_membership(spark: SparkSession, data: Data) -> Any:
    """The groups and the columns to tell them by; found once, before anything is timed."""
    return band_model(spark, Task(data, splits=1, bins=64))._membership


def bagged(**params: Any) -> Callable[[SparkSession, Task], Scorer]:
    def fit(spark: SparkSession, task: Task) -> Scorer:
        kind = BaggedFIGSRegressor if task.data.is_numeric else BaggedFIGSClassifier
        estimator = kind(
            featuresCols=list(task.data.features),
            labelCol=LABEL,
            maxSplits=task.splits,
            maxBins=task.bins,
            **params,
        )
        model = estimator.fit(task.frame(spark))
        return model.transform if task.data.is_numeric else of_probability(model)

    return fit


def mllib_forest(spark: SparkSession, task: Task) -> Scorer:
    """With MLlib's default of 32 bins."""
    if task.data.is_numeric:
        return on_vectors(
            spark, task, RandomForestRegressor(labelCol=LABEL, numTrees=100, maxDepth=4)
        )
    forest = RandomForestClassifier(labelCol=LABEL, numTrees=100, maxDepth=4)
    return of_probability(assembled(spark, task, forest))


def bagged_imodels(spark: SparkSession, task: Task) -> Scorer:
    from imodels import FIGSClassifier as SerialFIGS
    from sklearn.ensemble import BaggingClassifier

    member = SerialFIGS(max_features="sqrt", max_rules=task.splits)
    model = BaggingClassifier(member, n_estimators=100).fit(*task.data.arrays())
    return lambda features: model.predict_proba(features)[:, 1]


def imodels(spark: SparkSession, task: Task) -> Scorer:
    from imodels import FIGSRegressor as SerialFIGS

    return SerialFIGS(max_rules=task.splits).fit(*task.data.arrays()).predict


def sklearn(spark: SparkSession, task: Task) -> Scorer:
    from sklearn.ensemble import HistGradientBoostingRegressor

    stumps = HistGradientBoostingRegressor(
        max_iter=task.splits,
        max_leaf_nodes=2,
        max_bins=task.bins,
        learning_rate=1.0,
        early_stopping=False,
    )
    return stumps.fit(*task.data.arrays()).predict


CONTENDERS = {
    presets.AUTO: Contender(figs("auto")),
    presets.CLUSTER: Contender(figs("cluster")),
    presets.AUTO_BY_SPARK: Contender(by_spark(figs("auto"))),
    presets.CLUSTER_BY_SPARK: Contender(by_spark(figs("cluster"))),
    presets.UNMERGED: Contender(figs_unmerged),
    presets.IMODELS: Contender(imodels, "imodels", on_spark=False, most_rows=IMODELS_ROWS),
    presets.TREE: Contender(mllib_tree),
    presets.BOOSTED: Contender(mllib_boosted),
    presets.XGBOOST: Contender(xgboost, "xgboost"),
    presets.SKLEARN: Contender(sklearn, "sklearn", on_spark=False),
    presets.BAGGED: Contender(bagged()),
    presets.FOREST: Contender(mllib_forest),
    presets.BAGGED_IMODELS: Contender(
        bagged_imodels, "imodels", on_spark=False, most_rows=IMODELS_ROWS
    ),
    presets.XGBOOST_TREES: Contender(xgboost_trees, "xgboost"),
    presets.WIDE_ARRAY: Contender(figs_on_array),
    presets.RELEASED: Contender(figs_released("0.1.0"), release="0.1.0"),
    presets.GROUPS: Contender(figs_groups),
    presets.INDEXED_TREE: Contender(indexed_tree),
    presets.BY_BAND: Contender(figs_by_band),
    presets.BAND_REGRESSION: Contender(band_regression),
    presets.ONE_MEMBER: Contender(
        bagged(numEstimators=1, featureSubsetStrategy="all", mode="cluster")
    ),
    presets.TEN_MEMBERS: Contender(
        bagged(numEstimators=10, featureSubsetStrategy="all", mode="cluster")
    ),
}
CONTENDERS |= {
    presets.laid_out(name, layout): Contender(on_files(fit, files))
    for layout, files in presets.LAYOUTS.items()
    for name, fit in (
        (presets.AUTO, figs("auto")),
        (presets.CLUSTER, figs("cluster")),
        (presets.ONE_SCAN, one_scan),
    )
}


def warm_up(spark: SparkSession, names: Iterable[str], data: Data) -> None:
    """Let every contender that can take part fit some of the rows before it is timed."""
    task = Task(warming(data), splits=2, bins=64)
    here = [name for name in names if not CONTENDERS[name].release]
    able = [name for name in here if not CONTENDERS[name].obstacle(task.data.rows)]
    in_turns({name: (partial(CONTENDERS[name].fit, spark, task), 1) for name in able}, "warm-up")


def warming(data: Data) -> Data:
    """The rows that a contender sees before it is timed."""
    return data.part(WARM_VALUES // len(data.features))
