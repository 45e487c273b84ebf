"""What the thresholds of a score do: the curve, operating points, areas. NumPy only.

Everything is computed from `RowsByScore`, the weights of positives and negatives by score. A
threshold lies halfway between two scores, so `score >= threshold` and `score > threshold` flag the
same rows. (If no number lies between the two scores, only `>=` does.) The first point of a curve
flags nobody: its threshold is inf. The last point flags everybody: its threshold is -inf.

With weights, all shares are weighted. Their uncertainty is that of Kish's effective number of rows,
(sum w)^2 / sum w^2; if all weights are equal, this is the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figs_spark.treesum.strict_json import Entry

Floats = NDArray[np.float64]

Z = 1.959963984540054  # standard errors to either side in a 95% interval
NO_ROWS = 1e-100  # an effective number of rows; smaller ones have no square
EVERYONE = -1.0  # a threshold below every probability


@dataclass(frozen=True)
class RowsByScore:
    """The rows added up by score: one entry per score, the highest score first.

    If there are very many scores, an entry stands for a range of neighbouring scores.
    """

    low: Floats  # smallest and largest score of the entry
    high: Floats
    positives: Floats  # weight of the rows labelled 1
    negatives: Floats
    positive_squares: Floats  # sum of squared weights
    negative_squares: Floats
    rows: Floats
    scores: Floats  # sum of weight * score
    errors: Floats  # sum of weight * (score - label)^2

    @classmethod
    def of(cls, ranks: Floats, columns: Mapping[str, Floats]) -> RowsByScore:
        """Add up the entries of equal rank; ranks rise with the score."""
        distinct, entry = np.unique(-ranks, return_inverse=True)
        low, high = np.full(len(distinct), np.inf), np.full(len(distinct), -np.inf)
        np.minimum.at(low, entry, columns["low"])
        np.maximum.at(high, entry, columns["high"])
        names = [field.name for field in fields(cls)][2:]
        sums: dict[str, Any] = {
            name: np.bincount(entry, columns[name], len(distinct)) for name in names
        }
        return cls(low=low, high=high, **sums)

    @property
    def weights(self) -> Floats:
        return self.positives + self.negatives

    @property
    def squares(self) -> Floats:
        return self.positive_squares + self.negative_squares

    def brier(self) -> float:
        """The mean squared difference between score and label."""
        return float(_ratio(self.errors.sum(), self.weights.sum()))

    def auc(self) -> tuple[float, float]:
        """The area under the ROC curve, and its standard error by DeLong, ties included."""
        p, n = self.positives, self.negatives
        over, under = n.sum() - np.cumsum(n) + n / 2, np.cumsum(p) - p / 2
        area = float(_ratio(p @ over, p.sum() * n.sum()))
        variances = [
            _variance(_ratio(over, n.sum()), area, p.sum(), self.positive_squares),
            _variance(_ratio(under, p.sum()), area, n.sum(), self.negative_squares),
        ]
        return area, math.sqrt(sum(variances))

    def average_precision(self) -> float:
        """The area under the precision-recall curve, in steps as in scikit-learn."""
        tp, fp = np.cumsum(self.positives), np.cumsum(self.negatives)
        return float(_ratio(self.positives @ _ratio(tp, tp + fp), tp[-1]))

    def bins(self, most: int) -> NDArray[np.intp]:
        """The bin of each entry, counted from the lowest score.

        Bins have about equal weight; with at most `most` entries, each entry is a bin.
        """
        if len(self.low) <= most:
            return np.arange(len(self.low))[::-1]
        middle = self.weights.sum() - np.cumsum(self.weights) + self.weights / 2
        numbers = np.floor(most * middle / self.weights.sum())
        return np.unique(np.clip(numbers, 0, most - 1), return_inverse=True)[1]


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold, and what it does: weights of rows, and sums of squared weights.

    `level` is the sensitivity that was asked for. The sensitivity reached is at least that.
    """

    __module__ = "figs_spark"

    level: float
    threshold: float
    tp: float
    fp: float
    tn: float
    fn: float
    squares: tuple[float, float, float, float]

    @property
    def sensitivity(self) -> float:
        return float(_ratio(self.tp, self.tp + self.fn))

    @property
    def specificity(self) -> float:
        return float(_ratio(self.tn, self.tn + self.fp))

    @property
    def sensitivity_interval(self) -> tuple[float, float]:
        return wilson(self.sensitivity, effective(self.tp + self.fn, self._squares("tp", "fn")))

    @property
    def specificity_interval(self) -> tuple[float, float]:
        return wilson(self.specificity, effective(self.tn + self.fp, self._squares("tn", "fp")))

    def row(self) -> dict[str, float]:
        """All numbers by name, with Wilson's 95% intervals."""
        tp, fp, tn, fn = self.tp, self.fp, self.tn, self.fn
        ppv, npv = float(_ratio(tp, tp + fp)), float(_ratio(tn, tn + fn))
        intervals = {
            "sensitivity": (self.sensitivity, self.sensitivity_interval),
            "specificity": (self.specificity, self.specificity_interval),
            "ppv": (ppv, wilson(ppv, effective(tp + fp, self._squares("tp", "fp")))),
            "npv": (npv, wilson(npv, effective(tn + fn, self._squares("tn", "fn")))),
        }
        numbers = {"level": self.level, "threshold": self.threshold}
        for name, (share, (low, high)) in intervals.items():
            numbers |= {name: share, f"{name}Low": low, f"{name}High": high}
        numbers["lrPositive"] = float(_ratio(self.sensitivity, _ratio(fp, fp + tn)))
        numbers["lrNegative"] = float(_ratio(_ratio(fn, tp + fn), self.specificity))
        numbers["f1"] = float(_ratio(2 * tp, 2 * tp + fp + fn))
        return numbers | {"tp": tp, "fp": fp, "tn": tn, "fn": fn}

    def as_param(self) -> OperatingPoint:
        """The same point with a threshold that the Param `threshold` takes: [0, 1] or EVERYONE.

        The Param flags probabilities above it, not equal to it. So this is the largest double below
        the threshold, and no probability changes sides.
        """
        below = math.nextafter(self.threshold, -math.inf)
        return replace(self, threshold=min(1.0, max(EVERYONE, below)))

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Any, source: str = "this operating point") -> OperatingPoint:
        """What `to_dict` gave, read strictly; `source` is the file that errors name."""
        counts = ("tp", "fp", "tn", "fn")
        entries = Entry(data, source, "operatingPoint").fields(
            ("level", "threshold", *counts, "squares")
        )
        squares = entries["squares"].numbers(low=0.0)
        if len(squares) != len(counts):
            entries["squares"].damaged(f"there are {len(squares)} numbers and not {len(counts)}")
        return cls(
            level=entries["level"].number(low=0.0, high=1.0),
            threshold=entries["threshold"].number(),
            squares=(squares[0], squares[1], squares[2], squares[3]),
            **{name: entries[name].number(low=0.0) for name in counts},
        )

    def _squares(self, *names: str) -> float:
        return sum(self.squares[("tp", "fp", "tn", "fn").index(name)] for name in names)


class Curve:
    """What each threshold flags; `tp` and `fp` are weights."""

    def __init__(self, rows: RowsByScore):
        self.rows = rows
        self.tp, self.fp = _running(rows.positives), _running(rows.negatives)
        between = _halfway(rows.high[1:], rows.low[:-1])
        self.thresholds = np.concatenate([[np.inf], between, [-np.inf]])

    @cached_property
    def sensitivity(self) -> Floats:
        return _ratio(self.tp, self.tp[-1])

    @cached_property
    def specificity(self) -> Floats:
        return _ratio(self.fp[-1] - self.fp, self.fp[-1])

    @cached_property
    def flagged(self) -> Floats:
        """The share of all rows."""
        return _ratio(self.tp + self.fp, self.tp[-1] + self.fp[-1])

    def last_below(self, level: float) -> int:
        """The threshold that comes closest to this sensitivity without reaching it."""
        return int(np.flatnonzero(self.sensitivity < level)[-1])

    def at_sensitivity(self, level: float) -> int:
        """The best specificity with at least this sensitivity; among equals, the most sensitive."""
        enough = np.flatnonzero(self.sensitivity >= level)
        return int(enough[self.fp[enough] == self.fp[enough[0]]][-1])

    def at_specificity(self, least: float) -> int:
        """The best sensitivity with at least this specificity; among equals, the most specific."""
        enough = np.flatnonzero(self.specificity >= least)
        return int(enough[self.tp[enough] == self.tp[enough[-1]]][0])

    def best_f1(self) -> float:
        return float(np.max(2 * self.tp[1:] / (self.tp[1:] + self.fp[1:] + self.tp[-1])))

    def point(self, level: float) -> OperatingPoint:
        """The operating point for a sensitivity; all NaN if there are no positives."""
        if not self.tp[-1] > 0:
            nan = math.nan
            return OperatingPoint(level, nan, nan, nan, nan, nan, (0.0, 0.0, 0.0, 0.0))
        k = self.at_sensitivity(level)
        p, n = self.rows.positive_squares, self.rows.negative_squares
        return OperatingPoint(
            level,
            threshold=float(self.thresholds[k]),
            tp=float(self.tp[k]),
            fp=float(self.fp[k]),
            tn=float(self.fp[-1] - self.fp[k]),
            fn=float(self.tp[-1] - self.tp[k]),
            squares=(_sum(p[:k]), _sum(n[:k]), _sum(n[k:]), _sum(p[k:])),
        )


def wilson(share: float, rows: float) -> tuple[float, float]:
    """The 95% score interval of a share; NaN without rows."""
    if not rows > NO_ROWS:
        return math.nan, math.nan
    middle = (share + Z**2 / (2 * rows)) / (1 + Z**2 / rows)
    variance = share * (1 - share) / rows + Z**2 / (4 * rows**2)
    half = Z * math.sqrt(max(variance, 0.0)) / (1 + Z**2 / rows)
    low = 0.0 if share <= 0 else max(0.0, middle - half)
    return low, 1.0 if share >= 1 else min(1.0, middle + half)


def effective(weight: float, squares: float) -> float:
    """How many rows of equal weight would be as informative."""
    return weight * weight / squares if squares > 0 else 0.0


def _variance(placements: Floats, area: float, weight: float, squares: Floats) -> float:
    rows = effective(weight, squares.sum())
    if rows <= 1 or math.isnan(area):
        return math.nan
    return float(squares @ (placements - area) ** 2) / weight**2 * rows / (rows - 1)


def _running(values: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(values)])


def _sum(values: Floats) -> float:
    return float(values.sum())


def _halfway(lower: Floats, upper: Floats) -> Floats:
    """A number above the lower one and not above the upper one."""
    middle = lower + (upper - lower) / 2
    return np.where(middle > lower, middle, upper)


def _ratio(part: Any, whole: Any) -> Any:
    """The quotient: NaN for 0 / 0, inf for anything else divided by 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.divide(part, whole)
