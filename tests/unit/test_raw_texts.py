"""Text counted and encoded in the driver: the categories and places that Spark would find."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from figs_spark.stages.base.categories import Rules
from figs_spark.stages.base.raw_texts import RawTexts, Values
from figs_spark.treesum.levels import LevelFeature
from figs_spark.treesum.nodes import TEXT, Feature

CELLS = [*["b"] * 5, *["a"] * 5, *["c"] * 3, "rare", None, "d", "d"]


def column(cells: list[str | None]) -> pa.ChunkedArray:
    return pa.chunked_array([pa.array(cells[:4], pa.string()), pa.array(cells[4:], pa.string())])


@pytest.mark.parametrize(
    ("least", "most", "categories", "others"),
    [
        (1, 9, ("a", "b", "c", "d", "rare"), 0),
        (2, 9, ("a", "b", "c", "d"), 1),
        (2, 4, ("a", "b", "c"), 2),
        (1, 5, ("a", "b", "c", "d", "rare"), 0),
        (1, 4, ("a", "b", "c"), 2),
    ],
)
def test_counts(least: int, most: int, categories: tuple[str, ...], others: int) -> None:
    counted = Values.of(column(CELLS)).counted(least, most)
    assert (counted.categories, counted.others, counted.rows) == (categories, others, 16)


def test_texts_become_places() -> None:
    features = (
        Feature("n"),
        Feature("band", (), kind=TEXT),
        LevelFeature("d by chapter", (), kind=TEXT, system="icd9", source="d"),
        Feature("d", (), kind=TEXT, system="icd9"),
        Feature("code", ()),
    )
    rules = Rules(2, 255, {"band": ["0-9", "10-19", "20-29"]})
    texts = RawTexts.of(features, rules)
    assert texts.sources == ("band", "d")
    table = pa.table(
        {
            "t0": column(["10-19", "0-9", "20-29", "10-19", None, "0-9"]),
            "t1": column(["428", "410", "486", "x", None, "428"]),
        }
    )
    matrix = np.full((6, 5), np.nan)
    matrix[:, 4] = [3.0, 3.0, 5.0, 5.0, np.nan, 7.0]
    described, matrix = texts.encode(table, matrix)
    band, chapter, codes, code = described[1:]
    assert (band.ordered, band.categories) == (True, ("0-9", "10-19", "20-29"))
    assert (chapter.categories, chapter.others) == (("390-459",), 2)
    assert (codes.categories, codes.others) == (("428",), 3)
    assert (code.categories, code.others) == ((3.0, 5.0), 1)
    assert matrix[:4, 1].tolist() == [1.0, 0.0, 2.0, 1.0]
    assert matrix[:4, 2].tolist() == [0.0, 0.0, -1.0, -1.0]
    assert matrix[:4, 3].tolist() == [0.0, -1.0, -1.0, -1.0]
    assert np.isnan(matrix[4, 1:4]).all()


def test_a_column_without_values_has_no_categories() -> None:
    values = Values.of(pa.chunked_array([pa.nulls(3)]))
    assert values.counted(1, 9).categories == ()
    assert np.isnan(values.positions(())).all()
