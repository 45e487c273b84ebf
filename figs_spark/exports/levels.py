"""Codes in the levels that a split lists, in SQL; and what a reader must know of them."""

from __future__ import annotations

from figs_spark.exports.dialects import Dialect
from figs_spark.treesum import Feature, Split
from figs_spark.treesum.code_systems import (
    ATC,
    DOTTED,
    ICD9,
    ICD10,
    CodeSystem,
    Range,
    code_system,
)


def listed_levels(feature: Feature, split: Split) -> list[str]:
    """The levels that a split lists, without those inside another one of them."""
    if not feature.system:
        return []
    system = code_system(feature.system)
    levels = [str(c) for c in split.categories or () if system.is_level(str(c))]
    return [
        key
        for key in levels
        if not any(other != key and system.holds(other, key) for other in levels)
    ]


def with_levels(
    dialect: Dialect, listing: str, feature: Feature, split: Split, column: str, inside: bool
) -> str:
    """A test of listed categories; codes in listed levels count as listed."""
    levels = listed_levels(feature, split)
    if not levels:
        return listing
    system, x = code_system(feature.system), dialect.quoted(column)
    tests = [
        test for key in levels for r in system.ranges(key) for test in _in(dialect, system, x, r)
    ]
    if inside:
        return f"({' OR '.join([listing, *tests])})"
    none = f"CASE WHEN {' OR '.join(tests)} THEN 1 ELSE 0 END = 0"
    return f"({listing} AND {none})"


def _in(dialect: Dialect, system: CodeSystem, x: str, ends: Range) -> list[str]:
    """Tests of which one is true if the code is in the range."""
    text = f"UPPER({x})" if system.name in (ICD9, ICD10, ATC) else x
    low, high = ends
    if system.name == DOTTED:
        return [_between(dialect, text, low, high), f"{_exact(dialect, text, low[:-1])}"]
    if system.name not in (ICD9, ICD10):
        return [_between(dialect, text, low, high)]
    if system.name == ICD10 or not low.isdigit():
        return [_between(dialect, text, low, high)]
    whole = f"{x} LIKE '___%' AND {x} NOT LIKE '_.%' AND {x} NOT LIKE '__.%'"
    tests = [f"({_between(dialect, text, low, high)} AND {whole})"]
    for size in (1, 2):  # digits of a code that has lost its leading zeros
        first, last = max(int(low), 10 ** (size - 1)), min(int(high), 10**size - 1)
        if first <= last:
            alone = f"({x} LIKE '{'_' * size}' OR {x} LIKE '{'_' * size}.%')"
            tests.append(f"({_between(dialect, text, str(first), str(last))} AND {alone})")
    return tests


def _between(dialect: Dialect, text: str, low: str, high: str) -> str:
    start = dialect.exact_text.format(dialect.start_of_text.format(text, len(low)))
    if low == high:
        return f"{start} = {dialect.literal(low)}"
    return f"{start} BETWEEN {dialect.literal(low)} AND {dialect.literal(high)}"


def _exact(dialect: Dialect, text: str, value: str) -> str:
    return f"{dialect.exact_text.format(text)} = {dialect.literal(value)}"


def note(column: str, feature: Feature) -> str:
    """What a reader of an export must know of a column of codes; nothing if it has no levels."""
    if not feature.system:
        return ""
    system = code_system(feature.system)
    levels = [str(c) for c in feature.categories or () if system.is_level(str(c))]
    if not levels:
        return ""
    return (
        f"{column} holds codes of {feature.system}. SQL and Python find the level of any code; "
        f"PMML and ONNX know the listed codes alone: for any other code give its level, such as "
        f"'{levels[0]}'."
    )
