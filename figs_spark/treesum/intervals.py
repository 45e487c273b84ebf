"""Bootstrap intervals: of the value of each leaf, and of the prediction of a row.

They say how much values would differ on other rows from the same source, for the splits of the
model. They do not say whether other rows would lead to other splits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figs_spark.treesum.nodes import TreeSum
from figs_spark.treesum.prediction import Outcome

LEVEL = 0.95
SHOWN = f"{LEVEL:.0%} interval"
Interval = tuple[float, float]


def sampled_sums(model: TreeSum) -> list[TreeSum]:
    """The model with the values of each bootstrap sample."""
    return [
        replace(model, trees=model.valued(one), path=None, samples=None)
        for one in model.samples or ()
    ]


def leaf_intervals(model: TreeSum) -> list[list[tuple[Interval, ...]]]:
    """By tree and leaf, from left to right, the interval of each output."""
    sums = sampled_sums(model)
    by_tree = []
    for k in range(len(model.trees)):
        values = np.array([[leaf.value for leaf in one.trees[k].leaves()] for one in sums])
        low, high = between(values)
        pairs = np.stack([low, high], axis=-1)  # (leaves, outputs, 2)
        by_tree.append([tuple((a, b) for a, b in leaf) for leaf in pairs.tolist()])
    return by_tree


def prediction_intervals(model: TreeSum, outcome: Outcome, values: Any) -> NDArray[np.float64]:
    """The interval of what is expected of each row, (rows, outputs, 2)."""
    expected = [outcome.expected_table(one.predict(values)) for one in sampled_sums(model)]
    return np.stack(between(np.array(expected)), axis=-1)


def between(samples: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The middle of the samples, which are the first axis, without both ends."""
    ends: Sequence[float] = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    low, high = np.quantile(samples, ends, axis=0)
    return low, high
