"""The tables of the experiment: three of PECARN, if the user has them, or a generated registry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession

from figs_spark import datasets

LABEL, GROUP = "outcome", "age_group"
YOUNG, OLD = "under_2", "2_and_over"
MEMBERSHIP = "membership: "  # prefix of columns that only the membership model uses


@dataclass(frozen=True)
class Study:
    """One table: features for the outcome and for the group, and how instruments are chosen."""

    name: str
    rows: pd.DataFrame  # with LABEL (0 or 1) and GROUP
    features: tuple[str, ...]
    membership: tuple[str, ...]
    sensitivities: tuple[float, ...] = (0.94, 0.90)  # ties at the first go by the others


@dataclass(frozen=True)
class Published:
    """Which column of a PECARN table gives the age group, and which columns are left out."""

    older: str  # column with the age in years, or 1 for a child of two and over
    from_years: float
    not_membership: tuple[str, ...]
    not_features: tuple[str, ...] = ()
    sensitivities: tuple[float, ...] = (0.94, 0.90)


PECARN = {
    "csi": Published("AgeInYears", 2.0, ("AgeInYears",)),
    "iai": Published("Age<2_no", 1.0, ("Age", "Age<2_no", "Age<2_yes"), sensitivities=(0.90,)),
    "tbi": Published(
        "AgeTwoPlus", 1.0, ("AgeinYears", "AgeInMonth", "AgeTwoPlus"), ("AgeinYears",)
    ),
}


def published(folder: Path) -> list[Study]:
    """The studies with both `<name>_pred.csv` and `<name>_prop.csv` in the folder."""
    complete = [
        _published(name, folder)
        for name in PECARN
        if all((folder / f"{name}_{part}.csv").is_file() for part in ("pred", "prop"))
    ]
    if not complete:
        names = ", ".join(f"{name}_pred.csv with {name}_prop.csv" for name in PECARN)
        raise SystemExit(f"cdi_experiment.py: {folder} has none of {names}.")
    return complete


def _published(name: str, folder: Path) -> Study:
    table = PECARN[name]
    outcome, membership_table = (
        pd.read_csv(folder / f"{name}_{part}.csv").drop(columns="Unnamed: 0", errors="ignore")
        for part in ("pred", "prop")
    )
    if len(outcome) != len(membership_table):
        raise SystemExit(
            f"cdi_experiment.py: {name}_pred.csv has {len(outcome)} rows and {name}_prop.csv "
            f"{len(membership_table)}. They must be the same patients in the same order."
        )
    label = outcome.columns[-1]
    features = [c for c in outcome.columns[:-1] if c not in table.not_features]
    left_out = {*table.not_membership, label}
    membership = [c for c in membership_table.columns if c not in left_out]
    rows = outcome[features].astype(float)
    rows[GROUP] = [OLD if yes else YOUNG for yes in outcome[table.older] >= table.from_years]
    rows[LABEL] = outcome[label].astype(float)
    prefixed = membership_table[membership].astype(float).add_prefix(MEMBERSHIP)
    return Study(
        name,
        pd.concat([rows, prefixed], axis=1),
        tuple(features),
        tuple(prefixed.columns),
        table.sensitivities,
    )


def registry(spark: SparkSession, rows: int) -> Study:
    """The generated registry; which values are missing says something about the group, too."""
    frame = datasets.trauma_registry(spark, rows, seed=0)
    frame = frame.select(*datasets.FEATURES, datasets.LABEL, GROUP)
    kept: Any = frame.withColumnRenamed(datasets.LABEL, LABEL).toPandas()
    kept[LABEL] = kept[LABEL].astype(float)
    membership = tuple(name for name in datasets.FEATURES if name != "age_years")
    return Study("registry", kept, tuple(datasets.FEATURES), membership)
