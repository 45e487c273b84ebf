"""Derived columns: which expressions are refused, and which of them a column needs."""

from __future__ import annotations

import pytest

from figs_spark.dataframes.derived import mentions, needed_for
from figs_spark.dataframes.row_sql import check_expression, names_in
from figs_spark.stages.params.values import expressions


@pytest.mark.parametrize(
    "sql",
    [
        "datediff(discharge, admission)",
        "readmitted = '<30'",
        "note = 'select rand() over ''now'''",
        "`current_date` > date'2020-01-01'",
        "overtime + selected",
        "case when age >= 65 then 'old' else 'young' end",
        "extract(year from visit) + `select` + user",
        "trim(both '-- /*' from note) = 'it''s (table)'",
        "unix_timestamp(visit) - unix_timestamp(`identifier`)",
        "(map('a', 1))['a'] + identifier",
        "note = \"it's\" or note = 'a\\\\'",
    ],
)
def test_expressions_over_a_row(sql: str) -> None:
    check_expression(sql)
    assert expressions({"x": sql}) == {"x": sql}


@pytest.mark.parametrize(
    ("sql", "problem"),
    [
        ("(SELECT max(x) FROM other)", "reads other tables"),
        ("java_method('java.lang.System', 'exit', 1)", "calls Java"),
        ("Reflect('java.util.UUID', 'randomUUID')", "calls Java"),
        ("sum(x) over (partition by y)", "depends on other rows"),
        ("explode(array(1, 2))", "makes several rows of one"),
        ("x + rand()", "depends on chance"),
        ("datediff(current_date(), birth)", "depends on when it is scored"),
        ("unix_timestamp( )", "depends on when it is scored"),
        ("current_user()", "depends on who scores"),
        ("`secret`('scope', 'key')", "reads what is not in the table"),
        ("  ", "the expression is empty"),
    ],
)
def test_anything_else_is_refused(sql: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        expressions({"x": sql})


@pytest.mark.parametrize(
    "sql",
    [
        "`reflect`('java.lang.System', 'getProperty', 'user.home')",
        "`system`.`builtin` . `Reflect` ('java.lang.System', 'getProperty', 'user.home')",
        "identifier('reflect')('java.lang.System', 'getProperty', 'user.home')",
        "1 /* ' */ + (select max(s) from other) /* ' */",
        "1 -- '\n + (select max(s) from other) -- '",
        r"concat(r'\', (select max(s) from other), r'\')",
        'concat(R"\\", (select max(s) from other), R"\\")',
        "(table other)",
        "age in (table other)",
        "(values 1 union all table other)",
        "(from other |> limit 1)",
        "( FROM other)",
        "(with q as (values 1) from other |> limit 1)",
        "(map 1 using 'touch /tmp/x' as a from values (1))",
        "'never closed",
        "`rand`()",
    ],
)
def test_nothing_is_hidden_from_the_check(sql: str) -> None:
    with pytest.raises(ValueError, match="a derived column is computed from the other columns"):
        check_expression(sql)


def test_what_is_no_expression_is_refused() -> None:
    with pytest.raises(TypeError, match="a dict of expressions by column"):
        expressions(["x"])
    with pytest.raises(TypeError, match="the column 'x' needs an SQL expression as text, got 3"):
        expressions({"x": 3})


def test_a_column_needs_what_it_is_derived_from() -> None:
    derive = {"born": "to_date(b)", "age": "year(visit) - year(born)", "sex": "lower(s)"}
    assert list(needed_for(["age", "bmi"], derive)) == ["born", "age"]
    assert needed_for(["bmi"], derive) == {}
    assert mentions("year(`Born`)", "born")
    assert not mentions("newborn", "born")


def test_names_in_an_expression() -> None:
    sql = "year(visit) - `the ``born``` + if(note = 'year', 1, Age)"
    assert names_in(sql) == {"visit", "the `born`", "note", "1", "Age"}
