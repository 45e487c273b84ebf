"""Our estimators on rows in memory, and the baselines of scikit-learn, imodels, xgboost and pygam.

Baselines are imported when they are used: the `bench` extra brings them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from figs_spark import (
    BaggedFIGSClassifier,
    BaggedFIGSRegressor,
    FIGSClassifier,
    FIGSRegressor,
)
from jobs.paper.tables import Numbers, Sample

Sized = Iterator[tuple[int, Numbers]]  # number of splits, and the scores of the rows to predict
Fit = Callable[[SparkSession, Sample, Numbers, Sequence[int]], Sized]


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of baselines, such as that a fit has not converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def score(outcome: Numbers, scores: Numbers, binary: bool) -> float:
    """AUC for two classes, else R2."""
    return float(roc_auc_score(outcome, scores) if binary else r2_score(outcome, scores))


def scores_of(model: Any, values: Numbers, binary: bool) -> Numbers:
    """Raw scores for two classes, else predictions, of one of our models."""
    raw = model.predictProbability(values) if binary else model.predict(values)
    return np.asarray(raw, float).reshape(len(values), -1)[:, -1]


def frame_of(spark: SparkSession, sample: Sample) -> tuple[Any, list[str]]:
    names = [f"x{j}" for j in range(sample.features.shape[1])]
    rows = pd.DataFrame(sample.features, columns=names).assign(label=sample.outcome)
    return spark.createDataFrame(rows).coalesce(1), names


def grow(spark: SparkSession, sample: Sample, **params: Any) -> Any:
    """A FIGS model of ours; with maxTrees=1 it is CART."""
    frame, names = frame_of(spark, sample)
    kind = FIGSClassifier if sample.binary else FIGSRegressor
    return kind(featuresCols=names, mode="driver", **params).fit(frame)


def bag(spark: SparkSession, sample: Sample, **params: Any) -> Any:
    """A Bagging-FIGS model of ours."""
    frame, names = frame_of(spark, sample)
    kind = BaggedFIGSClassifier if sample.binary else BaggedFIGSRegressor
    return kind(featuresCols=names, mode="driver", **params).fit(frame)


def predicted(model: Any, values: Numbers, binary: bool) -> Numbers:
    """The risk of class 1 or the prediction, of a model with the methods of scikit-learn."""
    scores = model.predict_proba(values)[:, 1] if binary else model.predict(values)
    return np.asarray(scores, float)


# Score by number of splits


def figs(spark: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    model = grow(spark, train, maxSplits=max(sizes))
    for size in sizes:
        yield size, scores_of(model.truncate(size), values, train.binary)


def imodels_figs(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    import imodels

    kind = imodels.FIGSClassifier if train.binary else imodels.FIGSRegressor
    for size in sizes:
        model = kind(max_rules=size).fit(train.features, train.outcome)
        yield size, predicted(model, values, train.binary)


def cart(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    yield from _trees(train, values, sizes)


def cart_absolute(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    if not train.binary:
        yield from _trees(train, values, sizes, criterion="absolute_error")


def _trees(train: Sample, values: Numbers, sizes: Sequence[int], **params: Any) -> Sized:
    kind = DecisionTreeClassifier if train.binary else DecisionTreeRegressor
    for size in sizes:
        model = kind(max_leaf_nodes=size + 1, random_state=0, **params)
        yield size, predicted(model.fit(train.features, train.outcome), values, train.binary)


def c45(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    """imodels' C4.5 takes long, so few sizes are grown; a size is that of the tree as grown."""
    import imodels

    if not train.binary:
        return
    with quiet():
        for limit in (size for size in (3, 8) if size <= max(sizes)):
            model = imodels.C45TreeClassifier(max_rules=limit).fit(train.features, train.outcome)
            yield int(model.complexity_), predicted(model, values, True)


def boosted_stumps(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    kind = GradientBoostingClassifier if train.binary else GradientBoostingRegressor
    model = kind(max_depth=1, n_estimators=max(sizes), random_state=0)
    model.fit(train.features, train.outcome)
    stages = model.staged_predict_proba if train.binary else model.staged_predict
    for size, scores in enumerate(stages(values), start=1):
        if size in sizes:
            yield size, scores[:, 1] if train.binary else scores


def rulefit(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    """With the settings of the published experiment; a size is the number of conditions."""
    import imodels

    kind = imodels.RuleFitClassifier if train.binary else imodels.RuleFitRegressor
    alpha = 1 if train.binary else 0.15
    for trees in range(1, 11):
        model = kind(
            n_estimators=trees, max_rules=None, include_linear=False, alpha=alpha, random_state=0
        )
        with quiet():
            model.fit(train.features, train.outcome)
        size = int(model.complexity_)
        if 0 < size <= max(sizes):
            yield size, predicted(model, values, train.binary)


def random_forest(_: SparkSession, train: Sample, values: Numbers, __: Sequence[int]) -> Sized:
    """Of any size: it is reported as 0 splits."""
    yield 0, forest(train, values)


# One score


def forest(train: Sample, values: Numbers) -> Numbers:
    kind = RandomForestClassifier if train.binary else RandomForestRegressor
    model = kind(n_estimators=100, random_state=0).fit(train.features, train.outcome)
    return predicted(model, values, train.binary)


def xgboost(train: Sample, values: Numbers) -> Numbers:
    from xgboost import XGBClassifier, XGBRegressor

    kind = XGBClassifier if train.binary else XGBRegressor
    model = kind(random_state=0, n_jobs=1).fit(train.features, train.outcome)
    return predicted(model, values, train.binary)


def gam(train: Sample, values: Numbers, splines: int = 20) -> Numbers:
    """With so many splines for each feature; a fit that does not converge ends after 25 steps."""
    from pygam import LinearGAM, LogisticGAM, s

    terms = s(0, n_splines=splines)
    for feature in range(1, train.features.shape[1]):
        terms += s(feature, n_splines=splines)
    model = (LogisticGAM if train.binary else LinearGAM)(terms, max_iter=25)
    with quiet(), np.errstate(all="ignore"):
        model.fit(train.features, train.outcome)
        scores = model.predict_proba(values) if train.binary else model.predict(values)
    return np.asarray(scores, float)
