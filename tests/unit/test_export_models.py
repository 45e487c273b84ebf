"""Models of every family as users export them; pipelines in raw columns. No Spark is started."""

from __future__ import annotations

import math
from bisect import bisect_right
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from figs_spark import exportable
from figs_spark.stages.raw_columns import Bucketed, Indexed, Raw, Source, in_raw_columns
from figs_spark.treesum import Feature, Node, Split, TreeSum
from tests.support.fitted import KINDS, OUTCOMES, fitted, rows
from tests.support.instruments import instrument

every_model = pytest.mark.parametrize(
    ("kind", "classes"), [(kind, classes) for kind in KINDS for classes in OUTCOMES]
)


@every_model
def test_python_predicts_as_the_model(kind: str, classes: int) -> None:
    model, table = fitted(kind, classes), rows(Random(1), 30)
    names: dict[str, Any] = {}
    exec(model.toPython(), names)
    cells = table.astype(object).where(table.notna(), None)
    found = [names["predict"](row) for row in cells.to_dict("records")]
    predictions = model.predict(table)["prediction"].tolist()
    assert [f["prediction"] for f in found] == pytest.approx(predictions)
    if classes:
        own = model.predictProbability(table)
        expected = own[:, 1] if classes == 2 else own
        assert [f["probability"] for f in found] == [pytest.approx(p) for p in expected.tolist()]


@every_model
def test_files_and_texts(kind: str, classes: int, tmp_path: Path) -> None:
    model = fitted(kind, classes)
    written = model.export(tmp_path / "model.py")
    assert written.proof.startswith("verified in Python")
    assert written.fingerprint == model.fingerprint
    for text in (
        model.toPython(),
        model.toSQL(output="score"),
        (tmp_path / "model.py").read_text(),
    ):
        assert "Infinity" not in text or "CAST('" in text
    assert model.fingerprint in model.toPython()
    assert model.fingerprint.encode() in model.toONNX()
    assert exportable(model) is model


def test_one_patient_of_each_family() -> None:
    for kind in KINDS:
        model = fitted(kind, 2)
        patient = rows(Random(2), 1).iloc[0]
        assert model.toFHIR(patient, "Patient/1")["resourceType"] == "RiskAssessment"
        assert model.toCDSHooks(patient)["summary"].startswith("Probability of y = 1")


def test_what_is_no_model_is_named() -> None:
    with pytest.raises(TypeError, match=r"A str cannot be exported. Give a model of figs_spark"):
        exportable("model")


# Raw columns, against what the stages of Spark ML do to one value

LABELS = ("b", "a", "it's")
LIMITS = (-math.inf, 0.0, 1.5, 18.0, 65.0)
VALUES = (-5.0, 0.0, math.nextafter(0, -1), 1.5, math.nextafter(1.5, 0), 17.9, 18.0, 40.0, 65.0)


def derived(source: Source, value: Any) -> Any:
    """The feature that a stage makes of a raw value; None for missing."""
    if isinstance(source, Indexed):
        if value in source.labels:
            return float(source.labels.index(value))
        unknown = float(len(source.labels))
        return unknown if value is not None or source.keeps_unknown else None
    if isinstance(source, Bucketed) and value is not None:
        return float(min(bisect_right(source.limits, value), len(source.limits) - 1) - 1)
    return value


def random_split(random: Random, feature: int, coded: bool, step: int) -> Split:
    missing = random.random() < 0.5
    if not coded:
        return Split(feature, step, 1.0, missing, threshold=random.choice([0.5, 1.5, 2.5]))
    listed = tuple(float(c) for c in range(4) if random.random() < 0.5)
    return Split(feature, step, 1.0, missing, categories=listed, listed_left=random.random() < 0.5)


@given(st.integers(0, 100_000), st.booleans(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_the_same_scores_in_raw_columns(seed: int, coded: bool, keeps: bool) -> None:
    random = Random(seed)
    sources: list[Source] = [
        Indexed("site", LABELS, keeps), Bucketed("age", LIMITS, False), Raw("dose"),
    ]  # fmt: skip
    codes = (0.0, 1.0, 2.0, 3.0) if coded else None
    features = (Feature("site_index", codes), Feature("age_bucket", codes), Feature("dose"))

    def grown(depth: int) -> Node:
        if depth == 0:
            return Node((random.gauss(0, 1),), 1, 1.0)
        j = random.randrange(3)
        split = random_split(random, j, coded and j < 2, depth)
        return Node((0.0,), 2, 2.0, split, grown(depth - 1), grown(depth - 1))

    one = TreeSum(features, (grown(3), grown(2)), (0.0,), (0.0,))
    before = instrument(one)
    after = in_raw_columns(before, sources)
    assert after.columns == ("site", "age", "dose")
    patients = [
        {
            "site": random.choice([*LABELS, "unseen", None]),
            "age": random.choice([*VALUES, None]),
            "dose": random.choice([0.0, 1.5, 2.0, None]),
        }
        for _ in range(40)
    ]
    names = [feature.name for feature in features]
    made = [
        {n: derived(s, p[s.column]) for n, s in zip(names, sources, strict=True)} for p in patients
    ]
    assert [r.score for r in after.evaluate(patients)] == [r.score for r in before.evaluate(made)]


def test_a_column_used_in_two_kinds_is_refused() -> None:
    leaf = Node((0.0,), 1, 1.0)
    one = TreeSum((Feature("i"), Feature("x")), (leaf,), (0.0,), (0.0,))
    with pytest.raises(ValueError, match="uses column 'x' in two ways"):
        in_raw_columns(instrument(one), [Indexed("x", LABELS, False), Raw("x")])


def test_nan_as_a_bucket_of_its_own_is_refused_if_it_differs_from_null() -> None:
    leaves = Node((0.0,), 1, 1.0), Node((1.0,), 1, 1.0)
    root = Node((0.0,), 2, 2.0, Split(0, 0, 1.0, True, threshold=1.5), *leaves)
    one = TreeSum((Feature("b"),), (root,), (0.0,), (0.0,) * 2)
    with pytest.raises(ValueError, match="keeps NaN of column 'age' as a bucket"):
        in_raw_columns(instrument(one), [Bucketed("age", LIMITS, True)])
