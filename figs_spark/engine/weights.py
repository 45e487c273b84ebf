"""Which weights each model of a batch gives to the rows of a block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from figs_spark.engine.blocks import Block, Target
from figs_spark.engine.histograms import Floats, Rows


@dataclass(frozen=True)
class OwnWeights:
    """Each row has its own weight, the same in every model. Rows held from a model weigh nothing.

    A row of weight zero is as if it were not there.
    """

    target: Target

    def rows(self, block: Block, member: int) -> Rows:
        return self._rows(block, None if block.held is None else block.held != member)

    def held_rows(self, block: Block, member: int) -> Rows:
        """The rows held from the model, to judge it by."""
        none = np.zeros(len(block), dtype=bool)
        return self._rows(block, none if block.held is None else block.held == member)

    def _rows(self, block: Block, kept: np.ndarray | None) -> Rows:
        weight: Floats = np.ones(len(block)) if block.weight is None else block.weight
        if kept is not None:
            weight = weight * kept
        count = weight if block.weight is None else (weight > 0).astype(np.float64)
        return Rows(block.codes, self.target.matrix(block.target), weight, count)

