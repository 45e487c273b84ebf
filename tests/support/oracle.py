"""FIGS in plain NumPy: what the engine must equal on small data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

Floats = Any  # np.ndarray; the oracle is read as a formula, not as an interface


class Step(NamedTuple):
    """One greedy step: `x[feature] <= threshold` goes left in `tree`, and what the leaves say. The
    threshold of a set is what goes left of the categories of the leaf."""

    tree: int
    feature: int
    threshold: Any
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
    ridge: float = 0.0,
    categorical: Sequence[int] = (),
    smoothing: float = 0.0,
) -> list[Step]:
    """With `categorical` features, none of them may be missing."""
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
        sets = {j: smoothing if len(np.unique(X[:, j])) > 16 else 0.0 for j in categorical}
        cuts = [best_cut(X[c.rows], residual[c.rows], w[c.rows], min_rows, min_weight, tie, ridge,
                         y[c.rows], sets)
                for c in candidates]  # fmt: skip
        gains = np.array([gain for gain, *_ in cuts])
        if not len(gains) or gains.max() <= max(tie, min_impurity_decrease * w.sum()):
            break
        k = int(np.argmax(gains >= gains.max() - tie))
        (tree, rows, value, depth), (_, j, threshold, missing_left) = candidates[k], cuts[k]
        below = X[rows, j] <= threshold if j not in sets else np.isin(X[rows, j], [*threshold])
        goes_left = np.where(np.isnan(X[rows, j]), missing_left, below)
        leaves = [leaf for leaf in leaves if leaf.rows is not rows]
        for side in (rows[goes_left], rows[~goes_left]):
            shift = w[side] @ residual[side] / (w[side].sum() + ridge)
            residual[side] -= shift
            leaves.append(Leaf(tree, side, value + shift, depth + 1))
        steps.append(Step(tree, j, threshold, missing_left, leaves[-2].value, leaves[-1].value))
    return steps


def best_cut(
    X: Floats,
    r: Floats,
    w: Floats,
    min_rows: int,
    min_weight: float,
    tie: float,
    ridge: float,
    y: Floats,
    sets: dict[int, float],
) -> tuple[float, int, Any, bool]:
    """(gain, feature, threshold, missing left) of the best cut; the first of equal ones. `sets` are
    the categorical features, with the rows by which the means of their categories are smoothed."""

    def score(rows: Floats) -> float:
        return float(((w[rows] @ r[rows]) ** 2).sum() / (w[rows].sum() + ridge))

    every = np.arange(len(w))
    found = []
    cuts = [cut for cut in every_cut(X, every) if cut[0] not in sets]
    cuts += [(j, *cut) for j, rows in sets.items() for cut in every_set(X[:, j], r, w, rows)]
    for j, threshold, missing_left, left in sorted(cuts, key=lambda cut: cut[0]):
        right = np.setdiff1d(every, left)
        enough = min(len(left), len(right)) >= min_rows
        if enough and min(w[left].sum(), w[right].sum()) >= min_weight:
            gain = score(left) + score(right) - score(every)
            gain -= set_price(X[:, j], y, w) if sets.get(j) else 0.0
            found.append((gain, j, threshold, side(X[:, j], w, left, right, missing_left)))
    top = max((cut[0] for cut in found), default=-np.inf)
    return next((cut for cut in found if cut[0] >= top - tie), (-np.inf, 0, 0.0, False))


def every_set(
    x: Floats, r: Floats, w: Floats, smoothing: float
) -> Iterator[tuple[frozenset[float], bool, Floats]]:
    """Categories, side of missing values and the rows on the left, of every cut of the categories
    in the order of their means, of one output."""
    values, place = np.unique(x, return_inverse=True)
    weight, total = np.bincount(place, w), np.bincount(place, w * r[:, 0])
    more = smoothing * w.mean()
    means = (total + more * total.sum() / w.sum()) / (weight + more)
    for k in range(1, len(values)):
        left = np.sort(np.argsort(means, kind="stable")[:k])
        yield frozenset(values[left].tolist()), False, np.flatnonzero(np.isin(place, left))


def set_price(x: Floats, y: Floats, w: Floats) -> float:
    """Twice what a set of categories without effect gains in a leaf with these rows."""
    variance = (w @ (y - w @ y / w.sum()) ** 2).sum() / w.sum()
    return float(2 * 2 / np.pi * (len(np.unique(x)) - 1) * variance * w.mean())


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


def softmax_fit(psi: Floats, y: Floats, w: Floats, penalties: Floats) -> Floats:
    """The same for several classes, y one-hot: 2 sum w (log sum exp(f) - y f)."""
    from scipy.optimize import minimize
    from scipy.special import logsumexp, softmax

    Z, classes = np.column_stack([np.ones(len(psi)), psi]), y.shape[1]
    penalties = np.append(0.0, penalties)[:, None]

    def deviance(flat: Floats) -> tuple[float, Floats]:
        b = flat.reshape(-1, classes)
        f = Z @ b
        loss = 2 * w @ (logsumexp(f, axis=1) - (y * f).sum(axis=1)) + (penalties * b**2).sum()
        slope = 2 * (Z.T @ (w[:, None] * (softmax(f, axis=1) - y)) + penalties * b)
        return float(loss), slope.ravel()

    start = np.zeros(Z.shape[1] * classes)
    options = {"gtol": 1e-12, "ftol": 0.0, "maxiter": 5000, "maxfun": 50000}
    best = minimize(deviance, start, jac=True, method="L-BFGS-B", options=options)
    return best.x.reshape(-1, classes)


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


class JointStep(NamedTuple):
    """One step of growing with a ridge: the split, the ridge after it, the scores of the rows."""

    tree: int
    feature: int
    threshold: float
    missing_left: bool
    gain: float
    ridge: float
    scores: Floats


def joint_figs(
    X: Floats,
    y: Floats,
    w: Floats | None = None,
    ridge: float | None = None,
    max_splits: int = 12,
    max_trees: int | None = None,
    max_depth: int | None = None,
    min_rows: int = 1,
) -> list[JointStep]:
    """Every cut is tried by fitting all coefficients again, from the rows, by least squares."""
    w = np.ones(len(X)) if w is None else np.asarray(w, float)
    y = np.asarray(y, float).reshape(len(X), -1)
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    mean = w @ y / w.sum()
    y = y - mean
    tie = 1e-9 * (w @ y**2).sum()
    automatic, ridge = ridge is None, 10.0 if ridge is None else ridge
    psi, penalty = np.zeros((len(X), 0)), np.zeros(0)
    leaves: list[Leaf] = []
    steps: list[JointStep] = []
    while len(steps) < max_splits:
        made = psi, penalty, ridge

        def gain_of(leaf: Leaf, left: Floats, right: Floats, made: Any = made) -> float:
            psi, penalty, ridge = made
            column, own = split_column(len(X), w, left, right)
            if penalised(psi, column[:, None], w, ridge * penalty) < 1e-3 * w[leaf.rows].sum():
                return -np.inf  # nearly a sum of the columns before it
            more = np.column_stack([psi, column])
            after = penalised(more, y, w, ridge * np.append(penalty, own))
            return penalised(psi, y, w, ridge * penalty) - after

        choice = choose(X, w, leaves, tie, gain_of, max_trees, max_depth, min_rows)
        if choice is None:
            break
        (tree, rows, _, depth), (gain, j, threshold, missing, sides) = choice
        leaves = [leaf for leaf in leaves if leaf.rows is not rows]
        leaves += [Leaf(tree, own, 0.0, depth + 1) for own in sides]
        column, own = split_column(len(X), w, *sides)
        psi, penalty = np.column_stack([psi, column]), np.append(penalty, own)
        if automatic:
            ridge = automatic_ridge(psi, y, w, penalty, ridge)
        b = ridge_fit(psi, y, w, ridge * penalty)
        scores = mean + np.column_stack([np.ones(len(X)), psi]) @ b
        steps.append(JointStep(tree, j, threshold, missing, gain, ridge, scores))
    return steps


def choose(
    X: Floats,
    w: Floats,
    leaves: list[Leaf],
    tie: float,
    gain_of: Callable[[Leaf, Floats, Floats], float],
    max_trees: int | None,
    max_depth: int | None,
    min_rows: int,
) -> Any:
    """The leaf to split next, or a new root, with (gain, feature, threshold, side of missing
    values, rows on both sides); None if no split helps. A gain of -inf is not valid."""
    trees = len({leaf.tree for leaf in leaves})
    candidates = sorted(leaves, key=lambda leaf: leaf.tree)
    candidates = [leaf for leaf in candidates if max_depth is None or leaf.depth < max_depth]
    if max_trees is None or trees < max_trees:
        candidates.append(Leaf(trees, np.arange(len(X)), 0.0, 0))
    best: list[Any] = []
    for leaf in candidates:
        cuts = []
        for j, threshold, missing_left, left in every_cut(X, leaf.rows):
            right = np.setdiff1d(leaf.rows, left)
            if min(len(left), len(right)) >= min_rows:
                missing = side(X[leaf.rows, j], w, left, right, missing_left)
                cuts.append((gain_of(leaf, left, right), j, threshold, missing, (left, right)))
        top = max((cut[0] for cut in cuts), default=-np.inf)
        best.append(next((c for c in cuts if c[0] >= top - tie), (-np.inf,)))
    gains = np.array([cut[0] for cut in best])
    if not len(gains) or gains.max() <= tie:
        return None
    k = int(np.argmax(gains >= gains.max() - tie))
    return candidates[k], best[k]


def side(x: Floats, w: Floats, left: Floats, right: Floats, missing_left: bool) -> bool:
    """Whether missing values go left: as tried; if there are none, with the heavier side."""
    if np.isnan(x).any():
        return missing_left
    return bool(w[left].sum() >= w[right].sum() * (1 - 1e-9))


def every_cut(X: Floats, rows: Floats) -> Any:
    """Feature, threshold, side of missing values and the rows on the left, of every cut."""
    for j in range(X.shape[1]):
        x = X[rows, j]
        missing = np.isnan(x)
        values = np.unique(x[~missing])
        thresholds = (values[:-1] + values[1:]) / 2
        if missing.any() and len(values):
            thresholds = np.append(thresholds, np.inf)
        for threshold in thresholds:
            for missing_left in (True, False) if missing.any() else (False,):
                left = np.where(missing, missing_left, x <= threshold)
                yield j, threshold, missing_left, rows[left]


def split_column(size: int, w: Floats, left: Floats, right: Floats) -> tuple[Floats, float]:
    """The column of a split, and its factor in the penalty."""
    up, down = w[right].sum() / w[left].sum(), w[left].sum() / w[right].sum()
    column = np.zeros(size)
    column[left], column[right] = np.sqrt(up), -np.sqrt(down)
    return column, (up + down) / 2


def penalised(psi: Floats, y: Floats, w: Floats, penalties: Floats) -> float:
    """The least sum w (y - f)^2 + sum of penalties * b^2."""
    b = ridge_fit(psi, y, w, penalties)
    f = np.column_stack([np.ones(len(psi)), psi]) @ b
    return float((w @ (y - f) ** 2).sum() + (penalties @ b[1:] ** 2).sum())


def automatic_ridge(psi: Floats, y: Floats, w: Floats, penalty: Floats, ridge: float) -> float:
    for attempt in range(3):
        b = ridge_fit(psi, y, w, ridge * penalty)
        f = np.column_stack([np.ones(len(psi)), psi]) @ b
        variance = (w @ (y - f) ** 2).sum() / max(w.sum() - len(penalty) - 1, 1)
        spread = (penalty @ b[1:] ** 2).sum()
        new = 3 * len(penalty) * variance / max(spread, 1e-300)
        new = min(max(new, 0.1), 0.1 * w.sum())
        if abs(new / ridge - 1) < 0.05:
            break
        ridge = float(np.sqrt(new * ridge)) if attempt else float(new)
    return ridge


def logistic_figs(
    X: Floats,
    y: Floats,
    w: Floats | None = None,
    ridge: float = 30.0,
    max_splits: int = 12,
    max_trees: int | None = None,
    max_depth: int | None = None,
    min_rows: int = 1,
) -> list[tuple[int, int, float, bool, float]]:
    """Growing by the logistic loss: tree, feature, threshold, side of missing values, gain.

    y is 0 or 1, or of several classes one-hot."""
    w = np.ones(len(X)) if w is None else np.asarray(w, float)
    y = np.asarray(y, float).reshape(len(X), -1)
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    mean = np.clip(w @ y / w.sum(), 0.5 / (w.sum() + 1), 1 - 0.5 / (w.sum() + 1))
    if len(mean) > 1:
        mean = mean / mean.sum()
    odds = np.log(mean / (1 - mean)) if len(mean) == 1 else np.log(mean)
    f, variance = np.tile(odds, (len(y), 1)), mean @ (1 - mean)
    tie, scale = 1e-9 * w.sum() * variance, ridge * variance
    tie = max(tie, 1e-18 * w.sum())
    leaves: list[Leaf] = []
    steps: list[tuple[int, int, float, bool, float]] = []
    while len(steps) < max_splits:
        p, h = logistic(f)
        g, h = w[:, None] * (y - p), w * h
        made = g, h

        def gain_of(leaf: Leaf, left: Floats, right: Floats, made: Any = made) -> float:
            column, own = split_column(len(X), w, left, right)
            curvature = made[1] @ column**2
            if curvature < 1e-3 * w[leaf.rows].sum():
                return -np.inf
            return ((column @ made[0]) ** 2).sum() / (curvature + scale * own)

        choice = choose(X, w, leaves, tie, gain_of, max_trees, max_depth, min_rows)
        if choice is None:
            break
        (tree, rows, _, depth), (gain, j, threshold, missing, sides) = choice
        leaves = [leaf for leaf in leaves if leaf.rows is not rows]
        for own in sides:
            f[own] += g[own].sum(axis=0) / h[own].sum()
            leaves.append(Leaf(tree, own, 0.0, depth + 1))
        steps.append((tree, j, threshold, missing, gain))
    return steps


def logistic(f: Floats) -> tuple[Floats, Floats]:
    """The probabilities of scores (rows, outputs), and of each row a curvature that bounds the
    loss: by Jaakkola and Jordan for log odds, by Boehning for several classes."""
    if f.shape[1] > 1:
        power = np.exp(f - f.max(axis=1, keepdims=True))
        return power / power.sum(axis=1, keepdims=True), np.full(len(f), 0.5)
    p, flat = 1 / (1 + np.exp(-f)), np.abs(f) < 1e-3
    h = np.where(flat, 0.25 - f**2 / 48, (p - 0.5) / np.where(flat, 1, f))
    return p, h[:, 0]
