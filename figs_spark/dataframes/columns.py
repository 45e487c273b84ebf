"""Columns by name: any characters in it, the type that is needed, errors that say what is wrong."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StructField


def column(name: str) -> Column:
    """A column by its name, whatever characters are in it."""
    return F.col(quoted(name))


def quoted(name: str) -> str:
    """The name as SQL takes it."""
    return "`" + name.replace("`", "``") + "`"


def field(dataset: DataFrame, name: str, param: str) -> StructField:
    """The field of a column; an error that names the Param where there is none."""
    found = [f for f in dataset.schema.fields if f.name == name]
    if len(found) == 1:
        return found[0]
    if found:
        raise ValueError(f"{len(found)} columns are called '{name}' ({param}). Rename all but one.")
    raise ValueError(
        f"Column '{name}' ({param}) is not in the DataFrame, which has "
        f"{listed(dataset.columns)}. Set {param} to a column that is."
    )


def numeric_field(dataset: DataFrame, name: str, param: str) -> StructField:
    found = field(dataset, name, param)
    if not isinstance(found.dataType, NumericType):
        raise ValueError(
            f"Column '{name}' ({param}) has type {found.dataType.simpleString()}; a numeric type "
            f"is needed. Cast it, or index text with StringIndexer."
        )
    return found


def listed(names: Sequence[str], most: int = 8) -> str:
    """The names, of many the first ones."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
