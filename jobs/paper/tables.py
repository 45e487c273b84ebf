"""The public data sets: Parquet files with the outcome last, and four of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Sample:
    """Rows: their features and their outcome."""

    features: Numbers
    outcome: Numbers

    @cached_property
    def binary(self) -> bool:
        return set(np.unique(self.outcome)) == {0.0, 1.0}

    def at(self, rows: NDArray[Any]) -> Sample:
        return Sample(self.features[rows], self.outcome[rows])


GENERATED: dict[str, Callable[[], tuple[Numbers, Numbers]]] = {  # sizes of the published loader
    "diabetes_regression": lambda: load_diabetes(return_X_y=True),
    "friedman1": lambda: make_friedman1(200, 10, random_state=0),
    "friedman2": lambda: make_friedman2(200, random_state=0),
    "friedman3": lambda: make_friedman3(200, random_state=0),
}


def names(folder: Path, only: list[str] | None) -> list[str]:
    """The data sets that there are, or those asked for."""
    known = [*sorted(path.stem for path in folder.glob("*.parquet")), *GENERATED]
    return [name for name in known if only is None or name in only]


def load(folder: Path, name: str) -> Sample:
    if name in GENERATED:
        return Sample(*GENERATED[name]())
    frame = pd.read_parquet(folder / f"{name}.parquet")
    return Sample(frame.iloc[:, :-1].to_numpy(float), frame.iloc[:, -1].to_numpy(float))


def divided(sample: Sample, seed: int, rows: int | None = None) -> tuple[Sample, Sample]:
    """80% of the rows to train, the rest to test; of at most so many rows, drawn at random."""
    order = np.random.default_rng(seed).permutation(len(sample.outcome))[:rows]
    cut = int(0.8 * len(order))
    return sample.at(order[:cut]), sample.at(order[cut:])
