"""The Params of G-FIGS: those of FIGS, and those about groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.ml import Estimator

from figs_spark.stages.gfigs.groups import group_name
from figs_spark.stages.params import catalogue
from figs_spark.stages.params.catalogue import composed
from figs_spark.stages.params.declared import Declared
from figs_spark.stages.params.values import choice, integer, text, texts

WEIGHTINGS = "membership", "shrink", "separate", "pooled"
MEMBERSHIP, SHRINK, SEPARATE, POOLED = WEIGHTINGS
ERROR, MIXTURE = "error", "mixture"


def sizes_by_group(value: Any) -> dict[str, int]:
    """{group: splits}; groups are kept as text, because JSON has no other names."""
    if not isinstance(value, Mapping):
        raise TypeError(f"a dict of groups and numbers of splits is needed, got {value!r}")
    return {group_name(group): integer(0)(splits) for group, splits in value.items()}


def classifier(value: Any) -> Any:
    """An estimator of pyspark.ml that gives probabilities."""
    needed = ("featuresCol", "labelCol", "probabilityCol")
    if not isinstance(value, Estimator) or not all(map(value.hasParam, needed)):
        raise TypeError(
            f"a pyspark.ml classifier with a probabilityCol is needed, such as LogisticRegression, "
            f"got {value!r}"
        )
    return value


def folds(value: Any) -> int:
    """0, or 2 and more."""
    count = integer(0)(value)
    if count == 1:
        raise ValueError("0 (no folds) or at least 2 folds are needed, got 1")
    return count


GROUP_COL = Declared(
    "groupCol", "group", text, "column with the group of a row: a string, an integer or a boolean"
)
WEIGHTING = Declared(
    "weighting",
    MEMBERSHIP,
    choice(*WEIGHTINGS),
    "the weight of a row in the model of a group: 'membership', the probability that it belongs to "
    "the group (G-FIGS); 'separate', 1 in its own group and 0 in others; 'pooled', 1: one model "
    "for all; 'shrink', as 'pooled', but each group has its own values, drawn to those of all rows",
)
BY_GROUP = Declared(
    "maxSplitsByGroup",
    None,
    sizes_by_group,
    "{group: splits} for groups with another maxSplits than the rest; groups are kept as text",
    accepts="Mapping[Any, int]",
)
UNSEEN_GROUP = Declared(
    "unseenGroup",
    ERROR,
    choice(ERROR, MIXTURE),
    "what to do with a row whose group is null or new: 'error'; or 'mixture', the mean of the "
    "predictions for the groups, weighted by their probabilities (needs the membership features)",
)
MEMBERSHIP_ESTIMATOR = Declared(
    "membershipEstimator",
    None,
    classifier,
    "classifier of groups, any of pyspark.ml with probabilities; the fit sets its columns. None: "
    "LogisticRegression(regParam=0.01)",
)
MEMBERSHIP_FEATURES = Declared(
    "membershipFeaturesCols",
    None,
    texts,
    "columns (numeric, boolean, string) to estimate the group from, also from missing values; not "
    "set: the features",
    accepts=catalogue.TEXTS,
)
MEMBERSHIP_EXCLUDE = Declared(
    "membershipExcludeCols",
    None,
    texts,
    "membership features to leave out: columns that define the group, such as the age",
    accepts=catalogue.TEXTS,
)
MEMBERSHIP_FOLDS = Declared(
    "membershipFolds",
    0,
    folds,
    "0: one classifier, fitted on all rows, gives the weights; 2 or more: the weights of a fold "
    "come from a classifier that was fitted on the other folds",
)
MEMBERSHIP_FOLD_COL = Declared(
    "membershipFoldCol",
    None,
    text,
    "column that keeps rows in one fold: equal values, such as those of a patient, share a fold; "
    "not set: only equal rows do",
)
MEMBERSHIP_PROBABILITY = Declared(
    "membershipProbabilityCol",
    None,
    text,
    "array or vector column with your own probabilities from 0 to 1, one per group in the order of "
    "the sorted groups; then none are estimated",
)

GROUPING = (
    GROUP_COL,
    WEIGHTING,
    BY_GROUP,
    UNSEEN_GROUP,
    MEMBERSHIP_FEATURES,
    MEMBERSHIP_EXCLUDE,
    MEMBERSHIP_FOLDS,
    MEMBERSHIP_FOLD_COL,
    MEMBERSHIP_PROBABILITY,
)
_WITHOUT = (catalogue.VALIDATION_COL, *catalogue.INTERVALS)
REGRESSION = composed(catalogue.FIGS_REGRESSION, _WITHOUT, more=GROUPING)
CLASSIFICATION = composed(catalogue.FIGS_CLASSIFICATION, _WITHOUT, more=GROUPING)
