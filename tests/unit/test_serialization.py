from __future__ import annotations

import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.serialization import from_json, to_dict, to_json
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


@given(texts, numbers, numbers, st.booleans())
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


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda d: d.pop("format"), "is not a figs_spark model"),
        (lambda d: d.update(version=99), "has format version 99; .* reads version 1"),
        (lambda d: d.pop("features"), "the entry 'features' is missing"),
        (lambda d: d.update(trees=[]), "it has no trees"),
        (lambda d: d.update(trees=7), "is damaged"),
        (lambda d: root_of(d).pop("left"), "the entry 'left' is missing"),
        (lambda d: root_of(d).update(value=[1.0, 2.0]), r"does not have 1 value\(s\)"),
        (lambda d: root_of(d).update(value=["many"]), "could not convert string to float"),
        (lambda d: root_of(d).update(rows=math.inf), "is damaged"),
        (lambda d: root_of(d)["split"].update(feature=5), "outside the 2 known"),
        (lambda d: root_of(d)["split"].update(feature=1), "'site' is categorical"),
        (lambda d: root_of(d)["split"].pop("threshold"), "the entry 'categories' is missing"),
        (lambda d: root_of(d)["split"].update(threshold="nan"), "'age' has the threshold NaN"),
        (
            lambda d: root_of(d)["left"]["split"].update(categories=["Z"]),
            "'site' lists unknown categories {'Z'}",
        ),
        (lambda d: root_of(d)["left"]["split"].update(step=0), "two splits claim the same step"),
        (lambda d: d["features"][1].update(labels=["one"]), "'site' has not one label for each"),
    ],
)
def test_damage_is_named(damage: Callable[[dict[str, Any]], Any], message: str) -> None:
    leaf = Node((1.0,), 1, 1.0)
    inner = Node((1.0,), 1, 1.0, Split(1, 1, 1.0, True, categories=("A",)), leaf, leaf)
    root = Node((0.0,), 2, 2.0, Split(0, 0, 1.0, True, threshold=2.5), inner, leaf)
    model = TreeSum((Feature("age"), Feature("site", ("A", "B"))), (root,), (1.0,), (1.0,) * 3)
    data = to_dict(model)
    damage(data)
    with pytest.raises(ValueError, match=f"^my/file .*{message}"):
        from_json(json.dumps(data), "my/file")


@pytest.mark.parametrize("text", ["", "{", "PK\x03\x04", to_json(chain(3, True))[:-20]])
def test_what_is_not_json_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"^my/file is damaged: it is not JSON"):
        from_json(text, "my/file")


@pytest.mark.parametrize("text", ["[]", "3", '"text"', "null", '{"format": "other"}'])
def test_foreign_json_is_named(text: str) -> None:
    with pytest.raises(ValueError, match=r"^my/file is not a figs_spark model"):
        from_json(text, "my/file")
