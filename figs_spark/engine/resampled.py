"""Models grown on bootstrap samples, and how their scores lie on their own and on all rows.

The scores are counted in cells, so that one pass over the packed rows serves all models. A cell is
so narrow that rows of different risks hardly ever share one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from figs_spark.engine.blocks import Block
from figs_spark.engine.histograms import Floats
from figs_spark.engine.progress import Progress
from figs_spark.engine.replay import Replay
from figs_spark.engine.table import Table
from figs_spark.engine.training import Plan, grow_all, packed
from figs_spark.engine.weights import OwnWeights, Weights

CELLS = 4096  # of risks from 0 to 1
POSITIVES, NEGATIVES, SCORES = range(3)  # sums of weights, and of weight * risk
OWN, ALL = range(2)  # the rows as the model's sample has them, and as they are


@dataclass(frozen=True)
class Resampled:
    """Sums by model, sample (OWN or ALL), kind of sum and cell."""

    sums: Floats  # (models, 2, 3, CELLS)


def resampled(
    table: Table, plan: Plan, members: int, weights: Weights, progress: Progress
) -> Resampled:
    """Grow the models of two classes, and count their scores."""
    with packed(table, plan, weights) as (bins, backend):
        grown = grow_all(bins, backend, table, plan, members, progress)
        replays = [Replay.of(growth) for growth in grown]
        work = partial(score_cells, replays=replays, weights=backend.weights)
        shape = (members, 2, 3, CELLS)
        return Resampled(backend.add_up(work, int(np.prod(shape))).reshape(shape))


def score_cells(blocks: Iterator[Block], replays: Sequence[Replay], weights: Weights) -> Floats:
    """The sums of some blocks, flat."""
    sums = np.zeros((len(replays), 2, 3, CELLS))
    own = OwnWeights(weights.target)
    for block in blocks:
        for k, replay in enumerate(replays):
            *_, score = replay.scores(block.codes)
            outcome = replace(weights.target.outcome, link=replay.link)
            risk = outcome.expected_table(score)[:, 0]
            cell = np.minimum((risk * CELLS).astype(np.intp), CELLS - 1)
            for sample, rows in (
                (OWN, weights.rows(block, replay.member)),
                (ALL, own.rows(block, 0)),
            ):
                y = rows.target[:, 0]
                for kind, weight in enumerate(
                    (rows.weight * y, rows.weight * (1 - y), rows.weight * risk)
                ):
                    sums[k, sample, kind] += np.bincount(cell, weight, CELLS)
    return sums.ravel()
