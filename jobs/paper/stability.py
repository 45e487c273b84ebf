"""Would the model look the same? Jaccard similarity of features when some labels are swapped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession

from figs_spark import FIGSClassifier, GFIGSClassifier
from figs_spark import stability as similarity
from jobs.cdi import studies
from jobs.paper import estimators, tables
from jobs.paper.cells import Cell, Record
from jobs.paper.drawing import line, panels
from jobs.paper.sections import Claim, Grid, Picture, Section, pivoted

RATES = (0.01, 0.025, 0.05)
REGISTRY = "trauma registry (generated)"
METHODS: dict[str, dict[str, Any]] = {"FIGS": {}, "CART": {"maxTrees": 1}}


def cells(settings: dict[str, Any], folder: Path) -> Iterator[Cell]:
    own = {name: settings[name] for name in ("rows", "repeats", "splits")}
    binary = [name for name in tables.names(folder, settings["tables"]) if _is_binary(folder, name)]
    for name in binary:
        for method in METHODS:
            yield Cell("stability", {"data": name, "method": method} | own)
    for method in (*METHODS, "G-FIGS"):
        yield Cell("stability", {"data": REGISTRY, "method": method} | own)


def _is_binary(folder: Path, name: str) -> bool:
    return tables.load(folder, name).binary


def measure(spark: SparkSession, settings: dict[str, Any], folder: Path) -> list[Record]:
    estimator, frame = _task(spark, settings, folder)
    table = similarity(estimator, frame, flip=RATES, repeats=settings["repeats"], seed=0).table
    return [
        {"swapped": rate, "group": str(row.group), "jaccard": float(row.jaccard)}
        for rate, (_, own) in zip(RATES, table.groupby("perturbation", sort=False))
        for row in own.itertuples()
    ]


def _task(spark: SparkSession, settings: dict[str, Any], folder: Path) -> tuple[Any, Any]:
    params: dict[str, Any] = {"maxSplits": settings["splits"], "mode": "driver"}
    if settings["data"] == REGISTRY:
        study = studies.registry(spark, settings["rows"])
        frame = spark.createDataFrame(study.rows).coalesce(1)
        params |= {"featuresCols": list(study.features), "labelCol": studies.LABEL}
        if settings["method"] == "G-FIGS":
            names = list(study.membership)
            own: dict[str, Any] = {"groupCol": studies.GROUP, "membershipFeaturesCols": names}
            return GFIGSClassifier(**params, **own), frame
    else:
        sample, _ = tables.divided(tables.load(folder, settings["data"]), 0, settings["rows"])
        frame, names = estimators.frame_of(spark, sample)
        params |= {"featuresCols": names}
    return FIGSClassifier(**params, **METHODS[settings["method"]]), frame


def section(results: pd.DataFrame) -> Section:
    first = results.iloc[0]
    text = (
        f"Models of {first['splits']} splits are grown again {first['repeats']} times after 1, 2.5 "
        "and 5% of the labels are swapped, by `figs_spark.stability`. Shown is the mean Jaccard "
        "similarity of the features they split on to those of the model of the original labels; "
        "1 means the same features. G-FIGS is on the generated registry, the mean of its groups."
    )
    shown = results.assign(case=results["data"] + ", " + results["method"])
    header, rows = pivoted(shown.assign(swapped=shown["swapped"].map("{:.1%}".format)),
                           "case", "swapped", "jaccard", 2)  # fmt: skip
    grid = Grid("Jaccard similarity", header, rows)
    return Section("Stability", text, [_picture(results), grid], claims(results))


def claims(results: pd.DataFrame) -> list[Claim]:
    mean = results.pivot_table("jaccard", ["data", "swapped"], "method").reset_index()
    if not set(METHODS) <= set(mean):
        return []
    by_rate = mean.groupby("swapped")[["FIGS", "CART"]].mean()
    shown = ", ".join(f"{rate:.1%}: {row['FIGS']:.2f} / {row['CART']:.2f}"
                      for rate, row in by_rate.iterrows())  # fmt: skip
    made = [
        Claim("Swapping up to 5% of the labels leaves most features of FIGS in place "
              "(similarity above 0.5), and FIGS is at least as stable as CART.",
              f"FIGS / CART, {shown}",
              bool((by_rate["FIGS"] > 0.5).all() and (by_rate["FIGS"] >= by_rate["CART"]).all())),
    ]  # fmt: skip
    if "G-FIGS" in mean:
        own = mean[mean["data"] == REGISTRY]
        made.append(
            Claim("G-FIGS is at least as stable as FIGS (generated registry).",
                  f"{own['G-FIGS'].mean():.2f} against {own['FIGS'].mean():.2f}",
                  bool(own["G-FIGS"].mean() >= own["FIGS"].mean()))
        )  # fmt: skip
    return made


def _picture(results: pd.DataFrame) -> Picture:
    figure, axes = panels(results["data"].nunique(), height=2.4)
    for one, (name, data) in zip(axes, results.groupby("data", sort=False)):
        for method, own in data.groupby("method", sort=False):
            line(one, own.assign(percent=100 * own["swapped"]), "percent", "jaccard", str(method))
        one.set(title=name, xlabel="labels swapped (%)", ylim=(0, 1.05))
        one.legend(frameon=False, fontsize=7)
    axes[0].set_ylabel("Jaccard similarity")
    return Picture("stability", "Similarity of split features after labels are swapped", figure)
