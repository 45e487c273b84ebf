"""What values a caller may give for a feature: columns by name, cells of the right kind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

NUMBERS = (bool, int, float, np.bool_, np.number)
KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "text": ((str,), "text"),
    "boolean": (NUMBERS, "true and false"),
}


def check_once(columns: Iterable[Any], names: Sequence[str]) -> None:
    """ValueError if a table has several columns of one of these names."""
    every = list(columns)
    twice = [name for name in names if every.count(name) > 1]
    if twice:
        raise ValueError(
            f"{every.count(twice[0])} columns are called '{twice[0]}', which the model needs. "
            f"Rename or drop all but one."
        )


def check_cells(name: str, kind: str, cells: Iterable[Any]) -> None:
    """ValueError if values are of another kind than in training: a number is no category of text,
    and would pass for a value that training did not see."""
    types, needed = KINDS.get(kind, (NUMBERS, "numbers"))
    known = [cell for cell in cells if cell is not None and cell == cell]
    wrong = [cell for cell in known if not isinstance(cell, types)]
    if wrong:
        raise ValueError(
            f"Column '{name}' has values of type {type(wrong[0]).__name__} in {len(wrong)} rows, "
            f"and the model was trained on {needed}. Read or convert it as such."
        )
