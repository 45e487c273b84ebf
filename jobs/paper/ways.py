"""Ways to grow a sum of the same size: what the part `sums` measures.

Every way grows one model on 80% of the rows, and each of its sizes is measured on the rest. The
differences to FIGS are paired: same rows, same size. First their mean over sizes and divisions is
taken for each data set, then the mean over the data sets, with its standard error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from figs_spark import FIGSClassifier, FIGSRegressor

SIZES = (3, 5, 8, 12, 16, 20)
SENSITIVITY = 0.94
FIGS, IMODELS = "FIGS", "imodels"
SMALLEST = {"minInstancesPerNode": 5}
WAYS: dict[str, dict[str, Any]] = {
    FIGS: {},
    "CART": {"maxTrees": 1},
    "A: regParam auto": {"regParam": "auto", **SMALLEST},
    "A, logistic refit": {"regParam": "auto", "refit": "logistic", **SMALLEST},
    "B: logistic loss": {"loss": "logistic", **SMALLEST},
}
CLASSES_ONLY = ("A, logistic refit", "B: logistic loss")
METRICS = {"R2": False, "AUC": True, "log-loss": True, f"specificity at {SENSITIVITY:.0%}": True}
COLUMNS = ["data", "split", "way", "size", *METRICS]

Table = tuple[np.ndarray, np.ndarray]


def division(
    spark: SparkSession, name: str, table: Table, seed: int, rows: int | None, sizes: Sequence[int]
) -> list[dict[str, Any]]:
    """Of one random division one row per way and size: the metrics on held-out rows."""
    values, outcome = table
    order = np.random.default_rng(seed).permutation(len(outcome))[:rows]
    cut = int(0.8 * len(order))
    parts = [(values[some], outcome[some]) for some in (order[:cut], order[cut:])]
    binary = _is_binary(outcome)
    return [
        dict(zip(COLUMNS, [name, seed, way, size, *measured(parts[1][1], sums, found, binary)]))
        for way, size, sums, found in _scores(spark, parts[0], parts[1], sizes)
    ]


def _is_binary(outcome: np.ndarray) -> bool:
    return set(np.unique(outcome)) == {0.0, 1.0}


def _scores(
    spark: SparkSession, train: Table, test: Table, sizes: Sequence[int]
) -> Iterator[tuple[str, int, np.ndarray, np.ndarray]]:
    """Way, size, and of the test rows the sums and what they predict: numbers, or risks."""
    binary = _is_binary(train[1])
    names = [f"x{j}" for j in range(train[0].shape[1])]
    frame = spark.createDataFrame(pd.DataFrame(train[0], columns=names).assign(label=train[1]))
    kind = FIGSClassifier if binary else FIGSRegressor
    for way, params in WAYS.items():
        if not binary and way in CLASSES_ONLY:
            continue
        estimator = kind(featuresCols=names, maxSplits=max(sizes), mode="driver", **params)
        model: Any = estimator.fit(frame)
        for size in sizes:
            smaller = model.truncate(size)
            predict = smaller.predictProbability if binary else smaller.predict
            predicted = np.asarray(predict(test[0])).reshape(len(test[0]), -1)[:, -1]
            yield way, size, smaller.treeSum.predict(test[0])[:, -1], predicted
    if 12 in sizes and find_spec("imodels") is not None:
        theirs = _imodels(train, test[0], binary)
        yield IMODELS, 12, theirs, theirs


def _imodels(train: Table, values: np.ndarray, binary: bool) -> np.ndarray:
    import imodels

    if binary:
        scores = imodels.FIGSClassifier(max_rules=12).fit(*train).predict_proba(values)[:, 1]
    else:
        scores = imodels.FIGSRegressor(max_rules=12).fit(*train).predict(values)
    return np.asarray(scores, float)


def measured(
    outcome: np.ndarray, scores: np.ndarray, predicted: np.ndarray, binary: bool
) -> list[float]:
    """R2; or AUC, log-loss and the specificity at a sensitivity.

    Rows are ranked by their sums: among risks, all sums of 0 and below are the same.
    """
    if not binary:
        spread = ((outcome - outcome.mean()) ** 2).sum()
        return [float(1 - ((outcome - predicted) ** 2).sum() / spread), np.nan, np.nan, np.nan]
    ranks = pd.Series(scores).rank().to_numpy()
    positives, negatives = outcome.sum(), (1 - outcome).sum()
    area = (ranks[outcome == 1].sum() - positives * (positives + 1) / 2) / (positives * negatives)
    risk = np.clip(predicted, 0.001, 0.999)
    loss = -np.mean(outcome * np.log(risk) + (1 - outcome) * np.log(1 - risk))
    limit = np.sort(scores[outcome == 1])[::-1][int(np.ceil(SENSITIVITY * positives)) - 1]
    spared = (scores[outcome == 0] < limit).mean()
    return [np.nan, float(area), float(loss), float(spared)]


def sums_table(results: pd.DataFrame) -> str:
    """Paired differences to FIGS by way and metric, as Markdown."""
    keys = ["data", "split", "size"]
    base = results[results["way"] == FIGS].set_index(keys)[[*METRICS]]
    lines = ["| over FIGS at equal splits | " + " | ".join(METRICS) + " |"]
    lines.append("|---" * (1 + len(METRICS)) + "|")
    for way in dict.fromkeys(results["way"]):
        if way == FIGS:
            continue
        own = results[results["way"] == way].set_index(keys)[[*METRICS]]
        gained = (own - base.loc[own.index]).groupby("data").mean()
        lines.append(f"| {way} | " + " | ".join(_cell(gained[name]) for name in METRICS) + " |")
    mean = base.groupby("data").mean().mean()
    lines.append("| FIGS itself | " + " | ".join(f"{mean[name]:.3f}" for name in METRICS) + " |")
    return "\n".join(lines) + "\n"


def _cell(by_data: pd.Series) -> str:
    """The mean over data sets, its standard error, and on how many it is better."""
    known = by_data.dropna()
    if known.empty:
        return ""
    better = (known < 0).sum() if by_data.name == "log-loss" else (known > 0).sum()
    error = f" ± {known.sem():.3f}" if len(known) > 1 else ""
    return f"{known.mean():+.3f}{error} ({better} of {len(known)})"
