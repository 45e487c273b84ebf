"""Patterns by which names and values of columns are recognised.

`VALUES` are regular expressions that Spark and Python read alike.
"""

from __future__ import annotations

import re

# By pattern: what a value looks like.
VALUES = {
    "number": r"^\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*$",
    "date": r"^(\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./](\d{4}|\d{2}))([T ]\d{1,2}:\d{2}.*)?$",
    "icd9": r"^(\d{1,3}(\.\d{1,2})?|V\d{2}(\.\d{1,2})?|E\d{3}(\.\d)?)$",
    "icd9_letter": r"^(V\d{2}(\.\d{1,2})?|E\d{3}(\.\d)?)$",
    "icd10": r"^[A-Z]\d[0-9A-Z](\.[0-9A-Z]{1,4}|[0-9A-Z]{0,4})$",
    "atc": r"^[A-Z]\d{2}[A-Z]([A-Z](\d{2})?)?$",
    "dotted": r"^[A-Za-z0-9]+([.][A-Za-z0-9]+)+$",
    "code": r"^(?=.*\d)[A-Z0-9]{3,10}$",
    "person": r"^[A-Z][a-zA-Z'-]+,? ([A-Z][.]? )?[A-Z][a-zA-Z'-]+$",
    "contact": r"^([^@\s]+@[^@\s]+[.]\w+|[+(]?\d[\d ()/-]{6,}\d)$",
    "long": r"^.{60,}$",
}

_PERSON = (
    "name|surname|forename|firstname|lastname|fullname|(first|last|middle|full|maiden|given|family"
    "|patient|doctor|physician|provider|nurse|contact)_name|e_?mail|phone|telephone|mobile|fax"
    "|address|street|ssn"
)
_NAMES = {
    "personal": rf"^({_PERSON})$|_(e?mail|phone|address|surname|forename)$",
    "birth": r"(^|_)(dob|birth|born|date_of_birth|birthdate|birthday)(_|$)",
    "patient": r"(^|_)(patient|person|subject|member|mrn|pat|beneficiary|participant|nhs)(_|$)",
    "identifier": (
        r"(^|_)(id|ids|nbr|no|num|number|key|uuid|guid|mrn|identifier|hash|barcode)$|^id_"
    ),
    "code": (
        r"(^|_)(id|nbr|no|code|cd|type|source|category|class|status|dept|department|ward|unit|site"
        r"|hospital|specialty|disposition|region|county|zip|zipcode|postcode|payer|provider)$"
    ),
    "measure": (
        r"(^|_)(n|num|number|count|total|time|days|hours|minutes|length|duration|age|dose|score|rate"
        r"|mean|sum|level)_"
    ),
    "diagnosis": r"(^|_)(diag|diagnosis|diagnoses|dx|icd|icd9|icd10|condition)(_|\d|$)",
    "outcome": (
        r"(^|_)(died|death|dead|deceased|expired|mortality|autopsy|survived|survival|outcome"
        r"|readmit|readmitted|readmission|relapse|recurrence|followup|follow_up|cause_of_death)(_|$)"
    ),
    "late": (
        r"(^|_)(discharge|discharged|disposition|los|length_of_stay|drg|cost|costs|charge|charges"
        r"|billing|billed|paid|payment|complication|complications|final|postop|post_op)(_|$)"
    ),
}  # fmt: skip
_COMPILED = {name: re.compile(text) for name, text in _NAMES.items()}

# Words that have an order, each with others that mean the same.
SCALES = (
    (("very low",), ("low",), ("medium", "moderate", "normal"), ("high",), ("very high",)),
    (("none", "no", "absent"), ("mild", "slight"), ("moderate",), ("severe",), ("very severe",)),
    (("very poor",), ("poor",), ("fair",), ("good",), ("very good",), ("excellent",)),
    (("small",), ("medium",), ("large",)),
    (("never",), ("rarely",), ("sometimes",), ("often",), ("always",)),
)
LEAST_WORDS = 3  # of a scale


def words(name: str) -> str:
    """A name in small letters with underscores: patientNbr and Patient-Nbr are patient_nbr."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())
    return re.sub(r"[^0-9a-z]+", "_", apart.lower()).strip("_")


def is_named(name: str, kind: str) -> bool:
    """Whether a name of a column says this: personal, patient, identifier, code, outcome, ..."""
    return _COMPILED[kind].search(words(name)) is not None


def on_a_scale(values: list[str]) -> list[str] | None:
    """Values in the order of their words, or None."""
    for scale in SCALES:
        rank = {word: k for k, same in enumerate(scale) for word in same}
        places = [rank.get(value.strip().lower()) for value in values]
        known = [place for place in places if place is not None]
        if len(set(known)) == len(values) >= LEAST_WORDS:
            return [value for _, value in sorted(zip(known, values))]
    return None
