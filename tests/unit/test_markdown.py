"""The tables of report.md."""

from __future__ import annotations

import math

import pandas as pd

from figs_spark.app.markdown import markdown_table, text_table

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


def test_levels_with_the_same_threshold_are_one_row() -> None:
    table = pd.DataFrame(
        {
            "by": ["all", "all", "all", "age", "age", "race"],
            "group": ["all", "all", "all", "young", "young", None],
            "level": [0.9, 0.92, 0.96, 0.92, 0.96, 0.92],
            "threshold": [0.07, 0.07, 0.05, NAN, NAN, -math.inf],
            "sensitivity": [0.93, 0.93, 0.97, NAN, NAN, 1.0],
        }
    )
    assert markdown_table(table).splitlines() == [
        "| by | group | sensitivity at least | threshold | sensitivity |",
        "| --- | --- | --- | --- | --- |",
        "| all | all | 0.9, 0.92 | 0.070 | 0.930 |",
        "| all | all | 0.96 | 0.050 | 0.970 |",
        "| race | missing | 0.92 | all flagged | 1 |",
    ]


def test_losses_of_neighbouring_sizes_can_be_told_apart() -> None:
    table = pd.DataFrame({"splits": [6, 7], "loss": [0.095443, 0.095312], "bic": [-167547.2, 0.5]})
    assert markdown_table(table, digits=5).splitlines() == [
        "| splits | loss | BIC |",
        "| --- | --- | --- |",
        "| 6 | 0.09544 | -167,547 |",
        "| 7 | 0.09531 | 0.50000 |",
    ]


def test_a_table_on_a_terminal() -> None:
    table = pd.DataFrame(
        {
            "by": ["all", "race"],
            "group": ["all", None],
            "positives": [3389.0, 48.0],
            "auc": [0.6592, NAN],
        }
    )
    assert text_table(table).splitlines() == [
        "by    group    positives    AUC",
        "all   all          3,389  0.659",
        "race  missing         48",
    ]
