"""Leaf values fitted together once the splits are made: the limit of backfitting."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from jobs.paper import estimators, tables
from jobs.paper.cells import Cell, Record
from jobs.paper.drawing import line, panels
from jobs.paper.sections import Claim, Grid, Picture, Section, spread


def cells(settings: dict[str, Any], folder: Path) -> Iterator[Cell]:
    for seed in range(settings["splits"]):
        for name in tables.names(folder, settings["tables"]):
            kept = {"data": name, "split": seed, "rows": settings["rows"]}
            yield Cell("backfitting", kept | {"sizes": list(settings["sizes"])}, repeat=seed)


def measure(spark: SparkSession, settings: dict[str, Any], folder: Path) -> list[Record]:
    sample = tables.load(folder, settings["data"])
    train, test = tables.divided(sample, settings["split"], settings["rows"])
    most = max(settings["sizes"])
    plain = estimators.grow(spark, train, maxSplits=most)
    refitted = estimators.grow(spark, train, maxSplits=most, refit="linear")
    records = []
    for size in settings["sizes"]:
        pair = [model.truncate(size).treeSum for model in (plain, refitted)]
        raw = [sums.predict(test.features)[:, -1] for sums in pair]
        scores = [estimators.score(test.outcome, one, sample.binary) for one in raw]
        records.append(
            {
                "splits": size,
                "binary": sample.binary,
                "trees": len(pair[0].trees),
                "score": scores[0],
                "refitted": scores[1],
                "moved": float(np.std(raw[1] - raw[0]) / max(np.std(raw[0]), 1e-12)),
                "values": _change(*pair),
            }
        )
    return records


def _change(one: Any, other: Any) -> float:
    """The change of leaf values by their spread, after each tree is centred, weighted by rows."""
    pairs = []
    for a, b in zip(one.trees, other.trees):
        weights = np.array([leaf.weight for leaf in a.leaves()])
        values = [np.array([leaf.value[-1] for leaf in tree.leaves()]) for tree in (a, b)]
        centred = [v - np.average(v, weights=weights) for v in values]
        pairs.append((weights @ (centred[1] - centred[0]) ** 2, weights @ centred[0] ** 2))
    changed, spread_out = np.sum(pairs, axis=0)
    return float(np.sqrt(changed / max(spread_out, 1e-12)))


def section(results: pd.DataFrame) -> Section:
    text = (
        'The splits are those of FIGS; `refit="linear"` fits all leaf values together by least '
        "squares, which is what backfitting over the trees converges to. Shown is by how much "
        "values change (centred tree by tree, relative to their spread), by how much scores of "
        "test rows move (relative to their spread), and what it does to AUC or R2. "
        f"{results['split'].nunique()} divisions."
    )
    last = results[results["splits"] == results["splits"].max()]
    rows = [
        [
            str(name),
            spread(own["trees"], 1),
            spread(own["values"], 2),
            spread(own["moved"], 2),
            spread(own["score"]),
            f"{(own['refitted'] - own['score']).mean():+.3f}",
        ]
        for name, own in last.groupby("data", sort=False)
    ]
    columns = ["data", "trees", "change of values", "change of scores", "AUC or R2", "gain"]
    grid = Grid(f"With {results['splits'].max()} splits", columns, rows)
    return Section("Backfitting", text, [_picture(results), grid], claims(results))


def claims(results: pd.DataFrame) -> list[Claim]:
    gain = (results["refitted"] - results["score"]).groupby(results["data"]).mean()
    error = gain.sem() if len(gain) > 1 else 0.0
    last = results[results["splits"] == results["splits"].max()]
    return [
        Claim("Backfitting changes the score on held-out rows little (less than 0.01).",
              f"on average {gain.mean():+.4f} ± {error:.4f}, better on {(gain > 0).sum()} of "
              f"{len(gain)} data sets, from {gain.min():+.3f} to {gain.max():+.3f}",
              bool(gain.abs().max() < 0.01)),
        Claim("Backfitting changes leaf values little (less than a tenth of their spread).",
              f"with {results['splits'].max()} splits by {last['values'].median():.0%} of their "
              f"spread in the median, at most {last['values'].max():.0%}",
              bool(last["values"].median() < 0.1)),
    ]  # fmt: skip


def _picture(results: pd.DataFrame) -> Picture:
    figure, axes = panels(2, width=4.8, height=3.4, across=2)
    shown = results.assign(gain=results["refitted"] - results["score"])
    by_data = shown.groupby(["data", "splits"])[["gain", "values"]].mean().reset_index()
    for axis, value in zip(axes, ("gain", "values")):
        for k, (_, own) in enumerate(by_data.groupby("data")):
            label = "each data set" if k == 0 else None
            axis.plot(own["splits"], own[value], color="#bbbbbb", lw=0.9, label=label)
        line(axis, by_data, "splits", value, "mean of data sets", color="#1b6ca8")
    axes[0].axhline(0, color="black", lw=0.8)
    axes[0].set(xlabel="splits", ylabel="gain in AUC or R2")
    axes[1].set(xlabel="splits", ylabel="change of values")
    axes[1].legend(frameon=False, fontsize=8)
    return Picture("backfitting", "What fitting all values together changes", figure)
