"""From scores to probabilities to a class: the one place that knows the rule.

A number is predicted by the score itself. Of two classes the score, clipped to [0, 1], is the
probability of class 1; of more there is one score per class, and the clipped scores are divided by
their sum. Never a softmax of such scores: it would squeeze a risk of 1% to 27%. With the link
"logit" the score of two classes is log odds, and the probability is 1 / (1 + exp(-score)). With
the link "softmax" the score of each of more classes is the logarithm of its weight, and the weights
are divided by their sum.

The rule is written once, over an `Algebra`: the few operations that NumPy arrays, Spark Columns and
the texts of an export do each in their own way. What they share, `+ - / >`, is Python's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from figs_spark.treesum.nodes import IDENTITY, LOGIT, SOFTMAX

THRESHOLD = 0.5
MOST_LOG_ODDS = 500.0  # of any row, up or down: exp() of more is an error in some databases


class Algebra(Protocol):
    """What the rule needs besides `+ - / >`."""

    def clipped(self, value: Any) -> Any:
        """The value, no less than 0 and no more than 1."""

    def logistic(self, value: Any) -> Any:
        """1 / (1 + exp(-value))."""

    def power(self, value: Any) -> Any:
        """exp(value)."""

    def choose(self, condition: Any, yes: Any, no: Any) -> Any:
        """`yes` if the condition holds, else `no`."""

    def ratio(self, part: Any, total: Any, otherwise: float) -> Any:
        """part / total if the total is above 0."""

    def number(self, value: float) -> Any:
        """A constant."""

    def largest(self, values: Sequence[Any]) -> Any:
        """The place of the largest value, of equal ones the first: 0.0, 1.0, ..."""


class NumPyAlgebra:
    """The operations on arrays with one entry per row."""

    def clipped(self, value: Any) -> Any:
        return np.clip(value, 0.0, 1.0)

    def logistic(self, value: Any) -> Any:
        return 1.0 / (1.0 + np.exp(-value))

    def power(self, value: Any) -> Any:
        return np.exp(value)

    def choose(self, condition: Any, yes: Any, no: Any) -> Any:
        return np.where(condition, yes, no)

    def ratio(self, part: Any, total: Any, otherwise: float) -> Any:
        return np.divide(part, total, out=np.full_like(total, otherwise), where=total > 0)

    def number(self, value: float) -> Any:
        return np.float64(value)

    def largest(self, values: Sequence[Any]) -> Any:
        return np.argmax(np.stack(np.broadcast_arrays(*values)), axis=0).astype(np.float64)


NUMPY = NumPyAlgebra()


def logistic_link(classes: int) -> str:
    """The link of a logistic regression."""
    return LOGIT if classes == 2 else SOFTMAX


@dataclass(frozen=True)
class Outcome:
    """What the scores of a model stand for: a number, or classes."""

    classes: int = 0  # 0: a number
    link: str = IDENTITY  # or LOGIT, with two classes, or SOFTMAX, with more

    @property
    def of_mean(self) -> Outcome:
        """What the mean of the values that several sums expect stands for: no logarithms."""
        return Outcome(self.classes)

    @property
    def outputs(self) -> int:
        """Scores of a row: one per class, but two classes share one."""
        return self.classes if self.classes > 2 else 1

    def expected(self, scores: Sequence[Any], algebra: Algebra = NUMPY) -> list[Any]:
        """What a row of the target is compared with, one value per output: the number, the
        probability of class 1, or the probability of each of many classes."""
        if not self.classes:
            return list(scores)
        if self.link == LOGIT:
            return [algebra.logistic(score) for score in scores]
        share = algebra.power if self.link == SOFTMAX else algebra.clipped
        shares = [share(score) for score in scores]
        if self.classes == 2:
            return shares
        total = reduce(lambda a, b: a + b, shares)  # from left to right, everywhere
        return [algebra.ratio(part, total, 1.0 / self.classes) for part in shares]

    def probabilities(self, scores: Sequence[Any], algebra: Algebra = NUMPY) -> list[Any]:
        """The probability of each class; of a number the number itself."""
        expected = self.expected(scores, algebra)
        return [1 - expected[0], expected[0]] if self.classes == 2 else expected

    def predicted_class(
        self,
        probabilities: Sequence[Any],
        threshold: float = THRESHOLD,
        thresholds: Sequence[float] | None = None,
        algebra: Algebra = NUMPY,
    ) -> Any:
        """The class as 0.0, 1.0, ...; with `thresholds` the largest probability / threshold.

        A class with the threshold 0 is taken before all others, as in Spark ML.
        """
        if thresholds is None and self.classes == 2:
            above = probabilities[1] > threshold
            return algebra.choose(above, algebra.number(1.0), algebra.number(0.0))
        if thresholds is not None:
            pairs = zip(probabilities, thresholds, strict=True)
            infinite = algebra.number(float("inf"))
            probabilities = [p / limit if limit > 0 else infinite for p, limit in pairs]
        return algebra.largest(probabilities)

    # Whole tables (rows, outputs), by NumPy

    def expected_table(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """`expected`, (rows, outputs)."""
        return np.column_stack(self.expected(list(scores.T)))

    def probability_table(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """`probabilities`, (rows, classes)."""
        return np.column_stack(self.probabilities(list(scores.T)))
