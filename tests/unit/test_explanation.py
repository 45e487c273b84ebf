"""What each tree adds for one row, as numbers, text and bars; and models that show themselves."""

from __future__ import annotations

from itertools import pairwise
from random import Random
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.ml.linalg import Vectors
from pyspark.sql import Row

from figs_spark.pictures.waterfall import draw_explanation
from figs_spark.stages.bagged import BaggedFIGSClassificationModel
from figs_spark.stages.figs import FIGSClassificationModel, FIGSRegressionModel
from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.explanation import Explanation
from figs_spark.treesum.reading import Labels
from tests.support.pictured import RISK, full, trauma
from tests.support.treesums import random_rows, random_tree_sum
from tests.unit.test_pictures import bars, groups, texts

mpl.use("agg")

PATIENT = [7.0, 85.0, True, "motor <vehicle>", None, None]
NAMED = dict(zip(trauma().feature_names, PATIENT))


def classifier(model: TreeSum, classes: int = 2, **params: Any) -> FIGSClassificationModel:
    stage = FIGSClassificationModel(labelCol="death", **params)
    stage.treeSum, stage._classes = model, classes
    return stage


@given(st.randoms(use_true_random=False), st.integers(0, 10), st.integers(1, 3))
@settings(max_examples=50, deadline=None)
def test_the_steps_add_up_to_the_score(random: Random, splits: int, outputs: int) -> None:
    model = random_tree_sum(random, splits, outputs)
    labels = Labels("It", "it", outputs=("a", "b", "c")[:outputs])
    row = random_rows(random, 1)[0]
    found = Explanation.of(model, labels, row)
    assert found.score == tuple(model.predict([row])[0])
    steps = np.array([found.baseline, *found.contributions])
    rounding = 1e-15 * len(steps) * (1 + np.abs(steps).max())
    assert steps.sum(axis=0) == pytest.approx(np.array(found.score), rel=0, abs=rounding)
    leaf = model.contributions([row])[0]
    assert np.array(found.contributions[1:]).tolist() == leaf[1:].tolist()
    assert found.table.shape == (len(model.trees), 2 + outputs)


def test_conditions_come_with_the_values_of_the_row() -> None:
    found = Explanation.of(trauma(), RISK, PATIENT)
    assert [[(m.condition, m.value) for m in met] for met in found.conditions] == [
        [("gcs_total <= 8.5", "7")],
        [
            ("abdominal tenderness is true", "true"),
            (f"{trauma().feature_names[1]} <= 90", "85"),
        ],
        [('mechanism in {motor <vehicle>, "bike & \\"car\\""} or missing', "motor <vehicle>")],
    ]
    absent = Explanation.of(trauma(), RISK, [None, np.nan, None, "unseen", None, None])
    assert [[m.value for m in met] for met in absent.conditions] == [
        ["missing", "missing"],
        ["missing"],
        ["unseen"],
    ]


def test_it_prints() -> None:
    assert str(Explanation.of(trauma(), RISK, [20.0, None, False, "fall", None, None])) == (
        "Probability of death = 1\n"
        "\n"
        "Start: the average                                                  4.0%\n"
        "Tree 1                                                           -2.0 pp\n"
        "    gcs_total > 8.5 or missing [20]\n"
        "    gcs_total > 13.5 [20]\n"
        "Tree 2                                                           -1.0 pp\n"
        "    abdominal tenderness is false or missing [false]\n"
        "Tree 3                                                           -0.5 pp\n"
        '    mechanism not in {motor <vehicle>, "bike & \\"car\\""} [fall]\n'
        "Sum                                                                 0.5%"
    )


def test_bars_lead_from_the_average_to_the_sum() -> None:
    drawing = draw_explanation(Explanation.of(trauma(), RISK, PATIENT))
    start, *trees, total = (bars(step)[0] for step in groups(drawing, "step"))
    assert start.x == total.x
    assert trees[0].x == pytest.approx(start.x + start.width)
    for before, after in pairwise(trees):
        assert after.x == pytest.approx(before.x + before.width)
    assert total.width / start.width == pytest.approx(0.78 / 0.04)
    assert [texts(step)[0].text for step in groups(drawing, "step")] == [
        "4.0%", "+46.0 pp", "+25.0 pp", "+3.0 pp", "78.0%",
    ]  # fmt: skip


def test_a_risk_is_clipped_in_a_last_step() -> None:
    split = Split(0, 0, 1.0, False, threshold=1.0)
    root = Node((0.0,), 9, 9.0, split, Node((-0.25,), 4, 4.0), Node((1.25,), 5, 5.0))
    model = classifier(TreeSum((Feature("x"),), (root,), (0.5,), (1.0, 0.5)))
    found = model.explain([2.0])
    assert (found.score, found.prediction) == ((1.25,), (1.0,))
    assert str(found).splitlines()[-2:] == [
        "Sum                         125%",
        "Prediction                  100%",
    ]
    assert len(groups(draw_explanation(found), "step")) == 4
    assert model.explain({"x": 0.0}).prediction == (0.0,)


@pytest.mark.parametrize(
    "row",
    [
        PATIENT,
        tuple(PATIENT),
        np.array(PATIENT, dtype=object),
        NAMED,
        NAMED | {"another": 1},
        {name: value for name, value in NAMED.items() if value is not None},
        pd.Series(NAMED),
        pd.DataFrame([NAMED]).convert_dtypes().iloc[0],
        Row(**NAMED),
    ],
    ids=["list", "tuple", "array", "dict", "more", "used only", "series", "nullable", "row"],
)
def test_a_row_comes_in_many_forms(row: Any) -> None:
    model = classifier(trauma(), featuresCols=trauma().feature_names)
    found = model.explain(row)
    assert found.score[0] == pytest.approx(0.78)
    assert found.prediction == (model.predictProbability(PATIENT)[1],)


def test_what_pandas_calls_missing_is_missing() -> None:
    model = classifier(trauma())
    absent = pd.Series(NAMED | {"gcs_total": pd.NA, "abdominal tenderness": pd.NA})
    assert [m.value for m in model.explain(absent).conditions[0]] == ["missing", "missing"]
    assert model.explain(absent).score == tuple(
        trauma().predict([[None, 85, None, *PATIENT[3:]]])[0]
    )


def test_a_row_may_hold_a_vector() -> None:
    split = Split(1, 0, 1.0, False, threshold=1.0)
    root = Node((0.0,), 9, 9.0, split, Node((2.0,), 4, 4.0), Node((3.0,), 5, 5.0))
    model = FIGSRegressionModel()
    model.treeSum = TreeSum((Feature("a"), Feature("b")), (root,), (2.5,), (1.0, 0.5))
    for values in (Vectors.dense(0, 4), Vectors.sparse(2, {1: 4.0}), [0, 4]):
        assert model.explain(Row(id=1, features=values)).score == (3.0,)
        assert model.explain(values).prediction == (3.0,)
    assert model.explain({"b": 0.5}).score == (2.0,)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([1.0], "6 values in the order of featureNames; got list of length 1"),
        (np.zeros((6, 2)), "One row is needed"),
        (pd.DataFrame([NAMED]), "One row is needed"),
        ({"gcs_total": 3.0}, "The row lacks .*'abdominal tenderness', 'mechanism'"),
    ],
)
def test_a_bad_row_is_named(row: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        classifier(trauma()).explain(row)


def test_several_classes_have_a_column_each() -> None:
    model = classifier(full(1, trees=2, outputs=3), classes=3)
    found = model.explain([1.0] * 2 + [True, "fall", 1.0, 1.0])
    assert sum(found.prediction) == pytest.approx(1.0)
    steps = groups(draw_explanation(found), "step")
    assert all(len(bars(step)) == 3 for step in steps)
    assert list(found.table.columns) == ["tree", "path", "value_0", "value_1", "value_2"]


def test_models_show_themselves() -> None:
    model = classifier(trauma())
    for text in (model._repr_html_(), model.toSVG(), model.explain(PATIENT)._repr_html_()):
        shown = "".join(ElementTree.fromstring(text).itertext())
        assert "Probability of death = 1" in shown
        assert "Tree 3" in shown
    axes = model.plot(width=600)
    assert {"Tree 1", "Tree 2", "Tree 3", "+46.0 pp"} <= {t.get_text() for t in axes.texts}
    waterfall = model.explain(PATIENT).plot()
    assert {"Tree 1", "+46.0 pp", "78.0%"} <= {t.get_text() for t in waterfall.texts}
    mpl.pyplot.close("all")
    with pytest.raises(ValueError, match="is not fitted"):
        FIGSRegressionModel().toSVG()


def test_an_ensemble_shows_its_features_and_a_member() -> None:
    model = BaggedFIGSClassificationModel(labelCol="death")
    model.members, model._classes, model.oobScore = (trauma(), trauma()), 2, 0.9
    shown = "".join(ElementTree.fromstring(model._repr_html_()).itertext())
    assert "The mean of 2 members, 5.0 splits each; accuracy out of bag: 0.9000." in shown
    assert "Member 1 of 2" in shown
    assert "Tree 3" in shown
    assert "print(model)" not in shown
    axes = model.plot()
    assert "50.0%" in {t.get_text() for t in axes.texts}  # gcs_total: 6 of 12
    mpl.pyplot.close(axes.figure)


def test_class_names_are_shown() -> None:
    model = classifier(trauma())
    model._class_names = ("alive", "dead")
    assert "Probability of death = dead" in model.toSVG()
