"""Whole statements in real databases; and every dialect read by a parser of its own."""

from __future__ import annotations

import re
from dataclasses import replace
from random import Random
from typing import Any

import pytest
import sqlglot

from figs_spark.exports.dialects import DIALECTS
from figs_spark.exports.engines import TableSpec
from figs_spark.exports.proof import compare
from figs_spark.exports.statements import DIALECTS_WITH_FUNCTIONS, function, select
from figs_spark.exports.vectors import make_vectors
from tests.support.instruments import KINDS, PLAIN_NAMES, random_instrument

EVERY = ["score", "prediction", "probability"]


def filled(cursor: Any, table: TableSpec, patients: Any) -> None:
    """A table in PostgreSQL with these rows."""
    dialect = DIALECTS["postgres"]
    cursor.execute("DROP TABLE IF EXISTS t")
    (create, _), *_ = table.statements(dialect, [])
    cursor.execute(create.encode())
    with cursor.copy("COPY t FROM STDIN") as copy:
        for patient in patients:
            copy.write_row([patient.get(name) for name in table.types(dialect)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_select_in_layers_in_postgres(postgres: Any, kind: Any, classes: int) -> None:
    model = random_instrument(Random(classes), 6, kind=kind, classes=classes)
    outputs = [*EVERY, *(["contributions", "rules"] if kind != "mean" else [])]
    vectors = make_vectors(model)
    with postgres.cursor() as cursor:
        filled(cursor, TableSpec(model, ("t",)), vectors.patients)
        cursor.execute(select(model, "postgres", "t", outputs, keep=[]).encode())
        compare(model, vectors, [list(row) for row in cursor.fetchall()], outputs)


@pytest.mark.parametrize("kind", ["sum", "groups"])
@pytest.mark.parametrize("output", ["probability", "prediction", "risk_group"])
def test_a_function_in_postgres(postgres: Any, kind: Any, output: str) -> None:
    """The parameters are the columns of the model, by name."""
    model = random_instrument(Random(8), 6, kind=kind, classes=2)
    vectors = make_vectors(model)
    table = TableSpec(model, ("t",))
    names = ", ".join(map(DIALECTS["postgres"].quoted, [*model.inputs, *_groups(model)]))
    with postgres.cursor() as cursor:
        filled(cursor, table, vectors.patients)
        cursor.execute("DROP FUNCTION IF EXISTS risk")
        cursor.execute(function(model, "postgres", "risk", output).encode())
        cursor.execute(f"SELECT risk({names}) FROM t".encode())
        compare(model, vectors, [list(row) for row in cursor.fetchall()], [output])


def _groups(model: Any) -> list[str]:
    return [] if model.group_column is None else [model.group_column]


@pytest.mark.parametrize("dialect", [d for d in DIALECTS if d != "ansi"])
@pytest.mark.parametrize("seed", range(8))
def test_every_dialect_is_one_statement_to_its_parser(dialect: str, seed: int) -> None:
    model = random_instrument(Random(seed), 6, kind=KINDS[seed % 3], **PLAIN_NAMES)
    if dialect == "oracle":  # it takes an empty text for missing, and refuses such a model
        model = _renamed(model)
    outputs = EVERY if model.classes else EVERY[:2]
    texts = [select(model, dialect, ["clinic", "visits"], outputs, ["id"])]
    if dialect in DIALECTS_WITH_FUNCTIONS:
        texts.append(function(model, dialect, ["clinic", "risk"], "prediction"))
    for sql in texts:
        if dialect == "oracle":  # the parser does not know that 0.5D is a number
            sql = re.sub(r"(?<=\d)D\b", "", sql)
        trees = sqlglot.parse(sql, read=dialect)
        if dialect == "tsql" and sql.startswith("CREATE"):  # the parser ends at each semicolon
            assert next(tree.key for tree in trees if tree is not None) == "create"
            assert sql.count(";") == 1
        else:
            assert [tree.key for tree in trees if tree is not None] in (["select"], ["create"])


def _renamed(model: Any) -> Any:
    """With another text for the empty one."""

    def node(tree: Any) -> Any:
        if not tree.branches:
            return tree
        split, left, right = tree.branches
        if split.categories is not None:
            listed = tuple("none" if c == "" else c for c in split.categories)
            split = replace(split, categories=listed)
        return replace(tree, split=split, left=node(left), right=node(right))

    def one(tree_sum: Any) -> Any:
        features = tuple(
            replace(f, categories=tuple("none" if c == "" else c for c in f.categories))
            if f.categories else f
            for f in tree_sum.features
        )  # fmt: skip
        return replace(tree_sum, features=features, trees=tuple(map(node, tree_sum.trees)))

    return replace(model, family=replace(model.family, sums=tuple(map(one, model.sums))))
