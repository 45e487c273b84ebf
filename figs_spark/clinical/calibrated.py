"""How right the risks are: slope, intercept, observed over expected, a smooth curve. NumPy only.

All is computed from `RowsByScore`, which is enough: rows with the same score have the same part in
every sum. If an entry stands for a range of scores, its rows count as rows of its mean score.

The slope and the intercept are on the scale of log odds. A risk of 0 or 1 has none, so risks below
LEAST count as LEAST, and those above 1 - LEAST as that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from figs_spark.clinical.curves import Floats, RowsByScore, Z, effective

LEAST = 0.001
SPAN = 0.75  # the share of the rows that a point of the smooth curve looks at
MOST_POINTS = 500  # of the smooth curve; neighbouring scores are merged if there are more
STEPS, ENOUGH = 100, 1e-12  # of Newton's method


@dataclass(frozen=True)
class Estimate:
    """A number with its 95% interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, error: float) -> Estimate:
        return cls(value, value - Z * error, value + Z * error)


NOT_KNOWN = Estimate(math.nan, math.nan, math.nan)


def calibration_line(rows: RowsByScore) -> dict[str, float]:
    """Slope, intercept, observed over expected with intervals, ICI and log-loss by name."""
    slope, intercept = slope_of(rows), intercept_of(rows)
    ratio = observed_over_expected(rows)
    line: dict[str, float] = {}
    for name, estimate in (("slope", slope), ("intercept", intercept), ("oe", ratio)):
        line |= {name: estimate.value, f"{name}Low": estimate.low, f"{name}High": estimate.high}
    return line | {"ici": integrated_index(rows), "logLoss": log_loss(rows)}


def log_loss(rows: RowsByScore) -> float:
    """The mean of -log(risk of what happened)."""
    risks = np.clip(mean_scores(rows), LEAST, 1 - LEAST)
    lost = rows.positives @ np.log(risks) + rows.negatives @ np.log(1 - risks)
    return -float(lost / rows.weights.sum())


def slope_of(rows: RowsByScore) -> Estimate:
    """The slope of the outcome's log odds over those of the score; 1 is right, less is too bold."""
    odds = log_odds(rows)
    design = np.column_stack([np.ones_like(odds), odds])
    return _logistic(design, np.zeros_like(odds), rows, 1)


def intercept_of(rows: RowsByScore) -> Estimate:
    """By how much the log odds are off on average, with the slope held at 1; 0 is right."""
    odds = log_odds(rows)
    return _logistic(np.ones((len(odds), 1)), odds, rows, 0)


def log_odds(rows: RowsByScore) -> Floats:
    risks = np.clip(mean_scores(rows), LEAST, 1 - LEAST)
    return np.log(risks / (1 - risks))


def mean_scores(rows: RowsByScore) -> Floats:
    return np.asarray(rows.scores / rows.weights, dtype=np.float64)


def observed_over_expected(rows: RowsByScore) -> Estimate:
    """How many events there were for each that the score expects, with an interval of logs."""
    observed, expected = float(rows.positives.sum()), float(rows.scores.sum())
    if not observed > 0 or not expected > 0:
        return NOT_KNOWN
    count = effective(observed, float(rows.positive_squares.sum()))
    error = math.sqrt(max(0.0, 1 - observed / float(rows.weights.sum())) / count)
    ratio = observed / expected
    return Estimate(ratio, ratio * math.exp(-Z * error), ratio * math.exp(Z * error))


def _logistic(design: Floats, offset: Floats, rows: RowsByScore, which: int) -> Estimate:
    """One coefficient of a logistic regression of the outcome, by Newton's method.

    The standard errors are those of the model; with weights, of Kish's effective number of rows.
    """
    positives, weights = rows.positives, rows.weights
    total = float(weights.sum())
    if not 0 < positives.sum() < total or np.linalg.matrix_rank(design) < design.shape[1]:
        return NOT_KNOWN
    beta = np.zeros(design.shape[1])
    for _ in range(STEPS):
        risk = 1 / (1 + np.exp(-np.clip(offset + design @ beta, -700, 700)))
        information = design.T @ (design * (weights * risk * (1 - risk))[:, None])
        try:
            step = np.linalg.solve(information, design.T @ (positives - weights * risk))
        except np.linalg.LinAlgError:  # the classes are separated: there is no finite answer
            return NOT_KNOWN
        beta = beta + step
        if np.abs(step).max() <= ENOUGH * (1 + np.abs(beta).max()):
            spread = float(rows.squares.sum()) / total
            variance = np.linalg.inv(information)[which, which] * spread
            return Estimate.of(float(beta[which]), math.sqrt(variance))
    return NOT_KNOWN


# The smooth curve


def integrated_index(rows: RowsByScore) -> float:
    """The integrated calibration index: the mean distance of risks from the smooth curve."""
    scores, fitted, weights = _smoothed(rows)
    return float(weights @ np.abs(scores - fitted) / weights.sum())


def smooth_curve(rows: RowsByScore) -> tuple[Floats, Floats]:
    """Risks, rising, and the observed rate around each by local regression (lowess)."""
    scores, fitted, _ = _smoothed(rows)
    return scores, fitted


def _smoothed(rows: RowsByScore) -> tuple[Floats, Floats, Floats]:
    """Scores, fitted rates and weights of the entries, or of ranges if there are very many.

    A line is fitted around each score to the nearest SPAN of the rows, whose weights fall with the
    distance by the tricube, as lowess does without robust steps.
    """
    numbers = rows.bins(MOST_POINTS)
    count = int(numbers.max()) + 1
    weight, positives, score, size = (
        np.bincount(numbers, column, count).astype(np.float64)
        for column in (rows.weights, rows.positives, rows.scores, rows.rows)
    )
    x, y = score / weight, positives / weight
    apart = np.abs(x[:, None] - x[None, :])
    near = max(2, int(SPAN * size.sum() + 1e-10))
    order = np.argsort(apart, axis=1, kind="stable")
    reached = np.cumsum(size[order], axis=1) >= min(near, size.sum())
    at = order[np.arange(count), reached.argmax(axis=1)]
    radius = apart[np.arange(count), at]
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(radius[:, None] > 0, apart / radius[:, None], apart > 0)
    local = weight * (1 - np.minimum(distance, 1.0) ** 3) ** 3
    local /= local.sum(axis=1, keepdims=True)
    centre = local @ x
    deviation = x[None, :] - centre[:, None]
    spread = np.maximum((local * deviation**2).sum(axis=1), 1e-12)
    projection = local * (1 + ((x - centre) / spread)[:, None] * deviation)
    return x, projection @ y, weight
