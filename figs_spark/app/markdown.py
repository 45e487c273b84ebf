"""Tables for a page that is read: words as headings, whole counts, no rows without figures."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from figs_spark.app.spreadsheets import markdown_text
from figs_spark.clinical.small_cells import HIDDEN_GROUPS
from figs_spark.treesum.small_cells import HIDDEN

if TYPE_CHECKING:
    import pandas as pd

WORDS = {
    "auc": "AUC",
    "tp": "true positives",
    "fp": "false positives",
    "tn": "true negatives",
    "fn": "false negatives",
    "ppv": "PPV",
    "npv": "NPV",
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "MAE",
    "low": "from",
    "high": "to",
}
DIGITS = 3
KEYS = ("by", "group")  # columns that say which rows a line is about


def markdown_table(table: pd.DataFrame) -> str:
    """The table; a figure with an interval is one column, rows without any figure are left out."""
    names = list(map(str, table.columns))
    ends = {name for name in names if _figure_of(name, names)}
    heads = [name for name in names if name not in ends]
    rows = [[heading(name) for name in heads], ["---"] * len(heads)]
    for line in table.to_dict("records"):
        figures = [v for k, v in line.items() if k not in KEYS and isinstance(v, (int, float))]
        hidden = str(line.get("group")).endswith(HIDDEN_GROUPS)
        if hidden or not figures or not all(map(math.isnan, figures)):
            rows.append([_cell(name, line, names) for name in heads])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _figure_of(name: str, names: list[str]) -> str | None:
    """The figure whose lower or upper end a column has."""
    figure = name.removesuffix("Low").removesuffix("High")
    both = f"{figure}Low" in names and f"{figure}High" in names
    return figure if figure != name and both and figure in names else None


def heading(name: str) -> str:
    """A name such as meanScore in words."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("_", " ").lower().split()
    return markdown_text(" ".join(WORDS.get(word, word) for word in words))


def _cell(name: str, line: dict[Any, Any], names: list[str]) -> str:
    text = markdown_text(str(line[name])) if name in KEYS else _number(line[name])
    low, high = f"{name}Low", f"{name}High"
    if low in names and high in names and text not in ("", HIDDEN):
        ends = " to ".join(filter(None, (_number(line[low]), _number(line[high]))))
        return f"{text} ({ends})" if ends else text
    return text


def _number(value: Any) -> str:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return markdown_text("" if value is None else value)
    if math.isnan(value):
        return ""
    if float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.{DIGITS}f}" if abs(value) >= 0.01 else f"{value:.2g}"
