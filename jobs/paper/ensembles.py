"""Bagging-FIGS beside random forest, XGBoost and additive models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from jobs.paper import estimators, tables
from jobs.paper.cells import Cell, Record
from jobs.paper.drawing import COLOURS, panels
from jobs.paper.sections import Claim, Grid, Picture, Section, pivoted

BAGGED = "Bagging-FIGS"
METHODS = ("FIGS", BAGGED, "Random forest", "XGBoost", "GAM")
FIGS_SPLITS = 12
GAM_COST = 20_000_000  # rows times features squared; above it, one fit takes minutes


def cells(settings: dict[str, Any], folder: Path) -> Iterator[Cell]:
    own = {name: settings[name] for name in ("rows", "members", "member_splits", "bins", "splines")}
    for seed in range(settings["splits"]):
        for name in tables.names(folder, settings["tables"]):
            for method in METHODS:
                kept = {"data": name, "split": seed, "method": method} | own
                yield Cell("ensembles", kept, repeat=seed)


def measure(spark: SparkSession, settings: dict[str, Any], folder: Path) -> list[Record]:
    sample = tables.load(folder, settings["data"])
    train, test = tables.divided(sample, settings["split"], settings["rows"])
    scores = _scores(spark, settings, train, test.features)
    if scores is None:
        return []
    value = estimators.score(test.outcome, scores, sample.binary)
    return [{"score": value, "binary": sample.binary}]


def _scores(spark: SparkSession, settings: dict[str, Any], train: Any, values: Any) -> Any:
    method = settings["method"]
    if method == "FIGS":
        model = estimators.grow(spark, train, maxSplits=FIGS_SPLITS)
        return estimators.scores_of(model, values, train.binary)
    if method == BAGGED:
        model = estimators.bag(
            spark,
            train,
            numEstimators=settings["members"],
            maxSplits=settings["member_splits"],
            maxBins=settings["bins"],
            seed=0,
        )
        return estimators.scores_of(model, values, train.binary)
    if method == "GAM":
        cost = len(train.outcome) * train.features.shape[1] ** 2
        return estimators.gam(train, values, settings["splines"]) if cost <= GAM_COST else None
    fit = {"Random forest": estimators.forest, "XGBoost": estimators.xgboost}[method]
    return fit(train, values)


def section(results: pd.DataFrame) -> Section:
    first = results.iloc[0]
    text = (
        f"{results['split'].nunique()} random divisions, 80% to train, at most {first['rows']:,} "
        f"rows of each data set. Bagging-FIGS has {first['members']} members. The paper does not "
        f"limit their size; ours have at most {first['member_splits']} splits and "
        f"{first['bins']} bins. FIGS has {FIGS_SPLITS} splits. Random forest (100 trees) "
        f"and XGBoost are as their makers set them, the GAM has {first['splines']} "
        "splines for each feature; it is left out on the widest data set, on which one fit takes "
        "minutes."
    )
    header, rows = pivoted(results, "data", "method", "score")
    grid = Grid("AUC (two classes) or R2 on held-out rows", header, rows)
    return Section("Ensembles", text, [_picture(results), grid], claims(results))


def claims(results: pd.DataFrame) -> list[Claim]:
    wide = results.pivot_table("score", ["data", "split"], "method").groupby("data").mean()
    made = []
    for rival in ("Random forest", "XGBoost", "GAM", "FIGS"):
        if rival not in wide or BAGGED not in wide:
            continue
        gain = (wide[BAGGED] - wide[rival]).dropna()
        ahead = int((gain >= 0).sum())
        error = gain.sem() if len(gain) > 1 else 0.0
        verb = "predicts better than one" if rival == "FIGS" else "predicts about as well as"
        holds = gain.mean() >= (0 if rival == "FIGS" else -error)
        made.append(
            Claim(
                f"Bagging-FIGS {verb} {rival}.",
                f"on average {gain.mean():+.3f} ± {error:.3f}, ahead on {ahead} of {len(gain)}",
                bool(holds),
            )
        )
    return made


def _picture(results: pd.DataFrame) -> Picture:
    figure, axes = panels(2, width=6.5, height=3.4, across=2)
    for one, binary in zip(axes, (True, False)):
        own = results[results["binary"] == binary]
        names = list(dict.fromkeys(own["data"]))
        for k, method in enumerate(METHODS):
            by = own[own["method"] == method].groupby("data")["score"]
            places = np.arange(len(names)) + 0.16 * (k - 2)
            mean, error = by.mean().reindex(names), by.sem().reindex(names)
            one.bar(places, mean, 0.15, yerr=error, color=COLOURS[method], label=method)
        one.set_xticks(range(len(names)), names, rotation=30, ha="right")
        one.set(ylabel="AUC" if binary else "R2", ylim=(0.5 if binary else 0, 1))
    axes[0].legend(ncols=3, fontsize=7, frameon=False, loc="upper left")
    return Picture("ensembles", "Scores of ensembles on held-out rows", figure)
