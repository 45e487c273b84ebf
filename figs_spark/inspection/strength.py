"""How much one column alone says about the label, from its counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from figs_spark.inspection.counts import Counted, Label, Tally, total

LARGEST_POOL = 100  # rows: the means of fewer are not taken one by one
UNEXPECTED = 10.0  # rows that a share of 0% or 100% must contradict to be worth a word


@dataclass(frozen=True)
class Decided:
    """A value that decides the label in all of its rows."""

    value: str
    rows: int
    always: bool  # or never
    expected: float  # rows with the label, by the share in all rows


def strength(counted: Counted, label: Label) -> float:
    """The AUC of the column alone, or the share of the variance that it explains."""
    pools = [tally for tally in _pools(counted) if tally.rows]
    if len(pools) < 2:
        return 0.5 if label.is_class else 0.0
    return _area(pools) if label.is_class else _explained(pools, label)


def _pools(counted: Counted) -> list[Tally]:
    """Tallies of enough rows: numbers side by side, the rarer texts together."""
    least = min(LARGEST_POOL, max(10, counted.rows // 20))
    large = [tally for tally in counted.texts.values() if tally.rows >= least]
    small = [tally for tally in counted.texts.values() if tally.rows < least]
    return [
        counted.missing,
        *large,
        total([*small, counted.others]),
        *_side_by_side(counted.numbers.values(), least),
    ]


def _side_by_side(tallies: Iterable[Tally], least: int) -> list[Tally]:
    pools: list[Tally] = []
    open_pool = Tally()
    for tally in tallies:
        open_pool += tally
        if open_pool.rows >= least:
            pools.append(open_pool)
            open_pool = Tally()
    if open_pool.rows and pools:
        pools[-1] += open_pool
    elif open_pool.rows:
        pools.append(open_pool)
    return pools


def _area(pools: Sequence[Tally]) -> float:
    """The AUC if each pool is scored by its share with the label."""
    positives = sum(pool.label for pool in pools)
    negatives = sum(pool.rows for pool in pools) - positives
    if positives <= 0 or negatives <= 0:
        return 0.5
    area, below = 0.0, 0.0  # negatives with a lower score
    for pool in sorted(pools, key=lambda pool: pool.mean):
        own = pool.rows - pool.label
        area += pool.label * (below + own / 2)
        below += own
    return area / (positives * negatives)


def _explained(pools: Sequence[Tally], label: Label) -> float:
    if label.variance <= 0:
        return 0.0
    between = sum(pool.rows * (pool.mean - label.mean) ** 2 for pool in pools)
    return min(1.0, between / (label.rows * label.variance))


def decided_values(counted: Counted, label: Label, least: int) -> list[Decided]:
    """Values with the label never or always, although many rows would be expected otherwise."""
    if not label.is_class:
        return []
    named = [("missing", counted.missing)]
    named += [(f"'{value}'", tally) for value, tally in counted.texts.items()]
    if counted.whole:
        named += [(f"{value:g}", tally) for value, tally in counted.numbers.items()]
    decided = []
    for value, tally in named:
        expected = tally.rows * label.mean
        if tally.rows < least or tally.kinds > 1:
            continue
        never = tally.label == 0 and expected >= UNEXPECTED
        always = tally.label == tally.rows and tally.rows - expected >= UNEXPECTED
        if never or always:
            decided.append(Decided(value, tally.rows, always, expected))
    return sorted(decided, key=lambda d: -d.rows)
