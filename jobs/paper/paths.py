"""Models made of rules at each number of splits: FIGS, and those of imodels and scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from figs_spark.engine.bins import bin_feature
from figs_spark.treesum import Feature
from jobs.paper.estimators import forest, grow, predicted, quiet
from jobs.paper.tables import Numbers, Sample

Sized = Iterator[tuple[int, Numbers]]  # number of splits, and the scores of the rows to predict
Fit = Callable[[SparkSession, Sample, Numbers, Sequence[int]], Sized]
MAX_BINS = 255  # of our estimators


def figs(spark: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    """One fit: the model of each size is the beginning of the largest one."""
    model = grow(spark, train, maxSplits=max(sizes))
    for size in sizes:
        yield size, model.truncate(size).treeSum.predict(values)[:, -1]


def imodels_figs(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    """One fit, looked at after each split: what a fit with so many rules would be.

    Ties are broken at random by the stumps of scikit-learn; the seed makes it the same each time.
    """
    import imodels

    found: list[Numbers] = []
    kind: Any = imodels.FIGSClassifier if train.binary else imodels.FIGSRegressor

    class Watched(kind):
        def _fit_candidate_stumps(self, *args: Any, **kwargs: Any) -> Any:
            sums = sum(self._predict_tree(tree, values) for tree in self.trees_)
            found.append(np.asarray(sums, float)[:, -1])
            return super()._fit_candidate_stumps(*args, **kwargs)

    np.random.seed(0)  # noqa: NPY002
    Watched(max_rules=max(sizes)).fit(train.features, train.outcome)
    for size in sizes:
        yield size, found[min(size, len(found)) - 1]


def imodels_in_bins(
    spark: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]
) -> Sized:
    """imodels on the bins of our FIGS, where a feature has more values than bins."""
    features, rows = train.features.copy(), values.copy()
    for j, column in enumerate(train.features.T):
        if _is_binned(column):
            edges = bin_feature(column, Feature(f"x{j}"), MAX_BINS).edges
            features[:, j], rows[:, j] = (np.searchsorted(edges, v[:, j]) for v in (features, rows))
    yield from imodels_figs(spark, Sample(features, train.outcome), rows, sizes)


def _is_binned(column: Numbers) -> bool:
    return len(np.unique(column)) > MAX_BINS


def binned(train: Sample) -> int:
    """How many features have more values than our estimators have bins."""
    return sum(map(_is_binned, train.features.T))


def cart(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    yield from _trees(train, values, sizes)


def cart_absolute(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    if not train.binary:
        yield from _trees(train, values, sizes, criterion="absolute_error")


def _trees(train: Sample, values: Numbers, sizes: Sequence[int], **params: Any) -> Sized:
    kind = DecisionTreeClassifier if train.binary else DecisionTreeRegressor
    for size in sizes:
        model = kind(max_leaf_nodes=size + 1, random_state=0, **params)
        yield size, predicted(model.fit(train.features, train.outcome), values, train.binary)


def c45(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    """imodels' C4.5; a size is that of the tree as grown, which may be above the limit."""
    import imodels

    if not train.binary:
        return
    with quiet():
        for limit in sizes:
            model = imodels.C45TreeClassifier(max_rules=limit).fit(train.features, train.outcome)
            yield int(model.complexity_), predicted(model, values, True)


def boosted_stumps(rate: float) -> Fit:
    """Of scikit-learn, with this learning rate; its default is 0.1, without shrinking it is 1."""

    def fit(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
        kind = GradientBoostingClassifier if train.binary else GradientBoostingRegressor
        model = kind(max_depth=1, n_estimators=max(sizes), learning_rate=rate, random_state=0)
        model.fit(train.features, train.outcome)
        stages = model.staged_predict_proba if train.binary else model.staged_predict
        for size, scores in enumerate(stages(values), start=1):
            if size in sizes:
                yield size, scores[:, 1] if train.binary else scores

    return fit


def rulefit(_: SparkSession, train: Sample, values: Numbers, sizes: Sequence[int]) -> Sized:
    """With the settings of the published experiment; a size is the number of conditions."""
    import imodels

    kind = imodels.RuleFitClassifier if train.binary else imodels.RuleFitRegressor
    alpha = 1 if train.binary else 0.15
    for trees in range(1, 11):
        model = kind(
            n_estimators=trees, max_rules=None, include_linear=False, alpha=alpha, random_state=0
        )
        with quiet():
            model.fit(train.features, train.outcome)
        size = int(model.complexity_)
        if 0 < size <= max(sizes):
            yield size, predicted(model, values, train.binary)


def random_forest(_: SparkSession, train: Sample, values: Numbers, __: Sequence[int]) -> Sized:
    """Of any size: it is reported as 0 splits."""
    yield 0, forest(train, values)
