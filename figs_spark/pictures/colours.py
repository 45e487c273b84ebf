"""The colours of the pictures."""

from __future__ import annotations

INK, PALE_INK = "#1f2933", "#66717f"
PAPER, CARD, EDGE, LINE = "#ffffff", "#f5f7f9", "#dde2e8", "#9aa5b1"
TRACK = "#edf0f3"  # behind a bar
RAISES, LOWERS, NEUTRAL = "#c2452d", "#2a6ca6", "#66717f"


def colour(value: float) -> str:
    return RAISES if value > 0 else LOWERS if value < 0 else NEUTRAL
