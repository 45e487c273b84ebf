"""Score against the number of splits, for FIGS and other models made of rules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession

from jobs.paper import estimators, paths, tables
from jobs.paper.cells import Cell, Record
from jobs.paper.drawing import legend, line, panels
from jobs.paper.sections import Claim, Grid, Picture, Section, spread

FIGS, CART, FOREST = "FIGS", "CART", "Random forest"
IMODELS, IN_BINS = "imodels FIGS", "imodels FIGS, our bins"
METHODS: dict[str, paths.Fit] = {
    FIGS: paths.figs,
    IMODELS: paths.imodels_figs,
    IN_BINS: paths.imodels_in_bins,
    CART: paths.cart,
    "CART (absolute error)": paths.cart_absolute,
    "C4.5": paths.c45,
    "RuleFit": paths.rulefit,
    "Boosted stumps": paths.boosted_stumps(0.1),
    "Boosted stumps, rate 1": paths.boosted_stumps(1.0),
    FOREST: paths.random_forest,
}
SHOWN = (5, 10, 15, 20)
EQUAL = 1e-6  # of AUC or R2: the rounding of sums


def cells(settings: dict[str, Any], folder: Path) -> Iterator[Cell]:
    for seed in range(settings["splits"]):
        for name in tables.names(folder, settings["tables"]):
            for method in METHODS:
                kept = {"data": name, "split": seed, "method": method, "rows": settings["rows"]}
                kept["sizes"] = list(settings["c45_sizes" if method == "C4.5" else "sizes"])
                yield Cell("curves", kept, repeat=seed)


def measure(spark: SparkSession, settings: dict[str, Any], folder: Path) -> list[Record]:
    sample = tables.load(folder, settings["data"])
    train, test = tables.divided(sample, settings["split"], settings["rows"])
    fit = METHODS[settings["method"]]
    common = {"binary": sample.binary, "binned": paths.binned(train)}
    return [
        {"splits": k, "score": estimators.score(test.outcome, scores, sample.binary)} | common
        for k, scores in fit(spark, train, test.features, settings["sizes"])
    ]


def section(results: pd.DataFrame) -> Section:
    rows = f"at most {results['rows'].iloc[0]:,} rows of each data set"
    text = (
        f"Each model is fitted on a random 80% of the rows ({rows}) and measured on the rest, by "
        f"AUC or R2; {results['split'].nunique()} divisions, the same for all models. FIGS and "
        "imodels' FIGS are one fit each, looked at after every split; AUC is that of the sum. CART "
        "(grown best first), boosted stumps and random forest are those of scikit-learn, C4.5 and "
        "RuleFit those of imodels. A size of RuleFit is the number of conditions in its rules; "
        "C4.5 takes long, so that only few of its sizes are grown. Boosted stumps have a learning "
        "rate of 0.1, scikit-learn's default, or of 1."
    )
    at = at_sizes(results)
    grids = [*(_grid(at, binary) for binary in (True, False)), _parity(results)]
    grids.insert(2, _means(at))
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
            rows = data[data["size"] == size]
            pair = (rows.loc[rows["method"] == method, "score"] for method in (FIGS, CART))
            cells.append(" / ".join(spread(scores) for scores in pair))
        lines.append(cells)
    kind = "AUC" if binary else "R2"
    return Grid(f"{kind}, FIGS / CART", ["data", *(f"{k} splits" for k in SHOWN)], lines)


def _means(at: pd.DataFrame) -> Grid:
    """All methods: the mean over the data sets that each was measured on."""
    by_data = at.groupby(["method", "size", "binary", "data"], sort=False)["score"].mean()
    mean = by_data.groupby(["method", "binary", "size"]).agg(["mean", "count"])
    lines = []
    for method in METHODS:
        for binary, kind in ((True, "AUC"), (False, "R2")):
            if (method, binary) in mean.index:
                own = mean.loc[(method, binary)]
                cells = [f"{own.loc[k, 'mean']:.3f}" if k in own.index else "" for k in SHOWN]
                lines.append([method, f"{kind}, {int(own['count'].max())} data sets", *cells])
    columns = ["model", "score", *(f"{k} splits" for k in SHOWN)]
    return Grid("Mean over data sets, of the largest model within each size", columns, lines)


def gaps(results: pd.DataFrame, other: str = IMODELS) -> pd.DataFrame:
    """By data set and size: FIGS, imodels, their difference and the standard error of imodels.

    Only divisions that both were measured on count.
    """
    pairs = results[results["method"].isin([FIGS, other])].pivot_table(
        "score", ["data", "splits", "split"], "method"
    )
    by = pairs.reindex(columns=[FIGS, other]).dropna().groupby(["data", "splits"])
    table = pd.DataFrame(
        {"figs": by[FIGS].mean(), "imodels": by[other].mean(), "error": by[other].sem()}
    ).dropna()
    table["gap"] = table["figs"] - table["imodels"]
    table["within"] = table["gap"].abs() <= table["error"].clip(lower=EQUAL)
    return table.reset_index()


def _parity(results: pd.DataFrame) -> Grid:
    same = dict(list(gaps(results, IN_BINS).groupby("data")))
    binned = results.groupby("data")["binned"].max()
    lines = []
    for name, own in gaps(results).groupby("data", sort=False):
        cells = [f"{own['within'].sum()} of {len(own)}", f"{own['gap'].mean():+.4f}",
                 f"{own['gap'].abs().max():.4f}", f"{own['error'].mean():.4f}"]  # fmt: skip
        if name in same:
            gap = same[name]["gap"].abs()
            cells += [f"{(gap < EQUAL).sum()} of {len(gap)}", f"{gap.max():.4f}"]
        lines.append([str(name), str(binned[name]), *cells])
    columns = ["data", "features in bins", "sizes within one s.e.", "mean gap", "largest gap",
               "mean s.e.", "same bins: equal sizes", "same bins: largest gap"]  # fmt: skip
    return Grid("FIGS of figs_spark minus FIGS of imodels", columns, lines)


def _parity_claims(results: pd.DataFrame) -> Iterator[Claim]:
    table = gaps(results)
    if len(table):
        worst = table.loc[(table["gap"].abs() / table["error"]).idxmax()]
        exact = table["data"].map(results.groupby("data")["binned"].max()) == 0
        yield Claim(
            "Ours: FIGS equals imodels 3 within one standard error, on each data set and size.",
            f"{table['within'].sum()} of {len(table)} sizes; {table.loc[exact, 'within'].sum()} of "
            f"{exact.sum()} where no feature has more than {paths.MAX_BINS} values; the widest gap "
            f"is {worst['gap']:+.4f} with a standard error of {worst['error']:.4f} "
            f"({worst['data']}, {worst['splits']} splits)",
            bool(table["within"].all()),
        )
    same = gaps(results, IN_BINS)
    if len(same):
        yield Claim(
            "Ours: given the same bins, FIGS equals imodels 3 within one standard error.",
            f"{same['within'].sum()} of {len(same)} sizes, equal at "
            f"{(same['gap'].abs() < EQUAL).sum()}; largest gap {same['gap'].abs().max():.4f}",
            bool(same["within"].all()),
        )


def claims(results: pd.DataFrame, at: pd.DataFrame) -> list[Claim]:
    made = list(_parity_claims(results))
    wide = at.pivot_table("score", ["data", "split", "size"], "method")
    if not {FIGS, CART} <= set(wide):
        return made
    gain = (wide[FIGS] - wide[CART]).groupby(["size", "data"]).mean().groupby("size").mean()
    gain = gain[gain.index.isin((5, 10, 15))]
    shown = ", ".join(f"{value:+.3f} at {size}" for size, value in gain.items())
    made.append(
        Claim(
            "FIGS is not below CART in the mean over data sets, at 5 to 15 splits.",
            shown,
            bool((gain >= 0).all()),
        )
    )
    return [*made, *(_against(wide, method) for method in _RIVALS)]


_RIVALS = [name for name in METHODS if name not in (FIGS, IMODELS, IN_BINS, FOREST)]


def _against(wide: pd.DataFrame, method: str) -> Claim:
    """Whether FIGS is ahead on most data sets, at the sizes up to 20 splits, on the same rows."""
    text = f"With up to 20 splits FIGS predicts at least as well as {method}."
    if method not in wide:
        return Claim(text, "not measured", None)
    gain = (wide[FIGS] - wide[method]).dropna().groupby("data").mean()
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
            if own.empty or method == IN_BINS:
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
        if len(trees):
            one.set_ylim(bottom=max(lowest - 0.05, one.get_ylim()[0]))
    legend(figure, axes)
    return Picture("curves", "Score on held-out rows against the number of splits", figure)


def _thinned(rows: pd.DataFrame) -> pd.DataFrame:
    """Sizes of RuleFit and C4.5 differ between divisions: they are drawn in steps of three."""
    if rows["method"].iloc[0] not in ("RuleFit", "C4.5"):
        return rows
    return rows.assign(splits=(rows["splits"] / 3).round() * 3)
