"""How good an ensemble is on the rows that its bootstrap samples left out.

Each row is predicted by the mean of the models that did not train on it. Executors add up sums; for
the AUC of two classes they count rows by probability, in bins that are even on the scale of log
odds, so that low risks are told apart as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from figs_spark.engine.blocks import Block
from figs_spark.engine.histograms import Floats
from figs_spark.engine.replay import Replay
from figs_spark.engine.table import Target
from figs_spark.engine.weights import OwnWeights, Weights

SUMS = 6
BINS = 8_000  # of the log odds of a probability, from -FURTHEST to FURTHEST
FURTHEST = 12.0


@dataclass(frozen=True)
class OutOfBag:
    """The share of rows with the right class, or R2; and the AUC of two classes."""

    score: float
    area: float | None

    @classmethod
    def of(cls, sums: Floats, target: Target) -> OutOfBag:
        weight, total, squares, error, right, _ = sums[:SUMS]
        if not target.classes:
            return cls(float(1 - error / (squares - total**2 / weight)), None)
        return cls(float(right / weight), _area(sums[SUMS:]) if target.classes == 2 else None)


def length(target: Target) -> int:
    """How many sums there are."""
    return SUMS + (2 * BINS if target.classes == 2 else 0)


def out_of_bag_sums(blocks: Iterator[Block], replays: Sequence[Replay], weights: Weights) -> Floats:
    """Over the rows that some model left out: sums of w, w y, w y^2, w * squared error, w where the
    predicted class is right, and the rows; of two classes then w by bin, without and with y."""
    target = weights.target
    sums = np.zeros(length(target))
    for block in blocks:
        mean, seen = _means(block, replays, weights)
        own = OwnWeights(target).rows(block, 0)
        w, y = own.weight[seen], own.target[seen]
        right = (mean[:, 0] > 0.5) == (y[:, 0] > 0.5)
        if target.outputs > 1:
            right = np.argmax(mean, axis=1) == np.argmax(y, axis=1)
        squares = ((y - mean) ** 2).sum(axis=1)
        sums[:SUMS] += [w.sum(), w @ y[:, 0], w @ y[:, 0] ** 2, w @ squares, w @ right, seen.sum()]
        if target.classes == 2:
            place = _bin(mean[:, 0]) + BINS * (y[:, 0] > 0.5)
            sums[SUMS:] += np.bincount(place, w, 2 * BINS)
    return sums


def _means(block: Block, replays: Sequence[Replay], weights: Weights) -> tuple[Floats, np.ndarray]:
    """What the models that left out a row expect of it; and which rows some model left out."""
    target = weights.target
    total = np.zeros((len(block), target.outputs))
    times = np.zeros(len(block))
    for replay in replays:
        *_, score = replay.scores(block.codes)
        left_out = weights.held_out_rows(block, replay.member).count > 0
        outcome = replace(target.outcome, link=replay.link)
        total[left_out] += outcome.expected_table(score[left_out])
        times += left_out
    seen = times > 0
    return total[seen] / times[seen, None], seen


def _bin(probability: Floats) -> np.ndarray:
    with np.errstate(divide="ignore"):
        log_odds = np.log(probability) - np.log1p(-probability)
    share = (np.clip(log_odds, -FURTHEST, FURTHEST) + FURTHEST) / (2 * FURTHEST)
    return np.minimum((share * BINS).astype(np.intp), BINS - 1)


def _area(counts: Floats) -> float:
    """The AUC; rows in the same bin count as equal. NaN if a class has no rows."""
    without, having = counts[:BINS], counts[BINS:]
    below = np.cumsum(without) - without / 2
    pairs = without.sum() * having.sum()
    return float(below @ having / pairs) if pairs > 0 else float("nan")
