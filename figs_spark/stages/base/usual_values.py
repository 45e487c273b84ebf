"""The usual values of the columns that a model reads, so that a page can warn of others.

A range leaves out the lowest and the highest 0.5% of the rows, or more if these are few, and is
rounded outwards: no single patient's value is in it. A column that is always 0 or 1 is a sign.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

Range = tuple[float, float]

SHARES = (0.005, 0.01, 0.02, 0.05, 0.1)  # at either end
ACCURACY = 2000


def usual_values(model: Any, rows: DataFrame, least: int) -> tuple[dict[str, Range], list[str]]:
    """Ranges by column, and the columns that are signs, by one aggregation."""
    instrument = model._instrument()
    numbers = [j for j in instrument.used if instrument.features[j].categories is None]
    if not numbers:
        return {}, []
    rows, columns, _ = model._with_features(rows)
    aggregates = [cell for j in numbers for cell in _aggregates(columns[j].cast("double"))]
    cells = rows.agg(*aggregates).collect()[0]
    ranges, signs = {}, []
    for place, j in enumerate(numbers):
        known, others, quantiles = cells[3 * place : 3 * place + 3]
        name = instrument.columns[j]
        if known >= least and not others:
            signs.append(name)
        elif (usual := rounded_range(quantiles or [], known, least)) is not None:
            ranges[name] = usual
    return ranges, signs


def _aggregates(values: Column) -> list[Column]:
    finite = F.when(~F.isnan(values) & (F.abs(values) < F.lit(math.inf)), values)
    shares = [*SHARES, *(1 - share for share in SHARES)]
    return [
        F.count(finite),
        F.count(F.when(~finite.isin(0.0, 1.0), 1)),
        F.percentile_approx(finite, shares, ACCURACY),
    ]


def rounded_range(quantiles: Sequence[float], known: int, least: int) -> Range | None:
    """The widest range that leaves out `least` rows at either end, rounded outwards."""
    half = len(SHARES)
    for k, share in enumerate(SHARES):
        if len(quantiles) == 2 * half and share * known >= least:
            low, high = quantiles[k], quantiles[half + k]
            if not high > low:
                return None
            step = 10.0 ** math.floor(math.log10((high - low) / 5))
            decimals = max(0, -math.floor(math.log10(step)))
            low, high = math.floor(low / step) * step, math.ceil(high / step) * step
            return round(low, decimals), round(high, decimals)
    return None
