"""Logistic regression of two or more groups on rows in the driver, by Newton's method.

The Hessian takes most of the time. So a step keeps that of the step before, as long as the gradient
falls fast with it.

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
MOST_WORK = 1e10  # multiplications of one Hessian
MOST_STEPS = 100
SMALL_GRADIENT = 1e-12
HALVINGS = 40
FAST = 0.2  # times the gradient before
PAIRS = 1 << 17  # products of two columns that are in memory at once
ROUNDING = 1e-14  # share of the loss


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
        loss, gradient = self._loss(at), self._gradient(at)
        before = np.inf
        for step in range(MOST_STEPS):
            steepest = float(np.abs(gradient).max())
            if steepest <= SMALL_GRADIENT:
                return at, step, True
            if step == 0 or steepest > FAST * before:
                hessian = self._hessian(at)
            before = steepest
            change = np.linalg.solve(hessian, gradient.ravel()).reshape(at.shape)
            size = 1.0
            for _ in range(HALVINGS):
                nearer = self._loss(at - size * change)
                if nearer <= loss + ROUNDING * abs(loss):
                    break
                size /= 2
            else:  # rounding hides what is left
                return at, step, bool(steepest <= np.sqrt(SMALL_GRADIENT))
            at = at - size * change
            loss, gradient = nearer, self._gradient(at)
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

    def _gradient(self, at: Floats) -> Floats:
        p = _probabilities(self.design @ at.T)[:, -len(at) :]
        slope: Floats = ((p - self.outcome) * self.share[:, None]).T @ self.design
        return slope + self._penalties * at

    @property
    def _penalties(self) -> Floats:
        """Of each column; the last one has none."""
        return np.append(np.full(self.design.shape[1] - 1, self.penalty), 0.0)

    def _hessian(self, at: Floats) -> Floats:
        outputs, width = at.shape
        hessian = self._curvature_of_one(at) if outputs == 1 else self._curvature_of_many(at)
        hessian[np.diag_indices(at.size)] += np.tile(self._penalties, outputs)
        if outputs > 1:  # all intercepts may move together: let them stay
            hessian[width - 1 :: width, width - 1 :: width] += 1 / outputs
        return hessian

    def _curvature_of_one(self, at: Floats) -> Floats:
        p = _probabilities(self.design @ at.T)
        weights = self.share * p[:, 0] * p[:, 1]
        curvature: Floats = (self.design * weights[:, None]).T @ self.design
        return curvature

    def _curvature_of_many(self, at: Floats) -> Floats:
        """The sums over rows of x_i x_j times a weight for each pair of outputs, some rows at a
        time: one product of matrices for all pairs of both."""
        outputs, width = at.shape
        (first, second), (i, j) = np.tril_indices(outputs), np.triu_indices(width)
        sums, rows = np.zeros((len(first), len(i))), max(1, PAIRS // len(i))
        for start in range(0, len(self.design), rows):
            some = slice(start, start + rows)
            x = self.design[some]
            p = _probabilities(x @ at.T)
            weights = p[:, first] * ((first == second) - p[:, second])
            sums += (weights * self.share[some, None]).T @ (x[:, i] * x[:, j])
        curvature = np.zeros((outputs, width, outputs, width))
        for a, b, block in zip(first, second, sums, strict=True):
            for left, right in ((i, j), (j, i)):
                curvature[a, left, b, right] = curvature[b, left, a, right] = block
        return curvature.reshape(at.size, at.size)


def _probabilities(margins: Floats) -> Floats:
    """Of each group, from log odds; of one column, those of the second of two groups."""
    if margins.shape[1] == 1:
        with np.errstate(over="ignore"):
            second = 1 / (1 + np.exp(-margins))
        return np.hstack([1 - second, second])
    shares = np.exp(margins - margins.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
