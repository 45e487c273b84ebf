"""Rows by score: one Spark aggregation gives what every curve, area and table is made of.

A FIGS score takes few values, so the rows are added up by score, and by group, exactly. Where that
gives more than LEVELS sums, scores are merged at quantiles: a level then holds about one in LEVELS
of the rows. What a threshold between two levels does is exact as before, and so are the Brier score
and the means of a calibration table; thresholds inside a level are not seen, and the AUC takes its
rows for ties, which moves it by about 1 / LEVELS at most. Rows are never collected.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from figs_spark.clinical.curves import Floats
from figs_spark.dataframes.compat import table_udf, to_arrow

LEVELS = 10_000
FEWEST = 100  # levels, however many groups there are
GROUPS = 1_000
LARGEST = 1e150  # beyond it squares overflow


def sums_by_score(frame: DataFrame) -> dict[str, Any]:
    """Sums over the columns y, s, w (label, score, weight) and g (group), as arrays by name.

    `key` rises with the score: the score itself, or where there are too many the number of a level.
    """
    found = to_arrow(_aggregated(frame, F.col("s")).limit(LEVELS + 1))
    if len(found) > LEVELS:
        level = table_udf(partial(_level, _cuts(frame)), 1)(F.array("s"))
        found = to_arrow(_aggregated(frame, level[0]))
    groups = np.empty(len(found), dtype=object)
    groups[:] = found["g"].to_pylist()
    names = [name for name in found.column_names if name != "g"]
    return {"g": groups, **{name: _numbers(found[name]) for name in names}}


def _aggregated(frame: DataFrame, key: Column) -> DataFrame:
    y, s, w = F.col("y"), F.col("s"), F.col("w")
    labelled, used = y.isNotNull() & ~F.isnan(y), w > 0
    aggregates = {
        "all": F.count(F.lit(1)),
        "missing_label": _count(~labelled),
        "other_label": _count(labelled & ~y.isin(0.0, 1.0)),
        "other_length": _count(F.col("wide")),
        "bad_score": _count(s.isNull() | F.isnan(s) | (F.abs(s) > LARGEST)),
        "bad_weight": _count(w.isNull() | F.isnan(w) | (w > LARGEST)),
        "negative_weight": _count(w < 0),
        "rows": _count(used),
        "low": F.min(F.when(used, s)),
        "high": F.max(F.when(used, s)),
        "positives": _sum(used & (y == 1), w),
        "negatives": _sum(used & (y == 0), w),
        "positive_squares": _sum(used & (y == 1), w * w),
        "negative_squares": _sum(used & (y == 0), w * w),
        "scores": _sum(used, w * s),
        "errors": _sum(used, w * (s - y) * (s - y)),
    }
    columns = [expression.alias(name) for name, expression in aggregates.items()]
    return frame.groupBy("g", key.alias("key")).agg(*columns)


def _count(condition: Column) -> Column:
    return F.count(F.when(condition, 1))


def _sum(condition: Column, value: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, value)), F.lit(0.0))


def _numbers(found: pa.ChunkedArray) -> Floats:
    return found.cast(pa.float64()).to_numpy().astype(np.float64)


def _cuts(frame: DataFrame) -> Floats:
    """The scores at which a new level begins: quantiles of all rows."""
    groups = int(frame.select(F.approx_count_distinct("g")).collect()[0][0])
    if groups > GROUPS:
        raise ValueError(
            f"groupCol has about {groups} values, and at most {GROUPS} are taken. Name a column "
            f"that many rows share."
        )
    levels = max(FEWEST, LEVELS // max(1, groups))
    shares = F.lit(" ".join(str(k / levels) for k in range(1, levels)))  # one literal, not 10,000
    score, wanted = F.when(~F.isnan("s"), F.col("s")), F.split(shares, " ").cast("array<double>")
    found = frame.select(F.percentile_approx(score, wanted, 10 * levels)).collect()[0][0]
    return np.unique(np.array(found or [], dtype=np.float64))


def _level(cuts: Floats, scores: Floats) -> Floats:
    return np.searchsorted(cuts, scores, side="right").astype(np.float64)
