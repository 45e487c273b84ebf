"""What growing with a ridge knows of a candidate leaf, and of its best split."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from figs_spark.engine.histograms import Floats
from figs_spark.engine.splits import BinSplit


class Candidate:
    """What is known of a leaf: over its bins, the sums and the overlaps with earlier splits."""

    def __init__(self, sums: Floats, overlaps: Floats):
        self.sums = sums  # (bins, channels) w y, w and, if they are counted, rows
        self._room, self._splits = overlaps, len(overlaps)

    @property
    def overlaps(self) -> Floats:
        """w psi of each split, (splits, bins); 0 for the splits of its own tree."""
        return self._room[: self._splits]

    def add(self, overlap: Floats) -> None:
        """Take the overlap with one more split."""
        if self._splits == len(self._room):
            more = np.empty((self._splits + 8, len(self.sums)))
            more[: self._splits] = self._room
            self._room = more
        self._room[self._splits] = overlap
        self._splits += 1

    def without(self, child: Candidate) -> Candidate:
        """The sibling of a child of this leaf, as before the split that made them."""
        sums = self.sums - child.sums
        overlaps = self.overlaps - child.overlaps[: self._splits]
        empty = sums[:, -1] < 0.5
        sums[empty] = 0.0
        overlaps[:, empty] = 0.0
        return Candidate(sums, overlaps)

    def kept(self) -> Candidate:
        """This leaf as it is now; what is added later does not change it."""
        return Candidate(self.sums, self.overlaps)


@dataclass(frozen=True)
class NormalEquations:
    """The best split of a candidate, and what it means for the normal equations."""

    split: BinSplit
    overlaps: Floats  # (splits,) its column of A
    target: Floats  # (outputs,) sum of w psi y
