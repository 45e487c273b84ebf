"""Values that the sample of the bins had missed, found while rows are packed.

A partition gives each of them a code of its own, behind that of missing values, as long as there
are codes. So the driver can give them bins afterwards without reading the rows again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.bins import Bins, FeatureBins
from figs_spark.engine.blocks import Block
from figs_spark.engine.histograms import CODE_DTYPE, CODES, Floats

MOST = 1024  # that a partition reports per feature

Values = Mapping[int, list[float]]  # of a partition without a bin, by feature


@dataclass
class Strangers:
    """Those of one partition, in the order in which they came."""

    bins: Bins
    values: dict[int, list[float]] = field(default_factory=dict)
    coded: bool = True  # whether each has a code

    def take(
        self,
        codes: NDArray[np.uint8],
        table: Floats,
        found: Mapping[int, Floats],
        first: int = 0,
    ) -> None:
        """Code the cells that hold such values, of features from the `first` one on."""
        for place, values in found.items():
            j = first + place
            known = self.values.setdefault(j, [])
            known += sorted(set(values.tolist()).difference(known))
            behind_missing = self.bins.widths[j]
            if behind_missing + len(known) > CODES:
                self.coded = False
                self.values[j] = few(np.sort(known)).tolist()
                continue
            for value in values.tolist():
                codes[table[:, place] == value, place] = behind_missing + known.index(value)


def with_new_bins(
    blocks: Iterable[Block], old: Bins, new: Bins, strangers: Mapping[int, Values]
) -> list[Block]:
    """Blocks that were packed with the old bins, as the new ones give them; `strangers` by the
    number of the partition."""
    return [_recoded(block, old, new, strangers.get(block.partition, {})) for block in blocks]


def _recoded(block: Block, old: Bins, new: Bins, strangers: Values) -> Block:
    codes = block.codes.copy()
    for j, (before, after) in enumerate(zip(old.features, new.features, strict=True)):
        if before is not after:
            codes[:, j] = _table(before, after, strangers.get(j, []))[codes[:, j]]
    return replace(block, codes=codes)


def _table(before: FeatureBins, after: FeatureBins, strangers: list[float]) -> NDArray[np.uint8]:
    """The new code of each old one."""
    assert before.values is not None  # only what is binned exactly has strangers
    table = np.zeros(CODES, dtype=CODE_DTYPE)
    table[: before.count] = np.searchsorted(after.edges, before.values)
    table[before.count] = after.count  # missing
    last = before.count + 1 + len(strangers)
    table[before.count + 1 : last] = np.searchsorted(after.edges, strangers)
    return table


def few(values: Floats) -> Floats:
    """At most MOST of the values: those that a scrambling of their bits puts first, so that the
    choice is the same however the rows were partitioned."""
    if len(values) <= MOST:
        return values
    bits = values.view(np.uint64)
    with np.errstate(over="ignore"):
        scrambled = (bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
    return np.sort(values[np.argsort(scrambled, kind="stable")[:MOST]])
