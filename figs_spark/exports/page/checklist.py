"""The 27 items of TRIPOD+AI (Collins et al., BMJ 2024;385:e078378), in our own words.

An item is answered by sections of the page, by what people stated, or by both. The page claims no
more: whether an answer is good is for a reader to judge.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from figs_spark.exports.page.markup import Content, Html, element, joined, table
from figs_spark.exports.page.statement import NOT_STATED, TOPICS, Statement

# What a page need not have, as it is called if it is absent.
SECTIONS = {
    "performance": "performance",
    "groups": "figures by group",
    "validation": "other times and places",
    "size": "choice of the size",
}


@dataclass(frozen=True)
class Item:
    """A question of the checklist, and where its answer is."""

    number: int
    part: str
    question: str
    sections: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()


ITEMS = (
    Item(1, "Title", "Does the title say what is predicted, and for whom?", (), ("title",)),
    Item(2, "Abstract", "Is there a summary?", ("facts",), ("summary",)),
    Item(
        3, "Introduction", "Why was the model made, for whom, and what is known of inequalities?",
        (), ("background", "population", "fairness"),
    ),
    Item(4, "Introduction", "Is the aim to make or to evaluate a model?", (), ("intendedUse",)),
    Item(5, "Methods", "Where are the data from, and from when?", (), ("dataSource", "dates")),
    Item(
        6, "Methods", "Where were the patients, who was included, how were they treated?",
        (), ("setting", "exclusions", "treatments"),
    ),
    Item(7, "Methods", "How were the data prepared and checked?", (), ("dataPreparation",)),
    Item(
        8, "Methods", "What is the outcome, when and how was it found?",
        (), ("outcome", "timeOfPrediction"),
    ),
    Item(9, "Methods", "Which inputs were considered, and how are they measured?",
         ("calculator",), ("predictors",)),
    Item(10, "Methods", "Why is the sample large enough?", (), ("sampleSize",)),
    Item(11, "Methods", "What was done about missing data?", ("model",), ("missingData",)),
    Item(12, "Methods", "How was the model made, chosen and evaluated?",
         ("model", "performance", "size"), ()),
    Item(13, "Methods", "Was the share of the outcome changed in training?", ("file",), ()),
    Item(14, "Methods", "What was done for fairness?", ("groups",), ("fairness",)),
    Item(15, "Methods", "What does the model give, and where is its threshold from?",
         ("calculator", "performance"), ()),
    Item(16, "Methods", "How do training and evaluation data differ?",
         ("validation",), ("differences",)),
    Item(17, "Methods", "Who approved the study?", (), ("ethics",)),
    Item(
        18, "Open science",
        "Who paid, who has interests, and where are protocol, registration, data and code?",
        (), ("funding", "conflicts", "protocol", "registration", "dataSharing", "codeSharing"),
    ),
    Item(19, "Involvement", "Did patients and the public take part?", (), ("involvement",)),
    Item(20, "Results", "Who were the patients, in all and by group?",
         ("performance", "groups"), ("population",)),
    Item(21, "Results", "How many patients and events are in each analysis?",
         ("facts", "performance"), ()),
    Item(22, "Results", "Is the whole model given, so that others can use it?",
         ("model", "calculator", "file"), ()),
    Item(23, "Results", "How well does it perform, with intervals, also by group?",
         ("performance", "groups"), ()),
    Item(24, "Results", "Was it updated or changed, and with what effect?", ("file",), ()),
    Item(25, "Discussion", "What do the results mean?", (), ("interpretation",)),
    Item(26, "Discussion", "What are the limits of the study?", (), ("limitations",)),
    Item(
        27, "Discussion", "How is it used: poor input, who acts, what comes next?",
        ("calculator",), ("inputQuality", "users", "nextSteps"),
    ),
)  # fmt: skip


def checklist_section(statement: Statement, sections: dict[str, str]) -> Html:
    """The items; `sections` has the titles of the sections that the page has, by id."""
    rows = [
        (str(item.number), item.part, item.question, answer(item, statement, sections))
        for item in ITEMS
    ]
    answered = sum(is_answered(item, statement, sections) for item in ITEMS)
    words = (
        f"{answered} of {len(ITEMS)} items have an answer in every part. The questions are those "
        f"of TRIPOD+AI in short; what stands behind a link or a text is for you to judge."
    )
    header = ("Item", "Part", "Question", "Answer")
    return element("p", words) + table("TRIPOD+AI, item by item", header, rows, "items")


def is_answered(item: Item, statement: Statement, sections: Collection[str]) -> bool:
    return all(name in sections for name in item.sections) and all(map(statement.says, item.topics))


def answer(item: Item, statement: Statement, sections: dict[str, str]) -> Html:
    """Links to sections and to what is stated; "not stated" for the rest."""
    parts: list[Content] = [
        element("a", sections[name], href=f"#{name}") for name in item.sections if name in sections
    ]
    stated = [key for key in item.topics if statement.says(key)]
    parts += [element("a", TOPICS[key], href="#statement") for key in stated]
    absent = [TOPICS[key] for key in item.topics if not statement.says(key)]
    absent += [SECTIONS[name] for name in item.sections if name not in sections]
    if absent:
        text = f"{NOT_STATED}: {', '.join(absent)}" if parts else NOT_STATED
        parts.append(element("span", text, class_="absent"))
    return _listed(parts)


def _listed(parts: list[Content]) -> Html:
    spaced: list[Content] = []
    for part in parts:
        spaced += [", ", part] if spaced else [part]
    return joined(spaced)
