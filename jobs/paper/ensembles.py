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
from jobs.paper.sections import Claim, Grid, Picture, Section, how_set, pivoted

BAGGED, PUBLISHED, FOREST = estimators.BAGGED, "Bagging-FIGS, no ridge", "Random forest"
METHODS = (estimators.FIGS, BAGGED, PUBLISHED, FOREST, "XGBoost", "GAM")
GAM_COST = 20_000_000  # rows times features squared; above it, one fit takes minutes


def cells(settings: dict[str, Any], folder: Path) -> Iterator[Cell]:
    for seed in range(settings["splits"]):
        for name in tables.names(folder, settings["tables"]):
            for method in METHODS:
                kept = {"data": name, "split": seed, "method": method, "rows": settings["rows"]}
                kept["params"] = settings["params"].get(method, {})
                yield Cell("ensembles", kept, repeat=seed)


def measure(spark: SparkSession, settings: dict[str, Any], folder: Path) -> list[Record]:
    method = settings["method"]
    sample = tables.load(folder, settings["data"])
    train, test = tables.divided(sample, settings["split"], settings["rows"])
    if method == "GAM" and len(train.outcome) * train.features.shape[1] ** 2 > GAM_COST:
        return []
    scores = estimators.predictions(spark, method, train, test.features, **settings["params"])
    value = estimators.score(test.outcome, scores, sample.binary)
    return [{"score": value, "binary": sample.binary}]


def section(results: pd.DataFrame) -> Section:
    text = (
        f"{results['split'].nunique()} random divisions, 80% to train, at most "
        f"{results['rows'].iloc[0]:,} rows of each data set. Models are as their makers set them, "
        "but for what the last table says. The paper does not limit the members of Bagging-FIGS "
        "and has no ridge; here are the defaults of figs_spark (60 splits for numbers, 25 for "
        "classes, a ridge of 3), and beside them larger members without a ridge. The GAM is left "
        "out on the widest data set, on which one fit takes minutes."
    )
    header, rows = pivoted(results, "data", "method", "score")
    means = results.pivot_table("score", ["binary", "data"], "method")[list(header[1:])]
    complete = means.dropna()
    for binary, kind in ((True, "AUC"), (False, "R2")):
        if binary in complete.index:
            own = complete.loc[binary]
            rows.append([f"mean {kind}, {len(own)} data sets", *(f"{v:.3f}" for v in own.mean())])
    grid = Grid("AUC (two classes) or R2 on held-out rows", header, rows)
    return Section("Ensembles", text, [_picture(results), grid, how_set(results)], claims(results))


def claims(results: pd.DataFrame) -> list[Claim]:
    wide = results.pivot_table("score", ["data", "split"], "method").groupby("data").mean()
    made = []
    for ours, rival in [
        *((BAGGED, name) for name in (FOREST, "XGBoost", "GAM", estimators.FIGS)),
        (PUBLISHED, FOREST),
    ]:
        if rival not in wide or ours not in wide:
            continue
        gain = (wide[ours] - wide[rival]).dropna()
        ahead = int((gain >= 0).sum())
        error = gain.sem() if len(gain) > 1 else 0.0
        verb = "predicts better than one" if rival == "FIGS" else "predicts about as well as"
        holds = gain.mean() >= (0 if rival == "FIGS" else -error)
        made.append(
            Claim(
                f"{ours} {verb} {rival}.",
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
            places = np.arange(len(names)) + 0.14 * (k - 2.5)
            mean, error = by.mean().reindex(names), by.sem().reindex(names)
            one.bar(places, mean, 0.13, yerr=error, color=COLOURS[method], label=method)
        one.set_xticks(range(len(names)), names, rotation=30, ha="right")
        one.set(ylabel="AUC" if binary else "R2", ylim=(0.5 if binary else 0, 1))
    axes[0].legend(ncols=3, fontsize=7, frameon=False, loc="upper left")
    return Picture("ensembles", "Scores of ensembles on held-out rows", figure)
