"""Which weights each model of a batch gives to the rows of a block.

Rows that are held out of a model do not train it; they may evaluate it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.blocks import Block
from figs_spark.engine.histograms import Floats, Rows
from figs_spark.engine.table import Target


class Weights(Protocol):
    """Rows with the weights of one model; a row of weight zero is as if it were not there."""

    @property
    def target(self) -> Target: ...

    def rows(self, block: Block, member: int) -> Rows:
        """What the model trains on."""

    def held_out_rows(self, block: Block, member: int) -> Rows:
        """What is held out of the model, to evaluate it by."""


@dataclass(frozen=True)
class OwnWeights:
    """Each row has its own weight, the same in every model that it is not held out of; or one for
    each model."""

    target: Target

    def rows(self, block: Block, member: int) -> Rows:
        if block.weight is not None and block.weight.ndim == 2:
            block = replace(block, weight=np.ascontiguousarray(block.weight[:, member]))
        return _rows(block, self.target, None if block.held is None else block.held != member)

    def held_out_rows(self, block: Block, member: int) -> Rows:
        held = np.zeros(len(block), dtype=bool) if block.held is None else block.held == member
        return _rows(block, self.target, held)


@dataclass(frozen=True)
class BootstrapWeights:
    """Each row counts as often as a bootstrap sample of the model draws it.

    The number is drawn from (seed, model, row) whenever it is needed, and never stored: Poisson
    with mean `rate`, the limit of drawing with replacement; without replacement 0 or 1.
    Rows that a sample leaves out are held out of its model.
    """

    target: Target
    seed: int
    rate: float = 1.0
    replacement: bool = True

    def rows(self, block: Block, member: int) -> Rows:
        return _rows(block, self.target, self.times(_ids(block), member))

    def held_out_rows(self, block: Block, member: int) -> Rows:
        return _rows(block, self.target, self.times(_ids(block), member) == 0)

    def times(self, ids: NDArray[np.int64], member: int) -> Floats:
        """How often the sample of the model draws each row."""
        if not self.replacement and self.rate >= 1:
            return np.ones(len(ids))
        draw = uniform(ids, self.seed, member)
        if not self.replacement:
            return (draw < self.rate).astype(np.float64)
        return np.searchsorted(_poisson_cdf(self.rate), draw, "right").astype(np.float64)


@dataclass(frozen=True)
class Perturbation:
    """What is done to the rows before models are grown again."""

    flip: float = 0.0  # share of the rows, drawn at random, whose label of two is swapped
    bootstrap: bool = False  # whether rows are drawn with replacement


@dataclass(frozen=True)
class PerturbedWeights:
    """The same models on perturbed rows: perturbation k trains model m as member k * models + m."""

    target: Target
    perturbations: tuple[Perturbation, ...]
    models: int
    seed: int

    def rows(self, block: Block, member: int) -> Rows:
        number, model = divmod(member, self.models)
        perturbation = self.perturbations[number]
        rows, ids = OwnWeights(self.target).rows(block, model), _ids(block)
        if perturbation.flip:
            swapped = uniform(ids, self.seed, number) < perturbation.flip
            rows = replace(rows, target=np.where(swapped[:, None], 1 - rows.target, rows.target))
        if perturbation.bootstrap:
            times = BootstrapWeights(self.target, self.seed).times(ids, number)
            rows = replace(rows, weight=rows.weight * times, count=rows.count * times)
        return rows

    def held_out_rows(self, block: Block, member: int) -> Rows:
        return OwnWeights(self.target).held_out_rows(block, member % self.models)


def _ids(block: Block) -> NDArray[np.int64]:
    if block.ids is not None:
        return block.ids
    return block.first + np.arange(len(block), dtype=np.int64)


def _rows(block: Block, target: Target, times: NDArray[Any] | None) -> Rows:
    """Weight and count of each row, each taken `times`."""
    count = np.ones(len(block)) if block.count is None else block.count
    if times is not None:
        count = count * times
    weight = count
    if block.weight is not None:
        weight = block.weight if times is None else block.weight * times
        count = np.where(weight > 0, count, 0.0)
    return Rows(block.codes, target.matrix(block.target), weight, count)


def uniform(ids: NDArray[np.int64], seed: int, member: int) -> Floats:
    """A number in [0, 1) for each id, by the SplitMix64 generator."""
    start = np.random.SeedSequence([seed % (1 << 64), member]).generate_state(1, np.uint64)[0]
    with np.errstate(over="ignore"):
        z = ids.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + start
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(11)) * 2.0**-53


def _poisson_cdf(mean: float) -> Floats:
    """P(number <= k) for k = 0, 1, 2, ... as far as a double tells it from 1."""
    terms = np.cumprod(np.concatenate([[np.exp(-mean)], mean / np.arange(1, 64 + 8 * int(mean))]))
    return np.cumsum(terms)
