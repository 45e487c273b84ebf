"""The tables of an evaluation without counts that could point to persons.

Counts below `least` show as "<11", and so does what they could be computed from: the next smallest
count of the same total, and rates whose numerator is a hidden count. Groups with too few rows,
positives or negatives become one line without a name. A ROC curve is left out: each of its points
counts the rows of one score.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from figs_spark.treesum.small_cells import HIDDEN, hidden, shown

if TYPE_CHECKING:
    import pandas as pd

POSITIVES, NEGATIVES = ("tp", "fn"), ("tn", "fp")
OF_POSITIVES = ("sensitivity", "sensitivityLow", "sensitivityHigh")
OF_NEGATIVES = ("specificity", "specificityLow", "specificityHigh")
OF_BOTH = ("ppv", "ppvLow", "ppvHigh", "npv", "npvLow", "npvHigh", "lrPositive", "lrNegative", "f1")
OBSERVED = ("observed", "observedLow", "observedHigh")
HIDDEN_GROUPS = "groups that are hidden"  # in one line, with their number

Line = dict[str, Any]


def safe_line(line: Mapping[str, Any], least: int) -> Line:
    """The metrics of some rows by name, without counts below `least` and rates that tell them."""
    safe = dict(line)
    rows, positives = line.get("rows"), line.get("positives")
    if rows is not None and positives is not None and hidden([rows], least, False)[0]:
        counts = {name: shown(line[name], True, least) for name in ("rows", "positives")}
        return {name: counts.get(name, HIDDEN) for name in line}
    if rows is not None and positives is not None:
        pair = [positives, rows - positives]
        if any(hidden(pair, least)):
            safe["positives"] = shown(positives, True, least)
    covered = False
    for cells, rates in ((POSITIVES, OF_POSITIVES), (NEGATIVES, OF_NEGATIVES)):
        of_class = [line[name] for name in cells if name in line]
        if not any(hidden(of_class, least)):
            continue
        covered = True
        safe |= {name: shown(line[name], True, least) for name in cells}
        safe |= {name: HIDDEN for name in rates if name in line}
    if covered:
        safe |= {name: HIDDEN for name in OF_BOTH if name in line}
    if rows is not None and line.get("accuracy") is not None:
        right = round(line["accuracy"] * rows)
        if any(hidden([right, rows - right], least)):
            safe["accuracy"] = HIDDEN
    if isinstance(line.get("reference"), Mapping):
        safe["reference"] = safe_line(line["reference"], least)
    return safe


def safe_tables(tables: Mapping[str, pd.DataFrame], least: int) -> dict[str, pd.DataFrame]:
    """The tables of an evaluation; `by` and `group` say which rows a line is about."""
    small = _small_groups(tables["summary"], least)
    safe = {}
    for name, table in tables.items():
        if name == "roc":
            continue
        kept = table
        if "group" in table:
            inside = [key in small for key in zip(table["by"], table["group"], strict=True)]
            kept = table[[not hides for hides in inside]]
        safe[name] = (
            _safe_calibration(kept, least) if name == "calibration" else _lines(kept, least)
        )
    safe["summary"] = _with_hidden(safe["summary"], small)
    return safe


def _small_groups(summary: pd.DataFrame, least: int) -> set[tuple[Any, Any]]:
    """The groups that may not be shown; so many that the others do not tell small counts."""
    small = set()
    for by, groups in summary[summary["by"] != "all"].groupby("by", sort=False):
        records = groups.to_dict("records")
        too_few = [any(0 <= count < least for count in _counts(line)) for line in records]
        while any(too_few) and not all(too_few) and _are_told(records, too_few, least):
            others = [k for k, few in enumerate(too_few) if not few]
            too_few[min(others, key=lambda k: records[k]["rows"])] = True
        small |= {(by, line["group"]) for line, few in zip(records, too_few, strict=True) if few}
    return small


def _are_told(records: list[Line], hides: list[bool], least: int) -> bool:
    """Whether all rows less those of the shown groups are those of one group, or few."""
    inside = [_counts(line) for line, hide in zip(records, hides, strict=True) if hide]
    if len(inside) == 1:
        return True
    rows = sum(counts[0] for counts in inside)
    return 0 < rows < least


def _counts(line: Mapping[str, Any]) -> list[float]:
    positives = line.get("positives")
    others = [] if positives is None else [positives, line["rows"] - positives]
    return [line["rows"], *(count for count in others if count > 0)]


def _lines(table: pd.DataFrame, least: int) -> pd.DataFrame:
    import pandas as pd

    if not {"rows", "tp"} & set(table.columns):
        return table
    lines = [safe_line(line, least) for line in table.to_dict("records")]
    return pd.DataFrame(lines, columns=table.columns)


def _with_hidden(summary: pd.DataFrame, small: set[tuple[Any, Any]]) -> pd.DataFrame:
    import pandas as pd

    columns = [by for by, _ in small]
    lines = [
        {"by": by, "group": f"{columns.count(by)} {HIDDEN_GROUPS}"}
        for by in dict.fromkeys(sorted(map(str, columns)))
    ]
    if not lines:
        return summary
    added = pd.DataFrame(lines, columns=summary.columns).astype(object)
    return pd.concat([summary.astype(object), added], ignore_index=True)


def _safe_calibration(table: pd.DataFrame, least: int) -> pd.DataFrame:
    """Bins with few rows, events or non-events show no observed rate; their rows add up."""
    import pandas as pd

    lines = []
    for _, group in table.groupby(["by", "group"], sort=False, dropna=False):
        records = group.to_dict("records")
        rows = [line["rows"] for line in records]
        events = [_events(line) for line in records]
        few = hidden(rows, least)
        told = [
            any(each)
            for each in zip(
                few,
                hidden(events, least),
                hidden([n - e for n, e in zip(rows, events, strict=True)], least),
                strict=True,
            )
        ]
        for line, few_rows, tells in zip(records, few, told, strict=True):
            line |= {name: math.nan for name in OBSERVED if tells}
            lines.append(line | {"rows": shown(line["rows"], True, least)} if few_rows else line)
    return pd.DataFrame(lines, columns=table.columns)


def _events(line: Mapping[str, Any]) -> int:
    return round(line["observed"] * line["rows"])
