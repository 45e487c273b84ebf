"""One row of features, in whatever form a person has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.ml.linalg import Vector


def by_name(row: Any) -> Mapping[str, Any] | None:
    """The row as a mapping where its values have names: a dict, a Spark Row, a pandas Series."""
    if isinstance(row, Mapping):
        return row
    if hasattr(row, "asDict"):
        found: Mapping[str, Any] = row.asDict()
        return found
    if hasattr(row, "notna") and getattr(row, "ndim", 0) == 1:
        return {name: row[name] if there else None for name, there in row.notna().items()}
    return None


def in_order(row: Any, names: Sequence[str]) -> list[Any]:
    cells = list(row.toArray() if isinstance(row, Vector) else row)
    if len(cells) != len(names) or getattr(row, "ndim", 1) != 1:
        raise ValueError(
            f"One row is needed: a dict, a Row, a pandas Series, or the {len(names)} values in the "
            f"order of featureNames; got {type(row).__name__} of length {len(cells)}."
        )
    return cells
