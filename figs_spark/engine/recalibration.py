"""A fitted model on new rows -> the same splits with values that suit these rows.

    intercept   the score is moved, until the mean of the predictions is that of the outcome
    slope       the score is moved and stretched, by least squares or, of logarithms, logistic; the
                scores of several classes are stretched alike
    refit       all values are fitted again on the new rows

Every size of the model is calibrated on its own. The losses of the calibrated model are those on
the new rows.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from figs_spark.engine.cells import Cells
from figs_spark.engine.histograms import Floats
from figs_spark.engine.kernels.accumulate import probabilities
from figs_spark.engine.logistic_fit import descended, likeliest, log_loss, solved
from figs_spark.engine.refitting import Fitted, fit_columns, path_losses
from figs_spark.treesum import Node, TreeSum
from figs_spark.treesum.adjustments import NEW_ROWS, as_path
from figs_spark.treesum.nodes import IDENTITY, SOFTMAX, arms

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
    if model.link != IDENTITY:
        _check_all_classes(cells)
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


def _check_all_classes(cells: Cells) -> None:
    counts = cells.target.sum(axis=0)
    if len(counts) == 1 and not 0 < counts[0] < cells.weight.sum():
        raise ValueError(
            "The rows to calibrate on are all of one class. Log odds need rows of both classes."
        )
    if not counts.all():
        raise ValueError(
            f"The rows to calibrate on lack {(counts == 0).sum()} of the {len(counts)} classes. "
            f"Log weights need rows of every class."
        )


def _remark(method: str, rows: int, before: Floats, after: Floats) -> str:
    """What was done, for the reader of the model; numbers only if there is one output."""
    if method == REFIT:
        return f"All values were fitted again on {rows:,} {NEW_ROWS}"
    text = f"Recalibrated on {rows:,} {NEW_ROWS}"
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
    if link == SOFTMAX:
        constant, factor[:] = _classes_moved(scores, cells, method)
    else:
        for c in range(b.shape[1]):
            fit = _linear if link == IDENTITY else _logistic
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
        start = np.array([[centre], [1.0]])
        ((constant,), (factor,)) = likeliest(columns, weight, events[:, None], np.zeros(2), start)
        return float(constant - factor * centre), float(factor)
    return _shift(scores, weight, float(events.sum())), 1.0


def _shift(scores: Floats, weight: Floats, events: float) -> float:
    """By how much log odds must be moved for the mean risk to be that of the rows."""
    low, high = -1000.0, 1000.0
    while high - low > 1e-13 * max(1.0, abs(low)):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        risks = probabilities(np.clip(scores + middle, -700, 700)[:, None])[0]
        enough = float(weight @ risks[:, 0]) >= events
        low, high = (low, middle) if enough else (middle, high)
    return (low + high) / 2


def _classes_moved(scores: Floats, cells: Cells, method: str) -> tuple[Floats, float]:
    """A constant of each class and one factor for all of them, by Newton steps."""
    classes = scores.shape[1]
    varies = np.ptp(scores - scores.mean(axis=1, keepdims=True), axis=0).max() > 1e-12
    slopes = 1 if method == SLOPE and varies else 0

    def score(b: Floats) -> Floats:
        return b[:classes] + (b[classes] if slopes else 1.0) * scores

    def step(b: Floats) -> Floats:
        p = probabilities(score(b))[0]
        rest, shares = cells.target - cells.weight[:, None] * p, cells.weight[:, None] * p
        gradient = np.append(rest.sum(axis=0), [(rest * scores).sum()] * slopes)
        curvature = np.zeros((len(b), len(b)))
        curvature[:classes, :classes] = np.diag(shares.sum(axis=0)) - shares.T @ p
        if slopes:
            apart = scores - (p * scores).sum(axis=1, keepdims=True)
            curvature[:classes, -1] = curvature[-1, :classes] = (shares * apart).sum(axis=0)
            curvature[-1, -1] = (shares * apart**2).sum()
        return solved(curvature, gradient[:, None])[:, 0]

    def deviance(b: Floats) -> float:
        return 2 * log_loss(cells.weight, cells.target, score(b))

    moved = descended(np.append(np.zeros(classes), np.ones(slopes)), step, deviance)
    return moved[:classes], float(moved[classes]) if slopes else 1.0


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
