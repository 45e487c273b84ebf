"""What only people know of a model. What they do not say is shown as "not stated"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from figs_spark.exports.page.markup import Content, Html, element

NOT_STATED = "not stated"

# The keys of the section `about` in report.yaml, and what they are called on the page.
TOPICS = {
    "title": "Name of the model",
    "summary": "Summary",
    "intendedUse": "Intended use",
    "users": "Users",
    "doNotUseWhen": "Do not use when",
    "population": "Population",
    "setting": "Place of care",
    "exclusions": "Excluded patients",
    "treatments": "Treatments that matter",
    "outcome": "Outcome",
    "timeOfPrediction": "Time of prediction",
    "predictors": "Choice of inputs",
    "background": "Why the model was made",
    "dataSource": "Source of the data",
    "dates": "Dates of the data",
    "dataPreparation": "Preparation of the data",
    "sampleSize": "Size of the sample",
    "missingData": "Missing data",
    "differences": "Training and evaluation data differ in",
    "fairness": "Fairness",
    "interpretation": "Interpretation",
    "limitations": "Limitations",
    "inputQuality": "If an input is wrong or missing",
    "nextSteps": "Next steps",
    "owner": "Owner",
    "contact": "Contact",
    "approval": "Approved by",
    "review": "To be reviewed",
    "ethics": "Ethics",
    "funding": "Funding",
    "conflicts": "Conflicts of interest",
    "protocol": "Protocol",
    "registration": "Registration",
    "dataSharing": "Sharing of data",
    "codeSharing": "Sharing of code",
    "involvement": "Patients and the public",
}


@dataclass(frozen=True)
class Statement:
    """The texts by key; a list stands for several points."""

    texts: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, data: Mapping[str, Any] | None) -> Statement:
        """From YAML or a dict; a ValueError names all keys that are unknown or no texts."""
        problems = []
        texts = {}
        for key, value in (data or {}).items():
            points = list(value) if isinstance(value, (list, tuple)) else [value]
            if key not in TOPICS:
                problems.append(f"'{key}' is not known")
            elif not all(isinstance(p, (str, int, float)) or p is None for p in points):
                problems.append(f"'{key}' needs a text or a list of texts")
            elif stated := tuple(str(p).strip() for p in points if p not in (None, "")):
                texts[key] = stated
        if problems:
            raise ValueError(f"about: {'; '.join(problems)}. The keys are {', '.join(TOPICS)}.")
        return cls(texts)

    def says(self, key: str) -> bool:
        return key in self.texts

    def html(self, key: str) -> Html:
        """The text, as a list if it has several points."""
        points = self.texts.get(key)
        if not points:
            return element("span", NOT_STATED, class_="absent")
        if len(points) == 1:
            return element("span", points[0])
        return element("ul", *(element("li", point) for point in points))

    def to_dict(self) -> dict[str, list[str]]:
        return {key: list(points) for key, points in self.texts.items()}


def definitions(pairs: Sequence[tuple[Content, Content]]) -> Html:
    """Names with their values."""
    cells: list[Html] = []
    for name, value in pairs:
        cells += [element("dt", name), element("dd", value)]
    return element("dl", *cells, class_="facts")


def statement_section(statement: Statement) -> Html:
    """What is stated by topic, and then the names of the topics that are not."""
    pairs: list[tuple[Content, Content]] = [
        (TOPICS[key], statement.html(key)) for key in TOPICS if statement.says(key)
    ]
    absent = [TOPICS[key] for key in TOPICS if not statement.says(key)]
    if absent:
        words = element("span", "; ".join(absent), class_="absent")
        pairs.append((NOT_STATED.capitalize(), words))
    return definitions(pairs)
