"""Codes with levels: ICD chapters and blocks, prefixes, and models that split by them."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from figs_spark.exports.dialects import DIALECTS
from figs_spark.exports.instrument import Family, Instrument
from figs_spark.exports.python_source import to_python
from figs_spark.exports.sql import _test
from figs_spark.treesum.code_systems import code_system, holds_unit
from figs_spark.treesum.levels import LevelFeature, as_fitted
from figs_spark.treesum.nodes import TEXT, Feature, Node, Split, TreeSum
from figs_spark.treesum.prediction import Outcome
from figs_spark.treesum.serialization import from_json, to_json
from figs_spark.treesum.text import condition, describe

CIRCULATORY = "390-459"
CODES = ("428", "428.1", "42823", "8", "45", "45.1", "4", "250.83", "V45", "E909", "39", "390", "?")


@pytest.mark.parametrize(
    ("name", "code", "keys"),
    [
        ("icd9", "428.23", ("390-459", "420-429", "428*")),
        ("icd9", "42823", ("390-459", "420-429", "428*")),
        ("icd9", "8", ("001-139", "001-009", "008*")),
        ("icd9", "V4581", ("V01-V91", "V40-V49", "V45*")),
        ("icd9", "E8809", ("E000-E999", "E880-E888", "E880*")),
        ("icd9", "285", ("280-289", "280-289", "285*")),
        ("icd9", "unknown", (None, None, None)),
        ("icd10", "I50.23", ("I00-I99", "I30-I52+I5A", "I50*")),
        ("icd10", "c4a", ("C00-D49", "C43-C44+C4A", "C4A*")),
        ("atc", "A10BA02", ("A*", "A10*", "A10B*", "A10BA*")),
        ("dotted", "1.2.840.3", ("1.*", "1.2.*", "1.2.840.*")),
        ("prefix:2,4", "XY1", ("XY*", None)),
        ("prefix", "XY12", ("X*", "XY1*")),
    ],
)
def test_levels_of_codes(name: str, code: str, keys: tuple[str | None, ...]) -> None:
    assert code_system(name).keys(code) == keys


@pytest.mark.parametrize("name", ["icd9", "icd10"])
def test_blocks_are_apart_and_inside_their_chapters(name: str) -> None:
    system: Any = code_system(name)
    chapters = [system.ranges(key) for key in system.keys_at(0)]
    blocks = [system.ranges(key) for key in system.keys_at(1)]
    for ends in (end for block in blocks for span in block for end in span):
        assert sum(holds_unit(chapter, ends) for chapter in chapters) == 1, ends
        assert sum(holds_unit(block, ends) for block in blocks) == 1, ends


def test_unknown_system_is_refused() -> None:
    with pytest.raises(ValueError, match="'icd9', 'icd10', 'atc'"):
        code_system("snomed")


def grown() -> TreeSum:
    """As it grew: a split by chapter, then one by single codes."""
    chapter = LevelFeature(
        "d by chapter", ("240-279", CIRCULATORY), kind=TEXT, others=1, system="icd9", source="d"
    )
    codes = Feature("d", ("250", "428", "486"), kind=TEXT, others=9, system="icd9")
    below = Split(1, 1, 1.0, False, categories=("428", "486"))
    inner = Node((0.0,), 9, 9.0, below, Node((2.0,), 5, 5.0), Node((3.0,), 4, 4.0))
    split = Split(0, 0, 2.0, False, categories=(CIRCULATORY,))
    root = Node((0.0,), 19, 19.0, split, inner, Node((1.0,), 10, 10.0))
    return TreeSum((chapter, codes), (root,), (0.5,), (1.0, 0.9, 0.8))


@pytest.fixture(scope="module")
def fitted() -> TreeSum:
    (model,) = as_fitted([grown()])
    return model


def test_levels_become_categories_of_their_codes(fitted: TreeSum) -> None:
    assert [f.name for f in fitted.features] == ["d"]
    first, second = fitted.splits
    assert first.categories == (CIRCULATORY, "428"), "a listed level lists the codes in it"
    assert second.categories == ("428", "486")
    assert condition(fitted.features[0], first, True) == "d in circulatory (390-459)"
    assert "d not in circulatory (390-459)" in describe(fitted, "M", "a number")
    assert from_json(to_json(fitted)) == fitted


def test_codes_that_training_did_not_name_follow_their_level(fitted: TreeSum) -> None:
    rows = np.array([["428"], ["410.01"], [CIRCULATORY], ["486"], ["E909"], [None]], dtype=object)
    assert fitted.predict(rows)[:, 0].tolist() == [2.0, 3.0, 3.0, 1.0, 1.0, 1.0]


def instrument(model: TreeSum) -> Instrument:
    family = Family("sum", (model,))
    return Instrument("M", "Prediction", family, Outcome(0), ("d",), "0" * 64, "0")


@pytest.mark.parametrize("key", [CIRCULATORY, "001-139", "030-041", "V40-V49", "428*", "045*"])
@pytest.mark.parametrize("inside", [True, False])
def test_exports_find_the_level_of_any_code(fitted: TreeSum, key: str, inside: bool) -> None:
    feature = replace(fitted.features[0], categories=(key,))
    split = Split(0, 0, 1.0, False, categories=(key,), listed_left=inside)
    tree = Node((0.0,), 9, 9.0, split, Node((2.0,), 5, 5.0), Node((3.0,), 4, 4.0))
    model = replace(fitted, features=(feature,), trees=(tree,), losses=(1.0, 0.9))
    expected = model.predict(np.array([[code] for code in CODES], object))[:, 0].tolist()
    namespace: dict[str, Any] = {}
    exec(to_python(instrument(model)), namespace)
    assert [namespace["predict"]({"d": code})["score"] for code in CODES] == expected
    test = _test(DIALECTS["sqlite"], feature, "d", split, True)
    table = " UNION ALL ".join(f"SELECT '{code}' AS d" for code in CODES)
    found = sqlite3.connect(":memory:").execute(f"SELECT {test} FROM ({table})").fetchall()
    assert [2.0 if row[0] else 3.0 for row in found] == expected


def test_a_damaged_system_is_refused(fitted: TreeSum) -> None:
    text = to_json(fitted).replace('"system": "icd9"', '"system": "icd8"')
    with pytest.raises(ValueError, match="known system"):
        from_json(text)
