"""Tables and rows of pandas as a fitted model reads them, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml.linalg import DenseVector, Vector

from figs_spark.dataframes.derived import needed_for
from figs_spark.stages.base.rows import by_name

if TYPE_CHECKING:
    import pandas as pd


def as_frame(values: Any) -> tuple[pd.DataFrame | None, bool]:
    """Values with names as a table, and whether they are one row; None if they have no names."""
    import pandas as pd

    if isinstance(values, pd.DataFrame):
        return values, False
    named = by_name(values)
    if named is None:
        return None, False
    index = [values.name] if isinstance(values, pd.Series) else None
    return pd.DataFrame([dict(named)], index=index, dtype=object), True


def with_feature_names(model: Any, frame: pd.DataFrame) -> pd.DataFrame:
    """The table with the columns called as in training; one column of vectors is taken apart."""
    columns, names = model.getOrDefault("featuresCols"), model.featureNames
    if columns is None:
        return _unpacked(frame, model.getOrDefault("featuresCol"), names)
    if list(columns) != names:
        frame = frame.rename(columns=dict(zip(columns, names)))
    used = [names[j] for j in sorted(model._used)]
    lost = [name for name in used if name not in frame]
    derived = needed_for(lost, model.getOrDefault("derivedCols") or {})
    if derived:
        name, sql = next(iter(derived.items()))
        raise ValueError(
            f"The table has no column '{name}', which Spark derives: {sql}. Give it this "
            f"column, or use transform."
        )
    return frame


def _unpacked(frame: pd.DataFrame, packed: str, names: list[str]) -> pd.DataFrame:
    import pandas as pd

    if packed not in frame:
        return frame
    cells = [v.toArray() if isinstance(v, Vector) else v for v in frame[packed]]
    values = np.array(cells, dtype=float).reshape(len(frame), -1)
    if len(frame) and values.shape[1] != len(names):
        raise ValueError(
            f"Column '{packed}' (featuresCol) has rows of {values.shape[1]} values, and the model "
            f"was trained on {len(names)}."
        )
    unpacked = pd.DataFrame(values.reshape(len(frame), len(names)), frame.index, names)
    others = frame.drop(columns=[name for name in frame if name in unpacked])
    return pd.concat([others, unpacked], axis=1)


def vectors(table: np.ndarray) -> list[DenseVector]:
    """The rows of a table as Spark shows them."""
    return [DenseVector(row) for row in table]
