"""A first look: from counts and names to what training would do with a column."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
import yaml

from figs_spark import Inspection
from figs_spark.dataframes.columns import quoted
from figs_spark.inspection.counts import NUMBER, OTHER, TEXT, TIME, Counted, Label, Tally
from figs_spark.inspection.inspection import assembled
from figs_spark.inspection.patterns import VALUES, is_named, on_a_scale, words
from figs_spark.inspection.strength import decided_values, strength
from figs_spark.inspection.verdicts import judged

LEAST = 10
LABEL = Label("readmitted", "<30", 1_000, 0, 0.1, 0.09, {"<30": 100, "NO": 900}, "readmitted")


def texts(name: str, rows: dict[str, tuple[int, int]], rare: int = 0, missing: int = 0) -> Counted:
    """A column of text: by value its rows, and those with the label; `rare` values of one row."""
    alike = {p: sum(bool(re.match(e, value)) for value in rows) for p, e in VALUES.items()}
    return Counted(
        name,
        "string",
        TEXT,
        missing=Tally(missing, 0.1 * missing, int(missing > 0)),
        texts={value: Tally(n, positive, 1) for value, (n, positive) in rows.items()},
        others=Tally(rare, 0.1 * rare, rare),
        alike=alike,
    )


def numbers(
    name: str, rows: dict[float, int], positive: float = 0.1, fractions: int = 0
) -> Counted:
    tallies = {value: Tally(n, positive * n, 1) for value, n in rows.items()}
    return Counted(name, "int", NUMBER, numbers=tallies, fractions=fractions)


def unique(name: str, rows: int = 1_000, **more: object) -> Counted:
    """Every row has another value."""
    return Counted(name, "string", TEXT, others=Tally(rows, 0.1 * rows, rows), **more)


EVEN = {"a": (500, 50), "b": (500, 50)}
DIAGNOSES = {f"{code}": (20, 2) for code in range(390, 440)} | {"V57.1": (20, 2)}


@pytest.mark.parametrize(
    ("counted", "use"),
    [
        (texts("ward", EVEN), "categories"),
        (texts("ward", {"a": (1_000, 100)}), "constant"),
        (texts("ward", {"a": (995, 100)}, rare=5), "constant"),
        (texts("ward", {"a": (500, 50)}, missing=500), "categories"),
        (texts("ward", {"a": (5, 1)}, missing=995), "constant"),
        (texts("age", {"[0-10)": (300, 30), "[10-20)": (300, 30), ">20": (400, 40)}), "ordered"),
        (texts("pain", {"Mild": (300, 30), "severe": (300, 30), "None": (400, 40)}), "ordered"),
        (texts("diag_1", DIAGNOSES), "codes"),
        (numbers("lab", dict.fromkeys(range(50), 20)), "number"),
        (numbers("admission_type_id", {1: 500, 2: 300, 8: 200}), "categories"),
        (numbers("diag", dict.fromkeys(range(390, 440), 20)), "categories"),
        (numbers("time_in_hospital", {1: 500, 2: 300, 8: 200}), "number"),
        (numbers("encounter_id", dict.fromkeys(range(1000), 1)), "identifier"),
        (numbers("patient_nbr", dict.fromkeys(range(500), 2)), "patient"),
        (numbers("glucose", {k / 7: 1 for k in range(1_000)}, fractions=1_000), "number"),
        (unique("accession"), "identifier"),
        (unique("surname"), "personal"),
        (unique("seen_by", alike={"person": 950}), "personal"),
        (unique("contact", alike={"contact": 950}), "personal"),
        (unique("note", alike={"long": 800}), "free text"),
        (unique("admitted", alike={"date": 1_000}), "unfit"),
        (Counted("admitted", "date", TIME, numbers={14_000.0: Tally(1_000, 100, 30)}), "date"),
        (Counted("codes", "array<string>", OTHER, texts={"other": Tally(1_000, 100, 1)}), "unfit"),
        (texts("died", EVEN), "leak"),
        (texts("readmitted_days", EVEN), "leak"),
        (texts("flag", {"y": (100, 100), "n": (900, 0)}), "leak"),
    ],
    ids=lambda value: value.name if isinstance(value, Counted) else value,
)
def test_what_training_would_do(counted: Counted, use: str) -> None:
    assert judged(counted, LABEL, LEAST).use == use


@pytest.mark.parametrize(
    ("name", "values", "system"),
    [
        ("diag", list(DIAGNOSES), "icd9"),
        ("proc", [*map(str, range(100, 130)), "V10"], "icd9"),
        ("dx", [f"I{k}.1" for k in range(10, 60)], "icd10"),
        ("dx", [f"I{k}" for k in range(10, 60)] + ["S72.001A"], "icd10"),
        ("drug", [f"A{k}BA02" for k in range(10, 60)], "atc"),
        ("test", [f"{k}.{k + 1}.7" for k in range(300)], "dotted"),
        ("item", [f"AB{k}" for k in range(100, 400)], "prefix:1,3"),
        ("diag", [str(k) for k in range(390, 440)], None),  # read as numbers
        ("score", [str(k) for k in range(100)], None),
        ("score", [str(k) for k in range(300)], None),
        ("city", [f"Town{chr(97 + k)}" for k in range(26)], None),
    ],
)
def test_code_systems(name: str, values: list[str], system: str | None) -> None:
    counted = texts(name, dict.fromkeys(values, (20, 2)))
    assert judged(counted, LABEL, LEAST).system == system


def test_what_to_look_at() -> None:
    verdict = judged(
        texts("discharge_disposition", {"home": (700, 93), "ward": (100, 7), "died": (200, 0)}),
        LABEL,
        LEAST,
    )
    assert verdict.ask
    assert verdict.urgent == (
        "if it is 'died', never readmitted = <30: 200 rows, 20 expected",
        "by its name it is known late: is it known when the model is used?",
    )
    far = judged(numbers("weight", dict.fromkeys(range(40, 89), 20) | {999: 20}), LABEL, LEAST)
    assert far.notes == ("999 stands far from the rest: does it mean missing?",)
    assert judged(texts("ward", EVEN, missing=3_000), LABEL, LEAST).notes == ("75% are missing",)


def test_strength_is_the_auc_of_the_column() -> None:
    rows = {"a": (300, 30), "b": (300, 90), "c": (400, 10)}
    pairs = [(p, p / n, m - q, q / m) for n, p in rows.values() for m, q in rows.values()]
    wins = sum(p * m * (s > t) + p * m * (s == t) / 2 for p, s, m, t in pairs)
    assert strength(texts("x", rows), LABEL) == pytest.approx(wins / (130 * 870))
    # Numbers are ordered by their shares, too; a lone row does not make a group of its own.
    assert strength(numbers("x", dict.fromkeys(range(1000), 1)), LABEL) == pytest.approx(0.5)


def test_strength_for_an_amount_is_the_explained_variance() -> None:
    label = Label("stay", None, 200, 0, 5.0, 5.0)
    halves = Counted(
        "x", "string", TEXT, texts={"a": Tally(100, 300.0, 1), "b": Tally(100, 700.0, 1)}
    )
    assert strength(halves, label) == pytest.approx(4 / 5)
    assert decided_values(halves, label, LEAST) == []


def test_names() -> None:
    assert words("patientNbr") == words("Patient-Nbr") == "patient_nbr"
    assert is_named("firstName", "personal")
    assert not is_named("drug_name", "personal")
    assert on_a_scale(["High", "low", "medium"]) == ["low", "medium", "High"]
    assert on_a_scale(["High", "low", "purple"]) is None


# The page


COLUMNS = [
    unique("encounter_id"),
    numbers("patient_nbr", dict.fromkeys(range(500), 2)),
    texts("race<b>", {"A": (600, 60), "?": (20, 2), "B # [x": (370, 38)}, rare=10),
    numbers("admission_type_id", {1: 500, 2: 300, 8: 200}),
    texts("pain", {"mild": (300, 30), "severe": (300, 30), "none": (400, 40)}),
    texts("diag_1", DIAGNOSES),
    numbers("los", dict.fromkeys(range(10), 100)),
    unique("seen_by", alike={"person": 950}),
]


@pytest.fixture(scope="module")
def look() -> Inspection:
    return assembled(COLUMNS, LABEL, LEAST, null_text=True)


def test_lines_are_short_and_rare_values_stay_hidden(look: Inspection) -> None:
    text = str(look)
    assert max(map(len, text.splitlines())) <= 100
    assert "readmitted = <30 in 10.0% of the rows" in text
    assert "'?' counts as missing here" in text
    few = assembled([texts("x", {"seen": (500, 50), "zoster": (9, 1)}, rare=491)], LABEL, LEAST)
    assert "seen" in str(few)
    assert "zoster" not in str(few)
    assert "zoster" not in few.to_html()


def test_missing_values_by_their_mark(look: Inspection) -> None:
    race = look.columns[2]
    assert (race.missing, race.distinct) == (20, 12)
    assert "?" not in {value.value for value in race.frequent}
    kept = assembled(COLUMNS, LABEL, LEAST, null_text=False)
    assert kept.null_text is None
    assert kept.columns[2].missing == 0


def test_html_is_well_formed_and_escaped(look: Inspection) -> None:
    html = look.to_html("A <look>")
    assert "race&lt;b&gt;" in html
    assert "race<b>" not in html
    assert "A &lt;look&gt;" in html
    assert "script-src &#x27;none&#x27;" in html
    tags: list[str] = []

    class Parser(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag != "meta":
                tags.append(tag)

        def handle_endtag(self, tag: str) -> None:
            assert tags.pop() == tag

    Parser().feed(html)
    assert tags == []
    assert look._repr_html_().count("figs-look") > 1


def test_the_file_to_start_from(look: Inspection) -> None:
    text = look.train_yaml("a: 'b'.csv", format="csv", options={"sep": ";"})
    settings = yaml.safe_load(text)
    assert settings["input"] == "a: 'b'.csv"
    assert settings["options"] == {"sep": ";", "nullValue": "?"}
    assert (settings["label"], settings["positive"]) == ("readmitted", "<30")
    assert settings["exclude"] == ["encounter_id", "seen_by"]
    assert settings["split"]["group"] == "patient_nbr"
    assert settings["model"]["categoricalCols"] == ["admission_type_id"]
    assert settings["model"]["codeSystems"] == {"diag_1": "icd9"}
    assert settings["model"]["orderedCols"] == {"pain": ["none", "mild", "severe"]}
    assert settings["size"]["choose"] == "recommended"
    many = replace(look, _label=replace(look._label, rows=100 * look._label.rows))
    settings = yaml.safe_load(many.train_yaml("x.csv", format="csv"))
    assert settings["split"]["fractions"] == [0.6, 0.2, 0.2]
    assert "# - los\n" in text


def test_a_threshold_is_asked_for_when_its_price_is_known(look: Inspection) -> None:
    """A model of few probabilities may reach a sensitivity only if nearly everyone is flagged."""
    many = replace(look, _label=replace(look._label, rows=100 * look._label.rows))
    text = many.train_yaml("x.csv", format="csv")
    assert "operatingPoint" not in yaml.safe_load(text)
    assert "evaluate --part validation" in text
    without_marks = re.sub("^# (operatingPoint|  sensitivity)", r"\1", text, flags=re.MULTILINE)
    assert yaml.safe_load(without_marks)["operatingPoint"] == {"sensitivity": 0.7}
    assert "operatingPoint" not in look.train_yaml("x.csv", format="csv")


def test_one_column_is_no_columns(look: Inspection) -> None:
    one = assembled([COLUMNS[2]], LABEL, LEAST)
    for shown in (str(one), one.to_html()):
        assert re.search("Used: 1 column$|Used: 1 column<", shown, re.MULTILINE)


def test_as_a_table(look: Inspection) -> None:
    table = look.table.set_index("name")
    assert table.loc["diag_1", "use"] == "codes"
    assert table["kept"].sum() == 5


def test_few_missing_rows_do_not_tell_their_outcome() -> None:
    """Two rows without a value, both with the label."""
    column = replace(texts("x", EVEN), missing=Tally(2, 2.0, 1))
    few = assembled([column], LABEL, LEAST)
    assert few.columns[0].missing_label is None
    assert ">100%<" not in few.to_html()
    enough = assembled([replace(column, missing=Tally(20, 20.0, 1))], LABEL, LEAST)
    assert enough.columns[0].missing_label == 1.0
    assert ">100%<" in enough.to_html()


@pytest.mark.parametrize("name", ["di`ed` or true or `x", "a\u0085b: c # d", "e\u202ef\n- g", "~"])
def test_names_cannot_change_the_file_to_start_from(name: str) -> None:
    label = replace(LABEL, name=name, source=name, missing=5)
    columns = [unique(name + "1"), unique(name + "2")]
    text = assembled(columns, label, LEAST).train_yaml("x.csv", format="csv")
    settings = yaml.safe_load(text)
    assert settings["label"] == name
    assert settings["where"] == f"{quoted(name)} is not null"
    assert settings["exclude"] == [f"{name}1", f"{name}2"]
    assert "\u202e" not in text
    assert "\u0085" not in text
