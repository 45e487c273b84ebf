"""Clinical decision instruments: G-FIGS and its simpler variants, and TAO, by the same protocol."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession

from jobs.cdi import protocol, studies, tao
from jobs.paper.cells import Cell, Record
from jobs.paper.drawing import legend, panels
from jobs.paper.sections import Claim, Grid, Picture, Section, spread

REGISTRY = "registry"
LEVELS = [f"specificity at {level:.0%}" for level in protocol.LEVELS]


def cells(settings: dict[str, Any], folder: Path) -> Iterator[Cell]:
    pecarn = [name for name in studies.PECARN if (folder / f"{name}_pred.csv").is_file()]
    for seed in range(settings["seeds"]):
        for name in pecarn or [REGISTRY]:
            for models in ("trees and sums", "TAO"):
                kept = {"study": name, "seed": seed, "models": models}
                kept |= {"rows": settings["rows"], "boosted": settings["boosted"]}
                yield Cell("cdi", kept, repeat=seed)


def measure(spark: SparkSession, settings: dict[str, Any], folder: Path) -> list[Record]:
    if settings["study"] == REGISTRY:
        study = studies.registry(spark, settings["rows"])
    else:
        (study,) = [s for s in studies.published(folder) if s.name == settings["study"]]
    if settings["models"] == "TAO":
        return tao.run_seed(study, settings["seed"])
    records = []
    runs = protocol.run_variants(spark, study, settings["seed"], settings["boosted"])
    for chosen, rows in runs:
        sizes = {str(group): part.numSplits for group, part in chosen.model.models.items()}
        table = chosen.model.membershipCoefficients
        told = {} if table is None else {str(k): float(v) for k, v in table.iloc[:, 0].items()}
        records += [row | {"sizes": sizes, "coefficients": told} for row in rows]
    return records


def section(results: pd.DataFrame) -> Section:
    generated = set(results["study"]) == {REGISTRY}
    source = (
        f"a generated registry of {results['rows'].iloc[0]:,} patients, because the tables "
        "of PECARN may not be handed on: put `csi_pred.csv` with `csi_prop.csv` and so on into the "
        "data folder to use them"
        if generated
        else "the published tables of PECARN"
    )
    text = (
        f"The data are {source}. {results['seed'].nunique()} seeds; rows are divided 60/20/20. "
        "Sizes (8, 12 or 16 leaves or splits) and the membership model (logistic regression with C "
        "of 2.783, 0.1 or 0.01"
        + (", or boosted trees" if results["boosted"].iloc[0] else "; no boosted trees")
        + ") are chosen on validation rows by specificity, and models are fitted again on training "
        "and validation rows. TAO is imodels' TaoTree; text is given to it as indicators."
    )
    blocks: list[Any] = [_picture(results)]
    by = results.groupby(["study", "group"], sort=False)
    blocks += [_metrics(own, str(study), str(group)) for (study, group), own in by]
    blocks.append(_sizes(results))
    if "coefficients" in results:
        blocks.append(_coefficients(results))
    return Section("Clinical decision instruments", text, blocks, claims(results, generated))


def _metrics(own: pd.DataFrame, study: str, group: str) -> Grid:
    who = "all patients" if group == "all" else f"patients {group.replace('_', ' ')}"
    rows = [
        [
            str(model),
            *(spread(100 * part[level], 1) for level in LEVELS),
            spread(part["AUC"]),
            spread(part["F1"]),
            f"{part['splits'].mean():.1f}",
        ]
        for model, part in own.groupby("model", sort=False)
    ]
    short = [level.replace("specificity at", "spec.") for level in LEVELS]
    return Grid(f"{study}, {who}", ["model", *short, "AUC", "F1", "splits"], rows)


def _sizes(results: pd.DataFrame) -> Grid:
    """How often each size was chosen."""
    own = results[results["group"] == "all"]
    rows = []
    for model, part in own.groupby("model", sort=False):
        counts: dict[str, dict[int, int]] = {}
        for sizes in part["sizes"]:
            for group, size in sizes.items():
                by = counts.setdefault(group, {})
                by[size] = by.get(size, 0) + 1
        told = "; ".join(
            f"{group}: " + ", ".join(f"{size} ({n}x)" for size, n in sorted(by.items()))
            for group, by in counts.items()
        )
        rows.append([str(model), told])
    return Grid("Splits that were chosen", ["model", "splits (seeds)"], rows)


def _coefficients(results: pd.DataFrame) -> Grid:
    own = results[(results["group"] == "all") & (results["model"] == "G-FIGS")]
    table = pd.DataFrame([told for told in own["coefficients"] if isinstance(told, dict) and told])
    order = table.mean().abs().sort_values(ascending=False).index[:12]
    rows = [[str(name), spread(table[name], 2)] for name in order]
    caption = "Membership of G-FIGS: the largest log odds of the second group against the first"
    return Grid(caption, ["feature", "coefficient"], rows)


def claims(results: pd.DataFrame, generated: bool) -> list[Claim]:
    everyone = results[results["group"] == "all"]
    mean = everyone.groupby("model")[[*LEVELS, "AUC"]].mean()
    if not {"G-FIGS", "CART", "FIGS", "TAO"} <= set(mean.index):
        return []
    where = "on the generated registry" if generated else "on PECARN"
    best = {level: mean[level].idxmax() for level in LEVELS}
    gain = 100 * (mean.loc["G-FIGS", LEVELS] - mean.loc["CART", LEVELS]).max()
    wins = sum(model == "G-FIGS" for model in best.values())
    made = [
        Claim(f"G-FIGS has the best specificity at high sensitivity ({where}).",
              "best: " + ", ".join(f"{m} at {k.split()[-1]}" for k, m in best.items()),
              wins > len(LEVELS) / 2),
        Claim(f"G-FIGS is up to 20 points more specific than CART ({where}).",
              f"{gain:+.1f} points at best", bool(gain >= 20)),
        Claim(f"FIGS has a higher AUC than CART and TAO ({where}).",
              ", ".join(f"{m} {mean.loc[m, 'AUC']:.3f}" for m in ("FIGS", "CART", "TAO")),
              bool(mean.loc["FIGS", "AUC"] >= mean.loc[["CART", "TAO"], "AUC"].max())),
    ]  # fmt: skip
    if generated:
        made.append(Claim("The specificities of the paper's tables, on PECARN itself.",
                          "the tables are not in the data folder", None))  # fmt: skip
    return made


def _picture(results: pd.DataFrame) -> Picture:
    groups = list(dict.fromkeys(zip(results["study"], results["group"], strict=True)))
    figure, axes = panels(len(groups), width=4, height=3.2, across=3)
    for one, (study, group) in zip(axes, groups):
        own = results[(results["study"] == study) & (results["group"] == group)]
        for k, (model, part) in enumerate(own.groupby("model", sort=False)):
            by = 100 * part[LEVELS]
            places = [100 * level + 0.12 * (k - 4) for level in protocol.LEVELS]
            style = "o-" if "FIGS" in str(model) else "s:"
            one.errorbar(places, by.mean(), by.sem().fillna(0), fmt=style, ms=3, label=model)
        who = "all patients" if group == "all" else group.replace("_", " ")
        one.set(title=f"{study}, {who}", xlabel="sensitivity, at least (%)")
        one.set_xticks([100 * level for level in protocol.LEVELS])
    axes[0].set_ylabel("specificity (%)")
    legend(figure, axes)
    return Picture("cdi", "Specificity at high sensitivity, means with standard errors", figure)
