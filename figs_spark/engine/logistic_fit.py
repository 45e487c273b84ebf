"""Logistic regression on cells: the coefficients of least penalised deviance.

Two classes have one score, log odds, and one column of coefficients; more have one of each class,
and only differences between classes matter: over the classes, the coefficients of a split add up
to 0. Newton steps are halved until the deviance falls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from figs_spark.engine.cells import summed
from figs_spark.engine.constraints import MARGIN, ordered
from figs_spark.engine.histograms import Floats
from figs_spark.engine.kernels.accumulate import probabilities

NEWTON_STEPS = 50
HALVINGS = 30
CONVERGED = 1e-12  # share of the deviance that a step must gain to go on
SINGULAR = 1e-10  # share of the largest eigenvalue below which a direction is not fitted
CHUNK = 4096  # cells whose products are made at once


def scores_of(mean: Floats) -> Floats:
    """The scores of which these are the probabilities, by output."""
    if len(mean) == 1:
        return np.log(mean / (1 - mean))
    logs = np.log(mean)
    return np.asarray(logs - logs.mean())


def log_loss(weight: Floats, target: Floats, scores: Floats) -> float:
    """Minus the log likelihood: half of the deviance."""
    one = scores.shape[1] == 1
    total = np.logaddexp(0.0, scores[:, 0]) if one else np.logaddexp.reduce(scores, axis=1)
    return float(weight @ total - (target * scores).sum())


def likeliest(
    columns: Floats,
    weight: Floats,
    target: Floats,
    penalties: Floats,
    start: Floats,
    order: Floats | None = None,
    centre: Floats | None = None,
) -> Floats:
    """The coefficients (columns, outputs), by Newton steps from `start`.

    `order` has rows, of which each times the coefficients is to be negative; it is for one output.
    The penalties draw the coefficients to the `centre`, which is 0 if none is given. A class that
    no row has keeps its start, unless its constant is drawn, too.
    """
    seen = target.sum(axis=0) > 0
    if target.shape[1] > 1 and not penalties[0] and not seen.all():
        fitted, own = start.copy(), None if centre is None else centre[:, seen]
        cells = columns, weight, target[:, seen]
        fitted[:, seen] = likeliest(*cells, penalties, start[:, seen], order, own)
        return fitted
    middle = np.zeros(start.shape) if centre is None else centre
    rows = np.zeros((0, len(start))) if order is None else order
    if len(rows):
        start = ordered(np.eye(len(start)), start[:, 0], rows, MARGIN)[:, None]
    fit = _Fit(columns, weight, target, penalties, middle, rows)
    return descended(start, fit.step, fit.deviance)


def descended(
    start: Floats, step: Callable[[Floats], Floats], deviance: Callable[[Floats], float]
) -> Floats:
    """Where steps lead, each halved until the deviance falls."""
    coefficients, least = start, deviance(start)
    for _ in range(NEWTON_STEPS):
        change = step(coefficients)
        for _ in range(HALVINGS):
            reached = deviance(coefficients + change)
            if reached <= least:
                break
            change = change / 2
        else:
            break
        coefficients, gained, least = coefficients + change, least - reached, reached
        if gained <= CONVERGED * abs(least):
            break
    return coefficients


@dataclass(frozen=True)
class _Fit:
    """What is to be fitted, as `likeliest` takes it."""

    columns: Floats
    weight: Floats
    target: Floats
    penalties: Floats
    centre: Floats
    rows: Floats

    def deviance(self, b: Floats) -> float:
        penalty = self.penalties @ ((b - self.centre) ** 2).sum(axis=1)
        return 2 * log_loss(self.weight, self.target, self.columns @ b) + float(penalty)

    def step(self, b: Floats) -> Floats:
        """A whole Newton step."""
        columns, weight = self.columns, self.weight[:, None]
        p = probabilities(columns @ b)[0]
        drawn = self.penalties[:, None] * (b - self.centre)
        gradient = columns.T @ (self.target - weight * p) - drawn
        if b.shape[1] > 1:
            whole = np.linalg.solve(self._curvature_of_classes(p), gradient.T.ravel())
            return whole.reshape(b.shape[1], -1).T
        curvature = (columns * (weight * p * (1 - p))).T @ columns + np.diag(self.penalties)
        if len(self.rows):
            towards = curvature @ b[:, 0] + gradient[:, 0]
            return ordered(curvature, towards, self.rows, MARGIN)[:, None] - b
        return solved(curvature, gradient)

    def _curvature_of_classes(self, p: Floats) -> Floats:
        """Of all coefficients, class by class. In the direction in which a constant is added to
        all classes, which changes no probability, it is made positive."""
        columns, weight = self.columns, self.weight
        size, classes = columns.shape[1], p.shape[1]
        curvature = np.zeros((classes * size, classes * size))
        for c in range(classes):
            own = slice(c * size, (c + 1) * size)
            products = (columns * (weight * p[:, c])[:, None]).T @ columns
            curvature[own, own] = products + np.diag(self.penalties)
        for at in range(0, len(columns), CHUNK):
            some = slice(at, at + CHUNK)
            shares = np.sqrt(weight[some])[:, None] * p[some]
            together = (shares[:, :, None] * columns[some, None, :]).reshape(-1, classes * size)
            curvature -= together.T @ together
        constants = np.zeros(classes * size)
        constants[::size] = np.sqrt(weight.sum() / classes)
        return curvature + np.outer(constants, constants)


def coarser(columns: Floats, weight: Floats, target: Floats) -> tuple[Floats, Floats, Floats]:
    """Cells that a smaller model does not tell apart become one."""
    distinct, number = np.unique(columns, axis=0, return_inverse=True)
    number, size = number.ravel(), len(distinct)
    targets = np.column_stack([summed(number, own, size) for own in target.T])
    return distinct, summed(number, weight, size), targets


def solved(products: Floats, targets: Floats) -> Floats:
    """The solution of least norm, by units in which the diagonal is 1."""
    scale = np.sqrt(np.diag(products))
    scale[scale == 0] = 1.0
    even = products / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(even)
    kept = values > SINGULAR * values[-1]
    inverse = (vectors[:, kept] / values[kept]) @ vectors[:, kept].T
    solution: Floats = (inverse @ (targets / scale[:, None])) / scale[:, None]
    return solution
