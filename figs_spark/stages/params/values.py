"""What the value of a Param may be: each function returns the value, or says what is needed.

The type that it returns is the type that editors and type checkers show for the Param.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from typing import Any

from figs_spark.dataframes.row_sql import check_expression
from figs_spark.treesum.code_systems import code_system


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a string is needed, got {value!r}")
    return value


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        raise TypeError(f"a list of strings is needed, such as {[value]}, got {value!r}")
    if not all(isinstance(v, str) for v in value):
        raise TypeError(f"a list of strings is needed, got {value!r}")
    return list(value)


def expressions(value: Any) -> dict[str, str]:
    """SQL expressions by the name of the column that they derive."""
    if not isinstance(value, Mapping):
        raise TypeError(f"a dict of expressions by column is needed, got {value!r}")
    for name, sql in value.items():
        if not (isinstance(name, str) and isinstance(sql, str)):
            raise TypeError(f"the column {name!r} needs an SQL expression as text, got {sql!r}")
        check_expression(sql)
    return dict(value)


def orders(value: Any) -> dict[str, list[str]]:
    """Lists of texts by column, each from the lowest to the highest."""
    if not isinstance(value, Mapping):
        raise TypeError(f"a dict of lists by column is needed, got {value!r}")
    for name, order in value.items():
        if len(set(texts(order))) < len(order):
            raise ValueError(f"the order of '{name}' has a value twice")
    return {str(name): texts(order) for name, order in value.items()}


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"True or False is needed, got {value!r}")
    return value


def numbers(value: Any) -> list[float]:
    return [number(0)(v) for v in value]


def choice(*allowed: str) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"one of {', '.join(map(repr, allowed))} is needed, got {value!r}")
        return str(value)

    return convert


def integer(low: float = -math.inf, high: float = math.inf) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        whole = hasattr(value, "__index__") or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole:
            raise TypeError(f"an integer is needed, got {value!r}")
        return int(_within(value, low, high))

    return convert


def number(low: float = -math.inf, high: float = math.inf) -> Callable[[Any], float]:
    def convert(value: Any) -> float:
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            raise TypeError(f"a number is needed, got {value!r}")
        return float(_within(value, low, high))

    return convert


def _within(value: Any, low: float, high: float) -> Any:
    if not low <= value <= high or abs(value) > sys.float_info.max:
        bounds = f"at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
        raise ValueError(f"a finite number {bounds} is needed, got {value!r}")
    return value


def class_weight(value: Any) -> str | dict[int, float]:
    """A rule, or factors by label; JSON has the labels as strings."""
    if not isinstance(value, Mapping):
        return choice("none", "balanced", "inverse")(value)
    factors: dict[int, float] = {}
    for key, factor in value.items():
        try:
            label = integer(0)(float(key))
        except (TypeError, ValueError):
            raise ValueError(f"labels are the integers 0, 1, ..., got {key!r}") from None
        if not number(0)(factor) > 0:
            raise ValueError(f"the label {label} needs a factor above 0, got {factor!r}")
        factors[label] = float(factor)
    return factors


def ridge(value: Any) -> float | str:
    """A number, 0 or more, or "auto"."""
    return "auto" if value == "auto" else number(0)(value)


def by_feature(convert: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """{feature: value}, each value converted."""

    def of_map(value: Any) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise TypeError(f"a dict with names of features is needed, got {value!r}")
        return {name: one(name, inner) for name, inner in value.items()}

    def one(name: str, value: Any) -> Any:
        try:
            return convert(value)
        except (TypeError, ValueError) as error:
            raise type(error)(f"'{name}': {error}") from None

    return of_map


def system(value: Any) -> str:
    """The name of a system of codes."""
    return code_system(text(value)).name


def direction(value: Any) -> int:
    """1 up, -1 down."""
    if value not in (1, -1) or isinstance(value, bool):
        raise ValueError(f"1 (rises) or -1 (falls) is needed, got {value!r}")
    return int(value)


def cuts(value: Any) -> list[float] | float:
    """A list of cuts, or the unit that cuts are multiples of."""
    if not isinstance(value, (list, tuple)):
        unit = number(0)(value)
        if not unit > 0:
            raise ValueError(f"a unit above 0, or a list of cuts, is needed, got {value!r}")
        return unit
    if not value:
        raise ValueError("at least one cut is needed, got an empty list; use forbidden instead")
    return sorted({number()(cut) for cut in value})


def groups_of_texts(value: Any) -> list[list[str]]:
    if isinstance(value, str) or not hasattr(value, "__iter__"):
        raise TypeError(f"a list of lists of features is needed, got {value!r}")
    groups = [texts(group) for group in value]
    if not groups or not all(groups):
        raise ValueError("at least one group with at least one feature is needed")
    return groups


def subset_strategy(value: Any) -> str:
    """all, sqrt, log2, onethird, auto, a share in (0, 1] or a number of features."""
    strategy = str(value)
    if strategy in ("auto", "all", "sqrt", "log2", "onethird"):
        return strategy
    try:
        share = float(strategy)
    except ValueError:
        share = -1.0
    if not share > 0 or (share > 1 and not share.is_integer()):
        raise ValueError(
            "'auto', 'all', 'sqrt', 'log2', 'onethird', a share in (0, 1] or a number of features "
            f"is needed, got {value!r}"
        )
    return strategy


def features_per_step(strategy: str, features: int, auto: str) -> int | None:
    """How many features a step may choose from; None means all of them."""
    strategy = auto if strategy == "auto" else strategy
    if strategy == "all":
        return None
    if strategy == "sqrt":
        count = math.ceil(math.sqrt(features))
    elif strategy == "log2":
        count = math.ceil(math.log2(features))
    elif strategy == "onethird":
        count = math.ceil(features / 3)
    elif "." in strategy or "e" in strategy.lower():
        share = float(strategy)
        count = math.ceil(share * features) if share <= 1 else int(share)
    else:
        count = int(strategy)
    count = max(1, count)
    return None if count >= features else count
