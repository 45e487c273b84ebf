"""The tables of the experiment: three of PECARN, which the user brings, or a generated registry."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from pyspark.sql import SparkSession

from figs_spark import datasets

LABEL, GROUP = "outcome", "age_group"
YOUNG, OLD = "under_2", "2_and_over"
MEMBERSHIP = "membership: "  # before the names of columns that only tell the group


@dataclass(frozen=True)
class Study:
    """One table: features of the outcome, what tells the group, and how instruments are chosen."""

    name: str
    rows: pd.DataFrame  # with LABEL (0 or 1) and GROUP
    features: tuple[str, ...]
    membership: tuple[str, ...]
    sensitivities: tuple[float, ...] = (0.94, 0.90)  # specificity at the first; ties by the others


@dataclass(frozen=True)
class Published:
    """How a PECARN table tells the age group, and which of its columns are left out."""

    older: str  # 1, or at least 2 years, in a child of two and over
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
    """The studies of which both `<name>_pred.csv` and `<name>_prop.csv` are in the folder."""
    found = [
        _published(name, folder)
        for name in PECARN
        if all((folder / f"{name}_{part}.csv").is_file() for part in ("pred", "prop"))
    ]
    if not found:
        names = ", ".join(f"{name}_pred.csv with {name}_prop.csv" for name in PECARN)
        raise SystemExit(f"cdi_experiment.py: {folder} has none of {names}.")
    return found


def _published(name: str, folder: Path) -> Study:
    known = PECARN[name]
    outcome, telling = (
        pd.read_csv(folder / f"{name}_{part}.csv").drop(columns="Unnamed: 0", errors="ignore")
        for part in ("pred", "prop")
    )
    if len(outcome) != len(telling):
        raise SystemExit(
            f"cdi_experiment.py: {name}_pred.csv has {len(outcome)} rows and {name}_prop.csv "
            f"{len(telling)}. They must be the same patients in the same order."
        )
    label = outcome.columns[-1]
    features = [c for c in outcome.columns[:-1] if c not in known.not_features]
    left_out = {*known.not_membership, label}
    membership = [c for c in telling.columns if c not in left_out]
    rows = outcome[features].astype(float)
    rows[GROUP] = [OLD if yes else YOUNG for yes in outcome[known.older] >= known.from_years]
    rows[LABEL] = outcome[label].astype(float)
    told = telling[membership].astype(float).add_prefix(MEMBERSHIP)
    return Study(
        name,
        pd.concat([rows, told], axis=1),
        tuple(features),
        tuple(told.columns),
        known.sensitivities,
    )


def registry(spark: SparkSession, rows: int) -> Study:
    """The generated registry; what is missing, and what is not, tells the group as well."""
    frame = datasets.trauma_registry(spark, rows, seed=0)
    kept: Any = frame.toPandas()
    kept = kept[[*datasets.FEATURES, datasets.LABEL, GROUP]].rename(columns={datasets.LABEL: LABEL})
    kept[LABEL] = kept[LABEL].astype(float)
    membership = tuple(name for name in datasets.FEATURES if name != "age_years")
    return Study("registry", kept, tuple(datasets.FEATURES), membership)
