"""The calculator gives what the model gives, for whatever is typed into its form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from figs_spark.exports.instrument import Instrument, Result
from figs_spark.exports.page.calculator import NO_RESULT
from figs_spark.exports.page.fields import Wording, make_fields
from figs_spark.exports.page.page import Page, to_html
from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.reading import MINUS, Labels
from figs_spark.treesum.times import to_number
from tests.browser.forms import FILL, entries, patients
from tests.support.fitted import NAMES, fitted
from tests.support.hostile import HOSTILE
from tests.support.instruments import instrument, logarithms, random_instrument
from tests.support.pictured import CARE, full, trauma
from tests.support.treesums import random_tree_sum

PATIENTS = 500


def page_of(model: Instrument, **about: Any) -> str:
    outputs = model.score_labels or ("",)
    labels = Labels(model.subject, "the sum", model.classes > 0, outputs)
    return to_html(Page(model, labels, **about))


def numbers(text: str) -> list[float]:
    return [float(part) for part in text.split()]


def check(model: Instrument, expected: list[Result], answers: list[dict[str, str]]) -> int:
    """How many results were compared; a row without a result shows none."""
    compared = 0
    for result, answer in zip(expected, answers, strict=True):
        if not result.score:
            assert answer == {}
            continue
        share = result.probability if model.classes else result.score
        np.testing.assert_allclose(numbers(answer["risk"]), share, rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            numbers(answer["score"]), result.score, rtol=0, atol=1e-9 * model.scale
        )
        if model.classes:
            assert float(answer["chosen"]) == result.prediction
        compared += 1
    return compared


MODELS = {
    "figs, two classes": lambda: random_instrument(Random(1), 16, "sum", 2),
    "figs, a number": lambda: random_instrument(Random(2), 16, "sum", 0),
    "figs, three classes": lambda: random_instrument(Random(3), 16, "sum", 3),
    "log odds": lambda: instrument(logarithms(random_tree_sum(Random(9), 12)), classes=2),
    "log weights": lambda: instrument(logarithms(random_tree_sum(Random(9), 9, 3)), classes=3),
    "bagged": lambda: random_instrument(Random(4), 12, "mean", 2),
    "g-figs": lambda: random_instrument(Random(5), 16, "groups", 2),
    "g-figs, three classes": lambda: random_instrument(Random(6), 16, "groups", 3),
    "many trees": lambda: instrument(
        random_tree_sum(Random(8), 40), classes=2, thresholds=(0.3, 0.0)
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_form_gives_what_the_model_gives(name: str, show: Callable[..., Any]) -> None:
    model = MODELS[name]()
    fields = make_fields(model)
    rows = patients(model, Random(name), PATIENTS)
    typed = [entries(model, fields.values(), row) for row in rows]
    compared = check(model, model.evaluate(rows), show(page_of(model)).run(FILL, typed))
    assert compared > PATIENTS / 2


def test_typed_by_keyboard_alone(show: Callable[..., Any]) -> None:
    """From field to field by Tab, signs and choices by arrows; no pointer."""
    model = instrument(trauma(), classes=2, threshold=0.07)
    page = show(page_of(model, wordings={"gcs_total": Wording(name="Coma scale")}))
    keys = page.page.keyboard
    fields = list(make_fields(model).values())
    assert [field.kind for field in fields] == ["number", "number", "sign", "choice"]
    for gcs, pressure, tender, mechanism in [
        (8, 85, 0, 2), (15, 120, 1, 0), (9, None, 2, 1), (13.5, 90, 0, 5), (None, 90.01, 1, 4),
    ]:  # fmt: skip
        page.page.click("button[type=reset]")
        page.page.focus("#field-0")
        for typed in (gcs, pressure):
            keys.type("" if typed is None else str(typed))
            keys.press("Tab")
        for _ in range(2 - tender):
            keys.press("ArrowUp")
        keys.press("Tab")
        for _ in range(mechanism + 1):
            keys.press("ArrowDown")
        cells = (gcs, pressure, (True, False, None)[tender])
        known = (*(model.features[3].categories or ()), "another")
        row = dict(zip(model.inputs, (*cells, known[mechanism])))
        answer = page.run("() => ({...document.getElementById('result-box').dataset})")
        check(model, model.evaluate([row]), [answer])


def test_dates_and_times_are_typed_as_such(show: Callable[..., Any]) -> None:
    """A date, a point in time by UTC, a local time; also those before 1970 and not known."""
    kinds = ("date", "timestamp", "timestamp_ntz")
    features = tuple(Feature(f"{kind} of visit", kind=kind) for kind in kinds)
    limits = (18_000.5, 1_600_000_000.0, -86_400.5)
    trees = [
        Node((0.0,), 2, 2.0, Split(j, j, 1.0, j == 1, threshold=limit), *leaves(0.1 * (j + 1)))
        for j, limit in enumerate(limits)
    ]
    model = instrument(TreeSum(features, tuple(trees), (0.0,), (0.0,) * 4), classes=2)
    page = show(page_of(model))
    before_1970 = ("1969-12-30T23:59:59.400", "1969-12-31T00:00")
    moments = ("2020-09-13T12:26:40", "2020-09-13T12:26:41", *before_1970, "")
    typed = [
        [["field-0", day], ["field-1", one], ["field-2", two]]
        for day in ("2019-04-14", "2019-04-15", "1900-02-28", "")
        for one, two in zip(moments, reversed(moments))
    ]
    rows = [
        {f"{kind} of visit": to_number(kind, text or None) for kind, (_, text) in zip(kinds, row)}
        for row in typed
    ]
    assert check(model, model.evaluate(rows), page.run(FILL, typed)) == len(rows)
    steps = page.page.inner_text("#result-steps")
    assert "date of visit > 2019-04-14 or not known (not known)" in steps


def leaves(value: float) -> tuple[Node, Node]:
    return Node((value,), 1, 1.0), Node((2 * value,), 1, 1.0)


def test_it_says_why(show: Callable[..., Any]) -> None:
    model = instrument(trauma(), classes=2, threshold=0.07)
    wordings = {
        "gcs_total": Wording(name="Coma scale", range=(3, 15)),
        model.columns[1]: Wording(name="Systolic pressure", unit="mmHg", range=(40, 250)),
    }
    page = show(page_of(model, wordings=wordings)).page
    assert page.inner_text("#result-number") == NO_RESULT
    page.fill("#field-0", "8")
    page.fill("#field-1", "300")
    page.check("#field-2-0", force=True)
    page.select_option("#field-3", label="fall")
    assert page.inner_text("#result-number") == "49.5%"
    assert "Flagged: the risk is above the threshold of 7.0%" in page.inner_text("#result-decision")
    assert "about 495 have the outcome" in page.inner_text("#result-thousand")
    steps = page.inner_text("#result-steps")
    for words in (
        "Coma scale ≤ 8.5 (8)",
        "+46.0 pp",
        "Systolic pressure > 90 mmHg",
        f"{MINUS}0.5 pp",
    ):
        assert words in steps
    warnings = page.inner_text("#result-warnings")
    assert "Systolic pressure is outside the usual range" in warnings
    page.fill("#field-1", "")
    assert "Not known: Systolic pressure" in page.inner_text("#result-warnings")


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ("1,5", "Write decimals with a point"),
        ("about 5", "not a number"),
        ("1e999", "too large"),
        ("0x10", "not a number"),
        ("Infinity", "not a number"),
    ],
)
def test_what_is_no_number_gives_no_result(
    text: str, remark: str, show: Callable[..., Any]
) -> None:
    page = show(page_of(instrument(trauma(), classes=2))).page
    page.fill("#field-0", text)
    assert remark in page.inner_text("#field-0-remark")
    assert page.get_attribute("#field-0", "aria-invalid") == "true"
    assert page.inner_text("#result-number") == NO_RESULT
    page.fill("#field-0", " \u22122.5 ")
    assert page.inner_text("#result-number") != NO_RESULT


def test_a_group_comes_first(show: Callable[..., Any]) -> None:
    model = instrument(trauma(), trauma().truncate(2), classes=2, kind="groups")
    page = show(page_of(model)).page
    page.fill("#field-0", "8")
    assert "choose the group first" in page.inner_text("#result-decision")
    page.select_option("#field-group", "-1")
    assert "not trained on patients of this group" in page.inner_text("#result-decision")
    page.select_option("#field-group", "1")
    assert page.inner_text("#result-number").endswith("%")


def test_classes_are_ranked_and_each_has_its_steps(show: Callable[..., Any]) -> None:
    model = replace(instrument(full(2, 2, 3), classes=3), class_names=CARE.outputs)
    page = show(page_of(model)).page
    page.fill("#field-0", "50")
    chosen = page.inner_text("#result-classes .chosen")
    assert page.inner_text("#result-number") in chosen
    page.select_option("#waterfall-class", "2")
    assert "Tree 2" in page.inner_text("#result-steps")


def test_a_model_without_splits_asks_nothing(show: Callable[..., Any]) -> None:
    model = instrument(random_tree_sum(Random(7), 0), classes=2)
    page = show(page_of(model))
    answer = page.run("() => ({...document.getElementById('result-box').dataset})")
    check(model, model.evaluate([{}]), [answer])


def test_hostile_texts_do_nothing(show: Callable[..., Any], tmp_path: Path) -> None:
    """They are shown, also by the script, and none of them becomes an element."""
    model = fitted("FIGS", 2)
    model._class_names = HOSTILE[:2]
    fields = {name: {"name": text, "unit": text} for name, text in zip(NAMES, HOSTILE)}
    about = {"title": HOSTILE[0], "doNotUseWhen": list(HOSTILE)}
    path = model.report(tmp_path / "report.html", about=about, fields=fields)
    page = show(path.read_text("utf-8")).page
    dialogs: list[Any] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog))
    for control in page.query_selector_all("#calculator-form input[type=text]"):
        control.fill("1")
    assert page.inner_text("h1") == HOSTILE[0]
    assert HOSTILE[4] in page.inner_text("#facts")
    assert page.inner_text("#result-steps") != ""
    assert page.query_selector("img, iframe, object, embed, base, link") is None
    assert len(page.query_selector_all("script")) == 3
    assert dialogs == []


def test_the_policy_stops_a_script_that_got_in(browser: Any, tmp_path: Path) -> None:
    """Whatever became markup by mistake may neither run nor ask for anything."""
    text = page_of(instrument(trauma(), classes=2))
    wrong = (
        '<script>document.title = "run"</script><img src="http://127.0.0.1:9/x.png" '
        "onerror=\"document.title = 'run'\"><style>h1{display:none}</style>"
    )
    path = tmp_path / "page.html"
    path.write_text(text.replace("</main>", f"{wrong}</main>"), "utf-8")
    page = browser.new_page()
    sent: list[str] = []
    page.on("requestfinished", lambda request: sent.append(request.url))
    page.on("requestfailed", lambda request: sent.append(request.failure))
    page.goto(path.as_uri())
    assert page.title() != "run"
    assert page.is_visible("h1")
    assert [url for url in sent if not url.startswith("file:")] in ([], ["csp"])
    page.close()
