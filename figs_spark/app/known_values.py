"""The categories that training saw, by column, and how many rows of another table have others.

`train` records them for the columns that its model uses: values that at least `minCategoryCount`
training rows have. `score` and `evaluate` say how many of their rows have a value that is not among
them, beside the share of such rows in training. A code in a level that the model names is known.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from figs_spark.dataframes.codes import resolved_column
from figs_spark.dataframes.columns import column
from figs_spark.stages.base.categories import code_text, count_categories
from figs_spark.treesum.nodes import CODE, TEXT
from figs_spark.treesum.strict_json import Entry

log = logging.getLogger("figs_spark")

MORE = 1.5  # times the share of training is clearly more


@dataclass(frozen=True)
class KnownValues:
    """The categories of a column in training, and the share of training rows with others."""

    values: tuple[str, ...]
    other_share: float

    def to_dict(self) -> dict[str, Any]:
        return {"values": list(self.values), "otherShare": self.other_share}

    @classmethod
    def from_entry(cls, entry: Entry) -> KnownValues:
        fields = entry.fields(("values", "otherShare"))
        return cls(fields["values"].texts(), fields["otherShare"].number(low=0.0))


def known_values(model: Any, rows: DataFrame) -> dict[str, KnownValues]:
    """The categories in the training rows, for the columns that the model uses."""
    used = [model._features[j] for j in sorted(model._used)]
    names = [f.name for f in used if f.kind in (TEXT, CODE) and not f.ordered]
    texts = {j: _as_text(rows, name) for j, name in enumerate(names)}
    get = model.getOrDefault
    counted = count_categories(rows, texts, get("minCategoryCount"), get("maxBins"))
    values = {names[j]: tuple(sorted(one.categories)) for j, one in counted.items()}
    counts = _counts(rows, model, values)
    return {
        name: KnownValues(known, counts[name][0] / max(1, counts["rows"][0]))
        for name, known in values.items()
    }


def report_unknown(rows: DataFrame, model: Any, known: Mapping[str, KnownValues]) -> None:
    """How many rows of each column have a value that training did not see as a category; a warning
    if these are clearly more than in training."""
    values = {name: one.values for name, one in known.items() if name in rows.columns}
    if not values:
        return
    counts = _counts(rows, model, values)
    total = counts["rows"][0]
    coded = {feature.name for feature in model._features if feature.system}
    for name in values:
        unknown, distinct = counts[name]
        if unknown:
            share = unknown / total
            more = share > MORE * known[name].other_share
            log.log(
                logging.WARNING if more else logging.INFO,
                "Column '%s': %s of %s rows (%.2g%%) have a value that is not among the %s "
                "categories of training%s (different ones: about %s). They count as other; in "
                "training %.2g%% of the rows did.",
                name,
                f"{unknown:,}",
                f"{total:,}",
                100 * share,
                f"{len(values[name]):,}",
                " nor in a level that the model names" if name in coded else "",
                f"{distinct:,}",
                100 * known[name].other_share,
            )


def _counts(
    rows: DataFrame, model: Any, values: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[int, int]]:
    """Rows with other values than these, and about how many values; and the number of all rows."""
    counts = [F.count(F.lit(1)), F.lit(0)]
    systems = {feature.name: feature for feature in model._features if feature.system}
    for name, known in values.items():
        text = _as_text(rows, name)
        other = F.when(~text.isin(list(known)), text)  # null for a missing value
        if name in systems:
            in_a_level = resolved_column(systems[name], text) != text
            other = F.when(~in_a_level, other)  # of a column and itself Spark warns about ==
        counts += [F.count(other), F.approx_count_distinct(other)]
    totals = list(rows.agg(*counts).collect()[0])
    names = ["rows", *values]
    return {name: (totals[2 * k], totals[2 * k + 1]) for k, name in enumerate(names)}


def _as_text(rows: DataFrame, name: str) -> Column:
    if isinstance(rows.schema[name].dataType, StringType):
        return column(name)
    return code_text(column(name))
