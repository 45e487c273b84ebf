"""Models before anything was fitted or loaded: each says so, and shows and predicts nothing."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

import figs_spark
from figs_spark.stages.base.model import FittedModel
from figs_spark.stages.base.persistence import model_text

CLASSES = [
    cls
    for cls in (getattr(figs_spark, name) for name in figs_spark.__all__)
    if isinstance(cls, type) and issubclass(cls, FittedModel)
]
USES: dict[str, Callable[[Any], Any]] = {
    "predict": lambda model: model.predict(pd.DataFrame({"x": [1.0], "site": ["a"]})),
    "toSVG": lambda model: model.toSVG(),
    "plot": lambda model: model.plot(),
    "rules": lambda model: model.rules(),
    "toPython": lambda model: model.toPython(),
    "toSQL": lambda model: model.toSQL(),
    "fingerprint": lambda model: model.fingerprint,
    "transform": lambda model: model.transform(None),
    "save": model_text,
}

every_class = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)


def test_all_families_and_outcomes_are_here() -> None:
    assert len(CLASSES) == 6


@every_class
def test_its_text_says_that_it_is_not_fitted(cls: type[FittedModel]) -> None:
    sentence = f"{cls.__name__}: not fitted"
    model = cls()
    assert str(model) == model.toDebugString == model.toText(smallCell=11) == sentence
    assert html.escape(sentence) in model._repr_html_()
    assert repr(model) == model.uid
    assert repr(model.copy()) == model.uid
    assert (model.numFeatures, model.featureNames) == (0, [])


@every_class
@pytest.mark.parametrize("use", USES)
def test_nothing_else_can_be_done_with_it(cls: type[FittedModel], use: str) -> None:
    with pytest.raises(ValueError, match=f"This {cls.__name__} is not fitted.* Fit an estimator"):
        USES[use](cls(featuresCols=["x"]))
