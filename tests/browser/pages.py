"""Whole pages for looking at: one of each family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

from figs_spark.clinical.evaluation import evaluated
from figs_spark.exports.page.fields import Wording
from figs_spark.exports.page.growth import Growth, Size
from figs_spark.exports.page.page import Page, to_html
from figs_spark.exports.page.statement import Statement
from tests.support.instruments import instrument
from tests.support.pictured import CARE, RISK, full, trauma
from tests.support.scores import scored_parts

PRESSURE = "systolic blood pressure on arrival at the emergency department (mmHg)"
WORDINGS = {
    "gcs_total": Wording(name="Glasgow coma scale", range=(3, 15), help="Best total at arrival"),
    PRESSURE: Wording(name="Systolic blood pressure", unit="mmHg", range=(40, 240)),
}


def pages() -> dict[str, Callable[[], str]]:
    return {"figs": _figs, "groups": _groups, "classes": _classes}


@cache
def _figs() -> str:
    model = instrument(trauma(), classes=2, threshold=0.07)
    about = Statement.read({"title": "Death after trauma", "doNotUseWhen": ["burns", "drowning"]})
    results = evaluated(*scored_parts(), 0.07, (0.92, 0.98), over_time_and_place=("site",))
    sizes = tuple(Size(k, 0.05 / (1 + k), 0.06 / (1 + k), 0.002) for k in range(9))
    growth = Growth({"": sizes}, {"": 5})
    return to_html(Page(model, RISK, about, WORDINGS, results=results, growth=growth))


@cache
def _groups() -> str:
    model = instrument(trauma(), trauma().truncate(3), classes=2, kind="groups", threshold=0.07)
    return to_html(Page(model, RISK, Statement.read({"title": "Death, by site"}), WORDINGS))


@cache
def _classes() -> str:
    model = instrument(full(2, 2, 3), classes=3)
    model = replace(model, class_names=CARE.outputs)
    return to_html(Page(model, CARE, Statement.read({"title": "Care"}), WORDINGS))
