"""Text that stands for bands of numbers, such as [70-80), 70-79, <30 or 65+, and their order."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from itertools import pairwise

LEAST_BANDS = 3  # fewer are as well split as a set
NUMBER = r"(-?\d+(?:[.,]\d+)?)"
RANGE = re.compile(
    rf"^[\[(]?\s*{NUMBER}\s*(?:-|\u2013|to|\.\.|,|;)\s*{NUMBER}\s*[\])]?$", re.IGNORECASE
)
BELOW = re.compile(rf"^(?:<=?|≤|under|below|less than|up to)\s*{NUMBER}$", re.IGNORECASE)
ABOVE = re.compile(rf"^(?:>=?|≥|over|above|more than|from)\s*{NUMBER}$", re.IGNORECASE)
AND_MORE = re.compile(
    rf"^{NUMBER}\s*(?:\+|and over|and above|and older|or more|or older)$", re.IGNORECASE
)


def band(text: str) -> tuple[float, float] | None:
    """The lower and the upper end of a band; None if the text is no band."""
    text = text.strip()
    if match := RANGE.match(text):
        low, high = map(_number, match.groups())
        return (low, high) if low <= high else None
    if match := BELOW.match(text):
        return -math.inf, _number(match[1])
    if match := ABOVE.match(text) or AND_MORE.match(text):
        return _number(match[1]), math.inf
    return None


def in_order(texts: Iterable[str]) -> tuple[str, ...] | None:
    """The texts from the lowest band to the highest; None unless all are bands side by side."""
    bands = [(band(text), text) for text in texts]
    ends = sorted((ends, text) for ends, text in bands if ends is not None)
    if len(ends) < max(LEAST_BANDS, len(bands)):
        return None
    if any(lower[0][1] > upper[0][0] for lower, upper in pairwise(ends)):
        return None  # they overlap
    return tuple(text for _, text in ends)


def _number(text: str) -> float:
    return float(text.replace(",", "."))
