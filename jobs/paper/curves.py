"""Score against the number of splits, for FIGS and other models made of rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession

from jobs.paper import estimators, tables
from jobs.paper.cells import Cell, Record
from jobs.paper.drawing import legend, line, panels
from jobs.paper.sections import Claim, Grid, Picture, Section, spread

FIGS, IMODELS, CART, FOREST = "FIGS", "imodels FIGS", "CART", "Random forest"
METHODS: dict[str, estimators.Fit] = {
    FIGS: estimators.figs,
    IMODELS: estimators.imodels_figs,
    CART: estimators.cart,
    "CART (absolute error)": estimators.cart_absolute,
    "C4.5": estimators.c45,
    "RuleFit": estimators.rulefit,
    "Boosted stumps": estimators.boosted_stumps,
    FOREST: estimators.random_forest,
}
SHOWN = (5, 10, 15, 20)


def cells(settings: dict[str, Any], folder: Path) -> Iterator[Cell]:
    for seed in range(settings["splits"]):
        for name in tables.names(folder, settings["tables"]):
            for method in METHODS:
                sizes = settings["imodels_sizes" if method == IMODELS else "sizes"]
                kept = {"data": name, "split": seed, "method": method, "rows": settings["rows"]}
                yield Cell("curves", kept | {"sizes": list(sizes)}, repeat=seed)


def measure(spark: SparkSession, settings: dict[str, Any], folder: Path) -> list[Record]:
    sample = tables.load(folder, settings["data"])
    train, test = tables.divided(sample, settings["split"], settings["rows"])
    fit = METHODS[settings["method"]]
    return [
        {
            "splits": splits,
            "score": estimators.score(test.outcome, scores, sample.binary),
            "binary": sample.binary,
        }
        for splits, scores in fit(spark, train, test.features, settings["sizes"])
    ]


def section(results: pd.DataFrame) -> Section:
    rows = f"at most {results['rows'].iloc[0]:,} rows of each data set"
    text = (
        f"Each model is fitted on a random 80% of the rows ({rows}) and measured on the rest, by "
        f"AUC or R2; {results['split'].nunique()} divisions, the same for all models. FIGS is one "
        "fit with 30 splits, truncated to every size; imodels is fitted anew for each of its "
        "sizes. Boosted stumps, CART and random forest are those of scikit-learn, C4.5 and RuleFit "
        "those of imodels. A size of RuleFit is the number of conditions in its rules."
    )
    at = at_sizes(results)
    grids = [*(_grid(at, binary) for binary in (True, False)), _parity(results)]
    kept: list[Grid | Picture] = [_picture(results), *(grid for grid in grids if grid.rows)]
    return Section("Score against splits", text, kept, claims(results, at))


def at_sizes(results: pd.DataFrame) -> pd.DataFrame:
    """By data set, division, method and shown size: the score of the largest model within it."""
    parts = []
    for size in SHOWN:
        within = results[(results["splits"] <= size) & (results["splits"] > 0)]
        last = within.sort_values("splits").groupby(["data", "split", "method"], sort=False).tail(1)
        parts.append(last.assign(size=size))
    return pd.concat(parts, ignore_index=True)


def _grid(at: pd.DataFrame, binary: bool) -> Grid:
    own = at[(at["binary"] == binary) & at["method"].isin([FIGS, CART])]
    lines = []
    for name, data in own.groupby("data", sort=False):
        cells = [str(name)]
        for size in SHOWN:
            rows = data[data["size"] == size].set_index("method")["score"]
            cells.append(" / ".join(spread(rows[[method]]) for method in (FIGS, CART)))
        lines.append(cells)
    kind = "AUC" if binary else "R2"
    return Grid(f"{kind}, FIGS / CART", ["data", *(f"{k} splits" for k in SHOWN)], lines)


def gaps(results: pd.DataFrame) -> pd.DataFrame:
    """By data set and size: FIGS, imodels, their difference and the standard error of imodels."""
    ours, theirs = (
        results[results["method"] == m].groupby(["data", "splits"], sort=False)["score"]
        for m in (FIGS, IMODELS)
    )
    table = pd.DataFrame(
        {"figs": ours.mean(), "imodels": theirs.mean(), "error": theirs.sem()}
    ).dropna()
    table["gap"] = table["figs"] - table["imodels"]
    return table.reset_index()


def _parity(results: pd.DataFrame) -> Grid:
    table = gaps(results)
    lines = [
        [
            str(name),
            f"{(own['gap'].abs() <= own['error']).sum()} of {len(own)}",
            f"{own['gap'].mean():+.4f}",
            f"{own['gap'].abs().max():.4f}",
            f"{own['error'].mean():.4f}",
        ]
        for name, own in table.groupby("data", sort=False)
    ]
    columns = ["data", "sizes within one s.e.", "mean gap", "largest gap", "mean s.e."]
    return Grid("FIGS of figs_spark minus FIGS of imodels", columns, lines)


def claims(results: pd.DataFrame, at: pd.DataFrame) -> list[Claim]:
    made = []
    table = gaps(results)
    if len(table):
        within = int((table["gap"].abs() <= table["error"]).sum())
        worst = table.loc[(table["gap"].abs() / table["error"]).idxmax()]
        made.append(
            Claim(
                "Ours: FIGS equals imodels 3 within one standard error, on each data set and size.",
                f"{within} of {len(table)}; the widest gap is {worst['gap']:+.4f} with a standard "
                f"error of {worst['error']:.4f} ({worst['data']}, {worst['splits']} splits)",
                within == len(table),
            )
        )
    wide = at.pivot_table("score", ["data", "split", "size"], "method")
    by_data = wide.groupby(["data", "size"]).mean().reset_index()
    small = by_data[by_data["size"].isin((5, 10, 15))]
    gain = (small[FIGS] - small[CART]).groupby(small["size"]).mean()
    shown = ", ".join(f"{value:+.3f} at {size}" for size, value in gain.items())
    made.append(
        Claim(
            "FIGS is not below CART in the mean over data sets, at 5 to 15 splits.",
            shown,
            bool((gain >= 0).all()),
        )
    )
    return [*made, *(_against(by_data, method) for method in METHODS if method in _RIVALS)]


_RIVALS = (CART, "CART (absolute error)", "C4.5", "RuleFit", "Boosted stumps")


def _against(by_data: pd.DataFrame, method: str) -> Claim:
    """Whether FIGS is ahead on most data sets, at the sizes up to 20 splits."""
    text = f"With up to 20 splits FIGS predicts at least as well as {method}."
    if method not in by_data:
        return Claim(text, "not measured", None)
    known = by_data.dropna(subset=[method])
    gain = (known[FIGS] - known[method]).groupby(known["data"]).mean()
    ahead = int((gain >= 0).sum())
    error = f" ± {gain.sem():.3f}" if len(gain) > 1 else ""
    measured = (
        f"ahead on {ahead} of {len(gain)} data sets, mean difference {gain.mean():+.3f}{error}"
    )
    return Claim(text, measured, bool(gain.mean() >= 0 and ahead > len(gain) / 2))


def _picture(results: pd.DataFrame) -> Picture:
    order = results.sort_values("binary", ascending=False, kind="stable")["data"].unique()
    figure, axes = panels(len(order))
    for one, name in zip(axes, order):
        data = results[results["data"] == name]
        for method in METHODS:
            own = data[data["method"] == method]
            if own.empty:
                continue
            if method == FOREST:
                mean = own["score"].mean()
                one.axhline(mean, ls="--", lw=1, color="#444444", label="Random forest (any size)")
            else:
                style = {"ls": "none"} if method == IMODELS else {}
                line(one, _thinned(own), "splits", "score", method, **style)
        kind = "AUC" if data["binary"].iloc[0] else "R2"
        trees = data[data["method"].isin([FIGS, CART])]
        lowest = trees.groupby("splits")["score"].mean().min()
        one.set(title=name, xlabel="splits", ylabel=kind, xlim=(0, 31))
        one.set_ylim(bottom=max(lowest - 0.05, one.get_ylim()[0]))
    legend(figure, axes)
    return Picture("curves", "Score on held-out rows against the number of splits", figure)


def _thinned(rows: pd.DataFrame) -> pd.DataFrame:
    """Sizes of RuleFit and C4.5 differ between divisions: they are drawn in steps of three."""
    if rows["method"].iloc[0] not in ("RuleFit", "C4.5"):
        return rows
    return rows.assign(splits=(rows["splits"] / 3).round() * 3)
