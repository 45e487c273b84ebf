"""Counts that are too small to be shown: a few rows could be known persons.

A count from 1 to `least` - 1 is shown as "<11". If it is the only one that is hidden among counts
that add up to a known total, the difference would tell it; so the next smallest is hidden, too.
"""

from __future__ import annotations

from collections.abc import Sequence

STRICT = 11  # the smallest count that is shown, by the usual rule of health data
HIDDEN = "hidden"  # in the place of a count that is large, but would tell a small one


def hidden(counts: Sequence[float], least: int, total_known: bool = True) -> list[bool]:
    """Which of the counts may not be shown. With `total_known` their sum can be looked up."""
    small = [0 < count < least for count in counts]
    if total_known and sum(small) == 1:
        others = [k for k, count in enumerate(counts) if count >= least]
        if others:
            small[min(others, key=lambda k: counts[k])] = True
    return small


def shown(count: float, is_hidden: bool, least: int) -> str:
    """A count as text."""
    if not is_hidden:
        return f"{count:,.0f}"
    return f"<{least}" if count < least else HIDDEN
