"""One row of features, in any of the forms that a person may have it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.ml.linalg import Vector


def by_name(row: Any) -> Mapping[str, Any] | None:
    """A dict, a Spark Row or a pandas Series as a mapping; None if the values have no names."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "asDict"):
        values: Mapping[str, Any] = row.asDict()
        return values
    if hasattr(row, "notna") and getattr(row, "ndim", 0) == 1:
        return {name: row[name] if is_set else None for name, is_set in row.notna().items()}
    return None


def in_order(row: Any, names: Sequence[str]) -> list[Any]:
    """The values of a row that has them in the order of the features."""
    cells = list(row.toArray() if isinstance(row, Vector) else row)
    if len(cells) != len(names) or getattr(row, "ndim", 1) != 1:
        raise ValueError(
            f"One row is needed: a dict, a Row, a pandas Series, or the {len(names)} values in the "
            f"order of featureNames; got {type(row).__name__} of length {len(cells)}."
        )
    return cells
