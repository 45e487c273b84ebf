"""Codes of a system as Spark Columns: the level that holds a code, and codes as known categories.

The same as `treesum.code_systems` finds, in expressions: no Python worker reads a code.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from figs_spark.treesum.code_systems import (
    ATC,
    CATEGORIES,
    DOTTED,
    ICD9,
    ICD10,
    CodeSystem,
    IcdSystem,
    PrefixSystem,
    code_system,
)
from figs_spark.treesum.levels import LevelFeature
from figs_spark.treesum.nodes import Feature

NO_LEVEL = ""  # the key of codes that no level holds


def level_column(feature: LevelFeature, code: Column) -> Column:
    """The key of the level that holds a code; NO_LEVEL if there is none, null if it is missing."""
    system = code_system(feature.system)
    return F.when(code.isNotNull(), F.coalesce(_key(system, feature.depth, code), F.lit(NO_LEVEL)))


def _key(system: CodeSystem, depth: int, code: Column) -> Column:
    unit = unit_column(system, code)
    if isinstance(system, IcdSystem):
        if depth == 2:
            return F.when(unit.rlike(CATEGORIES[system.name]), F.concat(unit, F.lit("*")))
        return _looked_up(system, depth, unit)
    if isinstance(system, PrefixSystem):
        size = system.widths[depth]
        return F.when(F.length(unit) >= size, F.concat(F.substring(unit, 1, size), F.lit("*")))
    parts = F.size(F.split(code, r"\."))
    return F.when(parts > depth, F.concat(F.substring_index(code, ".", depth + 1), F.lit(".*")))


def _looked_up(system: IcdSystem, depth: int, unit: Column) -> Column:
    """A chapter or a block, from a map that is one constant in the plan: a CASE with a test for
    each block would be planned for seconds."""
    keys = {one: key for one in system.units if (key := system.keys(one)[depth])}
    units, levels = (F.split(F.lit(",".join(part)), ",") for part in (keys, keys.values()))
    return F.map_from_arrays(units, levels)[unit]


def unit_column(system: CodeSystem, code: Column) -> Column:
    """See `CodeSystem.unit`."""
    if system.name == DOTTED:
        return F.concat(code, F.lit("."))
    if system.name == ATC:
        return F.upper(code)
    if system.name not in (ICD9, ICD10):
        return code
    start = F.substring_index(F.upper(code), ".", 1)
    if system.name == ICD10:
        return F.substring(start, 1, 3)
    return F.when(start.startswith("E"), F.substring(start, 1, 4)).otherwise(F.lpad(start, 3, "0"))


def resolved_column(feature: Feature, code: Column) -> Column:
    """A code as one of the feature's categories if it is one or in one, see `Feature.resolved`."""
    system = code_system(feature.system)
    known = [str(category) for category in feature.categories or ()]
    levels = sorted(filter(system.is_level, known), key=system.depth, reverse=True)
    if not levels:
        return code
    unit = unit_column(system, code)
    valid = unit.rlike(CATEGORIES[system.name]) if isinstance(system, IcdSystem) else F.lit(True)
    cases = [(valid & _holds(system, key, unit), F.lit(key)) for key in levels]
    return _cases([(code.isin(known), code), *cases]).otherwise(code)


def _holds(system: CodeSystem, key: str, unit: Column) -> Column:
    test = F.lit(False)
    for low, high in system.ranges(key):
        start = F.substring(unit, 1, len(low))
        test = test | (start == low if low == high else start.between(low, high))
    return test


def _cases(cases: Iterable[tuple[Column, Column]]) -> Any:
    case: Any = F
    for test, value in cases:
        case = case.when(test, value)
    return case
