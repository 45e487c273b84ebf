"""Logistic regression of two or more groups on rows in the driver, by Newton's method.

It minimises what MLlib's LogisticRegression minimises: the weighted mean of the log loss, plus half
the penalty times the squares of the coefficients of standardised columns. Intercepts are free. With
two groups there is one row of coefficients, the log odds of the second group; with more there is
one row for each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.histograms import Floats

MOST_PARAMETERS = 1000  # of which the Hessian is kept
MOST_WORK = 4e9  # multiplications of one step
MOST_STEPS = 100
SMALL_GRADIENT = 1e-12
HALVINGS = 40


@dataclass(frozen=True)
class Logistic:
    coefficients: Floats  # (1 or groups, columns)
    intercepts: Floats  # (1 or groups,)
    steps: int
    converged: bool

    def probabilities(self, columns: Floats) -> Floats:
        """The probability of each group, (rows, groups)."""
        return _probabilities(columns @ self.coefficients.T + self.intercepts)


def can_fit(rows: int, columns: int, groups: int) -> bool:
    """Whether this is soon done in the driver."""
    parameters = (columns + 1) * (1 if groups == 2 else groups)
    return parameters <= MOST_PARAMETERS and rows * parameters * parameters <= MOST_WORK


def fit_logistic(
    columns: Floats, group: NDArray[np.intp], groups: int, weights: Floats | None, penalty: float
) -> Logistic:
    """The regression of the group's number, 0, 1, ..., on the columns."""
    w = np.ones(len(columns)) if weights is None else weights
    total = w.sum()
    mean = w @ columns / total
    spread = np.sqrt(w @ (columns - mean) ** 2 / max(total - (w @ w) / total, np.finfo(float).tiny))
    varies = columns.max(axis=0) > columns.min(axis=0)
    design = np.ones((len(columns), int(varies.sum()) + 1))
    design[:, :-1] = (columns[:, varies] - mean[varies]) / spread[varies]
    outcome = np.eye(groups)[group]
    if groups == 2:
        outcome = outcome[:, 1:]
    problem = _Problem(design, outcome, w / total, penalty)
    found, steps, converged = problem.solved()
    coefficients = np.zeros((len(found), columns.shape[1]))
    coefficients[:, varies] = found[:, :-1] / spread[varies]
    intercepts = found[:, -1] - coefficients @ mean
    if groups > 2:
        intercepts -= intercepts.mean()
    return Logistic(coefficients, intercepts, steps, converged)


@dataclass(frozen=True)
class _Problem:
    design: Floats  # (rows, columns), the last one 1
    outcome: Floats  # (rows, 1 or groups)
    share: Floats  # of each row in the weight of all
    penalty: float

    def solved(self) -> tuple[Floats, int, bool]:
        """The minimum, how many steps it took, and whether the gradient vanishes there."""
        at = np.zeros((self.outcome.shape[1], self.design.shape[1]))
        loss, gradient, hessian = self._around(at)
        for step in range(MOST_STEPS):
            if np.abs(gradient).max() <= SMALL_GRADIENT:
                return at, step, True
            change = np.linalg.solve(hessian, gradient.ravel()).reshape(at.shape)
            size = 1.0
            for _ in range(HALVINGS):
                nearer = self._loss(at - size * change)
                if nearer < loss:
                    break
                size /= 2
            else:  # rounding hides what is left
                return at, step, bool(np.abs(gradient).max() <= np.sqrt(SMALL_GRADIENT))
            at = at - size * change
            loss, gradient, hessian = self._around(at)
        return at, MOST_STEPS, False

    def _loss(self, at: Floats) -> float:
        margins = self.design @ at.T
        if self.outcome.shape[1] == 1:
            rows = np.logaddexp(0.0, margins[:, 0]) - (margins * self.outcome)[:, 0]
        else:
            top = margins.max(axis=1)
            rows = np.log(np.exp(margins - top[:, None]).sum(axis=1)) + top
            rows = rows - (margins * self.outcome).sum(axis=1)
        return float(self.share @ rows + self.penalty / 2 * np.sum(at[:, :-1] ** 2))

    def _around(self, at: Floats) -> tuple[float, Floats, Floats]:
        """Loss, gradient and Hessian."""
        free = np.append(np.full(at.shape[1] - 1, self.penalty), 0.0)
        margins, outputs, width = self.design @ at.T, *at.shape
        p = _probabilities(margins)[:, -outputs:]
        gradient = ((p - self.outcome) * self.share[:, None]).T @ self.design + free * at
        hessian = np.zeros((outputs, width, outputs, width))
        for a in range(outputs):
            for b in range(a + 1):
                weight = self.share * p[:, a] * ((a == b) - p[:, b])
                block = (self.design * weight[:, None]).T @ self.design
                hessian[a, :, b] += block
                if a != b:
                    hessian[b, :, a] += block.T
            hessian[a, :, a] += np.diag(free)
        if outputs > 1:  # all intercepts may move together: let them stay
            hessian[:, -1, :, -1] += 1 / outputs
        return self._loss(at), gradient, hessian.reshape(at.size, at.size)


def _probabilities(margins: Floats) -> Floats:
    """Of each group, from log odds; of one column, those of the second of two groups."""
    if margins.shape[1] == 1:
        with np.errstate(over="ignore"):
            second = 1 / (1 + np.exp(-margins))
        return np.hstack([1 - second, second])
    shares = np.exp(margins - margins.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
