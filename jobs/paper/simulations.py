"""Simulations A to D of the supplement: noiseless test error against the number of rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import SparkSession
from sklearn.tree import DecisionTreeRegressor

from jobs.paper import estimators
from jobs.paper.cells import Cell, Record
from jobs.paper.drawing import legend, line, panels
from jobs.paper.functions import FUNCTIONS, NOISE, drawn, noiseless
from jobs.paper.sections import Claim, Grid, Picture, Section, how_set, pivoted

FIGS, BAGGED, CART, GAM = estimators.FIGS, estimators.BAGGED, "CART", "GAM"
FOREST, XGBOOST = "Random forest", "XGBoost"
METHODS = (FIGS, BAGGED, CART, FOREST, XGBOOST, GAM)
TEST_ROWS = 500
THRESHOLD = 5 * NOISE**2  # a split must lower the sum of squares by more, as in the publication


def cells(settings: dict[str, Any], _: Path) -> Iterator[Cell]:
    for repeat in range(settings["repeats"]):
        for rows in settings["rows"]:
            for name in settings["functions"]:
                for method in METHODS:
                    kept = {"function": name, "rows": rows, "repeat": repeat, "method": method}
                    kept["params"] = settings["params"].get(method, {})
                    yield Cell("simulations", kept, repeat=repeat)


def measure(spark: SparkSession, settings: dict[str, Any], _: Path) -> list[Record]:
    train = drawn(settings["function"], settings["rows"], settings["repeat"])
    test = noiseless(settings["function"], TEST_ROWS, settings["repeat"])
    method, params = settings["method"], dict(settings["params"])
    if method == CART:
        tree = DecisionTreeRegressor(random_state=0, **params)
        found = tree.fit(train.features, train.outcome).predict(test.features)
    else:
        if method == FIGS:
            params["minImpurityDecrease"] = THRESHOLD / settings["rows"]
        found = estimators.predictions(spark, method, train, test.features, **params)
    return [{"error": float(np.mean((found - test.outcome) ** 2))}]


def section(results: pd.DataFrame) -> Section:
    text = (
        f"50 features, uniform on [0, 1], noise with standard deviation {NOISE}; the mean squared "
        f"error on {TEST_ROWS} test rows without noise; {results['repeat'].nunique()} repeats. "
        f"FIGS stops when a split lowers the sum of squares by no more than {THRESHOLD:g}, as "
        "published. Models are as their makers set them, but for what the last table says."
    )
    most = results[results["rows"] == results["rows"].max()]
    header, rows = pivoted(most, "function", "method", "error", 4)
    grid = Grid(f"Test error with {results['rows'].max():,} rows", header, rows)
    blocks = (_picture(results), grid, how_set(results))
    return Section("Simulations", text, blocks, claims(results))


def claims(results: pd.DataFrame) -> list[Claim]:
    """At the largest number of rows with all methods, the mean error over repeats."""
    complete = [
        (rows, table)
        for rows, own in results.groupby("rows")
        if len(table := own.pivot_table("error", "function", "method").dropna()) == len(FUNCTIONS)
        and set(METHODS) <= set(table.columns)
    ]
    if not complete:
        return []
    count, error = complete[-1]

    def below(function: str, first: str, second: str, factor: float = 1.0) -> tuple[str, bool]:
        one, other = error.loc[function, first], error.loc[function, second]
        return f"{function}: {first} {one:.4f}, {second} {other:.4f}", bool(one <= factor * other)

    def claim(text: str, *pairs: tuple[str, bool]) -> Claim:
        measured = f"{count:,} rows: " + "; ".join(said for said, _ in pairs)
        return Claim(text, measured, all(true for _, true in pairs))

    made = [
        claim(
            "On additive functions (A, C, D) FIGS has a smaller error than CART.",
            *(below(name, FIGS, CART) for name in "ACD"),
        ),
        claim("On one interaction (B) FIGS is about as good as CART.", below("B", FIGS, CART, 1.1)),
        claim(
            "On a linear function (A) the GAM is best.",
            *(below("A", GAM, method) for method in METHODS if method != GAM),
        ),
        claim("Interactions (B, D) defeat the GAM: FIGS has a smaller error.",
              below("B", FIGS, GAM), below("D", FIGS, GAM)),
        claim("On sums of interactions (C, D) FIGS has a smaller error than a random forest.",
              below("C", FIGS, FOREST), below("D", FIGS, FOREST)),
    ]  # fmt: skip
    return [*made, _never_worst(error)]


def _never_worst(error: pd.DataFrame) -> Claim:
    ranks = error[list(METHODS)].rank(axis=1).astype(int)
    shown = ", ".join(f"{name}: {ranks.loc[name, FIGS]}" for name in ranks.index)
    also = ", ".join(f"{name}: {ranks.loc[name, BAGGED]}" for name in ranks.index)
    return Claim(
        "FIGS and Bagging-FIGS predict well on all four functions: among the best three of six.",
        f"rank of FIGS {shown}; rank of Bagging-FIGS {also}",
        bool((ranks[[FIGS, BAGGED]] <= 3).all(axis=None)),
    )


def _picture(results: pd.DataFrame) -> Picture:
    names = [name for name in FUNCTIONS if name in set(results["function"])]
    figure, axes = panels(len(names), across=4)
    for one, name in zip(axes, names):
        for method in METHODS:
            own = results[(results["function"] == name) & (results["method"] == method)]
            line(one, own, "rows", "error", method)
        one.set(title=f"{name}: {FUNCTIONS[name][0]}", xlabel="rows", xscale="log", yscale="log")
        one.title.set_fontsize(8)
    axes[0].set_ylabel("noiseless test error")
    legend(figure, axes)
    return Picture("simulations", "Noiseless test error against the number of rows", figure)
