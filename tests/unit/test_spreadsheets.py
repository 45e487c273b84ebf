"""What jobs write for spreadsheets and pages: cells stay text, names cannot become HTML."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd
import pytest

from figs_spark.app.division import Division, Holdout
from figs_spark.app.evaluate import ScoredRows, _report
from figs_spark.app.spreadsheets import markdown_text, safe_cell, safe_csv
from figs_spark.treesum.strict_json import Entry

FORMULAS = [
    "=1+1",
    "+SUM(A1)",
    "-2+3",
    "@x",
    "\t=1",
    "\r=1",
    "\n=1",
    "-",
    "\uff1d1",
    "=HYPERLINK(0)",
]
PLAIN = ["a=b", "", " x", "'x", "-5", "+3.5", "-1e-5", "-.5", "1-2", "é", "a\t=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_become_text(text: str) -> None:
    assert safe_cell(text) == f"'{text}"
    assert safe_cell(safe_cell(text)) == f"'{text}"


@pytest.mark.parametrize("value", [*PLAIN, -5, -5.5, None, True])
def test_others_stay_as_they_are(value: Any) -> None:
    assert safe_cell(value) is value


def test_a_table_of_every_type() -> None:
    table = pd.DataFrame(
        {
            "=name": ["=a", "b", None],
            "kind": pd.Categorical(["@x", "y", "@x"]),
            "code": pd.array(["-x", None, "+y"], dtype="string"),
            "value": [-1.5, 2.0, float("nan")],
            "mixed": [-1, "=2", True],
        }
    )
    read = pd.read_csv(io.StringIO(safe_csv(table)))
    assert list(read) == ["'=name", "kind", "code", "value", "mixed"]
    assert read["'=name"].tolist()[:2] == ["'=a", "b"]
    assert read["kind"].tolist() == ["'@x", "y", "'@x"]
    assert read["code"].tolist()[::2] == ["'-x", "'+y"]
    assert read["value"].tolist()[:2] == [-1.5, 2.0]
    assert read["mixed"].tolist() == ["-1", "'=2", "True"]
    assert list(table) == ["=name", "kind", "code", "value", "mixed"]


def test_two_columns_of_one_name_stay_two() -> None:
    table = pd.DataFrame([["=a", "b"]], columns=["x", "x"])
    assert safe_csv(table).splitlines() == ["x,x", "'=a,b"]


def test_a_report_escapes_html_and_tables() -> None:
    evil = "<script>alert(1)</script>|[x](javascript:1)`\n\u202e\0"
    table = pd.DataFrame({"by": [evil], "auc": [0.75], evil: [1]})
    rows: Any = None
    text = _report({"summary": table}, ScoredRows(rows, evil, evil, "binary", 0.5, "f" * 64))
    assert "<script>" not in text
    assert "\u202e" not in text
    assert "\0" not in text
    assert r"&lt;script&gt;alert(1)&lt;/script&gt;\|\[x\](javascript:1)\`" in text
    lines = text.splitlines()
    assert lines[2] == "Fingerprint of the model: " + "f" * 64
    assert [line.replace(r"\|", "").count("|") for line in lines if line.startswith("|")] == [4] * 3
    assert markdown_text(0.123456) == "0.1235"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keys": "id"}, "'division.keys' is 'id', and a list"),
        ({"split": {}}, "the entry 'fractions' is missing"),
        ({"split": {"fractions": [1.0], "group": None}}, "is missing"),
    ],
)
def test_a_damaged_division_is_named(change: dict[str, Any], message: str) -> None:
    whole = Division(Holdout(), ("id", "age"))
    assert Division.from_entry(Entry(whole.to_dict(), "f", "division")) == whole
    with pytest.raises(ValueError, match=message):
        Division.from_entry(Entry(whole.to_dict() | change, "f", "division"))
