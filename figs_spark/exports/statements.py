"""SQL as it is used: an expression, a SELECT over a table, a function of the database."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from figs_spark.exports.dialects import Dialect, dialect_named
from figs_spark.exports.instrument import Instrument
from figs_spark.exports.sql import (
    MOST_CHARACTERS,
    MOST_REPEATED,
    Sheet,
    output_texts,
    too_long,
)
from figs_spark.exports.texts import Text
from figs_spark.treesum import Feature
from figs_spark.treesum.nodes import TEXT

MOST_COLUMNS = 1_600  # PostgreSQL takes no more in one SELECT
DIALECTS_WITH_FUNCTIONS = ("databricks", "spark", "postgres", "tsql", "snowflake", "bigquery")


def expression(model: Instrument, dialect: str, output: str) -> str:
    """One expression over columns named as the features; several values are an array."""
    target = dialect_named(dialect)
    texts = output_texts(model, Sheet(target), [output])
    return _checked(_single(model, target, output, texts))


def _single(model: Instrument, dialect: Dialect, output: str, texts: dict[str, Text]) -> str:
    values = [text.code for text in texts.values()]
    if len(values) == 1 and output not in ("contributions", "rules"):
        return values[0]
    if dialect.array is None:
        raise ValueError(
            f"The output '{output}' of this model has {len(values)} values, and the dialect "
            f"'{dialect.name}' has no arrays. Name a table to get a column for each."
        )
    if output == "contributions" and model.outputs > 1:
        size = model.outputs
        runs = [values[i : i + size] for i in range(0, len(values), size)]
        values = [dialect.array.format(", ".join(run)) for run in runs]
    return dialect.array.format(", ".join(values))


def select(
    model: Instrument,
    dialect: str,
    table: str | Sequence[str],
    outputs: Sequence[str],
    keep: Sequence[str] | None = None,
) -> str:
    """A SELECT with a column for each output.

    `table` is a name, or its parts: ["schema", "table"]. `keep` are columns of the table to show
    beside; None: all. If they are named, what an output needs several times is computed once.
    """
    target = dialect_named(dialect)
    source = quoted_table(target, table)
    if keep is None:
        texts = output_texts(model, Sheet(target, newline="\n  "), outputs)
        star = f"{source}.*" if target.name == "oracle" else "*"
        columns = [star, *(f"{t.code} AS {target.quoted(name)}" for name, t in texts.items())]
        return _checked("SELECT\n  " + ",\n  ".join(columns) + f"\nFROM {source}")
    sheet = Sheet(target, layered=True, newline="\n    ")
    texts = output_texts(model, sheet, outputs)
    _check_names(keep, [*texts, *(name for layer in sheet.layers for name in layer)])
    return _checked(_layered(sheet, source, texts, keep), layered=True)


def _layered(sheet: Sheet, source: str, texts: dict[str, Text], keep: Sequence[str]) -> str:
    """WITH one query per layer, each over the one before; a name goes on while it is needed."""
    quoted = sheet.dialect.quoted
    shown = [f"{t.code} AS {quoted(name)}" for name, t in texts.items()]
    layers = sheet.layers[: max(text.layer for text in texts.values())]
    later = [" ".join(layer.values()) for layer in layers] + [" ".join(shown)]
    kept, carried = [quoted(name) for name in keep], list[str]()
    reads, queries = source, []
    for number, layer in enumerate(layers, start=1):
        new = [f"{sql} AS {quoted(name)}" for name, sql in layer.items()]
        listed = ",\n    ".join([*kept, *carried, *new])
        queries.append(f"figs_{number} AS (\n  SELECT\n    {listed}\n  FROM {reads}\n)")
        rest = " ".join(later[number + 1 :])
        carried = [name for name in [*carried, *map(quoted, layer)] if name in rest]
        reads = f"figs_{number}"
        if len(kept) + len(carried) + len(new) > MOST_COLUMNS:
            raise ValueError(
                f"The statement would need {len(kept) + len(carried) + len(new):,} columns, and "
                f"{MOST_COLUMNS:,} are the most. Export the model as ONNX or Python."
            )
    opening = "WITH " + ",\n".join(queries) + "\n" if queries else ""
    return f"{opening}SELECT\n  " + ",\n  ".join([*kept, *shown]) + f"\nFROM {reads}"


def _check_names(keep: Sequence[str], new: Sequence[str]) -> None:
    lowered = {name.lower() for name in new}
    clash = [name for name in keep if name.lower() in lowered]
    if clash:
        raise ValueError(
            f"The columns {clash} are to be kept, and the statement gives a column of that name "
            f"itself. Rename them in the table, or leave them out."
        )


def quoted_table(dialect: Dialect, table: str | Sequence[str]) -> str:
    """A text is one name, whatever it holds; schema and table are a list of two."""
    parts = [table] if isinstance(table, str) else list(table)
    return ".".join(dialect.quoted(part) for part in parts)


def function(model: Instrument, dialect: str, name: str | Sequence[str], output: str) -> str:
    """CREATE FUNCTION with a parameter for each column that the model reads."""
    if dialect not in DIALECTS_WITH_FUNCTIONS:
        raise ValueError(
            f"Functions are written for {', '.join(DIALECTS_WITH_FUNCTIONS)}, not for '{dialect}'. "
            f"Use an expression or a table."
        )
    target = dialect_named(dialect)
    parameters = _parameters(model, target)
    if dialect == "tsql":  # a parameter stands without quotes there
        target = replace(target, variables={c: name for c, (name, _) in parameters.items()})
    texts = output_texts(model, Sheet(target, newline="\n  "), [output])
    if len(texts) > 1 or output in ("contributions", "rules"):
        raise ValueError(
            f"A function returns one value, and the output '{output}' of this model has "
            f"{len(texts)}. Name a table instead."
        )
    body = next(iter(texts.values())).code
    returns = target.types[1] if output == "risk_group" else target.types[0]
    listed = ",\n  ".join(f"{name} {kind}" for name, kind in parameters.values())
    title = quoted_table(target, name)
    return _checked(_FORMS[dialect](title, f"\n  {listed}\n" if listed else "", returns, body))


def _parameters(model: Instrument, dialect: Dialect) -> dict[str, tuple[str, str]]:
    """Of each column the parameter and its type."""
    kinds = {column: _type(feature, dialect) for column, feature in model.inputs.items()}
    if model.group_column is not None:
        number = dialect.types[0]
        kind = {str: dialect.types[1], bool: dialect.types[2]}.get(type(model.groups[0]), number)
        kinds[model.group_column] = kind
    if dialect.name != "tsql":
        return {column: (dialect.quoted(column), kind) for column, kind in kinds.items()}
    plain = [re.sub(r"\W", "_", column, flags=re.ASCII)[:60] for column in kinds]
    names = [f"@{p}" if plain.count(p) == 1 else f"@{p}_{k}" for k, p in enumerate(plain)]
    return {column: (name, kinds[column]) for column, name in zip(kinds, names, strict=True)}


def _type(feature: Feature, dialect: Dialect) -> str:
    if feature.holds_numbers:
        return dialect.types[0]
    return dialect.types[1] if feature.kind == TEXT else dialect.types[2]


def _tag(body: str) -> str:
    """A tag for PostgreSQL's dollar quotes that the body does not hold."""
    tag = "figs"
    while f"${tag}$" in body:
        tag += "_"
    return f"${tag}$"


def _postgres(name: str, listed: str, returns: str, body: str) -> str:
    tag = _tag(body)
    return (
        f"CREATE FUNCTION {name}({listed}) RETURNS {returns}\n"
        f"LANGUAGE sql IMMUTABLE AS {tag}\nSELECT {body}\n{tag}"
    )


def _snowflake(name: str, listed: str, returns: str, body: str) -> str:
    if "$$" in body:
        raise ValueError(
            "A column of the model has '$$' in its name, which would end the body of a function in "
            "Snowflake. Rename the column, or use an expression."
        )
    return f"CREATE FUNCTION {name}({listed})\nRETURNS {returns}\nAS $$\n  {body}\n$$"


def _tsql(name: str, listed: str, returns: str, body: str) -> str:
    return (
        f"CREATE FUNCTION {name}({listed}) RETURNS {returns}\n"
        f"WITH SCHEMABINDING AS\nBEGIN\n  RETURN {body};\nEND"
    )


def _spark(name: str, listed: str, returns: str, body: str) -> str:
    return f"CREATE FUNCTION {name}({listed})\nRETURNS {returns}\nRETURN {body}"


def _bigquery(name: str, listed: str, returns: str, body: str) -> str:
    return f"CREATE FUNCTION {name}({listed})\nRETURNS {returns}\nAS (\n  {body}\n)"


_FORMS = {
    "postgres": _postgres,
    "snowflake": _snowflake,
    "tsql": _tsql,
    "spark": _spark,
    "databricks": _spark,
    "bigquery": _bigquery,
}


def _checked(sql: str, layered: bool = False) -> str:
    if len(sql) > (MOST_CHARACTERS if layered else MOST_REPEATED):
        raise too_long(len(sql), layered)
    return sql
