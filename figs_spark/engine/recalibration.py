"""A fitted model on new rows -> the same splits with values that suit these rows.

    intercept   the score is moved, until the mean of the predictions is that of the outcome
    slope       the score is moved and stretched, by least squares or, of log odds, logistic
    refit       all values are fitted again on the new rows

Every size of the model is calibrated on its own. The losses of the calibrated model are those on
the new rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from figs_spark.engine.cells import Cells
from figs_spark.engine.histograms import Floats
from figs_spark.engine.refitting import (
    Fitted,
    fit_columns,
    newton,
    path_losses,
    risk,
    solved,
)
from figs_spark.treesum import Node, TreeSum
from figs_spark.treesum.adjustments import as_path
from figs_spark.treesum.nodes import LOGIT, arms

INTERCEPT, SLOPE, REFIT = METHODS = ("intercept", "slope", "refit")


def recalibrated(
    model: TreeSum, cells: Cells, rows: int, method: str, monotone: bool = False
) -> TreeSum:
    """`cells` has the rows by leaf, numbered from left to right; `rows` is how many they were.

    What is `monotone` stays so: its values are not fitted again, and are not turned around.
    """
    if monotone and method == REFIT:
        raise ValueError(
            "The model has monotone features, and values that are fitted again would not keep "
            "their order. Use the method 'intercept' or 'slope'."
        )
    if model.link == LOGIT:
        _check_both_classes(cells)
    splits, penalty = split_columns(model)
    columns = np.column_stack([np.ones(len(cells)), _of_cells(splits, cells)])
    path = [np.array(coefficients) for coefficients in as_path(model)]
    if method == REFIT:
        fitted = fit_columns(cells, columns, penalty, [0.0] * len(path), model.link)
    else:
        moved = [_moved(b, columns[:, : len(b)] @ b, cells, method, model.link) for b in path]
        fitted = Fitted(moved, path_losses(cells, columns, moved, model.link))
        if monotone and any((new[1:] * old[1:] < 0).any() for new, old in zip(moved, path)):
            raise ValueError(
                "The model has monotone features, and on these rows the outcome falls where it "
                "should rise. Use the method 'intercept', or other rows."
            )
    changed = model.with_path(tuple(tuple(map(tuple, b.tolist())) for b in fitted.path))
    remark = _remark(method, rows, path[-1], fitted.path[-1])
    return replace(changed, losses=tuple(fitted.losses), remarks=(*model.remarks, remark))


def _check_both_classes(cells: Cells) -> None:
    if not 0 < cells.target.sum() < cells.weight.sum():
        raise ValueError(
            "The rows to calibrate on are all of one class. Log odds need rows of both classes."
        )


def _remark(method: str, rows: int, before: Floats, after: Floats) -> str:
    """What was done, for the reader of the model; numbers only if there is one output."""
    if method == REFIT:
        return f"All values were fitted again on {rows:,} new rows"
    text = f"Recalibrated on {rows:,} new rows"
    if before.shape[1] > 1:
        return f"{text}: {method}"
    slope = 1.0
    if method == SLOPE and len(before) > 1:
        largest = int(np.argmax(np.abs(before[1:]))) + 1
        slope = float(after[largest, 0] / before[largest, 0]) if before[largest, 0] else 1.0
    shift = float(after[0, 0] - slope * before[0, 0])
    stretched = f" times {slope:.4g}" if method == SLOPE else ""
    return f"{text}: the score is the earlier one{stretched}, moved by {shift:+.4g}"


def _moved(b: Floats, scores: Floats, cells: Cells, method: str, link: str) -> Floats:
    """The coefficients of one size, with another constant and, for a slope, times a factor."""
    constant, factor = np.zeros(b.shape[1]), np.ones(b.shape[1])
    for c in range(b.shape[1]):
        fit = _logistic if link == LOGIT else _linear
        constant[c], factor[c] = fit(scores[:, c], cells.weight, cells.target[:, c], method)
    moved: Floats = b * factor
    moved[0] += constant
    return moved


def _linear(scores: Floats, weight: Floats, target: Floats, method: str) -> tuple[float, float]:
    varies = scores.max() - scores.min() > 1e-12 * np.abs(scores).max()
    if method == SLOPE and varies:
        columns = np.column_stack([np.ones(len(scores)), scores])
        products = (columns * weight[:, None]).T @ columns
        constant, factor = solved(products, (columns.T @ target)[:, None])[:, 0]
        return float(constant), float(factor)
    return float((target.sum() - weight @ scores) / weight.sum()), 1.0


def _logistic(scores: Floats, weight: Floats, events: Floats, method: str) -> tuple[float, float]:
    ones, centre = np.ones((len(scores), 1)), float(weight @ scores / weight.sum())
    varies = scores.max() - scores.min() > 1e-12
    if method == SLOPE and varies:
        columns = np.column_stack([ones, scores - centre])
        constant, factor = newton(columns, weight, events, np.zeros(2), np.array([centre, 1.0]))
        return float(constant - factor * centre), float(factor)
    return _shift(scores, weight, float(events.sum())), 1.0


def _shift(scores: Floats, weight: Floats, events: float) -> float:
    """By how much log odds must be moved for the mean risk to be that of the rows."""
    low, high = -1000.0, 1000.0
    while high - low > 1e-13 * max(1.0, abs(low)):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        enough = float(weight @ risk(np.clip(scores + middle, -700, 700))) >= events
        low, high = (low, middle) if enough else (middle, high)
    return (low + high) / 2


def split_columns(model: TreeSum) -> tuple[list[Floats], Floats]:
    """Of each tree what a coefficient of 1 of each split adds in each leaf, (leaves, splits); and
    the factor of each split in a ridge."""
    splits = len(model.splits)
    penalty = np.zeros(splits)

    def rows(node: Node, so_far: Floats) -> list[Floats]:
        if not (branches := node.branches):
            return [so_far]
        split, *children = branches
        factors = arms(*(child.weight for child in children))
        penalty[split.step] = (factors[0] ** 2 + factors[1] ** 2) / 2
        arms_of_leaves: list[Floats] = []
        for child, factor in zip(children, factors, strict=True):
            below = so_far.copy()
            below[split.step] = factor
            arms_of_leaves += rows(child, below)
        return arms_of_leaves

    return [np.array(rows(tree, np.zeros(splits))) for tree in model.trees], penalty


def _of_cells(splits: list[Floats], cells: Cells) -> Floats:
    total = np.zeros((len(cells), splits[0].shape[1]))
    for of_tree, leaves in zip(splits, cells.leaves.T, strict=True):
        total += of_tree[leaves]
    return total
