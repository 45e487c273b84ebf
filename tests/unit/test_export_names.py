"""Hostile names and values: they come back as they are, or are refused by name."""

from __future__ import annotations

import ast
import sqlite3
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest
import sqlglot

from figs_spark.exports.dialects import DIALECTS
from figs_spark.exports.engines import TableSpec, run_duckdb, run_sqlite, translated
from figs_spark.exports.pmml import to_pmml
from figs_spark.exports.proof import compare
from figs_spark.exports.python_source import to_python
from figs_spark.exports.statements import expression, function, select
from figs_spark.exports.targets import Sql, with_header
from figs_spark.exports.vectors import make_vectors
from tests.support.instruments import instrument, stump

HOSTILE = {
    "single quote": "it's",
    "double quote": 'say "x"',
    "backtick": "a`b",
    "brackets": "a]]b]c[d",
    "comment": "a -- b",
    "block comment": "a /* b */ c",
    "semicolon": "a; DROP TABLE visits; --",
    "closes and goes on": "') OR 1=1 --",
    "closes a name": 'x" OR "1"="1',
    "closes a backtick": "x` OR `1`=`1",
    "newline": "two\nlines",
    "carriage return": "two\r\nlines",
    "GO on a line": "a\nGO\nb",
    "variable": "${env:HOME}",
    "template": "{{ 7 * 7 }}{% raw %}",
    "sqlcmd": "$(whoami)",
    "dollar quotes": "$$ $figs$",
    "ampersand": "A&E visits",
    "backslash at the end": "back\\",
    "backslash and quote": "\\'",
    "escape": "\\n\\u0027",
    "percent": "100%s %d",
    "markup": "<b>&amp;]]></b>",
    "triple quotes": "\"\"\"'''",
    "emoji": "größe 😀",
    "spaces": "  ",
    "NUL": "nul\0here",
    "long": "x" * 10_000,
    "half a pair": "\ud83d",
}


def models(text: str) -> list[Any]:
    return [stump(text, "A"), stump("site", text)]


def refused(write: Any, text: str) -> Any:
    """What is written; or None if it was refused with a message that names the text."""
    try:
        return write()
    except ValueError as error:
        message = str(error)
    assert repr(text[:20])[1:15] in message
    assert "cannot be written" in message
    return None


hostile = pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())


@hostile
@pytest.mark.parametrize("dialect", ["duckdb", "sqlite"])
def test_in_databases(text: str, dialect: str) -> None:
    run = {"duckdb": run_duckdb, "sqlite": run_sqlite}[dialect]
    for model in models(text):
        sql = refused(lambda m=model: select(m, dialect, "t", ["probability"], keep=[]), text)
        if sql is not None:
            vectors = make_vectors(model)
            rows = run(sql, TableSpec(model, ("t",)), vectors.patients)
            compare(model, vectors, rows, ["probability"])


@hostile
@pytest.mark.parametrize("dialect", [d for d in DIALECTS if d not in ("ansi", "oracle")])
def test_in_one_statement(text: str, dialect: str) -> None:
    """A parser of the dialect finds one expression, the name and the text as they are."""
    for model, is_name in zip(models(text), (True, False), strict=True):
        sql = refused(lambda m=model: expression(m, dialect, "probability"), text)
        if sql is None:
            continue
        plain = refused(lambda d=dialect: expression(stump("site", "A"), d, "probability"), "")
        parsed, expected = (_parsed(s, dialect) for s in (sql, plain))
        assert len(list(parsed.walk())) >= len(list(expected.walk()))
        names = {c.name for c in parsed.find_all(sqlglot.exp.Column)}
        assert names == {text if is_name else "site"}


def _parsed(sql: str, dialect: str) -> Any:
    (tree,) = sqlglot.parse(translated(f"SELECT {sql} AS p FROM t", dialect), read="duckdb")
    return tree


@hostile
@pytest.mark.parametrize(
    "dialect", ["tsql", "snowflake", "bigquery", "redshift", "mysql", "databricks"]
)
def test_after_translation(text: str, dialect: str) -> None:
    for model in models(text):
        sql = refused(lambda m=model: select(m, dialect, "t", ["probability"], keep=[]), text)
        if sql is None or "\\x" in sql:  # the parser leaves codes as they are
            continue
        vectors = make_vectors(model)
        rows = run_duckdb(translated(sql, dialect), TableSpec(model, ("t",)), vectors.patients)
        compare(model, vectors, rows, ["probability"])


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "spark"])
def test_few_are_refused(dialect: str) -> None:
    def is_refused(model: Any, text: str) -> bool:
        return refused(lambda: expression(model, dialect, "score"), text) is None

    names = {key for key, text in HOSTILE.items() if is_refused(models(text)[0], text)}
    texts = {key for key, text in HOSTILE.items() if is_refused(models(text)[1], text)}
    assert names == {"NUL", "half a pair"}
    assert texts == {"half a pair"} if dialect == "spark" else texts == {"NUL", "half a pair"}


@hostile
def test_in_python(text: str) -> None:
    for model in models(text):
        names: dict[str, Any] = {}
        exec(to_python(model), names)
        vectors = make_vectors(model)
        found = [names["predict"](patient) for patient in vectors.patients]
        rows = [[row["score"], row["probability"], row["prediction"]] for row in found]
        compare(model, vectors, rows)


@hostile
def test_in_xml(text: str) -> None:
    for model in models(text):
        pmml = refused(lambda m=model: to_pmml(m), text)
        if pmml is not None:
            root = ElementTree.fromstring(pmml)
            space = {"p": "http://www.dmg.org/PMML-4_4"}
            names = [f.get("name") for f in root.findall(".//p:DataField", space)]
            assert names == [model.columns[0]]


@hostile
def test_as_the_name_of_a_table_or_a_function(text: str) -> None:
    model = stump("site", "A")
    for dialect in ("duckdb", "sqlite"):
        sql = refused(lambda d=dialect: select(model, d, text, ["probability"]), text)
        if sql is not None:
            run = {"duckdb": run_duckdb, "sqlite": run_sqlite}[dialect]
            assert run(sql, TableSpec(model, (text,)), [{"site": "A"}]) == [["A", 0.75]]
    for dialect in ("postgres", "tsql", "snowflake", "bigquery", "databricks"):
        sql = refused(lambda d=dialect: function(model, d, text, "probability"), text)
        assert sql is None or sql.startswith("CREATE FUNCTION ")


@hostile
def test_comments_stay_on_their_line(text: str) -> None:
    model = stump("site", "A")
    hostile_title = instrument(*model.sums, classes=2, class_names=("0", text))
    object.__setattr__(hostile_title, "subject", f"Probability of {text}")
    asked = Sql.asked(model, "sqlite", "probability", "t")
    written = with_header(hostile_title, asked, "not verified: no engine")
    lines = written.split("\n")
    first = next(k for k, line in enumerate(lines) if not line.startswith("-- "))
    assert "\n".join(lines[first:]).rstrip(";\n") == asked.text(hostile_title)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t (site TEXT)")
    connection.execute("INSERT INTO t VALUES ('A')")
    assert connection.execute(written).fetchall() == [("A", 0.75)]


def test_two_statements_are_never_made() -> None:
    for text in HOSTILE.values():
        for model in models(text):
            for dialect in ("duckdb", "postgres", "ansi"):
                sql = refused(lambda m=model, d=dialect: select(m, d, "t", ["score"]), text)
                if sql is not None:
                    assert len(duckdb.extract_statements(sql)) == 1


@pytest.mark.parametrize("remark", [*HOSTILE.values(), "turned \u202e around", 'ends in "'])
def test_remarks_stay_text(remark: str) -> None:
    """They come from a model file, as do the expressions of derived columns."""
    model = stump("age", "a")
    model = replace(model, family=model.family.with_notes((remark,)))
    source = ast.parse(to_python(model))
    assert [type(part) for part in source.body[:2]] == [ast.Expr, ast.ImportFrom]
    assert "\u202e" not in to_python(model)
    asked = Sql("duckdb", ("score",), ("visits",), ())
    written = [with_header(each, asked, "not verified") for each in (stump("age", "a"), model)]
    plain, remarked = ([x for x in text.splitlines() if x[:3] != "-- "] for text in written)
    assert plain == remarked
