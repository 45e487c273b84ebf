"""Names that hide something: control characters and overrides of direction become escapes."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import pytest

from figs_spark import BaggedFIGSClassificationModel, FIGSClassificationModel, GFIGSRegressionModel
from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.visible import visible, visible_name

EVIL = "a\0b\x1b[31m\u202ec\u2066d\u200be\x85\u2028f\ufeff\x7f"
SHOWN = r"a\u0000b\u001b[31m\u202ec\u2066d\u200be\u0085\u2028f\ufeff\u007f"
HIDDEN = set(EVIL) - set(SHOWN)


@pytest.mark.parametrize(
    "text", ["Größe 😀", "a\nb", "שלום", "مرحبا", "\U0001f468\u200d\U0001f469"]
)
def test_other_text_stays(text: str) -> None:
    assert visible(text) == text


def test_what_is_hidden_is_shown() -> None:
    assert visible(EVIL) == SHOWN
    assert visible("\ud800\U000e0001") == r"\ud800\U000e0001"
    assert visible_name("a\nb\r\t") == r"a\nb\u000d\u0009"


def tree_sum() -> TreeSum:
    leaf = Node((1.0,), 1, 1.0)
    text = Split(1, 1, 1.0, True, categories=(EVIL,))
    inner = Node((1.0,), 1, 1.0, text, leaf, leaf)
    root = Node((0.0,), 2, 2.0, Split(0, 0, 1.0, True, threshold=math.inf), inner, leaf)
    return TreeSum((Feature(EVIL), Feature("site", (EVIL, "x"))), (root,), (1.0,), (1.0,) * 3)


def single() -> FIGSClassificationModel:
    model = FIGSClassificationModel(labelCol=EVIL)
    model.treeSum, model._classes, model._class_names = tree_sum(), 2, ("no", EVIL)
    return model


def bagged() -> BaggedFIGSClassificationModel:
    model = BaggedFIGSClassificationModel(labelCol=EVIL)
    model.members, model._classes = (tree_sum(),), 2
    return model


def grouped() -> GFIGSRegressionModel:
    model = GFIGSRegressionModel(labelCol=EVIL, groupCol=EVIL)
    model._sums, model._effective = {EVIL: tree_sum(), "b": tree_sum()}, {EVIL: 1.0, "b": 2.0}
    return model


@pytest.mark.parametrize("make", [single, bagged, grouped])
def test_models_show_what_is_hidden(make: Any) -> None:
    model = make()
    texts = [str(model), model.toSVG(), model._repr_html_()]
    if make is single:
        texts += [str(model.explain([1.0, EVIL])), model.explain([1.0, EVIL])._repr_html_()]
    for text in texts:
        assert not HIDDEN & set(text)
        assert r"\u202e" in text
    ElementTree.fromstring(model.toSVG())
