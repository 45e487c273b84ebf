"""Columns that SQL expressions derive from the other columns of a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from figs_spark.dataframes.columns import folding
from figs_spark.dataframes.row_sql import check_expression, names_in


def with_derived(dataset: DataFrame, expressions: Mapping[str, str], source: str) -> DataFrame:
    """Add the derived columns, in their order; a column that is there already stays as it is."""
    fold = folding(dataset) if expressions else str.lower
    present = {fold(name) for name in dataset.columns} if expressions else set()
    for name, sql in expressions.items():
        if fold(name) in present:
            if fold(name) in map(fold, names_in(sql)):
                raise ValueError(
                    f"Column '{name}' ({source}) is derived from the column of this name in the "
                    f"table: {sql!r:.120}. Give it another name."
                )
            continue
        check_expression(sql)
        try:
            dataset = dataset.withColumn(name, F.expr(sql))
            present = {fold(column) for column in dataset.columns}  # Connect analyses here
        except PySparkException as error:
            message = str(error).partition("\n")[0]
            raise ValueError(
                f"Column '{name}' ({source}) cannot be derived: {sql!r:.120} does not fit this "
                f"table. {message}"
            ) from error
    return dataset


def needed_for(names: Iterable[str], expressions: Mapping[str, str]) -> dict[str, str]:
    """The expressions of these columns, and those of the derived columns they mention."""
    needed = set(names)
    for name, sql in reversed(list(expressions.items())):
        if name in needed:
            needed |= {other for other in expressions if other != name and mentions(sql, other)}
    return {name: sql for name, sql in expressions.items() if name in needed}


def mentions(sql: str, name: str) -> bool:
    """Whether an expression may use a column of this name."""
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sql, re.IGNORECASE) is not None
