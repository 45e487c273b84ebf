"""FHIR and CDS Hooks: the fields that the standards ask for, and the rules that fired."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from figs_spark.exports.fhir import card, risk_assessment
from figs_spark.exports.targets import export
from figs_spark.treesum import Feature, Node, Split, TreeSum
from tests.support.instruments import FINGERPRINT, instrument, random_instrument


def triage(**fields: Any) -> Any:
    """Low consciousness adds 0.4, a wound 0.2."""
    leaves = Node((0.5,), 1, 1.0), Node((0.1,), 1, 1.0)
    gcs = Node((0.0,), 2, 2.0, Split(0, 0, 1.0, True, threshold=8.5), *leaves)
    added = Node((0.2,), 1, 1.0), Node((0.0,), 1, 1.0)
    wound = Node((0.0,), 2, 2.0, Split(1, 1, 1.0, False, categories=(True,)), *added)
    features = (Feature("gcs"), Feature("open wound", (False, True)))
    one = TreeSum(features, (gcs, wound), (0.3,), (0.0,) * 3)
    return instrument(one, classes=2, **fields)


def test_a_risk_assessment() -> None:
    patient = {"gcs": 7.0, "open wound": True}
    found = risk_assessment(
        triage(operating_point="Chosen."), patient, "Patient/7", "R5", "2026-01-02",
        {"gcs": "Observation/3"},
    )  # fmt: skip
    assert found["resourceType"] == "RiskAssessment"
    assert found["status"] == "final"
    assert found["subject"] == {"reference": "Patient/7"}
    assert found["occurrenceDateTime"] == "2026-01-02"
    assert found["identifier"][0]["value"] == FINGERPRINT
    assert [basis["display"] for basis in found["basis"]] == [
        "gcs <= 8.5 or missing: +0.5",
        "open wound is true: +0.2",
        "gcs: 7",
        "open wound: True",
    ]
    assert found["basis"][2]["reference"] == "Observation/3"
    (prediction,) = found["prediction"]
    assert prediction["probabilityDecimal"] == pytest.approx(70.0)  # percent, as FHIR has it
    assert prediction["qualitativeRisk"]["coding"][0]["code"] == "high"
    assert found["note"] == [{"text": "Chosen."}]
    json.dumps(found, allow_nan=False)


def test_a_risk_is_low_or_high_by_a_threshold_that_was_chosen() -> None:
    """The default of 50% would call twice the average risk low."""
    patient = {"gcs": 9.0, "open wound": True}
    (prediction,) = risk_assessment(triage(), patient, "Patient/7")["prediction"]
    assert "qualitativeRisk" not in prediction
    assert prediction["rationale"] == "Probability 0.3; no threshold was chosen"
    (prediction,) = risk_assessment(triage(threshold=0.2), patient, "Patient/7")["prediction"]
    assert prediction["qualitativeRisk"]["coding"][0]["code"] == "high"
    assert prediction["rationale"] == "Probability 0.3, threshold 0.2"


def test_a_card() -> None:
    found = card(triage(), {"gcs": None, "open wound": False})
    assert found["summary"] == "Probability of died = 1: 50.0%"
    patient = {"gcs": 7.0, "open wound": False}
    assert card(triage(threshold=0.6), patient)["summary"].endswith("50.0% (low)")
    assert found["indicator"] == "info"
    assert card(triage(threshold=0.4), {"gcs": None, "open wound": None})["indicator"] == "warning"
    assert r"- gcs \<= 8.5 or missing: \+0.5" in found["detail"]
    assert "- gcs: missing" in found["detail"]
    assert FINGERPRINT[:12] in found["detail"]
    assert found["source"] == {"label": "figs_spark"}


def test_names_make_no_markup_and_no_long_summary() -> None:
    model = triage()
    object.__setattr__(model, "subject", "x" * 200)
    assert len(card(model, {"gcs": 1.0, "open wound": None})["summary"]) == 140
    leaf = Node((1.0,), 1, 1.0)
    name = "[click](http://x) <b>\n# big"
    root = Node((0.0,), 2, 2.0, Split(0, 0, 1.0, True, threshold=1.0), leaf, leaf)
    odd = instrument(TreeSum((Feature(name),), (root,), (1.0,), (0.0,) * 2))
    detail = card(odd, {name: 1.0})["detail"]
    assert "[click](" not in detail
    assert "<b>" not in detail
    assert "\n# big" not in detail


@pytest.mark.parametrize("kind", ["sum", "mean", "groups"])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_every_family(kind: Any, classes: int) -> None:
    model = random_instrument(Random(5), kind=kind, classes=classes)
    patient = dict.fromkeys(model.inputs) | {"the group": "north"}
    found = risk_assessment(model, patient, "Patient/1")
    assert len(found["prediction"]) == (classes if classes == 3 else 1)
    if classes == 3:
        total = sum(p["probabilityDecimal"] for p in found["prediction"])
        assert total == pytest.approx(100.0)
    assert card(model, patient)["summary"]


def test_what_is_lacking_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"lacks \['open wound'\]"):
        risk_assessment(triage(), {"gcs": 3.0}, "Patient/1")
    with pytest.raises(ValueError, match="release 'R3' is not known"):
        risk_assessment(triage(), {"gcs": 3.0, "open wound": True}, "Patient/1", "R3")
    grouped = random_instrument(Random(5), kind="groups", classes=2)
    with pytest.raises(ValueError, match="'the group' is 'west', which no training row had"):
        risk_assessment(grouped, dict.fromkeys(grouped.inputs) | {"the group": "west"}, "Patient/1")
    with pytest.raises(ValueError, match="FHIR is about one patient"):
        export(triage(), tmp_path / "p.json")


def test_a_file(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    export(triage(), path, patient={"gcs": 7.0, "open wound": True}, subject="Patient/7")
    assert json.loads(path.read_text())["resourceType"] == "RiskAssessment"
