"""How much a DataFrame will read, as Spark's own planner expects it: no job runs to tell.

The planner knows the bytes of files, of the cache and of local rows. It does not know those of rows
that Python made, nor what a filter or a join leaves: so only what is read is looked at, and whoever
collects the rows bounds them.
"""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

UNITS = {unit: 1 << (10 * k) for k, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB", "PiB"))}
STATISTICS = re.compile(r"Statistics\(sizeInBytes=([0-9.E+]+) (\w+)")
MADE_BY_PYTHON = "LogicalRDD"
TREE = " :+-"  # what draws the tree of a plan

log = logging.getLogger("figs_spark")


@dataclass(frozen=True)
class Read:
    """A source in a plan: the name of its node, and its bytes; None if Spark does not know."""

    node: str
    size: int | None


def reads(frame: DataFrame) -> list[Read]:
    """The sources of a DataFrame; empty if Spark does not say."""
    try:
        with view_of(frame) as view:
            return sources(explained(frame.sparkSession, f"SELECT * FROM {view}"))
    except Exception as error:
        log.debug("Spark does not estimate the size of the table: %s", error)
        return []


@contextmanager
def view_of(frame: DataFrame) -> Iterator[str]:
    """A name for a DataFrame in SQL, for a while.

    The view has a column more: when it goes, Spark lets go of what is cached for the same plan.
    """
    view = f"figs_spark_{uuid.uuid4().hex}"
    frame.withColumn(view, F.lit(view)).createOrReplaceTempView(view)
    try:
        yield view
    finally:
        frame.sparkSession.catalog.dropTempView(view)


def explained(spark: SparkSession, query: str) -> str:
    """The plans of a query as text: the optimized one, and the physical one."""
    return str(spark.sql(f"EXPLAIN COST {query}").collect()[0][0])


def sources(explained: str) -> list[Read]:
    """The leaves of the optimized plan in the text of EXPLAIN COST."""
    plan = explained.partition("== Physical Plan ==")[0]
    nodes = [(_depth(line), line) for line in plan.splitlines() if STATISTICS.search(line)]
    below = [depth for depth, _ in nodes[1:]] + [0]
    return [_read(line) for (depth, line), next_one in zip(nodes, below) if next_one <= depth]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(TREE))


def _read(line: str) -> Read:
    statistics = STATISTICS.findall(line)
    number, unit = statistics[-1]
    name = re.match(r"\w*", line.lstrip(TREE))
    known = unit in UNITS and "E" not in number
    return Read(name[0] if name else "", round(float(number) * UNITS[unit]) if known else None)
