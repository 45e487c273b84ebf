"""The place of a text in a list of texts, as a Column.

Spark compares a text with one entry after the other. In a long list this takes more time than all
else that is done with a row, so the texts are dealt out by a hash to short lists.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

SHORT = 8  # texts that are compared one by one
OTHER = -1


def position(cell: Column, texts: Sequence[str]) -> Column:
    """From 0 on; -1 if the cell is none of the texts, null if it is null.

    Lists are read by `get`: in Spark 4 the generated code of `[]` takes a missing index for -1, and
    fails.
    """
    if not texts:
        return F.when(cell.isNotNull(), OTHER)
    if len(texts) <= SHORT:
        return _found(F.array(*map(F.lit, texts)), cell) - 1
    lists: list[list[str]] = [[] for _ in texts]
    places: list[list[int]] = [[OTHER] for _ in texts]
    for place, text in enumerate(texts):
        k = zlib.crc32(text.encode()) % len(texts)
        lists[k].append(text)
        places[k].append(place)
    number = F.crc32(cell.cast("binary")) % len(texts)
    among = _found(F.get(_nested(map(_text_sql, some) for some in lists), number), cell)
    return F.get(F.get(_nested(map(str, some) for some in places), number), among)


def _found(texts: Column, cell: Column) -> Column:
    """The place from 1 on; 0 if there is none."""
    return F.call_function("array_position", texts, cell)


def _nested(lists: Iterable[Iterable[str]]) -> Column:
    """Arrays in an array, one constant in the plan: thousands of Columns would take seconds."""
    arrays = (f"array({', '.join(some)})" for some in lists)
    return F.expr(f"array({', '.join(arrays)})")


def _text_sql(text: str) -> str:
    """A text of any characters; how quotes are written depends on Spark's settings."""
    return f"cast(X'{text.encode().hex()}' as string)"
