"""Cells -> leaf values: all values of a model fitted together, by least squares or logistic.

The splits stay; every split s has one coefficient b,

    f = c + sum b_s psi_s     psi_s = sqrt(WR / WL) in the left child, -sqrt(WL / WR) in the right

so a model with m splits has m + 1 numbers to fit, the same as its trees have together. The ridge
penalty of a split, R_s = ridge * (WR / WL + WL / WR) / 2, is the larger, the less even it is:

    least squares   sum w (y - f)^2 + sum R_s b_s^2
    logistic        2 sum w (log(1 + exp(f)) - y f) + v sum R_s b_s^2,   v the variance of y

Of more than two classes each has its f, b and y; squares are added up over the classes, and the sum
of all exp(f) takes the place of 1 + exp(f). Every size of the model is fitted, so a path of
coefficients takes the place of the nested values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from figs_spark.engine.cells import Cells
from figs_spark.engine.constraints import MARGIN, ordered
from figs_spark.engine.growing_trees import LearningNode
from figs_spark.engine.histograms import Floats
from figs_spark.engine.kernels.accumulate import probabilities
from figs_spark.engine.logistic_fit import coarser, likeliest, scores_of, solved
from figs_spark.treesum.nodes import IDENTITY, arms

LEAST_RIDGE = 0.04  # of the logistic fit: log odds of leaves without events stay finite


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
    fit = _linear_path if link == IDENTITY else _logistic_path
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
    if link != IDENTITY:
        variance = _variance(cells)
        penalties = np.append(0.0, max(ridge, LEAST_RIDGE) * variance * penalty)
        sums = cells.weight, cells.target
        return likeliest(columns, *sums, penalties, start, rows) if variance else start
    penalties = np.append(0.0, ridge * penalty)
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
    """The weighted mean of the squared errors, of logarithms that of the probabilities."""
    expected = scores if link == IDENTITY else probabilities(scores)[0]
    squares = (cells.weight[:, None] * expected**2).sum() - 2 * (expected * cells.target).sum()
    return max(float(cells.squares + squares), 0.0) / float(cells.weight.sum())


def _variance(cells: Cells) -> float:
    """Of classes; 0 if there is but one."""
    mean = cells.target.sum(axis=0) / cells.weight.sum()
    return float(mean @ (1 - mean))


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


# Logistic


def _logistic_path(
    cells: Cells, columns: Floats, penalty: Floats, ridges: Sequence[float], order: Order
) -> list[Floats]:
    """By Newton steps, each size from the one before it."""
    counts, total = cells.target.sum(axis=0), float(cells.weight.sum())
    outputs, variance = len(counts), _variance(cells)
    start = scores_of((counts + 0.5) / (total + max(1.0, outputs / 2)))[None]
    if not variance:  # a sample of one class: nothing to fit, and no logarithm of 0
        return [np.vstack([start, np.zeros((k, outputs))]) for k in range(len(ridges))]
    path, coefficients = [], start
    for k, ridge in enumerate(ridges):
        penalties = np.append(0.0, max(ridge, LEAST_RIDGE) * variance * penalty[:k])
        before = np.vstack([coefficients, np.zeros((k + 1 - len(coefficients), outputs))])
        own = coarser(columns[:, : k + 1], cells.weight, cells.target)
        coefficients = likeliest(*own, penalties, before, order(k))
        path.append(coefficients)
    return path
