from __future__ import annotations

import hashlib
import json
import math
import sys
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.fingerprint import canonical, fingerprint
from figs_spark.treesum.serialization import from_dict, from_json, to_dict, to_json
from figs_spark.treesum.strict_json import parse
from tests.support.treesums import chain, random_tree_sum

numbers = st.floats(allow_nan=False)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def stump(feature: Feature, split: Split, value: float = 1.0) -> TreeSum:
    leaf = Node((value,), 1, 0.5)
    root = Node((0.0,), 2, 1.0, split, leaf, leaf)
    return TreeSum((feature,), (root,), (value,), (math.inf, 0.1))


def strict(text: str) -> Any:
    """Parse JSON as the standard has it, without NaN and Infinity."""

    def refuse(token: str) -> None:
        raise AssertionError(f"{token} is no JSON")

    return json.loads(text, parse_constant=refuse)


@given(st.randoms(use_true_random=False), st.integers(0, 12), st.integers(1, 3))
@settings(max_examples=100, deadline=None)
def test_round_trip_of_random_models(random: Random, splits: int, outputs: int) -> None:
    model = random_tree_sum(random, splits, outputs)
    text = to_json(model)
    strict(text)
    assert from_json(text) == model


@given(texts, numbers, st.floats(allow_nan=False, allow_infinity=False), st.booleans())
@settings(deadline=None)
def test_round_trip_of_a_numeric_split(
    name: str, threshold: float, value: float, left: bool
) -> None:
    model = stump(Feature(name), Split(0, 0, 0.5, left, threshold=threshold), value)
    text = to_json(model)
    strict(text)
    back = from_json(text)
    assert back == model
    assert repr(back) == repr(model)  # the sign of zero too


@given(
    st.one_of(
        st.lists(texts, min_size=1, unique=True),
        st.lists(st.booleans(), min_size=1, unique=True),
        st.lists(numbers, min_size=1, unique=True),
    ),
    st.booleans(),
    st.booleans(),
)
@settings(deadline=None)
def test_round_trip_of_a_categorical_split(
    known: list[Any], missing_left: bool, listed_left: bool
) -> None:
    categories = tuple(known)
    feature = Feature("site", categories, labels=tuple(f"label {c}" for c in categories))
    split = Split(0, 0, 1.0, missing_left, categories=categories[::2], listed_left=listed_left)
    model = stump(feature, split)
    strict(to_json(model))
    assert repr(from_json(to_json(model))) == repr(model)


def test_a_deep_tree_survives() -> None:
    model = chain(150, leftwards=True)
    assert from_json(to_json(model)) == model


def test_text_and_number_of_the_same_look_stay_apart() -> None:
    split = Split(0, 0, 1.0, True, categories=("inf", "1.0"))
    model = stump(Feature("x", ("inf", "1.0", "true")), split)
    assert from_json(to_json(model)) == model


def root_of(data: dict[str, Any]) -> dict[str, Any]:
    root: dict[str, Any] = data["trees"][0]
    return root


def small() -> TreeSum:
    leaf = Node((1.0,), 1, 1.0)
    inner = Node((1.0,), 1, 1.0, Split(1, 1, 1.0, True, categories=("A",)), leaf, leaf)
    root = Node((0.0,), 2, 2.0, Split(0, 0, 1.0, True, threshold=2.5), inner, leaf)
    return TreeSum((Feature("age"), Feature("site", ("A", "B"))), (root,), (1.0,), (1.0,) * 3)


Damage = Callable[[dict[str, Any]], Any]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.pop("features"), "the entry 'features' is missing"),
        (lambda d: d.update(color=3), "the entry 'color' is unknown"),
        (lambda d: d.update(trees=[]), "there are no trees"),
        (lambda d: d.update(trees=7), "the entry 'trees' is 7, and a list is needed"),
        (lambda d: d.update(losses=[1.0, 1.0]), "there are 2 losses for 2 splits"),
        (lambda d: d.update(losses=[1.0, -1.0, 0.0]), r"'losses\[1\]' is -1.0"),
        (lambda d: d.update(constant=["1.0"]), r"'constant\[0\]' is '1.0', and a finite number"),
        (lambda d: root_of(d).pop("left"), r"'left' is missing in the entry 'trees\[0\]'"),
        (lambda d: root_of(d).update(value=[1.0, 2.0]), r"does not have 1 value\(s\)"),
        (lambda d: root_of(d).update(value=["many"]), r"'trees\[0\].value\[0\]' is 'many'"),
        (lambda d: root_of(d).update(value=["inf"]), r"'trees\[0\].value\[0\]' is 'inf'"),
        (lambda d: root_of(d).update(value=[True]), r"'trees\[0\].value\[0\]' is True"),
        (lambda d: root_of(d).update(value=[10**400]), "is a huge number, and a finite number"),
        (lambda d: root_of(d).update(rows=2.0), r"rows' is 2.0, and a whole number"),
        (lambda d: root_of(d).update(weight=-1.0), "weight' is -1.0, .* of at least 0"),
        (lambda d: root_of(d)["split"].update(feature=5), "step 0 splits feature 5 of 2"),
        (lambda d: root_of(d)["split"].update(feature=0.0), "feature' is 0.0, and a whole number"),
        (lambda d: root_of(d)["split"].update(feature=-1), "feature' is -1, and a whole number"),
        (lambda d: root_of(d)["split"].update(feature=1), "'site' is categorical"),
        (lambda d: root_of(d)["split"].pop("threshold"), "the entry 'categories' is missing"),
        (lambda d: root_of(d)["split"].update(categories=[]), "the entry 'categories' is unknown"),
        (lambda d: root_of(d)["split"].update(threshold="nan"), "threshold' is 'nan'"),
        (lambda d: root_of(d)["split"].update(missing_left="false"), "missing_left' is 'false'"),
        (lambda d: root_of(d)["split"].update(step=2), "a split comes before the one above it"),
        (
            lambda d: root_of(d)["left"]["split"].update(categories=["Z"]),
            "'site' lists the unknown category 'Z'",
        ),
        (lambda d: root_of(d)["left"]["split"].update(categories=["A", "A"]), "'A' stands twice"),
        (lambda d: root_of(d)["left"]["split"].update(step=0), "steps of the 2 splits are not 0"),
        (lambda d: root_of(d)["left"]["split"].update(step=7), "steps of the 2 splits are not 0"),
        (lambda d: d["features"][1].update(labels=["one"]), "there is not one label for each"),
        (lambda d: d["features"][1].update(name="age"), "'age' stands twice"),
        (lambda d: d["features"][1].update(name="\ud800"), "whole Unicode characters"),
        (lambda d: d["features"][1].update(categories=["A", True]), "booleans and numbers are mi"),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_damage_is_named(damage: Damage, message: str, version: int) -> None:
    data = to_dict(small())
    damage(data)
    head = {"format": "figs_spark.treesum", "version": version}
    with pytest.raises(ValueError, match=f"^my/file is damaged: .*{message}"):
        from_json(json.dumps(head | data), "my/file")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.pop("format"), "is not a figs_spark model"),
        (lambda d: d.update(version=99), "has format version 99; .* the versions 1 and 2"),
        (lambda d: d.update(version=True), "has format version True"),
        (lambda d: d.update(version=1), "the entry 'fingerprint' is unknown"),
        (lambda d: d.pop("fingerprint"), "'fingerprint' is None"),
        (lambda d: d["losses"].reverse() or d["losses"].__setitem__(0, 0.5), "was changed after"),
        (lambda d: root_of(d)["split"].update(threshold=2.6), "was changed after it was saved"),
        (lambda d: d["features"][0].update(name="Age"), "was changed after it was saved"),
    ],
)
def test_what_was_changed_is_seen_by_the_fingerprint(damage: Damage, message: str) -> None:
    data = json.loads(to_json(small()))
    damage(data)
    with pytest.raises(ValueError, match=f"^my/file .*{message}"):
        from_json(json.dumps(data), "my/file")


def test_the_first_version_is_read() -> None:
    head = {"format": "figs_spark.treesum", "version": 1}
    assert from_json(json.dumps(head | to_dict(small()))) == small()


def test_a_model_that_could_not_be_read_is_not_written() -> None:
    split = Split(0, 0, 1.0, True, threshold=0.5)
    with pytest.raises(ValueError, match=r"^The model is damaged: .*value\[0\]' is 'nan'"):
        to_json(stump(Feature("x"), split, math.nan))
    with pytest.raises(ValueError, match="more than 250 levels"):
        to_json(chain(300, leftwards=False))


def test_the_fingerprint_is_that_of_the_canonical_text() -> None:
    text = canonical(to_dict(small()))
    assert fingerprint(small()) == hashlib.sha256(text.encode()).hexdigest()
    assert json.loads(text) == to_dict(small())
    assert canonical({"b": [1.0, -0.0, 0.1, 1e300], "a": "ß"}) == (
        '{"a":"\\u00df","b":[1.0,-0.0,0.1,1e+300]}'
    )
    other = small()
    assert fingerprint(other) == fingerprint(small())
    assert fingerprint(other.truncate(1)) != fingerprint(small())


DEEP = 100_000


@pytest.mark.parametrize(
    "text",
    [
        "[" * DEEP,
        "[" * DEEP + "]" * DEEP,
        '{"left":' * DEEP,
        '{"format": "figs_spark.treesum", "version": 1, "trees": ' + "[" * DEEP + "]" * DEEP + "}",
    ],
)
@pytest.mark.parametrize("limit", [1_000, 200_000])
def test_deep_nesting_is_named(text: str, limit: int) -> None:
    """Also in a program that lets Python recurse so deep that the process would end."""
    usual = sys.getrecursionlimit()
    sys.setrecursionlimit(limit)
    try:
        with pytest.raises(ValueError, match=r"^my/file is damaged: its entries are nested"):
            from_json(text, "my/file")
    finally:
        sys.setrecursionlimit(usual)


def test_brackets_in_texts_are_no_nesting() -> None:
    assert parse('["' + "[" * DEEP + '\\"["]', "my/file") == ["[" * DEEP + '"[']


@pytest.mark.parametrize("depth", [251, 5_000, DEEP])
def test_a_deep_tree_is_named_without_recursion(depth: int) -> None:
    data = to_dict(small())
    node = root_of(data)["right"]
    for _ in range(depth):
        node = {**root_of(data), "left": root_of(data)["right"], "right": node}
    data["trees"] = [node]
    with pytest.raises(ValueError, match=r"^my/file is damaged: there are more than 250 levels"):
        from_dict(data, "my/file")
    while "right" in node:  # or Python frees it level by level on the stack
        node = node.pop("right")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": 1, "format": 2}', "the entry 'format' stands twice"),
        ('{"a": NaN}', "NaN is not a finite number"),
        ('{"a": -Infinity}', "-Infinity is not a finite number"),
        ('{"a": 1e999}', "1e999 is not a finite number"),
        ('{"a": ' + "9" * 5_000 + "}", "it is not JSON"),
    ],
)
def test_what_json_does_not_allow_is_named(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=f"^my/file is damaged: .*{message}"):
        from_json(text, "my/file")


@pytest.mark.parametrize("text", ["", "{", "PK\x03\x04", to_json(chain(3, True))[:-20]])
def test_what_is_not_json_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"^my/file is damaged: it is not JSON"):
        from_json(text, "my/file")


@pytest.mark.parametrize("text", ["[]", "3", '"text"', "null", '{"format": "other"}'])
def test_foreign_json_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"^my/file is not a figs_spark model"):
        from_json(text, "my/file")
