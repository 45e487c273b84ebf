"""Many models at once: random ones over the same columns, rows for all, results compared."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

from figs_spark.exports.dialects import DIALECTS, Dialect
from figs_spark.exports.engines import Rows
from figs_spark.exports.instrument import Instrument
from figs_spark.exports.proof import BASIC, compare
from figs_spark.exports.sql import Sheet, output_texts
from figs_spark.exports.vectors import Vectors
from figs_spark.treesum import Feature
from figs_spark.treesum.nodes import IDENTITY
from tests.support.instruments import GROUPS, PLAIN_NAMES, random_instrument, without
from tests.support.treesums import random_rows, random_tree_sum

ROWS = 100
GROUP = "the group"

# How many models each engine runs in the test of agreement, on 100 rows each.
MODELS = {
    "Python": 600,
    "SQLite": 420,
    "DuckDB": 320,
    "PostgreSQL": 400,
    "Spark SQL": 20,
    "onnxruntime": 240,
    "JPMML": 60,
    "translated": 60,
}


def models(seed: int, count: int, heavy: bool = True, plain: bool = False) -> list[Instrument]:
    """Random models; not `heavy`: without those whose flat SQL is long."""
    random, found = Random(seed), list[Instrument]()
    names = PLAIN_NAMES if plain else {}
    while len(found) < count:
        model = random_instrument(random, 6, **names)
        if heavy or model.classes < 3 or (model.kind == "sum" and model.leaves <= 5):
            found.append(model)
    return found


def features(plain: bool = False) -> tuple[Feature, ...]:
    one = random_tree_sum(Random(0), 1)
    return without(one, **(PLAIN_NAMES if plain else {})).features


def patients(seed: int, plain: bool = False, count: int = ROWS) -> list[dict[str, Any]]:
    """Rows with a value for every column that any of the models reads."""
    random = Random(seed)
    names = [feature.name for feature in features(plain)]
    found = []
    for row in random_rows(random, count):
        cells = [c.replace("\0", "bell") if isinstance(c, str) else c for c in row]
        group = random.choice([*GROUPS, "unknown", None])
        found.append({**dict(zip(names, cells, strict=True)), GROUP: group})
    return found


def finite(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that a database without NaN and infinities can hold."""

    def fits(value: Any) -> bool:
        return not isinstance(value, float) or math.isfinite(value)

    return [row for row in rows if all(map(fits, row.values()))]


def outputs(model: Instrument) -> tuple[str, ...]:
    return BASIC if model.classes else ("score", "prediction")


def column_sql(model: Instrument, dialect: str) -> list[str]:
    """The outputs as flat expressions, one per column."""
    texts = output_texts(model, Sheet(DIALECTS[dialect]), outputs(model))
    return [text.code for text in texts.values()]


def types(dialect: Dialect, plain: bool = False) -> dict[str, str]:
    number, text, boolean = dialect.types
    kinds = {}
    for feature in features(plain):
        first = 0.0 if feature.holds_numbers else (feature.categories or ("",))[0]
        kind = boolean if isinstance(first, bool) else text if isinstance(first, str) else number
        kinds[feature.name] = kind
    return {**kinds, GROUP: text}


def create(dialect: Dialect, plain: bool = False, table: str = "rows") -> str:
    listed = ", ".join(f"{dialect.quoted(n)} {kind}" for n, kind in types(dialect, plain).items())
    return f"CREATE TABLE {dialect.quoted(table)} ({listed})"


def select(batch: Sequence[Instrument], dialect: str, table: str = "rows") -> str:
    """One statement for a batch of models."""
    columns = [sql for model in batch for sql in column_sql(model, dialect)]
    aliased = [f"{sql} AS {DIALECTS[dialect].quoted(f'c{k}')}" for k, sql in enumerate(columns)]
    return f"SELECT {', '.join(aliased)} FROM {DIALECTS[dialect].quoted(table)}"


def check(
    batch: Sequence[Instrument], rows: Sequence[dict[str, Any]], table: Rows, exact: bool = True
) -> int:
    """Compare a table with all columns of the batch; returns the number of models."""
    first = 0
    for model in batch:
        vectors = Vectors(tuple(rows), tuple(model.evaluate(rows)))
        width = len(column_sql(model, "duckdb"))
        agree(model, vectors, [row[first : first + width] for row in table], exact)
        first += width
    return len(batch)


def agree(model: Instrument, vectors: Vectors, rows: Rows, exact: bool = True) -> None:
    """Within the tolerance; and to the last bit if the engine can."""
    compare(model, vectors, rows, outputs(model))
    if exact:
        for result, row in zip(vectors.expected, rows, strict=True):
            values = [] if row is None else [v for v in row if v is not None]
            expected = [*result.score, *result.probability]
            if result.prediction is not None:
                expected.append(result.prediction)
            if model.outcome.link != IDENTITY:  # exp() has other last bits elsewhere
                exact_values = 0 if model.kind == "mean" else model.outputs
                values, expected = values[:exact_values], expected[:exact_values]
            assert values == expected
