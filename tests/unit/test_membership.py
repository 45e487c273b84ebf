"""Membership columns as plain data, and which of them give the group away."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest
from pyspark.sql import Row

from figs_spark.stages.gfigs import membership_columns as module
from figs_spark.stages.gfigs.membership_columns import (
    CODE,
    NUMBER,
    TEXT,
    MembershipColumn,
    from_list,
    to_list,
    with_categories,
    with_slots,
)
from figs_spark.treesum import Feature

COLUMNS = (
    MembershipColumn("age", NUMBER, fill=40.5, missing=True),
    MembershipColumn("site", TEXT, categories=("", "Bern"), missing=True),
    MembershipColumn("ward", CODE, place=3, categories=("1.0", "2.0")),
)


def test_slots_have_names() -> None:
    assert [column.slots for column in COLUMNS] == [
        ["age", "age is missing"],
        ["site = ", "site = Bern", "site is missing"],
        ["ward = 1.0", "ward = 2.0"],
    ]


def test_columns_survive_json() -> None:
    assert from_list(json.loads(json.dumps(to_list(COLUMNS))), 9, "file") == COLUMNS


@pytest.mark.parametrize("saved", [3, [3], [{"name": "age"}], [{"categories": [], "other": 1}]])
def test_damaged_columns_are_told(saved: Any) -> None:
    with pytest.raises(ValueError, match="file is damaged"):
        from_list(saved, 9, "file")


def statistics(spans: list[tuple[float | None, float | None, int]]) -> list[Row]:
    """Of one numeric column: low, high and the number of missing values of each group."""
    return [
        Row(g=k, rows=10, missing_0=missing, infinite_0=0, low_0=low, high_0=high, sum_0=low)
        for k, (low, high, missing) in enumerate(spans)
    ]


@pytest.mark.parametrize(
    ("spans", "message"),
    [
        ([(0, 2, 0), (2, 9, 0)], ""),
        ([(0, 1, 0), (2, 9, 0)], "separates the groups perfectly"),
        ([(0, 1, 3), (2, 9, 0)], "separates the groups perfectly"),
        ([(0, 1, 3), (2, 9, 1)], ""),
        ([(None, None, 10), (2, 9, 0)], "separates the groups perfectly"),
        ([(None, None, 10), (2, 9, 1)], ""),
        ([(0, 1, 0), (2, 5, 0), (4, 9, 0)], "separates the group 0 from the others perfectly"),
    ],
)
def test_a_column_that_gives_the_group_away(
    spans: list[Any], message: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("WARNING", "figs_spark"):
        (found,) = with_slots(COLUMNS[:1], statistics(spans), 10)
    assert found.missing == any(span[2] for span in spans)
    assert message in caplog.text
    assert bool(caplog.records) == bool(message)


@pytest.mark.parametrize(
    ("feature", "counted_again"),
    [
        (Feature("sex", ("f", "m"), others=3), []),
        (Feature("sex", ("f", "m", *map(str, range(30)))), [0]),  # the most frequent are asked for
        (Feature("sex", ("f", "m"), ordered=True), [0]),  # with rare values
        (Feature("sex", ("f", "m"), system="icd9"), [0]),  # with levels
        (Feature("age"), [0]),
    ],
)
def test_text_that_was_counted_as_a_feature_is_not_counted_again(
    feature: Feature, counted_again: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []

    def count(frame: Any, values: dict[int, Any], least: int, most: int) -> dict[int, Any]:
        counted.extend(values)
        return {}

    monkeypatch.setattr(module, "count_categories", count)
    columns, no_rows = [MembershipColumn("sex", TEXT)], cast("Any", None)
    (sex,) = with_categories(no_rows, columns, [no_rows], 10, [feature])
    assert counted == counted_again
    assert sex.categories == (() if counted_again else ("f", "m"))
