"""Part `disentanglement`: do the trees of a FIGS find the blocks of an additive function?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession

from figs_spark import disentanglement
from jobs.paper import estimators
from jobs.paper.cells import Cell, Record
from jobs.paper.drawing import line, panels
from jobs.paper.functions import BLOCKS, FEATURES, FUNCTIONS, ORDER, drawn
from jobs.paper.sections import Claim, Grid, Picture, Section, pivoted

ADDITIVE = ("C", "D")
TRUE_BLOCKS = [[f"x{ORDER * b + j}" for j in range(ORDER)] for b in range(BLOCKS)]


def cells(settings: dict[str, Any], _: Path) -> Iterator[Cell]:
    grid = [(rows, 0.0) for rows in settings["rows"]]
    grid += [(max(settings["rows"]), correlation) for correlation in settings["correlations"]]
    for repeat in range(settings["repeats"]):
        for rows, correlation in grid:
            for name in ADDITIVE:
                kept = {"function": name, "rows": rows, "correlation": correlation}
                kept |= {"repeat": repeat, "splits": settings["splits"], "bins": settings["bins"]}
                yield Cell("disentanglement", kept, repeat=repeat)


def measure(spark: SparkSession, settings: dict[str, Any], _: Path) -> list[Record]:
    name, rows, correlation = (settings[k] for k in ("function", "rows", "correlation"))
    train = drawn(name, rows, settings["repeat"], correlation)
    model = estimators.grow(spark, train, maxSplits=settings["splits"], maxBins=settings["bins"])
    result = disentanglement(model, TRUE_BLOCKS)
    noise = {f"x{j}" for j in range(BLOCKS * ORDER, FEATURES)}
    told = result.trees[[not noise & set(features) for features in result.trees["features"]]]
    return [
        {
            "pure": result.in_one_block,
            "pure_signal": float(told["in_one_block"].mean()) if len(told) else None,
            "pure_variance": float(result.trees.loc[result.trees["in_one_block"], "share"].sum()),
            "trees": len(result.trees),
        }
    ]


def section(results: pd.DataFrame) -> Section:
    text = (
        f"The functions C and D of the simulations: five blocks of three features of {FEATURES}. "
        f"FIGS grows {results['splits'].iloc[0]} splits. A tree is pure if all its features lie in "
        "one block; a feature without effect is a block of its own. With correlation, the uniform "
        "features are made of normal numbers that all have this correlation. "
        f"{results['repeat'].nunique()} repeats. Beside the share of trees, the share of the "
        "variance that pure trees explain is given, by `figs_spark.disentanglement`."
    )
    independent = results[results["correlation"] == 0]
    most = results[results["rows"] == results["rows"].max()]
    blocks: list[Any] = [_picture(independent, most)]
    for value, caption in (("pure", "trees"), ("pure_variance", "variance")):
        header, rows = pivoted(independent, "function", "rows", value, 2)
        blocks.append(Grid(f"Independent features, by rows: share of {caption} that is pure",
                           header, rows))  # fmt: skip
    header, rows = pivoted(most, "function", "correlation", "pure", 2)
    blocks.append(Grid("By correlation: share of trees that is pure", header, rows))
    return Section("Disentanglement", text, blocks, claims(independent, most))


def claims(independent: pd.DataFrame, most: pd.DataFrame) -> list[Claim]:
    made = []
    for name in ADDITIVE:
        by = independent[independent["function"] == name].groupby("rows")[["pure", "pure_variance"]]
        mean = by.mean()
        if len(mean) < 2:
            continue
        first, last = mean.iloc[0], mean.iloc[-1]
        made.append(
            Claim(
                f"Independent blocks, function {name} ({FUNCTIONS[name][0]}): as rows grow, each "
                "tree splits on features of one block only.",
                f"{first['pure']:.0%} of trees at {mean.index[0]:,} rows, {last['pure']:.0%} at "
                f"{mean.index[-1]:,}, with {last['pure_variance']:.0%} of the variance",
                bool(last["pure"] > first["pure"] and last["pure"] >= 0.95),
            )
        )
    by = most.groupby("correlation")["pure"].mean()
    if len(by) < 2:
        return made
    shown = ", ".join(f"{value:.0%} at {correlation:g}" for correlation, value in by.items())
    text = "Ours: correlation between blocks mixes them (the theorem needs independence)."
    made.append(Claim(text, f"pure trees: {shown}", bool(by.iloc[-1] < by.iloc[0])))
    return made


def _picture(independent: pd.DataFrame, most: pd.DataFrame) -> Picture:
    figure, axes = panels(2, width=4.6, height=3.2, across=2)
    for name, colour in zip(ADDITIVE, ("#1b6ca8", "#d1495b")):
        label = f"{name}: {FUNCTIONS[name][0]}"
        for axis, rows, x in ((axes[0], independent, "rows"), (axes[1], most, "correlation")):
            own = rows[rows["function"] == name]
            line(axis, own, x, "pure", label, color=colour)
            line(axis, own, x, "pure_variance", f"{name}: of variance", color=colour, ls=":")
    axes[0].set(xlabel="rows", xscale="log", ylabel="share that is pure", ylim=(0, 1.05))
    axes[1].set(xlabel="correlation", ylim=(0, 1.05))
    axes[0].legend(frameon=False, fontsize=7)
    caption = "Share of trees, and of variance, whose features lie in one block"
    return Picture("disentanglement", caption, figure)
