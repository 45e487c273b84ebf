"""Rows of a small table in the driver: counts, codes and groups, without Spark."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import Row

from figs_spark.engine.counting import Counts, count_columns, total_counts
from figs_spark.engine.table import Here, Table, Target
from figs_spark.stages.base.inputs import Inputs
from figs_spark.stages.base.rows_here import RowsHere
from figs_spark.stages.gfigs.grouped_here import (
    GroupedHere,
    cells_here,
    counts_of_groups_here,
    group_counts,
    slots_here,
    with_categories_here,
    with_statistics,
    with_weights,
)
from figs_spark.stages.gfigs.membership_columns import NUMBER, TEXT, MembershipColumn, with_slots
from figs_spark.treesum import Feature, Node, Split, TreeSum

NAN = float("nan")
SCALARS = Inputs((Feature("age"), Feature("ward", (), kind=TEXT)), None, ("age", "ward"))
PACKED = Inputs((Feature("v[0]"), Feature("v[1]")), cast(Any, "an expression"), ("v",))


class Stage:
    """The Params that are read."""

    def getOrDefault(self, name: str) -> Any:
        return {"orderedCols": None, "minCategoryCount": 1, "maxBins": 9}[name]


def rows(inputs: Inputs = SCALARS, **columns: Any) -> RowsHere:
    return RowsHere(pa.table(columns), inputs)


def counts_of(rows: RowsHere, classification: bool) -> list[Counts]:
    return count_columns(rows.arrow, len(rows.inputs.features), classification)


def test_counts_of_a_regression() -> None:
    label = [1.0, None, NAN, 1e200, 3.0]
    (counts,) = counts_of(rows(y=pa.array(label, pa.float64())), classification=False)
    assert (counts["rows"], counts["bad_label"], counts["partitions"]) == (5, 3, 1)
    assert (counts["positive"], counts["training"], counts["weight"]) == (5, 5, 5)
    assert counts["label_sum"] == 1e200


def test_counts_of_weights_and_held_out_rows() -> None:
    found = rows(
        y=[1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        w=[2.0, -1.0, None, 0.0, 1e-200, 3.0],
        held_out=[False, False, None, True, True, True],
    )
    (counts,) = counts_of(found, classification=False)
    wrong = {"missing_weight": 1, "negative_weight": 1, "tiny_weight": 1, "missing_validation": 1}
    assert {name: counts[name] for name in wrong} == wrong
    assert (counts["positive"], counts["training"], counts["validation"]) == (3, 1, 2)
    assert (counts["weight"], counts["sum"], counts["label_sum"]) == (2.0, 2.0, 12.0)


def test_counts_by_class() -> None:
    found = rows(y=[0.0, 1.0, 1.0, 2.5, None, 300.0], w=[1.0, 2.0, 3.0, 1.0, 1.0, 1.0])
    counts = counts_of(found, classification=True)
    assert [(part["class"], part["rows"], part["weight"]) for part in counts] == [
        (-1.0, 3, 2.0),
        (0.0, 1, 1.0),
        (1.0, 2, 5.0),
    ]
    assert total_counts(counts)["rows"] == 6


def test_counts_of_vectors_and_ids() -> None:
    cells = pa.array([[1.0, 2.0], None, [1.0], [None, NAN]], pa.list_(pa.float64()))
    ids = pa.array([7, -3, None, 7], pa.int64())
    (counts,) = counts_of(rows(PACKED, x=cells, y=[0.0] * 4, hashed_id=ids), classification=False)
    assert (counts["missing_features"], counts["other_length"], counts["missing_id"]) == (1, 1, 1)
    assert (counts["ids_high"], ~counts["ids_low_inverted"]) == (7, -3)


def test_no_rows_are_counted_as_none() -> None:
    empty = rows(y=pa.array([], pa.float64()))
    assert total_counts(counts_of(empty, classification=False))["rows"] == 0
    assert total_counts(counts_of(empty, classification=True)) == {"rows": 0}


def test_text_becomes_places_and_null_is_not_nan() -> None:
    found = rows(f0=[1.0, None, NAN], t0=["b", None, "a"], y=[0.0] * 3, extra=[1, 2, 3])
    features, here = found.encoded(Stage(), ["y", "extra"])
    assert features[1].categories == ("a", "b")
    assert np.array_equal(here.matrix, [[1.0, 1.0], [NAN, NAN], [NAN, 0.0]], equal_nan=True)
    assert here.nulls.tolist() == [[False, False], [True, True], [False, False]]
    assert here.columns.column_names == ["y", "extra"]


def test_cells_of_vectors() -> None:
    cells = pa.chunked_array([[[1.0, None]], [[NAN, 4.0]]], pa.list_(pa.float64()))
    _, here = rows(PACKED, x=cells, y=[0.0, 1.0]).encoded(Stage(), ["y"])
    assert np.array_equal(here.matrix, [[1.0, NAN], [NAN, 4.0]], equal_nan=True)
    assert here.nulls.tolist() == [[False, True], [False, False]]


# Groups

COLUMNS = (MembershipColumn("age", NUMBER), MembershipColumn("ward", TEXT))


def grouped() -> tuple[list[Row], GroupedHere, Here]:
    columns = pa.table(
        {
            "y": [0.0, 1.0, 1.0, 1.0],
            "g": ["b", "a", "b", "a"],
            "m0": [1.0, None, 3.0, 8.0],
            "m1": ["x", "y", None, "z"],
        }
    )
    here = Here(np.array([[1.0], [2.0], [3.0], [4.0]]), np.zeros((4, 1), bool), columns)
    table = Table(cast(Any, None), (Feature("age"),), Target(2), 4, 1, here=here)
    found, numbers = group_counts(table, here, "band")
    return found, numbers, here


def test_groups_in_order_with_their_classes() -> None:
    found, numbers, _ = grouped()
    assert numbers.number.tolist() == [1, 0, 1, 0]
    assert [(row["g"], row["rows"], row["negatives"], row["positives"]) for row in found] == [
        ("a", 2, 0, 2),
        ("b", 2, 1, 1),
    ]
    assert [(row["lowest"], row["highest"]) for row in found] == [(1.0, 1.0), (0.0, 1.0)]


def test_slots_of_numbers_and_text() -> None:
    found, numbers, here = grouped()
    cells = cells_here(here, COLUMNS)
    columns = with_categories_here(COLUMNS, cells, 1)
    found = with_statistics(found, numbers, columns, cells)
    assert [(row["missing_0"], row["low_0"], row["sum_0"]) for row in found] == [
        (1, 8.0, 8.0),
        (0, 1.0, 4.0),
    ]
    assert [row["present_1"] for row in found] == [[1, 2], [0]]
    columns = with_slots(columns, found, 1)
    assert [column.slots for column in columns] == [
        ["age", "age is missing"],
        ["ward = x", "ward = y", "ward = z", "ward is missing"],
    ]
    assert slots_here(columns, cells).tolist() == [
        [1.0, 0.0, 1.0, 0.0, 0.0, 0.0],
        [4.0, 1.0, 0.0, 1.0, 0.0, 0.0],
        [3.0, 0.0, 0.0, 0.0, 0.0, 1.0],
        [8.0, 0.0, 0.0, 0.0, 1.0, 0.0],
    ]


def test_a_missing_group_is_told() -> None:
    _, _, here = grouped()
    columns = here.columns.set_column(1, "g", pa.array(["a", None, "b", "a"]))
    table = Table(cast(Any, None), (Feature("age"),), Target(0), 4, 1)
    with pytest.raises(ValueError, match=r"Column 'band' \(groupCol\) is null in 1 of 4 rows"):
        group_counts(table, Here(here.matrix, here.nulls, columns), "band")


def test_the_rows_of_a_group_in_every_leaf() -> None:
    _, numbers, here = grouped()
    leaves = Node((0.0,), 2, 2.0), Node((1.0,), 2, 2.0)
    tree = Node((0.0,), 4, 4.0, Split(0, 0, 1.0, False, 2.5), *leaves)
    model = TreeSum((Feature("age"),), (tree,), (0.0,), (1.0, 0.5))
    found = counts_of_groups_here(here, numbers, [model, model])
    assert [[leaf.own_rows for leaf in one.trees[0].leaves()] for one in found] == [[1, 1], [1, 1]]


def test_weights_by_group_replace_those_of_the_rows() -> None:
    _, _, here = grouped()
    weighted = with_weights(here, np.arange(8.0).reshape(4, 2))
    assert weighted.columns.column_names == ["y", "w"]
    assert weighted.columns.column("w").to_pylist()[1] == [2.0, 3.0]
