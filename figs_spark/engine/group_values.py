"""One structure for all groups, and for each group values of its own.

A model of all rows grows first. Then each group gets its own coefficients b of the same splits (see
`refitting`), drawn to those of all rows, b0, by a ridge:

    least squares   sum over the group of w (y - f)^2 + 0.3 ridge (c - c0)^2 + ridge sum (b - b0)^2
    logistic        the deviance of the group, and the variance of y times the same penalty

A group of few rows stays close to the model of all rows. The ridge is chosen by cross-validation
at the largest size. One pass adds up the cells of every group and fold; all else is done in the
driver.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from figs_spark.engine.cells import Cells, CellWork, all_cells, merged
from figs_spark.engine.constraints import MARGIN, ordered
from figs_spark.engine.grower import Growth
from figs_spark.engine.histograms import Floats
from figs_spark.engine.logistic_fit import likeliest, log_loss, solved
from figs_spark.engine.progress import GROW, QUIET, Progress
from figs_spark.engine.recutting import recut
from figs_spark.engine.refitting import Basis, Order, fit_path, path_losses
from figs_spark.engine.table import Table
from figs_spark.engine.training import Plan, growing, order_of, packed, refit
from figs_spark.engine.weights import OwnWeights
from figs_spark.treesum import TreeSum
from figs_spark.treesum.adjustments import as_path
from figs_spark.treesum.nodes import IDENTITY

FOLDS = 4
MOST_PARTS = 250  # a part is the rows of one group in one fold; its number fits into a byte
ALL_ROWS = 255  # the number of the model that no part is held out of
RIDGES = (1000.0, 300.0, 100.0, 30.0, 10.0, 3.0)  # in units of row weights
CONSTANT = 0.3  # share of the ridge that the constant gets


@dataclass(frozen=True)
class GroupValues:
    """A model for each group, the ridge that was chosen, and the held-out loss of each ridge."""

    models: list[TreeSum]
    ridge: float
    losses: dict[float, float]


def folds_for(groups: int) -> int:
    return min(FOLDS, MOST_PARTS // groups)


def grow_with_group_values(
    table: Table, plan: Plan, groups: int, progress: Progress = QUIET
) -> GroupValues:
    """`held` in the table is the part of a row: the group times `folds_for(groups)`, plus the
    fold."""
    with packed(table, plan, OwnWeights(table.target), progress) as (bins, backend):
        growth = growing(bins, backend.layout, plan.rules, table.target.centres, ALL_ROWS)
        progress.phase(GROW)
        (grown,) = backend.grow([growth], progress)
        if plan.rules.polish:
            recut(grown, backend)
        if plan.refit is not None:
            refit(backend, [grown], plan.refit, table.class_factors)
        unweighted = plan.refit is not None and plan.refit.unweighted
        factors = np.array(table.class_factors) if unweighted and table.class_factors else None
        parts = range(groups * folds_for(groups))
        trees = [grown.trees.arrays()] * len(parts)
        work = CellWork(parts, trees, backend.weights, factors, held_out=True)
        cells = [all_cells(of_part) for of_part in zip(*backend.gather(work), strict=True)]
    folds = folds_for(groups)
    return Shrinking(grown, [cells[k : k + folds] for k in parts[::folds]]).result()


class Shrinking:
    """A grown model, and the cells of each group by fold."""

    def __init__(self, growth: Growth, cells: Sequence[Sequence[Cells]]):
        self.growth, self.cells = growth, cells
        self.basis = Basis(growth.trees.nodes)
        self.order: Order = order_of(growth, self.basis)
        everybody = merged([part for parts in cells for part in parts])
        mean = everybody.target.sum(axis=0) / everybody.weight.sum()
        self.variance = 1.0 if growth.link == IDENTITY else float(mean @ (1 - mean))
        self.margin = MARGIN * float(np.sqrt(growth.losses[0]))

    def result(self) -> GroupValues:
        losses = self._held_out_losses()
        ridge = min(RIDGES, key=losses.__getitem__)  # of equal ones the first, which is the largest
        path = self._path_of_all()
        models = [self._model(merged(parts), path, ridge) for parts in self.cells]
        return GroupValues(models, ridge, losses)

    def _held_out_losses(self) -> dict[float, float]:
        """The loss of each ridge on rows whose fold trained neither the values of all rows nor
        those of the group; the splits are those of all rows."""
        folds, totals = len(self.cells[0]), dict.fromkeys(RIDGES, 0.0)
        for fold in range(folds):
            others = [[c for f, c in enumerate(parts) if f != fold] for parts in self.cells]
            everybody = merged([part for parts in others for part in parts])
            if not len(everybody):
                continue
            growth = self.growth
            fitted = fit_path(everybody, self.basis, growth.ridges, growth.link, self.order)
            for parts, own in zip(self.cells, others, strict=True):
                columns = self._columns(parts[fold])
                for ridge in RIDGES:
                    values = self._fit(merged(own), fitted.path[-1], ridge)
                    totals[ridge] += _loss(parts[fold], columns @ values, growth.link)
        return totals

    def _columns(self, cells: Cells) -> Floats:
        return np.column_stack([np.ones(len(cells)), self.basis.of_cells(cells)])

    def _fit(self, cells: Cells, towards: Floats, ridge: float) -> Floats:
        """The coefficients of a group, drawn to those of all rows at the same size."""
        size = len(towards)
        columns, rows = self._columns(cells)[:, :size], self.order(size - 1)
        penalties = ridge * self.variance * np.append(CONSTANT, np.ones(size - 1))
        if not len(cells):
            return towards
        if self.growth.link != IDENTITY:
            sums = cells.weight, cells.target
            return likeliest(columns, *sums, penalties, towards, rows, towards)
        normal = (columns * cells.weight[:, None]).T @ columns + np.diag(penalties)
        targets = columns.T @ cells.target + penalties[:, None] * towards
        if len(rows):
            return ordered(normal, targets[:, 0], rows, self.margin)[:, None]
        return solved(normal, targets)

    def _path_of_all(self) -> list[Floats]:
        """The coefficients of all rows at every size, for the centred outcome."""
        if self.growth.path is not None:
            return self.growth.path
        path = [np.array(coefficients) for coefficients in as_path(self.growth.model)]
        for coefficients in path:
            coefficients[0] -= self.growth.centre
        return path

    def _model(self, cells: Cells, path: Sequence[Floats], ridge: float) -> TreeSum:
        own = copy.copy(self.growth)
        own.path = [self._fit(cells, towards, ridge) for towards in path]
        if len(cells):
            own.losses = path_losses(cells, self._columns(cells), own.path, own.link)
        own.remarks = (*own.remarks, _remark(ridge, len(self.cells[0])))
        return own.model


def _remark(ridge: float, folds: int) -> str:
    return (
        f"Each group has values of its own, drawn to those of all rows by a ridge of {ridge:g}, "
        f"which {folds}-fold cross-validation chose"
    )


def _loss(cells: Cells, scores: Floats, link: str) -> float:
    """The deviance, or the squared error but for what does not depend on the scores."""
    if link != IDENTITY:
        return log_loss(cells.weight, cells.target, scores)
    return float((cells.weight[:, None] * scores**2).sum() - 2 * (scores * cells.target).sum())
