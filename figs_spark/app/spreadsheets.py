"""Tables for a spreadsheet or a page: what is data stays data there.

A spreadsheet takes a cell that begins with = + - @, a tab or the end of a line for a formula. Such
a cell gets an apostrophe in front, so that the spreadsheet shows it as text; numbers stay numbers.
In Markdown, HTML and the signs of tables and links are escaped.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from figs_spark.dataframes.columns import column
from figs_spark.treesum.visible import visible_name

if TYPE_CHECKING:
    import pandas as pd

# Full-width signs are formulas too, in some spreadsheets. A text that is a number is none.
FORMULA = (
    r"^(?![-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$)"
    "[=+\\-@\\t\\r\\n\uff1d\uff0b\uff0d\uff20]"
)
_FORMULA = re.compile(FORMULA)
_MARKS = re.compile(r"([\\|`*\[\]])")


def safe_cell(value: Any) -> Any:
    """The value; a text that a spreadsheet would take for a formula has an apostrophe in front."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def safe_csv(table: pd.DataFrame) -> str:
    """The table as CSV text."""
    safe = table.rename(columns=safe_cell)
    for name, kind in enumerate(safe.dtypes):
        if str(kind) in ("object", "string", "category", "str"):
            cells = [safe_cell(value) for value in safe.iloc[:, name].astype(object)]
            safe.isetitem(name, cells)
    return str(safe.to_csv(index=False))


def safe_frame(frame: DataFrame) -> DataFrame:
    """The same for a table that Spark writes."""
    columns = []
    for field in frame.schema.fields:
        cell = column(field.name)
        if isinstance(field.dataType, StringType):
            cell = F.when(cell.rlike(FORMULA), F.concat(F.lit("'"), cell)).otherwise(cell)
        columns.append(cell.alias(safe_cell(field.name)))
    return frame.select(*columns)


def markdown_text(value: Any) -> str:
    """A value for a page: no HTML, no link, no cell or line of its own."""
    text = f"{value:.4g}" if isinstance(value, float) else visible_name(str(value))
    return escape(_MARKS.sub(r"\\\1", text), quote=False)
