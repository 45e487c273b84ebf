"""The targets of the rows of a leaf, added up. What other trees say does not change them."""

from __future__ import annotations

from dataclasses import dataclass

from figs_spark.engine.histograms import Floats


@dataclass(frozen=True)
class LeafTargets:
    """Sums over the rows of a leaf."""

    moments: Floats  # (outputs + 1,) of w * y, and of w * |y|^2
    weight: float
    rows: int

    def without(self, child: LeafTargets) -> LeafTargets:
        """Those of the sibling of a child."""
        moments = self.moments - child.moments
        return LeafTargets(moments, self.weight - child.weight, self.rows - child.rows)

    @property
    def noise(self) -> float:
        """What a row without any effect adds to the gain of a set that is free: the variance of the
        targets, times the mean weight."""
        *sums, squares = self.moments.tolist()
        return float(max(squares - sum(s * s for s in sums) / self.weight, 0.0) / self.rows)
