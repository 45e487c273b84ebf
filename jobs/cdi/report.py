"""The table and the picture of the experiment."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from jobs.cdi.protocol import LEVELS, names, summary


def markdown(results: pd.DataFrame) -> str:
    """Mean and standard error over the seeds, one table per study and group."""
    parts = []
    for study, group in dict.fromkeys(zip(results["study"], results["group"], strict=True)):
        rows, errors = (summary(results, study, group, kind) for kind in ("mean", "sem"))
        title = "all patients" if group == "all" else f"patients {group}"
        seeds = results.loc[results["study"] == study, "seed"].nunique()
        parts += [f"## {study}, {title}, seeds: {seeds}", _table(rows, errors)]
    return "\n\n".join(parts) + "\n"


def _table(mean: pd.DataFrame, error: pd.DataFrame) -> str:
    lines = [["model", *names(mean.columns)], ["---"] * (1 + len(mean.columns))]
    for model in mean.index:
        cells = [
            _cell(name, mean.loc[model, name], error.loc[model, name]) for name in mean.columns
        ]
        lines.append([str(model), *cells])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(name: str, mean: float, error: float) -> str:
    if name == "splits":
        return f"{mean:.1f}"
    scale, digits = (100, 1) if name.startswith("specificity") else (1, 3)
    spread = "" if math.isnan(error) else f" ± {scale * error:.{digits}f}"  # a single seed has none
    return f"{scale * mean:.{digits}f}{spread}"


def plot(results: pd.DataFrame, path: Path) -> None:
    """Specificity by the sensitivity asked for, for all patients; one panel per study."""
    if find_spec("matplotlib") is None:
        return
    from matplotlib.figure import Figure

    studies = list(results["study"].unique())
    figure = Figure(figsize=(6 * len(studies), 4.5), layout="constrained")
    for axes, study in zip(figure.subplots(1, len(studies), squeeze=False)[0], studies):
        mean, error = (summary(results, study, "all", kind) for kind in ("mean", "sem"))
        for k, model in enumerate(mean.index):
            row, spread = mean.loc[model], error.loc[model]
            axes.errorbar(
                [100 * level + 0.12 * (k - 2.5) for level in LEVELS],
                100 * row.iloc[: len(LEVELS)],
                100 * spread.iloc[: len(LEVELS)],
                fmt="o-" if "FIGS" in model else "s:",
                capsize=3,
                label=model,
            )
        axes.set(xlabel="sensitivity, at least (%)", ylabel="specificity (%)", title=study)
        axes.set_xticks([100 * level for level in LEVELS])
        axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)
