"""Rows by score: one Spark aggregation gives what every curve, area and table is made of.

A FIGS score takes few values, so the rows are added up exactly, by score and group. If there are
more than MOST_ENTRIES sums, neighbouring scores are merged into ranges between quantiles, each with
about one in MOST_ENTRIES of the rows. Thresholds between two ranges stay exact, and so do the Brier
score and the means of a calibration table. Thresholds inside a range are not seen. The AUC treats
the rows of a range as ties, which moves it by about 1 / MOST_ENTRIES at most. Rows are never
collected.
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

MOST_ENTRIES = 10_000
FEWEST_RANGES = 100  # per group, however many groups there are
MOST_GROUPS = 1_000
LARGEST = 1e150  # squares of larger numbers overflow


def sums_by_score(frame: DataFrame) -> dict[str, Any]:
    """Sums over the columns y, s, w (label, score, weight) and g (group), as arrays by name.

    `rank` rises with the score: it is the score itself or, if there are too many scores, the number
    of a range.
    """
    sums = to_arrow(_aggregated(frame, F.col("s")).limit(MOST_ENTRIES + 1))
    if len(sums) > MOST_ENTRIES:
        ranges = table_udf(partial(_range, _cuts(frame)), 1)(F.array("s"))
        sums = to_arrow(_aggregated(frame, ranges[0]))
    groups = np.empty(len(sums), dtype=object)
    groups[:] = sums["g"].to_pylist()
    names = [name for name in sums.column_names if name != "g"]
    return {"g": groups, **{name: _numbers(sums[name]) for name in names}}


def _aggregated(frame: DataFrame, rank: Column) -> DataFrame:
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
    return frame.groupBy("g", rank.alias("rank")).agg(*columns)


def _count(condition: Column) -> Column:
    return F.count(F.when(condition, 1))


def _sum(condition: Column, value: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, value)), F.lit(0.0))


def _numbers(values: pa.ChunkedArray) -> Floats:
    return values.cast(pa.float64()).to_numpy().astype(np.float64)


def _cuts(frame: DataFrame) -> Floats:
    """The scores at which a new range begins: quantiles of all rows."""
    groups = int(frame.select(F.approx_count_distinct("g")).collect()[0][0])
    if groups > MOST_GROUPS:
        raise ValueError(
            f"groupCol has about {groups} values; at most {MOST_GROUPS} are allowed. Name a column "
            f"with fewer distinct values."
        )
    count = max(FEWEST_RANGES, MOST_ENTRIES // max(1, groups))
    texts = F.lit(" ".join(str(k / count) for k in range(1, count)))  # one literal, not 10,000
    score, shares = F.when(~F.isnan("s"), F.col("s")), F.split(texts, " ").cast("array<double>")
    cuts = frame.select(F.percentile_approx(score, shares, 10 * count)).collect()[0][0]
    return np.unique(np.array(cuts or [], dtype=np.float64))


def _range(cuts: Floats, scores: Floats) -> Floats:
    return np.searchsorted(cuts, scores, side="right").astype(np.float64)
