"""Repeated splits and the number of trees against the number of splits, of FIGS and CART."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from figs_spark import disentanglement
from jobs.paper import estimators, tables
from jobs.paper.cells import Cell, Record
from jobs.paper.drawing import line, panels
from jobs.paper.sections import Claim, Grid, Picture, Section, spread

METHODS: dict[str, dict[str, Any]] = {"FIGS": {}, "CART": {"maxTrees": 1}}
TOLERANCE = 0.01  # of the range of a feature


def cells(settings: dict[str, Any], folder: Path) -> Iterator[Cell]:
    for seed in range(settings["splits"]):
        for name in tables.names(folder, settings["tables"]):
            kept = {"data": name, "split": seed, "rows": settings["rows"]}
            yield Cell("redundancy", kept | {"sizes": list(settings["sizes"])}, repeat=seed)


def measure(spark: SparkSession, settings: dict[str, Any], folder: Path) -> list[Record]:
    sample = tables.load(folder, settings["data"])
    train, _ = tables.divided(sample, settings["split"], settings["rows"])
    lowest, highest = train.features.min(axis=0), train.features.max(axis=0)
    scaled = (train.features - lowest) / np.where(highest > lowest, highest - lowest, 1)
    train = tables.Sample(scaled, train.outcome)
    records = []
    for method, params in METHODS.items():
        model = estimators.grow(spark, train, maxSplits=max(settings["sizes"]), **params)
        for size in settings["sizes"]:
            smaller = model.truncate(size)
            repeated = disentanglement(smaller, tolerance=TOLERANCE).repeated_splits
            common = {"method": method, "splits": size, "binary": sample.binary}
            records.append(common | {"repeated": repeated, "trees": smaller.numTrees})
    return records


def section(results: pd.DataFrame) -> Section:
    text = (
        "A split is repeated if the model has another one on the same feature whose threshold "
        f"differs by at most {TOLERANCE:.0%} of the range of the feature. All splits are counted, "
        "leaves are not. CART is FIGS with one tree. "
        f"{results['split'].nunique()} divisions of each data set."
    )
    rows = []
    for name, data in results[results["splits"] == 20].groupby("data", sort=False):
        by = dict(list(data.groupby("method")))
        rows.append(
            [
                str(name),
                spread(by["FIGS"]["repeated"], 2),
                spread(by["CART"]["repeated"], 2),
                spread(by["FIGS"]["trees"], 1),
            ]
        )
    columns = ["data", "FIGS: repeated", "CART: repeated", "FIGS: trees"]
    blocks: list[Any] = [_picture(results)]
    if rows:
        blocks.append(Grid("At 20 splits", columns, rows))
    return Section("Redundancy", text, blocks, claims(results))


def claims(results: pd.DataFrame) -> list[Claim]:
    large = results[results["splits"] >= 10]
    mean = large.pivot_table("repeated", "data", "method")
    fewer = int((mean["FIGS"] <= mean["CART"]).sum())
    own = results[results["method"] == "FIGS"]
    trees = own.groupby("splits")["trees"].mean()
    return [
        Claim(
            "FIGS repeats fewer splits than CART.",
            f"from 10 splits on, {mean['FIGS'].mean():.1%} against {mean['CART'].mean():.1%} of "
            f"the splits; fewer or as many on {fewer} of {len(mean)} data sets",
            bool(mean["FIGS"].mean() < mean["CART"].mean()),
        ),
        Claim(
            "The number of trees grows with the number of splits, more slowly than it.",
            ", ".join(f"{trees[k]:.1f} trees at {k}" for k in trees.index if k % 10 == 0),
            bool(trees.iloc[-1] > trees.iloc[0] and trees.iloc[-1] < trees.index[-1]),
        ),
    ]


def _picture(results: pd.DataFrame) -> Picture:
    figure, axes = panels(2, width=4.6, height=3.2, across=2)
    for method in METHODS:
        own = results[results["method"] == method]
        line(axes[0], own, "splits", "repeated", method)
        line(axes[1], own, "splits", "trees", method)
    axes[0].set(xlabel="splits", ylabel="share of repeated splits")
    axes[1].set(xlabel="splits", ylabel="trees")
    axes[0].legend(frameon=False)
    caption = "Repeated splits and trees, means over data sets and divisions"
    return Picture("redundancy", caption, figure)
