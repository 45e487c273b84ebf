"""Sums of the same size, grown in different ways: not of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession

from jobs.paper import tables, ways
from jobs.paper.cells import Cell, Record
from jobs.paper.drawing import line, panels
from jobs.paper.sections import Grid, Picture, Section


def cells(settings: dict[str, Any], folder: Path) -> Iterator[Cell]:
    for seed in range(settings["splits"]):
        for name in tables.names(folder, settings["tables"]):
            kept = {"data": name, "division": seed, "rows": settings["rows"]}
            kept |= {"sizes": list(settings["sizes"]), "ways": list(ways.WAYS)}
            yield Cell("sums", kept, repeat=seed)


def measure(spark: SparkSession, settings: dict[str, Any], folder: Path) -> list[Record]:
    sample = tables.load(folder, settings["data"])
    table = sample.features, sample.outcome
    own = settings["division"], settings["rows"], settings["sizes"]
    return ways.division(spark, settings["data"], table, *own)


def section(results: pd.DataFrame) -> Section:
    text = (
        "Not of the paper: what `regParam`, `refit` and `loss` gain over FIGS at the same number "
        f"of splits. At most {results['rows'].iloc[0]:,} rows, {results['split'].nunique()} "
        "divisions; differences are paired, then averaged over data sets; in parentheses the "
        "data sets that gain. Log-loss is of risks kept between 0.1% and 99.9%; less is better."
    )
    lines = ways.sums_table(results).splitlines()
    header, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return Section("Sums of the same size", text, [_picture(results), Grid("", header, rows[1:])])


def _picture(results: pd.DataFrame) -> Picture:
    metrics = [name for name in ways.METRICS if results[name].notna().any()]
    figure, axes = panels(len(metrics), across=4)
    for one, metric in zip(axes, metrics):
        for way in (way for way in dict.fromkeys(results["way"]) if way != ways.IMODELS):
            own = results[results["way"] == way].dropna(subset=[metric])
            line(one, own.groupby(["data", "size"])[metric].mean().reset_index().groupby(
                "size")[metric].mean().reset_index(), "size", metric, str(way))  # fmt: skip
        one.set(xlabel="splits", ylabel=metric)
    axes[0].legend(frameon=False, fontsize=6)
    return Picture("sums", "Means over data sets, by the number of splits", figure)
