"""Small counts are hidden, and so is what they could be computed from."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any

import pandas as pd
import pytest

from figs_spark.clinical.small_cells import safe_line, safe_tables
from figs_spark.pictures.svg import to_svg
from figs_spark.pictures.trees import draw_model
from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.reading import Labels
from figs_spark.treesum.small_cells import hidden, shown
from figs_spark.treesum.text import describe


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([], []),
        ([20, 30], [False, False]),
        ([0, 20], [False, False]),
        ([11, 11], [False, False]),
        ([10, 40, 30], [True, False, True]),
        ([10, 9, 30], [True, True, False]),
        ([3, 0, 0], [True, False, False]),
        ([1, 0, 50], [True, False, True]),
    ],
)
def test_small_counts_and_what_tells_them(counts: list[int], expected: list[bool]) -> None:
    assert hidden(counts, 11) == expected


def test_no_hidden_count_is_the_difference_to_the_total() -> None:
    for counts in itertools.product([0, 1, 5, 10, 11, 12, 300], repeat=4):
        marks = hidden(counts, 11)
        assert all(m or not 0 < c < 11 for c, m in zip(counts, marks, strict=True))
        assert sum(marks) != 1 or sum(c > 0 for c in counts) == 1


def test_counts_as_text() -> None:
    assert shown(12345, False, 11) == "12,345"
    assert shown(3, True, 11) == "<11"
    assert shown(25, True, 11) == "hidden"


def tree() -> TreeSum:
    """Leaves of 4, 40 and 500 rows."""
    leaves = [Node((1.0,), rows, float(rows)) for rows in (4, 40, 500)]
    inner = Node((1.0,), 44, 44.0, Split(0, 1, 1.0, True, 1.0), leaves[0], leaves[1])
    root = Node((1.0,), 544, 544.0, Split(0, 0, 2.0, True, 2.0), inner, leaves[2])
    return TreeSum((Feature("age"),), (root,), (1.0,), (1.0, 0.5, 0.2))


def test_text_and_picture_hide_small_leaves() -> None:
    text = describe(tree(), "T", "s", small_cell=11).split("\n")[5:]
    assert [line.split()[-1] for line in text if "(" not in line] == ["<11", "hidden", "500"]
    assert all(line.endswith(")") for line in text if "(" in line)
    labels = Labels("Risk", "the risk", small_cell=11)
    picture = to_svg(draw_model(tree(), labels))
    assert re.findall("n = ([^<]*)", picture) == ["&lt;11", "hidden", "500"]
    assert {"544", "44", "40", "4", "500"} <= set(describe(tree(), "T", "s").split())


LINE: dict[str, Any] = {
    "rows": 500,
    "positives": 60.0,
    "auc": 0.8,
    "sensitivity": 0.95,
    "specificity": 0.5,
    "ppv": 0.2,
    "tp": 57.0,
    "fn": 3.0,
    "tn": 220.0,
    "fp": 220.0,
}


def test_a_line_hides_the_rates_that_tell_a_small_count() -> None:
    safe = safe_line(LINE, 11)
    assert (safe["fn"], safe["tp"]) == ("<11", "hidden")
    assert (safe["sensitivity"], safe["ppv"]) == ("hidden", "hidden")
    assert (safe["specificity"], safe["tn"], safe["auc"]) == (0.5, 220.0, 0.8)
    large = LINE | {"tp": 40.0, "fn": 20.0}
    assert safe_line(large, 11) == large
    few = safe_line(LINE | {"rows": 9, "positives": 4.0}, 11)
    assert (few["rows"], few["positives"], few["auc"]) == ("<11", "<11", "hidden")
    assert safe_line({"rows": 500, "accuracy": 0.99}, 11)["accuracy"] == "hidden"
    assert safe_line({"rows": 500, "accuracy": 0.9}, 11)["accuracy"] == 0.9


def evaluated() -> dict[str, pd.DataFrame]:
    groups = {"all": (1000, 300), "Wilhelmina": (1, 1), "b": (499, 149), "c": (500, 150)}
    summary = [
        {"by": "all" if g == "all" else "name", "group": g, "rows": n, "positives": float(p)}
        for g, (n, p) in groups.items()
    ]
    bins = [
        {"by": "name", "group": "c", "predicted": 0.3, "rows": n, "observed": e / n}
        | {"observedLow": 0.1, "observedHigh": 0.9}
        for n, e in ((5, 2), (45, 20), (200, 4), (250, 124))
    ]
    roc = pd.DataFrame([{"by": "all", "group": "all", "tp": 3.0}])
    return {"summary": pd.DataFrame(summary), "calibration": pd.DataFrame(bins), "roc": roc}


def test_tables_name_no_small_group_and_tell_no_small_count() -> None:
    safe = safe_tables(evaluated(), 11)
    assert set(safe) == {"summary", "calibration"}
    assert safe["summary"]["group"].tolist() == ["all", "c", "2 groups that are hidden"]
    bins = safe["calibration"]
    assert bins["rows"].tolist() == ["<11", "hidden", 200, 250]
    assert [math.isnan(v) for v in bins["observed"]] == [True, True, True, False]


def test_hidden_groups_are_not_few_rows_together() -> None:
    """All rows less those that are shown would tell how many they are."""
    sizes = {"A": 4, "B": 5, "C": 40, "D": 400}
    lines: list[dict[str, Any]] = [{"by": "all", "group": "all", "rows": 449, "positives": 120.0}]
    lines += [
        {"by": "site", "group": name, "rows": rows, "positives": rows / 2 if rows > 20 else 0.0}
        for name, rows in sizes.items()
    ]
    summary = safe_tables({"summary": pd.DataFrame(lines)}, 11)["summary"]
    assert summary["group"].tolist() == ["all", "D", "3 groups that are hidden"]
