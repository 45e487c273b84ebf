"""The tables of report.md."""

from __future__ import annotations

import math

import pandas as pd

from figs_spark.app.markdown import markdown_table

NAN = math.nan


def test_a_table_is_read_by_people() -> None:
    table = pd.DataFrame(
        {
            "by": ["all", "year", "year"],
            "group": ["all", 2026, 2027],
            "rows": [1234567.0, 7.0, NAN],
            "auc": [0.65432, NAN, NAN],
            "aucLow": [0.6, NAN, NAN],
            "aucHigh": [0.7, NAN, NAN],
            "meanScore": [0.00123, 0.5, NAN],
        }
    )
    assert markdown_table(table).splitlines() == [
        "| by | group | rows | AUC | mean score |",
        "| --- | --- | --- | --- | --- |",
        "| all | all | 1,234,567 | 0.654 (0.600 to 0.700) | 0.0012 |",
        "| year | 2026 | 7 |  | 0.500 |",
    ]


def test_hidden_groups_are_told() -> None:
    table = pd.DataFrame({"by": "ward", "group": ["2 groups that are hidden"], "rows": [NAN]})
    assert markdown_table(table).splitlines()[-1] == "| ward | 2 groups that are hidden |  |"


def test_a_hidden_figure_has_no_ends() -> None:
    table = pd.DataFrame({"ppv": ["hidden"], "ppvLow": ["hidden"], "ppvHigh": ["hidden"]})
    assert markdown_table(table).splitlines()[-1] == "| hidden |"
