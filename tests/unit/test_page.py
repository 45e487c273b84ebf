"""The page as text: what its form asks, what its card says, and what cannot get into it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from random import Random

import pytest

from figs_spark.exports.page.fields import OTHER, Wording, make_fields, read_wordings
from figs_spark.exports.page.page import Page, to_html
from figs_spark.exports.page.program import link_of, make_program, worded
from figs_spark.treesum import Feature, Node, Split, TreeSum
from tests.support.instruments import instrument, random_instrument
from tests.support.pictured import RISK, trauma


def of_split(feature: Feature, split: Split) -> TreeSum:
    leaves = Node((0.1,), 50, 50.0), Node((0.3,), 50, 50.0)
    root = Node((0.2,), 100, 100.0, split, *leaves)
    return TreeSum((feature,), (root,), (0.2,), (1.0, 0.5))


def conditions(feature: Feature, split: Split, **wording: object) -> list[str]:
    model = instrument(of_split(feature, split), classes=2)
    field = make_fields(model, {feature.name: Wording(**wording)})[0]
    return [worded(field, split, left) for left in (True, False)]


def test_conditions_are_in_the_words_of_the_ward() -> None:
    sbp = Split(0, 0, 1.0, True, threshold=90.5)
    assert conditions(Feature("sbp"), sbp, name="Pressure", unit="mmHg") == [
        "Pressure ≤ 90.5 mmHg or not known",
        "Pressure > 90.5 mmHg",
    ]
    sign = Split(0, 0, 1.0, False, threshold=0.5)
    assert conditions(Feature("neck_pain"), sign, yes_no=True) == [
        "neck pain: no",
        "neck pain: yes or not known",
    ]
    hurt = Split(0, 0, 1.0, True, categories=(True,))
    assert conditions(Feature("hurt", (False, True)), hurt) == [
        "hurt: yes or not known",
        "hurt: no",
    ]
    site = Split(0, 0, 1.0, False, categories=("n", "s"), listed_left=False)
    assert conditions(Feature("site", ("n", "s", "w")), site, labels={"n": "North"}) == [
        "site: none of North, s",
        "site: North or s or not known",
    ]


def test_a_date_is_asked_for_and_shown_as_a_date() -> None:
    """Nobody counts days since 1970."""
    feature, split = Feature("visit", kind="date"), Split(0, 0, 1.0, True, threshold=18_000.5)
    assert conditions(feature, split) == ["visit ≤ 2019-04-14 or not known", "visit > 2019-04-14"]
    model = instrument(of_split(feature, split), classes=2)
    text = to_html(Page(model, RISK, ranges={"visit": (17_000.0, 19_000.0)}))
    assert 'type="date"' in text
    assert "2016-07-18 to 2022-01-08 is usual" in text
    assert "since 1970-01-01" not in text
    assert "visit is given in days since 1970-01-01." in model.notes


def test_a_split_by_missing_alone_is_in_words() -> None:
    known = Split(0, 0, 1.0, False, threshold=float("inf"))
    assert conditions(Feature("x"), known) == ["x: any value", "x: not known"]
    listed = Split(0, 0, 1.0, True, categories=())
    assert conditions(Feature("c", ("a",)), listed) == ["c: not known", "c: any value"]


def test_the_form_asks_what_the_model_reads_and_nothing_else() -> None:
    model = instrument(trauma(), classes=2)
    fields = make_fields(model, ranges={"gcs_total": (3.0, 15.0)})
    assert [model.columns[j] for j in fields] == list(model.inputs)
    assert [field.kind for field in fields.values()] == ["number", "number", "sign", "choice"]
    assert fields[0].range == (3.0, 15.0)
    assert fields[0].name == "gcs total"
    assert [option.value for option in fields[3].options] == [0.0, 1.0, 2.0, 3.0, 4.0, OTHER]


def test_columns_that_are_always_0_or_1_are_signs() -> None:
    feature, split = Feature("pain"), Split(0, 0, 1.0, False, threshold=0.5)
    model = instrument(of_split(feature, split), classes=2)
    assert make_fields(model, signs=["pain"])[0].kind == "sign"
    assert make_fields(model, {"pain": Wording(range=(0, 10))}, signs=["pain"])[0].kind == "number"


def test_names_that_would_be_equal_as_words_stay_as_they_are() -> None:
    sums = of_split(Feature("a_b"), Split(0, 0, 1.0, False, threshold=1.0))
    root = sums.trees[0]
    second = replace(root, split=Split(1, 1, 1.0, False, threshold=1.0))
    both = TreeSum((Feature("a_b"), Feature("a b")), (root, second), (0.2,), (1.0, 1.0, 1.0))
    names = [field.name for field in make_fields(instrument(both, classes=2)).values()]
    assert names == ["a_b", "a b"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"nope": {}}, "1 columns that the model does not read: 'nope'"),
        ({"gcs_total": "GCS"}, "'gcs_total' needs keys and values"),
        ({"gcs_total": {"title": "GCS"}}, "unknown keys title. There are name, unit"),
        ({"gcs_total": {"unit": 5}}, "'unit' of 'gcs_total' must be a text"),
        ({"gcs_total": {"range": [15, 3]}}, "two rising numbers"),
        ({"gcs_total": {"range": "3-15"}}, "two rising numbers"),
        ({"mechanism": {"labels": ["fall"]}}, "must name categories and texts"),
    ],
)
def test_wrong_wordings_are_named(fields: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_wordings(instrument(trauma(), classes=2), fields)


def test_the_program_is_json_whatever_the_model() -> None:
    for seed in range(30):
        model = random_instrument(Random(seed), 12)
        json.dumps(make_program(model, make_fields(model)), allow_nan=False)


def test_an_unknown_link_is_refused() -> None:
    class Cloglog:
        link = "cloglog"

    with pytest.raises(ValueError, match="the model has 'cloglog'"):
        link_of(Cloglog())


def test_a_page_is_small_and_reaches_nothing_outside() -> None:
    for seed in range(20):
        model = random_instrument(Random(seed), 16)
        text = to_html(Page(model, RISK)) if model.outputs == 1 else ""
        assert len(text.encode()) < 400_000
        outside = re.findall(r"(?:https?:)?//[\w.]+", text)
        assert {address for address in outside if "." in address} <= {"http://www.w3.org"}


def chain(feature: Feature, *splits: Split) -> TreeSum:
    """A tree in which each split divides the right side of the one before it."""
    node = Node((0.3,), 50, 50.0)
    for split in reversed(splits):
        node = Node((0.2,), 100, 100.0, split, Node((0.1,), 50, 50.0), node)
    return TreeSum((feature,), (node,), (0.2,), (1.0,) * (len(splits) + 1))


def ticked(model: TreeSum) -> list[str]:
    """The lines of the card."""
    text = to_html(Page(instrument(model, classes=2), RISK))
    return re.findall(r'<td class="when"><span[^>]*></span>([^<]*)</td>', text)


def test_the_card_says_nothing_twice() -> None:
    cuts = [Split(0, k, 1.0, True, threshold=limit) for k, limit in enumerate((1.5, 4.5, 10.5))]
    assert ticked(chain(Feature("stays"), *cuts)) == [
        "stays ≤ 1.5 or not known",
        "stays &gt; 1.5; and stays ≤ 4.5",
        "stays &gt; 4.5; and stays ≤ 10.5",
        "stays &gt; 10.5",
    ]
    sets = [
        Split(0, k, 1.0, False, categories=listed, listed_left=k == 0)
        for k, listed in enumerate((("3", "6"), ("5", "11")))
    ]
    assert ticked(chain(Feature("exit", ("3", "5", "6", "11")), *sets)) == [
        "exit: 3 or 6",
        "exit: none of 3, 6, 5, 11",
        "exit: 5 or 11 or not known",
    ]


def test_an_order_is_shown_as_one() -> None:
    bands = Feature("age", ("[0-10)", "[10-20)", "[20-30)"), ordered=True)
    split = Split(0, 0, 1.0, True, categories=("[10-20)", "[20-30)"), listed_left=False)
    assert conditions(bands, split) == ["age < [10-20) or not known", "age ≥ [10-20)"]


def test_a_threshold_that_nobody_chose_is_no_operating_point() -> None:
    text = to_html(Page(instrument(trauma(), classes=2), RISK))
    assert "Flag above" not in text
    assert "none was chosen; the default flags a risk above 50%" in text


def test_the_card_adds_up_to_the_model() -> None:
    text = to_html(Page(instrument(trauma(), classes=2, threshold=0.07), RISK))
    for words in ("Start: the average", "4.0%", "gcs total ≤ 8.5", "+46.0 pp", "Flag above 7%"):
        assert words in text
