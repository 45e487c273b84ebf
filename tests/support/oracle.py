"""FIGS in plain NumPy: what the engine must equal on small data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Floats = Any  # np.ndarray; the oracle is read as a formula, not as an interface


class Step(NamedTuple):
    """One greedy step: `x[feature] <= threshold` goes left in `tree`, and what the leaves say."""

    tree: int
    feature: int
    threshold: float
    missing_left: bool
    left: Floats
    right: Floats


class Leaf(NamedTuple):
    tree: int
    rows: Floats
    value: Floats
    depth: int


def figs(
    X: Floats,
    y: Floats,
    w: Floats | None = None,
    max_splits: int = 12,
    max_trees: int | None = None,
    max_depth: int | None = None,
    min_rows: int = 1,
    min_weight_fraction: float = 0.0,
    min_impurity_decrease: float = 0.0,
) -> list[Step]:
    w = np.ones(len(X)) if w is None else np.asarray(w, float)
    y = np.asarray(y, float).reshape(len(X), -1)
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    mean = w @ y / w.sum()
    residual, tie = y - mean, 1e-9 * (w @ (y - mean) ** 2).sum()
    min_weight = min_weight_fraction * w.sum() * (1 - 1e-9)
    leaves: list[Leaf] = []
    steps: list[Step] = []
    while len(steps) < max_splits:
        trees = len({leaf.tree for leaf in leaves})
        candidates = sorted(leaves, key=lambda leaf: leaf.tree)
        candidates = [leaf for leaf in candidates if max_depth is None or leaf.depth < max_depth]
        if max_trees is None or trees < max_trees:
            candidates.append(Leaf(trees, np.arange(len(y)), mean if trees == 0 else 0 * mean, 0))
        cuts = [best_cut(X[c.rows], residual[c.rows], w[c.rows], min_rows, min_weight, tie)
                for c in candidates]  # fmt: skip
        gains = np.array([gain for gain, *_ in cuts])
        if not len(gains) or gains.max() <= max(tie, min_impurity_decrease * w.sum()):
            break
        k = int(np.argmax(gains >= gains.max() - tie))
        (tree, rows, value, depth), (_, j, threshold, missing_left) = candidates[k], cuts[k]
        goes_left = np.where(np.isnan(X[rows, j]), missing_left, X[rows, j] <= threshold)
        leaves = [leaf for leaf in leaves if leaf.rows is not rows]
        for side in (rows[goes_left], rows[~goes_left]):
            shift = w[side] @ residual[side] / w[side].sum()
            residual[side] -= shift
            leaves.append(Leaf(tree, side, value + shift, depth + 1))
        steps.append(Step(tree, j, threshold, missing_left, leaves[-2].value, leaves[-1].value))
    return steps


def best_cut(
    X: Floats, r: Floats, w: Floats, min_rows: int, min_weight: float, tie: float
) -> tuple[float, int, float, bool]:
    """(gain, feature, threshold, missing left) of the best cut; the first of equal ones."""

    def score(rows: Floats) -> float:
        return float(((w[rows] @ r[rows]) ** 2).sum() / w[rows].sum())

    everything, found = score(np.full(len(w), True)), []
    for j, x in enumerate(X.T):
        missing = np.isnan(x)
        values = np.unique(x[~missing])
        thresholds = (values[:-1] + values[1:]) / 2
        if missing.any() and len(values):
            thresholds = np.append(thresholds, np.inf)
        for threshold in thresholds:
            for missing_left in (True, False) if missing.any() else (False,):
                left = np.where(missing, missing_left, x <= threshold)
                enough = min(left.sum(), (~left).sum()) >= min_rows
                if enough and min(w[left].sum(), w[~left].sum()) >= min_weight:
                    gain = score(left) + score(~left) - everything
                    heavier = w[left].sum() >= w[~left].sum() * (1 - 1e-9)
                    side = missing_left if missing.any() else bool(heavier)
                    found.append((gain, j, float(threshold), side))
    top = max((cut[0] for cut in found), default=-np.inf)
    return next((cut for cut in found if cut[0] >= top - tie), (-np.inf, 0, 0.0, False))


def ridge_fit(psi: Floats, y: Floats, w: Floats, penalties: Floats) -> Floats:
    """The constant and the coefficients of least sum w (y - f)^2 + sum of penalties * b^2."""
    rows = np.sqrt(w)[:, None] * np.column_stack([np.ones(len(psi)), psi])
    ridge = np.diag(np.sqrt(np.append(0.0, penalties)))
    target = np.concatenate([np.sqrt(w)[:, None] * y, np.zeros((len(ridge), y.shape[1]))])
    return np.linalg.lstsq(np.concatenate([rows, ridge]), target, rcond=None)[0]


def logistic_fit(psi: Floats, y: Floats, w: Floats, penalties: Floats) -> Floats:
    """The same for 2 sum w (log(1 + exp(f)) - y f), by a general optimiser."""
    from scipy.optimize import minimize

    Z = np.column_stack([np.ones(len(psi)), psi])
    penalties = np.append(0.0, penalties)

    def deviance(b: Floats) -> tuple[float, Floats]:
        f = Z @ b
        loss = 2 * w @ (np.logaddexp(0, f) - y * f) + penalties @ b**2
        return float(loss), 2 * (Z.T @ (w * (1 / (1 + np.exp(-f)) - y)) + penalties * b)

    start = np.zeros(Z.shape[1])
    options = {"gtol": 1e-12, "ftol": 0.0, "maxiter": 5000, "maxfun": 50000}
    return minimize(deviance, start, jac=True, method="L-BFGS-B", options=options).x


def psi_columns(model: Any, X: Floats) -> Floats:
    """What a coefficient of 1 of each split adds to each row, from the nodes of a model."""
    columns = np.zeros((len(X), len(model.splits)))

    def walk(node: Any, rows: Floats) -> None:
        if node.split is None:
            return
        left = node.split.goes_left(X[rows, node.split.feature])
        up, down = node.left.weight, node.right.weight
        columns[rows[left], node.split.step] = np.sqrt(down / up)
        columns[rows[~left], node.split.step] = -np.sqrt(up / down)
        walk(node.left, rows[left])
        walk(node.right, rows[~left])

    for tree in model.trees:
        walk(tree, np.arange(len(X)))
    return columns
