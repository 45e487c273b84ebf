"""Our estimators on rows in memory, and black boxes beside them: one prediction for each row.

Baselines are imported when they are used: the `bench` extra brings them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.metrics import r2_score, roc_auc_score

from figs_spark import (
    BaggedFIGSClassifier,
    BaggedFIGSRegressor,
    FIGSClassifier,
    FIGSRegressor,
)
from jobs.paper.tables import Numbers, Sample

FIGS, BAGGED = "FIGS", "Bagging-FIGS"


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of baselines, such as that a fit has not converged."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def score(outcome: Numbers, scores: Numbers, binary: bool) -> float:
    """AUC for two classes, else R2."""
    return float(roc_auc_score(outcome, scores) if binary else r2_score(outcome, scores))


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


def predictions(
    spark: SparkSession, method: str, train: Sample, values: Numbers, **params: Any
) -> Numbers:
    """What a method, fitted with these params, says of the rows; for two classes a score.

    What follows a comma in its name tells apart the same method with other params. The score of a
    FIGS is its sum: among risks, all sums of 0 and below are the same.
    """
    method = method.split(",")[0]
    if method == FIGS:
        sums: Numbers = grow(spark, train, **params).treeSum.predict(values)
        return sums[:, -1]
    if method == BAGGED:
        model = bag(spark, train, seed=0, **params)
        risk_or_number = model.predictProbability(values) if train.binary else model.predict(values)
        return np.asarray(risk_or_number, float).reshape(len(values), -1)[:, -1]
    return BLACK_BOXES[method](train, values, **params)


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


BLACK_BOXES: dict[str, Callable[..., Numbers]] = {
    "Random forest": forest,
    "XGBoost": xgboost,
    "GAM": gam,
}
