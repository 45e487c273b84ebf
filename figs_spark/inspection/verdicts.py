"""What training would do with a column, judged by its counts and its name.

The rules are tried in the order of `_RULES`; the first that applies decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from figs_spark.inspection.counts import MARKERS, NUMBER, OTHER, TEXT, TIME, Counted, Label
from figs_spark.inspection.patterns import is_named, on_a_scale, words
from figs_spark.inspection.strength import decided_values, strength
from figs_spark.stages.base.bands import in_order

LEAK, NEARLY = 0.97, 0.90  # AUC, or share of the variance, of one column alone
UNIQUE = 0.9  # different values per row, from which text is an identifier
ENOUGH = 100  # rows to say so
REPEATED = 0.05  # different values per row, from which what is called an id is one
ALIKE = 0.8  # share of values that match a pattern
FEW, MANY = 20, 255  # values of a code system; of a code
EXACT_CODES = 0.98
MOSTLY_MISSING = 0.5
SENTINELS = {s * float(f"{'9' * n}") for n in range(2, 7) for s in (1, -1)}


@dataclass(frozen=True)
class Verdict:
    """How a column would be used: one of `USES`, or why it is left out."""

    use: str
    why: str = ""
    notes: tuple[str, ...] = ()
    system: str | None = None  # of codes
    order: tuple[str, ...] | None = None  # of text, if training does not see it itself
    as_codes: bool = False  # numbers that are categories
    hide_values: bool = False
    ask: bool = False  # whether it is known in time

    @property
    def urgent(self) -> tuple[str, ...]:
        """The notes that a person should look at first: questions, and values that decide."""
        return tuple(note for note in self.notes if note.startswith("if it is") or "?" in note)

    @property
    def kept(self) -> bool:
        return self.use in USES


ORDERED, CATEGORIES, CODES, DATE = "ordered", "categories", "codes", "date"
USES = (NUMBER, ORDERED, CATEGORIES, CODES, DATE)
IDENTIFIER, PATIENT, CONSTANT, SUSPECT = "identifier", "patient", "constant", "leak"
PERSONAL, FREE_TEXT, UNFIT = "personal", "free text", "unfit"


def judged(counted: Counted, label: Label, least: int) -> Verdict:
    """The verdict, with notes of what a person should look at."""
    rule = next(verdict for verdict in (rule(counted, least) for rule in _RULES) if verdict)
    if rule.kept:
        rule = _unless_it_leaks(rule, counted, label)
    notes = (*rule.notes, *_notes(counted, label, least)) if rule.kept else rule.notes
    late = rule.kept and is_named(counted.name, "late")
    if late:
        notes = (*notes, "by its name it is known late: is it known when the model is used?")
    return replace(rule, notes=notes, ask=late)


def _unless_it_leaks(verdict: Verdict, counted: Counted, label: Label) -> Verdict:
    alone = strength(counted, label)
    figure = f"AUC {alone:.3f}" if label.is_class else f"{alone:.0%} of the variance"
    if alone >= LEAK:
        return Verdict(SUSPECT, f"it alone nearly decides the label ({figure})")
    same = words(label.source or label.name)
    name = words(counted.name)
    if len(same) > 3 and (name.startswith(same) or same.startswith(f"{name}_")):
        return Verdict(SUSPECT, "it is named like the label")
    if is_named(counted.name, "outcome"):
        return Verdict(SUSPECT, "by its name an outcome itself")
    if alone >= NEARLY:
        note = f"it alone says much about the label ({figure}): is it known in time?"
        return replace(verdict, notes=(*verdict.notes, note))
    return verdict


# The rules


def _unfit(counted: Counted, least: int) -> Verdict | None:
    if counted.kind == OTHER:
        return Verdict(UNFIT, f"{counted.type} is neither number, text, boolean nor date")
    return None


def _constant(counted: Counted, least: int) -> Verdict | None:
    if counted.present.rows < least:
        return Verdict(CONSTANT, f"fewer than {least} rows have a value")
    tallies = [*counted.texts.values(), *counted.numbers.values(), counted.others]
    largest = max(tallies, key=lambda tally: tally.rows)
    rest = counted.rows - largest.rows
    if rest < least and largest.kinds == 1:
        one = "nearly all rows have" if rest else "all rows have"
        return Verdict(CONSTANT, f"{one} the same value")
    return None


def _personal(counted: Counted, least: int) -> Verdict | None:
    if counted.kind != TEXT:
        return None
    if is_named(counted.name, "personal") and counted.distinct > FEW:
        return Verdict(PERSONAL, "by its name it identifies persons", hide_values=True)
    if counted.distinct < ENOUGH:
        return None
    if counted.share("person") >= ALIKE:
        return Verdict(PERSONAL, "its values look like names of persons", hide_values=True)
    if counted.share("contact") >= ALIKE and counted.share("date") < ALIKE:
        return Verdict(PERSONAL, "its values look like addresses or telephone numbers",
                       hide_values=True)  # fmt: skip
    if counted.share("long") >= 0.5:
        return Verdict(FREE_TEXT, "long texts; derive what matters from them", hide_values=True)
    return None


def _identifier(counted: Counted, least: int) -> Verdict | None:
    if not (counted.kind == TEXT or counted.whole) or counted.present.rows <= ENOUGH:
        return None
    if counted.kind == TEXT and counted.share("date") >= ALIKE:
        return None
    share = counted.distinct / counted.present.rows
    every = "every row has another value" if share == 1 else f"{counted.distinct:,} values"
    if share > REPEATED and is_named(counted.name, "patient"):
        return Verdict(
            PATIENT, f"{every}; all rows of a patient go into one part", hide_values=True
        )
    named = is_named(counted.name, "identifier") and share > REPEATED
    unique = share > UNIQUE if counted.kind == TEXT else share == 1 and counted.rows >= 1_000
    if named or (unique and not _looks_numeric(counted)):
        return Verdict(IDENTIFIER, every, hide_values=True)
    return None


def _looks_numeric(counted: Counted) -> bool:
    return counted.kind == TEXT and counted.share("number") == 1


def _time(counted: Counted, least: int) -> Verdict | None:
    written = counted.kind == TEXT and counted.share("date") >= ALIKE
    if counted.kind != TIME and not written:
        return None
    notes = ["a calendar date does not carry over to later rows: derive a length or an age"]
    if is_named(counted.name, "birth"):
        notes = ["a date of birth can identify a person: derive the age"]
    if written:
        why = "dates as text: derive a date with to_date, then an age or a length"
        return Verdict(UNFIT, why, hide_values=True)
    return Verdict(DATE, notes=tuple(notes))


def _number(counted: Counted, least: int) -> Verdict | None:
    if counted.kind != NUMBER:
        return None
    if counted.whole and _is_coded(counted.name) and counted.distinct > 2:
        return Verdict(CATEGORIES, "numbers that are codes, by the name", as_codes=True)
    lone = _sentinel(counted, least)
    notes = [] if lone is None else [f"{lone:g} stands far from the rest: does it mean missing?"]
    return Verdict(NUMBER, notes=tuple(notes))


def _is_coded(name: str) -> bool:
    """Whether numbers of this name are codes."""
    coded = is_named(name, "code") or is_named(name, "diagnosis")
    return coded and not is_named(name, "measure")


def _sentinel(counted: Counted, least: int) -> float | None:
    """A number such as 999 that stands at the end, and twice as far out as all others."""
    numbers = list(counted.numbers)
    for end, others in ((numbers[-1], numbers[:-1]), (numbers[0], numbers[1:])):
        far = others and abs(end) >= 2 * max(map(abs, others)) + 1
        if far and end in SENTINELS and counted.numbers[end].rows >= least:
            return end
    return None


def _codes(counted: Counted, least: int) -> Verdict | None:
    if counted.distinct < FEW:
        return None
    system = code_system(counted)
    return None if system is None else Verdict(CODES, system, system=system)


def code_system(counted: Counted) -> str | None:
    """icd9, icd10 or atc by the form of the values; other codes of many values by their parts."""
    if _looks_numeric(counted):  # a reader that knows what is missing makes numbers of them
        return None
    named = is_named(counted.name, "diagnosis")
    if counted.share("icd9") >= EXACT_CODES and (named or counted.alike.get("icd9_letter", 0)):
        return "icd9"
    if counted.share("atc") >= ALIKE:
        return "atc"
    if counted.share("icd10") >= EXACT_CODES:
        return "icd10"
    if counted.distinct <= MANY:
        return None
    if counted.share("dotted") >= EXACT_CODES:
        return "dotted"
    return "prefix:1,3" if counted.share("code") >= EXACT_CODES else None


def _text(counted: Counted, least: int) -> Verdict:
    values = list(counted.texts)
    if in_order(values) is not None:
        return Verdict(ORDERED, "bands of numbers")
    scale = on_a_scale(values) if not counted.others.rows else None
    if scale is not None:
        return Verdict(ORDERED, "words with an order", order=tuple(scale))
    if _looks_numeric(counted) and _is_coded(counted.name):
        return Verdict(CATEGORIES, "numbers that are codes, by the name", as_codes=True)
    if _looks_numeric(counted):
        return Verdict(NUMBER, "numbers that were read as text")
    if counted.others.kinds:
        many = "rare values count" if counted.others.kinds > 1 else "rare value counts"
        return Verdict(CATEGORIES, f"{counted.others.kinds:,} {many} as other")
    return Verdict(CATEGORIES)


_RULES: tuple[Callable[[Counted, int], Verdict | None], ...] = (
    _unfit, _constant, _personal, _time, _codes, _identifier, _number, _text,
)  # fmt: skip


# Notes


def _notes(counted: Counted, label: Label, least: int) -> list[str]:
    notes = []
    share = counted.missing.rows / counted.rows
    if share >= MOSTLY_MISSING:
        notes.append(f"{share:.0%} are missing")
    decided = decided_values(counted, label, least)
    for value in decided[:2]:
        rows, often = f"{value.rows:,} rows", "always" if value.always else "never"
        notes.append(
            f"if it is {value.value}, {often} {label.text}: {rows}, {value.expected:,.0f} expected"
        )
    if len(decided) > 2:
        notes.append(f"{len(decided) - 2} more values with the label always or never")
    return notes


def marked_missing(counted: Counted) -> str | None:
    """The text that stands for a missing value, such as '?'; the most frequent one."""
    marks = [value for value in counted.texts if value in MARKERS]
    return marks[0] if counted.kind == TEXT and marks else None
