"""How the numbers of a model are read: from the average up and down, risks in percentage points.

The first tree of a FIGS holds the average of the outcome. In a picture the average stands apart, as
the start, so that the value of every leaf says by how much it raises or lowers the prediction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from figs_spark.treesum.nodes import TreeSum
from figs_spark.treesum.text import aligned

MINUS = "\u2212"


@dataclass(frozen=True)
class Labels:
    """What a model predicts, in words."""

    subject: str  # the heading: "Probability of death = 1"
    outcome: str  # ends the sentence "the sum is ..."
    percent: bool = False  # scores are probabilities
    outputs: tuple[str, ...] = ("",)  # what the outputs are called


@dataclass(frozen=True)
class Reading:
    """A model with its labels: what its trees add to the average, and numbers as text."""

    model: TreeSum
    labels: Labels

    def added(self, tree: int, value: tuple[float, ...]) -> tuple[float, ...]:
        """What a leaf of this tree (from 0) adds to the average, or to the trees before it."""
        if tree > 0:
            return value
        return tuple(v - mean for v, mean in zip(value, self.model.constant))

    @cached_property
    def largest(self) -> float:
        """The largest value of a leaf, up or down: the length of a full bar."""
        return max((abs(v) for v in self._values if math.isfinite(v)), default=0.0) or 1.0

    def change(self, value: float) -> str:
        """+45.8 pp, or +1.25 for a prediction that is no probability."""
        text = self._signed(value * self._factor)
        return text.replace("-", MINUS) + (" pp" if self.labels.percent else "")

    def level(self, value: float) -> str:
        """4.1%, or 12.50 for a prediction that is no probability."""
        text = self._plain(value * self._factor)
        return text.replace("-", MINUS) + ("%" if self.labels.percent else "")

    @property
    def _factor(self) -> float:
        return 100.0 if self.labels.percent else 1.0

    @cached_property
    def _values(self) -> list[float]:
        leaves = [(k, leaf) for k, tree in enumerate(self.model.trees) for leaf in tree.leaves()]
        return [v for k, leaf in leaves for v in self.added(k, leaf.value)]

    @property
    def _shown(self) -> list[float]:
        return [v * self._factor for v in (*self._values, *self.model.constant)]

    @cached_property
    def _signed(self) -> Callable[[float], str]:
        return aligned(self._shown, "+", digits=3)

    @cached_property
    def _plain(self) -> Callable[[float], str]:
        return aligned(self._shown, digits=3)
