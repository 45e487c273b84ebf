"""Cells -> leaf values: all values of a model fitted together, by least squares or logistic.

The splits stay; every split s has one coefficient b,

    f = c + sum b_s psi_s     psi_s = sqrt(WR / WL) in the left child, -sqrt(WL / WR) in the right

so a model with m splits has m + 1 numbers to fit, the same as its trees have together. The ridge
penalty of a split, R_s = ridge * (WR / WL + WL / WR) / 2, is the larger, the less even it is:

    least squares   sum w (y - f)^2 + sum R_s b_s^2
    logistic        2 sum w (log(1 + exp(f)) - y f) + mu (1 - mu) sum R_s b_s^2,   mu the mean of y

Every size of the model is fitted, so a path of coefficients takes the place of the nested values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from figs_spark.engine.cells import Cells, summed
from figs_spark.engine.constraints import MARGIN, ordered
from figs_spark.engine.growing_trees import LearningNode
from figs_spark.engine.histograms import Floats
from figs_spark.treesum.nodes import IDENTITY, LOGIT, arms

LEAST_RIDGE = 0.04  # of the logistic fit: log odds of leaves without events stay finite
NEWTON_STEPS = 50
HALVINGS = 30
CONVERGED = 1e-12  # share of the deviance that a step must gain to go on
SINGULAR = 1e-10  # share of the largest eigenvalue below which a direction is not fitted


@dataclass(frozen=True)
class Refit:
    """How values are fitted again once the splits are made."""

    link: str = IDENTITY
    unweighted: bool = False  # on rows without their class weights


class Basis:
    """The splits of a model, in the order of their steps, as columns over its nodes."""

    def __init__(self, nodes: Sequence[LearningNode]):
        made = [(n.split.step, k) for k, n in enumerate(nodes) if n.split is not None]
        self.size = len(made)
        self.of_node = np.zeros((len(nodes), self.size))
        penalty = np.zeros(self.size)
        for step, k in sorted(made):  # a parent comes before its children
            node = nodes[k]
            factors = arms(nodes[node.left].weight, nodes[node.right].weight)
            penalty[step] = (factors[0] ** 2 + factors[1] ** 2) / 2
            for child, factor in zip((node.left, node.right), factors, strict=True):
                self.of_node[child] = self.of_node[k]
                self.of_node[child, step] = factor
        self.penalty = penalty

    def of_cells(self, cells: Cells) -> Floats:
        """What a coefficient of 1 of each split adds in each cell, (cells, splits)."""
        total = np.zeros((len(cells), self.size))
        for of_tree in cells.leaves.T:
            total += self.of_node[of_tree]
        return total


Order = Callable[[int], Floats]  # of a size: rows, of which each times the b is to be negative


def free(splits: int) -> Floats:
    """No inequalities."""
    return np.zeros((0, 1 + splits))


@dataclass(frozen=True)
class Fitted:
    """The coefficients of every size, each (1 + splits, outputs), and the mean losses."""

    path: list[Floats]
    losses: list[float]


def fit_path(
    cells: Cells, basis: Basis, ridges: Sequence[float], link: str, order: Order = free
) -> Fitted:
    """Fit the values of every size; `ridges` has the penalty of each, `order` the inequalities."""
    columns = np.column_stack([np.ones(len(cells)), basis.of_cells(cells)])
    return fit_columns(cells, columns, basis.penalty, ridges, link, order)


def fit_columns(
    cells: Cells,
    columns: Floats,
    penalty: Floats,
    ridges: Sequence[float],
    link: str,
    order: Order = free,
) -> Fitted:
    """The same, from columns (cells, 1 + splits) that begin with ones."""
    fit = _logistic_path if link == LOGIT else _linear_path
    path = fit(cells, columns, penalty, ridges, order)
    return Fitted(path, path_losses(cells, columns, path, link))


def fit_size(
    cells: Cells,
    columns: Floats,
    penalty: Floats,
    ridge: float,
    link: str,
    start: Floats,
    rows: Floats,
) -> Floats:
    """The coefficients of one size; `start` is near them, and `rows` has the inequalities."""
    variance = 1.0
    if link == LOGIT:
        mean = float(cells.target.sum() / cells.weight.sum())
        variance, ridge = mean * (1 - mean), max(ridge, LEAST_RIDGE)
    penalties = np.append(0.0, ridge * variance * penalty)
    if link == LOGIT:
        if not variance:
            return start
        events = cells.target[:, 0]
        return newton(columns, cells.weight, events, penalties, start[:, 0], rows)[:, None]
    normal = (columns * cells.weight[:, None]).T @ columns + np.diag(penalties)
    targets = columns.T @ cells.target
    if len(rows):
        margin = MARGIN * math.sqrt(cells.squares / float(cells.weight.sum()))
        return ordered(normal, targets[:, 0], rows, margin)[:, None]
    return solved(normal, targets)


def path_losses(cells: Cells, columns: Floats, path: Sequence[Floats], link: str) -> list[float]:
    """The mean loss of every size on the rows of the cells."""
    return [_loss(cells, columns[:, : len(b)] @ b, link) for b in path]


def _loss(cells: Cells, scores: Floats, link: str) -> float:
    """The weighted mean of the squared errors, of log odds that of the probabilities."""
    expected = risk(scores) if link == LOGIT else scores
    squares = (cells.weight[:, None] * expected**2).sum() - 2 * (expected * cells.target).sum()
    return max(float(cells.squares + squares), 0.0) / float(cells.weight.sum())


def risk(log_odds: Floats) -> Floats:
    return 1.0 / (1.0 + np.exp(-log_odds))


# Least squares


def _linear_path(
    cells: Cells, columns: Floats, penalty: Floats, ridges: Sequence[float], order: Order
) -> list[Floats]:
    products = (columns * cells.weight[:, None]).T @ columns
    targets = columns.T @ cells.target
    path: list[Floats] = []
    for k, ridge in enumerate(ridges):
        size, rows = k + 1, order(k)
        normal = products[:size, :size] + np.diag(np.append(0.0, ridge * penalty[:k]))
        if len(rows):
            margin = MARGIN * math.sqrt(_loss(cells, columns[:, :1] @ path[0], IDENTITY))
            path.append(ordered(normal, targets[:size, 0], rows, margin)[:, None])
        else:
            path.append(solved(normal, targets[:size]))
    return path


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


# Logistic


def _logistic_path(
    cells: Cells, columns: Floats, penalty: Floats, ridges: Sequence[float], order: Order
) -> list[Floats]:
    """By Newton steps, each size from the one before it."""
    weight, events = cells.weight, cells.target[:, 0]
    total, positive = float(weight.sum()), float(events.sum())
    if not 0 < positive < total:  # a sample of one class: nothing to fit, and no log odds of 0
        constant = math.log((positive + 0.5) / (total - positive + 0.5))
        return [np.append(constant, np.zeros(k))[:, None] for k in range(len(ridges))]
    variance = positive / total * (1 - positive / total)
    coefficients = np.array([math.log(positive / (total - positive))])
    path = []
    for k, ridge in enumerate(ridges):
        penalties = np.append(0.0, max(ridge, LEAST_RIDGE) * variance * penalty[:k])
        start = np.append(coefficients, np.zeros(k + 1 - len(coefficients)))
        own, own_weight, own_events = _coarser(columns[:, : k + 1], weight, events)
        coefficients = newton(own, own_weight, own_events, penalties, start, order(k))
        path.append(coefficients[:, None])
    return path


def _coarser(columns: Floats, weight: Floats, events: Floats) -> tuple[Floats, Floats, Floats]:
    """Cells that a smaller model does not tell apart become one."""
    distinct, number = np.unique(columns, axis=0, return_inverse=True)
    number = number.ravel()
    size = len(distinct)
    return distinct, summed(number, weight, size), summed(number, events, size)


def newton(
    columns: Floats,
    weight: Floats,
    events: Floats,
    penalties: Floats,
    start: Floats,
    order: Floats | None = None,
    centre: Floats | None = None,
) -> Floats:
    """The coefficients of least penalised deviance. A step is halved until the deviance falls.

    `order` has rows, of which each times the coefficients is to be negative. The penalties draw
    the coefficients to the `centre`, which is 0 if none is given.
    """
    rows = np.zeros((0, len(start))) if order is None else order
    middle = np.zeros(len(start)) if centre is None else centre
    if len(rows):
        start = ordered(np.eye(len(start)), start, rows, MARGIN)

    def deviance(b: Floats) -> float:
        scores = columns @ b
        plain = weight @ np.logaddexp(0.0, scores) - events @ scores
        return float(2 * plain + penalties @ (b - middle) ** 2)

    coefficients, least = start, deviance(start)
    for _ in range(NEWTON_STEPS):
        p = risk(columns @ coefficients)
        drawn = penalties * (coefficients - middle)
        gradient = columns.T @ (events - weight * p) - drawn
        curvature = (columns * (weight * p * (1 - p))[:, None]).T @ columns + np.diag(penalties)
        if len(rows):
            towards = curvature @ coefficients + gradient
            step = ordered(curvature, towards, rows, MARGIN) - coefficients
        else:
            step = solved(curvature, gradient[:, None])[:, 0]
        for _ in range(HALVINGS):
            there = deviance(coefficients + step)
            if there <= least:
                break
            step = step / 2
        else:
            break
        coefficients, gained, least = coefficients + step, least - there, there
        if gained <= CONVERGED * abs(least):
            break
    return coefficients
