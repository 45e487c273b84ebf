"""How to read the numbers of a model: changes up and down from the average, risks in percent.

The first tree of a FIGS model contains the average of the outcome. A picture shows the average
separately, as the start. So the value of every leaf says how much it raises or lowers the
prediction. With the link "logit" the start and the changes are log odds, with "softmax" they are
logarithms of the weights of the classes, and only the prediction is a risk.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from figs_spark.treesum.nodes import IDENTITY, LOGIT, SOFTMAX, TreeSum
from figs_spark.treesum.text import aligned

MINUS = "\u2212"
SCALES = {LOGIT: "log odds", SOFTMAX: "log weights"}  # what scores are, by the link


def average(class_weights: bool) -> str:
    """What the trees start from, in words."""
    return "the weighted average" if class_weights else "the average"


@dataclass(frozen=True)
class Labels:
    """What a model predicts, in words."""

    subject: str  # the heading: "Probability of death = 1"
    outcome: str  # ends the sentence "the sum is ..."
    percent: bool = False  # whether predictions are probabilities
    outputs: tuple[str, ...] = ("",)  # the names of the outputs
    small_cell: int | None = None  # counts of rows below it are hidden
    remarks: tuple[str, ...] = ()  # what a reader must know: changes by hand, points
    threshold: float | None = None  # the probability of the operating point
    decision: str = ""  # what is predicted above it
    class_weights: bool = False  # rows count by their class, so predictions are no rates

    @property
    def average(self) -> str:
        return average(self.class_weights)


@dataclass(frozen=True)
class Reading:
    """A model with its labels: what its trees add to the average, and its numbers as text."""

    model: TreeSum
    labels: Labels

    def added(self, tree: int, value: tuple[float, ...]) -> tuple[float, ...]:
        """What a leaf of this tree (from 0) adds to the average, or to the trees before it."""
        if tree > 0:
            return value
        return tuple(v - mean for v, mean in zip(value, self.model.constant))

    @cached_property
    def largest(self) -> float:
        """The largest change by a leaf, up or down: a full bar."""
        return max((abs(v) for v in self._values if math.isfinite(v)), default=0.0) or 1.0

    def change(self, value: float) -> str:
        """A change as text: +45.8 pp, or +1.25 if the score is not a probability."""
        text = self._signed(value * self._factor)
        return text.replace("-", MINUS) + (" pp" if self.in_percent else "")

    def absolute(self, value: float) -> str:
        """A score as text: 4.1%, or 12.50 if it is not a probability."""
        text = self._plain(value * self._factor)
        return text.replace("-", MINUS) + ("%" if self.in_percent else "")

    def predicted(self, value: float) -> str:
        """A prediction as text: a risk is in percent even if the scores are logarithms."""
        return f"{100 * value:.1f}%" if self.in_logarithms else self.absolute(value)

    @property
    def in_logarithms(self) -> bool:
        """Whether the scores are log odds, or logarithms of weights."""
        return self.model.link != IDENTITY

    @property
    def scale(self) -> str:
        """What the scores are, if they are logarithms."""
        return SCALES.get(self.model.link, "")

    @property
    def in_percent(self) -> bool:
        """Whether the scores are probabilities."""
        return self.labels.percent and not self.in_logarithms

    @property
    def start(self) -> str:
        """What the trees start from, in words."""
        start = self.labels.average
        return f"the {self.scale} of {start}" if self.in_logarithms else start

    @property
    def rule(self) -> str:
        """What makes the prediction out of the sum, in words."""
        if self.in_logarithms:
            one = self.model.link == LOGIT
            return "1 / (1 + exp(-sum))" if one else "exp(sum) / total of exp(sum)"
        return "clipped to [0%, 100%]" + (" and normalised" if self.model.outputs > 1 else "")

    @property
    def threshold(self) -> tuple[float, str] | None:
        """The operating point as a score, and as a risk in words; None if there is none."""
        risk = self.labels.threshold
        if risk is None or not 0 < risk < 1:
            return None
        score = math.log(risk / (1 - risk)) if self.in_logarithms else risk
        return score, f"{100 * risk:.3g}%"

    def decided(self, probability: float) -> str:
        """What the operating point makes of a probability, in words."""
        above = self.labels.threshold is not None and probability > self.labels.threshold
        verb = "predict" if above else "do not predict"
        return f"{'above' if above else 'not above'} the threshold: {verb} {self.labels.decision}"

    @property
    def _factor(self) -> float:
        return 100.0 if self.in_percent else 1.0

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
