"""Error against the number of rows for additive models: the fitted exponent beside the bound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession

from jobs.paper import estimators
from jobs.paper.cells import Cell, Record
from jobs.paper.drawing import line, panels
from jobs.paper.sections import Claim, Grid, Picture, Section, pivoted
from jobs.paper.tables import Numbers, Sample

METHODS: dict[str, dict[str, Any]] = {"FIGS": {}, "CART": {"maxTrees": 1}}
FEATURES, NOISE, TEST_ROWS = 5, 0.3, 2000
BOUND = -2 / 3  # of sums of trees, for functions of one feature each
TREE_BOUND = -2 / (FEATURES + 2)  # no single tree does better


def additive(x: Numbers) -> Numbers:
    """A sum of smooth functions of one feature each."""
    return np.asarray(np.sin(np.pi * x).sum(axis=1))


def cells(settings: dict[str, Any], _: Path) -> Iterator[Cell]:
    for repeat in range(settings["repeats"]):
        for rows in settings["rows"]:
            for method in METHODS:
                kept = {"rows": rows, "repeat": repeat, "method": method}
                kept |= {"most_splits": settings["most_splits"][method], "bins": settings["bins"]}
                yield Cell("rates", kept, repeat=repeat)


def measure(spark: SparkSession, settings: dict[str, Any], _: Path) -> list[Record]:
    """The smallest error over the sizes of one path: the theorem has an oracle."""
    random = np.random.default_rng([settings["repeat"], settings["rows"]])
    values = random.random((settings["rows"], FEATURES))
    train = Sample(values, additive(values) + NOISE * random.normal(size=len(values)))
    test = random.random((TEST_ROWS, FEATURES))
    model = estimators.grow(
        spark,
        train,
        maxSplits=settings["most_splits"],
        maxBins=settings["bins"],
        **METHODS[settings["method"]],
    )
    sizes = np.unique(np.geomspace(2, model.numSplits, 25).astype(int))
    errors = {
        int(size): float(np.mean((model.truncate(int(size)).predict(test) - additive(test)) ** 2))
        for size in sizes
    }
    best = min(errors, key=lambda size: errors[size])
    return [{"error": errors[best], "splits": best}]


def exponent(rows: pd.DataFrame) -> tuple[float, float]:
    """The slope of log error by log rows, and its standard error over repeats."""
    slopes = pd.Series(
        [
            np.polyfit(np.log(own["rows"]), np.log(own["error"]), 1)[0]
            for _, own in rows.groupby("repeat")
            if len(set(own["rows"])) > 1
        ]
    )
    return float(slopes.mean()), float(slopes.sem()) if len(slopes) > 1 else 0.0


def section(results: pd.DataFrame) -> Section:
    most = results.groupby("method")["most_splits"].max()
    limits = " or ".join(f"{most[name]:,} splits ({name})" for name in METHODS if name in most)
    text = (
        f"y is the sum of sin(pi x) over {FEATURES} uniform features, with noise of standard "
        f"deviation {NOISE}. The error is that on {TEST_ROWS:,} rows without noise, of the best "
        f"size up to {limits}, because the theorem has an oracle. "
        f"{results['repeat'].nunique()} repeats. The bound for sums of trees is "
        f"n^{BOUND:.2f}; a single tree cannot do better than n^{TREE_BOUND:.2f}."
    )
    header, rows = pivoted(results, "method", "rows", "error", 4)
    grids = [Grid("Noiseless error by rows", header, rows)]
    header, rows = pivoted(results, "method", "rows", "splits", 0)
    grids.append(Grid("Splits of the best size", header, rows))
    return Section("Rates", text, [_picture(results), *grids], claims(results))


def claims(results: pd.DataFrame) -> list[Claim]:
    slopes = {m: exponent(own) for m, own in results.groupby("method")}
    if set(METHODS) - set(slopes) or any(np.isnan(slope) for slope, _ in slopes.values()):
        return []
    (figs, figs_error), (cart, cart_error) = slopes["FIGS"], slopes["CART"]
    shown = f"exponent {figs:.2f} ± {figs_error:.2f} (FIGS), {cart:.2f} ± {cart_error:.2f} (CART)"
    return [
        Claim("On additive functions the error of FIGS falls faster with n than that of CART.",
              shown, figs + figs_error < cart - cart_error),
        Claim(f"FIGS falls about as the bound for sums of trees with an oracle, n^{BOUND:.2f}.",
              f"exponent {figs:.2f} ± {figs_error:.2f}", figs - 2 * figs_error <= BOUND),
        Claim(f"CART falls no faster than the bound for a single tree, n^{TREE_BOUND:.2f}.",
              f"exponent {cart:.2f} ± {cart_error:.2f}", cart + 2 * cart_error >= TREE_BOUND),
    ]  # fmt: skip


def _picture(results: pd.DataFrame) -> Picture:
    figure, axes = panels(1, width=5, height=3.6)
    for method, bound in (("FIGS", BOUND), ("CART", TREE_BOUND)):
        own = results[results["method"] == method]
        if own.empty:
            continue
        line(axes[0], own, "rows", "error", method)
        at = np.array(sorted(own["rows"].unique()), float)
        start = own.loc[own["rows"] == at[0], "error"].mean()
        colour = "#1b6ca8" if method == "FIGS" else "#d1495b"
        label = f"n^{bound:.2f}, the bound of {method}"
        axes[0].plot(at, start * (at / at[0]) ** bound, ls=":", lw=1, color=colour, label=label)
    axes[0].set(xlabel="rows", ylabel="noiseless error", xscale="log", yscale="log")
    axes[0].legend(frameon=False, fontsize=7)
    return Picture("rates", "Error against rows for an additive function", figure)
