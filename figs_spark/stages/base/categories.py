"""The categories of text features, read from the rows of a training set."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from figs_spark.dataframes.columns import column
from figs_spark.engine.bins import TooManyCategories
from figs_spark.stages.base.inputs import Inputs
from figs_spark.stages.base.row_counts import Counts
from figs_spark.treesum import Feature


def with_categories(
    dataset: DataFrame, inputs: Inputs, total: Counts, max_bins: int
) -> tuple[Feature, ...]:
    """The features; text columns with all their categories, in alphabetical order."""
    text = [j for j, is_text in enumerate(inputs.is_text) if is_text]
    if not text:
        return inputs.features
    for j in text:
        if total[f"categories_{j}"] > 2 * max_bins:
            name = inputs.features[j].name
            count = dataset.select(F.count_distinct(column(name))).collect()[0][0]
            raise TooManyCategories(name, count, max_bins)
    sets = dataset.select(*(F.collect_set(column(inputs.features[j].name)) for j in text))
    features = list(inputs.features)
    for j, categories in zip(text, sets.collect()[0], strict=True):
        if len(categories) > max_bins:
            raise TooManyCategories(features[j].name, len(categories), max_bins)
        features[j] = replace(features[j], categories=tuple(sorted(categories)) or ("",))
    return tuple(features)
