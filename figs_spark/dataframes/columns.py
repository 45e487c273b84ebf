"""Columns by name: names with any characters, checks of types, errors that name the Param."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StructField

PLAIN_COLLATION = "UTF8_BINARY"


def column(name: str) -> Column:
    """A column by its name, whatever characters are in it."""
    return F.col(quoted(name))


def quoted(name: str) -> str:
    """The name in backquotes, as SQL takes it."""
    return "`" + name.replace("`", "``") + "`"


def folding(dataset: DataFrame) -> Callable[[str], str]:
    """Maps names that Spark takes for the same to the same text, by spark.sql.caseSensitive."""
    setting = dataset.sparkSession.conf.get("spark.sql.caseSensitive", "false")
    return (lambda name: name) if str(setting).lower() == "true" else str.lower


def field(dataset: DataFrame, name: str, param: str) -> StructField:
    """The field of a column; if there is none or several, an error that names the Param."""
    fold = folding(dataset)
    fields = [f for f in dataset.schema.fields if fold(f.name) == fold(name)]
    if len(fields) == 1:
        check_collations(fields, param)
        return fields[0]
    if fields:
        raise ValueError(ambiguous([f.name for f in fields], name, param))
    raise ValueError(
        f"Column '{name}' ({param}) is not in the DataFrame, which has "
        f"{listed(dataset.columns)}. Set {param} to one of its columns."
    )


def check_collations(fields: Sequence[StructField], param: str) -> None:
    """Refuse text that Spark compares by other rules than its bytes: 'a' may equal 'A' there, and a
    model would know them as one category or two, by where it is scored."""
    kinds = [getattr(f.dataType, "collation", None) for f in fields]
    collated = [f.name for f, kind in zip(fields, kinds) if kind not in (None, PLAIN_COLLATION)]
    if collated:
        raise ValueError(
            f"{listed(collated)} ({param}) has a collation, {_collation(fields, collated[0])}. "
            f"Compare by bytes: collate({quoted(collated[0])}, '{PLAIN_COLLATION}'), after lower() "
            f"if case does not matter."
        )


def _collation(fields: Sequence[StructField], name: str) -> str:
    kinds: list[Any] = [f.dataType for f in fields if f.name == name]
    return str(kinds[0].collation)


def hashable_field(dataset: DataFrame, name: str, param: str) -> StructField:
    """The field of a column whose values can be compared: no map, and nothing with one inside."""
    hashable = field(dataset, name, param)
    kind = hashable.dataType.simpleString()
    if re.search(r"\b(map<|variant\b)", kind):
        raise ValueError(
            f"Column '{name}' ({param}) has type {kind}, whose values Spark cannot compare. Name a "
            f"column of text or numbers."
        )
    return hashable


def numeric_field(dataset: DataFrame, name: str, param: str) -> StructField:
    numeric = field(dataset, name, param)
    if not isinstance(numeric.dataType, NumericType):
        raise ValueError(
            f"Column '{name}' ({param}) has type {numeric.dataType.simpleString()}; a numeric type "
            f"is needed. Cast it, or index text with StringIndexer."
        )
    return numeric


def ambiguous(same: Sequence[str], name: str, param: str) -> str:
    """What to say of a name that several columns have."""
    if len(set(same)) == 1:
        return f"{len(same)} columns are called '{name}' ({param}). Rename all but one."
    return (
        f"'{name}' ({param}) may be {len(same)} columns, {listed(same)}: Spark does not tell upper "
        f"and lower case apart. Rename all but one, or set spark.sql.caseSensitive to true."
    )


def listed(names: Sequence[str], most: int = 8) -> str:
    """The names; if there are many, the first ones and a count."""
    shown = ", ".join(f"'{name}'" for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
