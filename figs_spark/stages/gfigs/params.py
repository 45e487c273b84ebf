"""The Params that G-FIGS has besides those of FIGS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.ml import Estimator

from figs_spark.stages.gfigs.groups import group_name
from figs_spark.stages.params import catalogue
from figs_spark.stages.params.catalogue import composed
from figs_spark.stages.params.declared import Declared
from figs_spark.stages.params.values import choice, integer, text, texts

MEMBERSHIP, SEPARATE, POOLED = "membership", "separate", "pooled"
ERROR, MIXTURE = "error", "mixture"


def sizes_by_group(value: Any) -> dict[str, int]:
    """{group: splits}; groups are kept as text, as they are in JSON."""
    if not isinstance(value, Mapping):
        raise TypeError(f"a map of groups to numbers of splits is needed, got {value!r}")
    return {group_name(group): integer(0)(splits) for group, splits in value.items()}


def classifier(value: Any) -> Any:
    needed = ("featuresCol", "labelCol", "probabilityCol")
    if not isinstance(value, Estimator) or not all(map(value.hasParam, needed)):
        raise TypeError(
            f"a pyspark.ml classifier with a probabilityCol is needed, such as LogisticRegression, "
            f"got {value!r}"
        )
    return value


def folds(value: Any) -> int:
    found = integer(0)(value)
    if found == 1:
        raise ValueError("0, for none, or at least 2 folds are needed, got 1")
    return found


GROUP_COL = Declared(
    "groupCol", "group", text, "column with the group of a row: text, an integer or a truth value"
)
WEIGHTING = Declared(
    "weighting",
    MEMBERSHIP,
    choice(MEMBERSHIP, SEPARATE, POOLED),
    "what a row weighs in the model of a group: 'membership', the probability that it belongs to "
    "it (G-FIGS); 'separate', 1 in its own group and 0 in others; 'pooled', 1: one model for all",
)
BY_GROUP = Declared(
    "maxSplitsByGroup",
    None,
    sizes_by_group,
    "{group: splits}, for groups with another maxSplits than the rest; groups are kept as text",
)
UNSEEN_GROUP = Declared(
    "unseenGroup",
    ERROR,
    choice(ERROR, MIXTURE),
    "a row whose group is null or new: 'error', or 'mixture', the mean of the predictions for the "
    "groups, weighted by their probabilities (the membership features are needed)",
)
MEMBERSHIP_ESTIMATOR = Declared(
    "membershipEstimator",
    None,
    classifier,
    "classifier of groups, any of pyspark.ml with probabilities; its columns are set by the fit. "
    "None: LogisticRegression(regParam=0.01)",
)
MEMBERSHIP_FEATURES = Declared(
    "membershipFeaturesCols",
    None,
    texts,
    "columns (numeric, boolean, string) that tell the group, missing values included; not set: the "
    "features",
)
MEMBERSHIP_EXCLUDE = Declared(
    "membershipExcludeCols",
    None,
    texts,
    "membership features to leave out: those that give the group away, such as the age",
)
MEMBERSHIP_FOLDS = Declared(
    "membershipFolds",
    0,
    folds,
    "0: the classifier that was fitted on all rows weights them; 2 or more: each fold of rows is "
    "weighted by a classifier that was fitted on the others",
)
MEMBERSHIP_FOLD_COL = Declared(
    "membershipFoldCol",
    None,
    text,
    "rows with equal values, such as those of a patient, are in the same fold; not set: equal rows",
)
MEMBERSHIP_PROBABILITY = Declared(
    "membershipProbabilityCol",
    None,
    text,
    "array or vector column with probabilities of your own, from 0 to 1, one per group in the "
    "order of the sorted groups; none are estimated then",
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
REGRESSION = composed(catalogue.FIGS_REGRESSION, (catalogue.VALIDATION_COL,), more=GROUPING)
CLASSIFICATION = composed(catalogue.FIGS_CLASSIFICATION, (catalogue.VALIDATION_COL,), more=GROUPING)
