"""Tables for a page that is read: words as headings, whole counts, no rows without figures."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from figs_spark.app.spreadsheets import markdown_text
from figs_spark.clinical.small_cells import HIDDEN_GROUPS
from figs_spark.treesum.visible import visible_name

if TYPE_CHECKING:
    import pandas as pd

WORDS = {
    "auc": "AUC",
    "bic": "BIC",
    "brier": "Brier",
    "f1": "F1",
    "level": "sensitivity at least",
    "lr": "LR",
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
LEVEL = "level"  # the sensitivity that was asked for


def markdown_table(table: pd.DataFrame, digits: int = DIGITS) -> str:
    """The table; a figure with an interval is one column, rows without any figure are left out."""
    names = list(map(str, table.columns))
    ends = {name for name in names if _figure_of(name, names)}
    heads = [name for name in names if name not in ends]
    lines = [line for line in table.to_dict("records") if _says_something(line)]
    rows = [[_cell(name, line, names, digits) for name in heads] for line in lines]
    if LEVEL in heads:
        rows = _with_levels_together(rows, heads.index(LEVEL))
    rows = [[heading(name) for name in heads], ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def text_table(table: pd.DataFrame) -> str:
    """The table in columns of the same width, for a terminal."""
    names = list(map(str, table.columns))
    rows = [[str(WORDS.get(name, name)) for name in names]]
    rows += [
        [visible_name(_key(v)) if name in KEYS else _number(v) for name, v in line.items()]
        for line in table.to_dict("records")
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    shown = [
        [
            cell.ljust(width) if name in KEYS else cell.rjust(width)
            for name, cell, width in zip(names, row, widths, strict=True)
        ]
        for row in rows
    ]
    return "\n".join("  ".join(row).rstrip() for row in shown)


def _says_something(line: dict[Any, Any]) -> bool:
    """Whether a line has a figure, or tells of groups that are hidden."""
    named = (*KEYS, LEVEL)
    figures = [v for k, v in line.items() if k not in named and isinstance(v, (int, float))]
    hidden = str(line.get("group")).endswith(HIDDEN_GROUPS)
    return hidden or not figures or not all(map(math.isnan, figures))


def _with_levels_together(rows: list[list[str]], at: int) -> list[list[str]]:
    """Levels that come to the same threshold, and so to the same figures, in one row."""
    together: list[list[str]] = []
    for row in rows:
        last = together[-1] if together else []
        if last[:at] + last[at + 1 :] == row[:at] + row[at + 1 :]:
            last[at] += f", {row[at]}"
        else:
            together.append(row)
    return together


def _figure_of(name: str, names: list[str]) -> str | None:
    """The figure whose lower or upper end a column has."""
    figure = name.removesuffix("Low").removesuffix("High")
    both = f"{figure}Low" in names and f"{figure}High" in names
    return figure if figure != name and both and figure in names else None


def heading(name: str) -> str:
    """A name such as meanScore in words."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name).replace("_", " ").lower().split()
    return markdown_text(" ".join(WORDS.get(word, word) for word in words))


def _cell(name: str, line: dict[Any, Any], names: list[str], digits: int) -> str:
    value = line[name]
    if name in KEYS:
        return markdown_text(_key(value))
    if not isinstance(value, (int, float)):
        return markdown_text("" if value is None else value)
    text = f"{value:g}" if name == LEVEL else _number(value, digits)
    low, high = f"{name}Low", f"{name}High"
    if low in names and high in names and text:
        ends = " to ".join(filter(None, (_number(line[end], digits) for end in (low, high))))
        return f"{text} ({ends})" if ends else text
    return text


def _key(value: Any) -> str:
    """The name of a group; rows without a value are one, too."""
    return "missing" if value is None or value != value else str(value)


def _number(value: Any, digits: int = DIGITS) -> str:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return "" if value is None else str(value)
    if math.isnan(value):
        return ""
    if value == -math.inf:  # a threshold that every score is above
        return "all flagged"
    if float(value).is_integer() or 1e3 <= abs(value) < math.inf:
        return f"{value:,.0f}"
    return f"{value:.{digits}f}" if abs(value) >= 0.01 else f"{value:.2g}"
