"""How much each part measures: the whole experiment, or a quick one that only shows it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

Preset = dict[str, dict[str, Any]]  # settings by part


def geometric(first: int, last: int, count: int) -> list[int]:
    return [int(n) for n in np.ceil(np.geomspace(first, last, count))]


SIZES = list(range(1, 31))
FULL: Preset = {
    "curves": {
        "tables": None,
        "splits": 6,
        "rows": 2000,
        "sizes": SIZES,
        "c45_sizes": [3, 8],
    },
    "ensembles": {
        "tables": None,
        "splits": 5,
        "rows": 2000,
        "params": {
            "FIGS": {"maxSplits": 12},
            "Bagging-FIGS, no ridge": {"numEstimators": 50, "regParam": 0.0, "maxSplits": 100},
            "GAM": {"splines": 20},
        },
    },
    "simulations": {
        "functions": ["A", "B", "C", "D"],
        "rows": geometric(100, 2500, 6),
        "repeats": 10,
        "params": {
            "FIGS": {"maxSplits": 150},
            "Bagging-FIGS": {
                "numEstimators": 50,
                "regParam": 0.0,
                "maxSplits": 60,
                "maxBins": 64,
            },
            "CART": {"min_samples_leaf": 5},
            "GAM": {"splines": 20},
        },
    },
    "redundancy": {"tables": None, "splits": 6, "rows": 2000, "sizes": [1, *range(5, 31, 5)]},
    "disentanglement": {
        "rows": geometric(100, 10_000, 5),
        "correlations": [0.2, 0.4, 0.6, 0.8],
        "repeats": 10,
        "splits": 20,
        "bins": 32,
    },
    "rates": {
        "rows": geometric(100, 12_800, 8),
        "repeats": 5,
        "most_splits": {"FIGS": 150, "CART": 1500},  # the best size must lie below
        "bins": 128,
    },
    "cdi": {"rows": 6000, "seeds": 10, "boosted": False},
    "stability": {"tables": None, "rows": 2000, "repeats": 10, "splits": 12},
    "backfitting": {"tables": None, "splits": 6, "rows": 2000, "sizes": [2, 5, 10, 15, 20, 30]},
    "sums": {"tables": None, "splits": 6, "rows": 2000, "sizes": [3, 5, 8, 12, 16, 20]},
}
QUICK: Preset = {
    "curves": {
        "tables": ["heart", "diabetes_regression"],
        "splits": 1,
        "rows": 200,
        "sizes": [1, 3, 5],
        "c45_sizes": [3],
    },
    "ensembles": {
        "tables": ["heart", "diabetes_regression"],
        "splits": 1,
        "rows": 200,
        "params": {
            "FIGS": {"maxSplits": 3},
            "Bagging-FIGS": {"numEstimators": 3, "maxSplits": 3},
            "Bagging-FIGS, no ridge": {"numEstimators": 3, "maxSplits": 3, "regParam": 0.0},
            "GAM": {"splines": 5},
        },
    },
    "simulations": {
        "functions": ["D"],
        "rows": [100],
        "repeats": 1,
        "params": {
            "FIGS": {"maxSplits": 4},
            "Bagging-FIGS": {"numEstimators": 2, "maxSplits": 3},
            "CART": {"min_samples_leaf": 5},
            "GAM": {"splines": 4},
        },
    },
    "redundancy": {"tables": ["heart"], "splits": 1, "rows": 200, "sizes": [5, 10, 20]},
    "disentanglement": {
        "rows": [200],
        "correlations": [0.8],
        "repeats": 1,
        "splits": 4,
        "bins": 8,
    },
    "rates": {
        "rows": [100, 400],
        "repeats": 1,
        "most_splits": {"FIGS": 10, "CART": 10},
        "bins": 16,
    },
    "cdi": {"rows": 3000, "seeds": 1, "boosted": False},
    "stability": {"tables": ["heart"], "rows": 800, "repeats": 1, "splits": 3},
    "backfitting": {"tables": ["heart"], "splits": 1, "rows": 200, "sizes": [2, 5]},
    "sums": {"tables": ["heart"], "splits": 1, "rows": 200, "sizes": [2, 3]},
}
