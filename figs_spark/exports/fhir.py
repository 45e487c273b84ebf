"""One patient's prediction as FHIR (RiskAssessment, R4 or R5) and as a card of CDS Hooks.

Both carry the basis: of each tree the rule that fired, and what it adds. FHIR wants a probability
in percent; `probabilityDecimal` is the probability times 100.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal

from figs_spark.exports.instrument import HIGH, Instrument, Patient, Result
from figs_spark.treesum.text import number

Release = Literal["R4", "R5"]
RELEASES = ("R4", "R5")
RISKS = "http://terminology.hl7.org/CodeSystem/risk-probability"
FINGERPRINT = "urn:figs-spark:model:sha256"
LONGEST_SUMMARY = 140  # of a card, by the specification


def risk_assessment(
    model: Instrument,
    patient: Patient,
    subject: str,
    release: Release = "R4",
    occurrence: str | None = None,
    observations: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A RiskAssessment for one row.

    `subject` is a reference such as "Patient/123", `occurrence` a date or time of FHIR, and
    `observations` has for columns the reference of the resource that the value is from.
    """
    if release not in RELEASES:
        raise ValueError(f"The release {release!r} is not known. There are {', '.join(RELEASES)}.")
    result = _result(model, patient)
    resource: dict[str, Any] = {
        "resourceType": "RiskAssessment",
        "identifier": [{"system": FINGERPRINT, "value": model.fingerprint}],
        "status": "final",
        "method": {"text": f"{model.title} of figs_spark {model.version}"},
        "code": {"text": model.subject},
        "subject": {"reference": subject},
    }
    if occurrence is not None:
        resource["occurrenceDateTime"] = occurrence
    resource["basis"] = _basis(model, patient, result, observations or {})
    resource["prediction"] = _predictions(model, result)
    notes = [*model.notes, *([model.operating_point] if model.operating_point else [])]
    if notes:
        resource["note"] = [{"text": note} for note in notes]
    return resource


def _result(model: Instrument, patient: Patient) -> Result:
    lost = [name for name in model.inputs if name not in patient]
    if lost:
        raise ValueError(f"The row lacks {lost}, which the model needs. None is for missing.")
    result = model.evaluate([patient])[0]
    if not result.score:
        group = patient.get(str(model.group_column))
        raise ValueError(
            f"'{model.group_column}' is {group!r}, which no training row had. The model knows "
            f"{', '.join(map(repr, model.groups))}."
        )
    return result


def _basis(
    model: Instrument, patient: Patient, result: Result, observations: Mapping[str, str]
) -> list[dict[str, Any]]:
    """The rules that fired, then the values that the model read."""
    rules = [{"display": line} for line in fired(result)]
    values = []
    for column in model.inputs:
        shown = {"display": f"{column}: {_shown(patient[column])}"}
        reference = observations.get(column)
        values.append({"reference": reference, **shown} if reference else shown)
    return [*rules, *values]


def fired(result: Result) -> list[str]:
    """Of each tree the rule that fired, and what it adds to the score."""
    return [
        f"{rule}: {', '.join(f'{v:+.4g}' for v in values)}"
        for rule, values in zip(result.rules, result.contributions, strict=True)
    ]


def _predictions(model: Instrument, result: Result) -> list[dict[str, Any]]:
    if not model.classes:
        value = number(result.score[0])
        return [{"outcome": {"text": f"{model.subject}: {value}"}}]
    if model.classes == 2:
        level = f"Probability {result.probability[0]:.4g}"
        whole = {
            "outcome": {"text": model.subject},
            "probabilityDecimal": _percent(result.probability[0]),
        }
        if not model.flags:
            return [{**whole, "rationale": f"{level}; no threshold was chosen"}]
        risk = str(result.risk_group)
        coding = {"system": RISKS, "code": risk, "display": f"{risk.capitalize()} likelihood"}
        risks = {"qualitativeRisk": {"coding": [coding]}}
        return [{**whole, **risks, "rationale": f"{level}, threshold {model.threshold:.4g}"}]
    return [
        {
            "outcome": {"text": f"{model.subject}: {label}"},
            "probabilityDecimal": _percent(probability),
        }
        for label, probability in zip(model.labels, result.probability, strict=True)
    ]


def _percent(probability: float) -> float:
    """FHIR allows no more than 100."""
    return min(100.0, probability * 100.0)


def card(model: Instrument, patient: Patient, source: str = "figs_spark") -> dict[str, Any]:
    """A card of CDS Hooks for one row; put it into {"cards": [...]}."""
    result = _result(model, patient)
    summary = f"{model.subject}: {_headline(model, result)}"
    if len(summary) > LONGEST_SUMMARY:
        summary = summary[: LONGEST_SUMMARY - 3] + "..."
    rules = [f"- {_markdown(line)}" for line in fired(result)]
    values = [f"- {_markdown(f'{c}: {_shown(patient[c])}')}" for c in model.inputs]
    point = [_markdown(model.operating_point), ""] if model.operating_point else []
    detail = ["**Rules that fired**", "", *rules] if rules else []
    detail += ["", "**Values**", "", *values, "", *point]
    detail.append(f"Model {model.fingerprint[:12]}, figs_spark {_markdown(model.version)}")
    return {
        "summary": summary,
        "indicator": "warning" if result.risk_group == HIGH else "info",
        "detail": "\n".join(detail),
        "source": {"label": source},
    }


def _headline(model: Instrument, result: Result) -> str:
    if not model.classes:
        return number(result.score[0])
    if model.classes == 2:
        shown = f"{result.probability[0]:.1%}"
        return f"{shown} ({result.risk_group})" if model.flags else shown
    place = int(result.prediction or 0)
    return f"{model.labels[place]} ({result.probability[place]:.1%})"


def _shown(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return number(value) if isinstance(value, float) else str(value)


def _markdown(text: str) -> str:
    """A text that shows as itself: names cannot make links, markup or new lines."""
    flat = " ".join(text.split())
    return re.sub(r"([\\`*_{}\[\]()#+!|<>~&$])", r"\\\1", flat)
