"""Models of every family that no training made, and rows for them: no Spark is needed."""

from __future__ import annotations

from random import Random
from typing import Any

import pandas as pd

import figs_spark
from tests.support.instruments import logarithms
from tests.support.treesums import FEATURES, random_tree_sum

NAMES = [feature.name for feature in FEATURES]
KINDS = ("FIGS", "BaggedFIGS", "GFIGS")
OUTCOMES = {0: "Regression", 2: "Classification", 3: "Classification"}  # by number of classes


def fitted(kind: str, classes: int, seed: int = 0, logit: bool = False, **params: Any) -> Any:
    """A model with random trees; its leaves are around 0.4, or logarithms."""
    random = Random(seed)
    sums = [random_tree_sum(random, 8, classes if classes > 2 else 1) for _ in range(2)]
    sums = [logarithms(one) for one in sums] if logit else sums
    cls = getattr(figs_spark, f"{kind}{OUTCOMES[classes]}Model")
    model = cls(featuresCols=NAMES, labelCol="y", **params)
    model._classes = classes
    if kind == "FIGS":
        model.treeSum = sums[0]
    elif kind == "BaggedFIGS":
        model.members = tuple(sums)
    else:
        model._set(groupCol="group")
        model._sums, model._effective = dict(zip("ab", sums)), {"a": 10.0, "b": 20.0}
    return model


def rows(random: Random, count: int = 60) -> pd.DataFrame:
    """Values of every kind, a fifth of them missing; a group for each row."""

    def cell(feature: Any) -> Any:
        if random.random() < 0.2:
            return None
        if feature.categories is not None:
            return random.choice(feature.categories)
        return random.uniform(-9, 9)

    table = pd.DataFrame({f.name: [cell(f) for _ in range(count)] for f in FEATURES})
    numbers = [f.name for f in FEATURES if f.holds_numbers]
    table = table.astype(dict.fromkeys(numbers, float))
    return table.assign(group=[random.choice(["a", "b"]) for _ in range(count)])
