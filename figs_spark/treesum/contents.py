"""What a fitted stage saves beside its Params, read strictly: sums of trees, classes, groups.

The stages and the models that MLflow serves without Spark read it by the same functions.
"""

from __future__ import annotations

from typing import Any

from figs_spark.treesum.nodes import IDENTITY, LOGIT, TreeSum
from figs_spark.treesum.prediction import Outcome, logistic_link
from figs_spark.treesum.serialization import from_dict
from figs_spark.treesum.strict_json import Entry

MAX_CLASSES = 255

Group = str | int | bool


def read_sum(contents: dict[str, Any], source: str) -> TreeSum:
    """The sum of trees of a FIGS."""
    return _sum(_required(contents, "treeSum", source))


def read_members(contents: dict[str, Any], source: str) -> tuple[TreeSum, ...]:
    """The members of an ensemble, which share their features and outputs."""
    return _sums(_required(contents, "members", source))


def read_groups(
    contents: dict[str, Any], source: str
) -> tuple[dict[Group, TreeSum], dict[Group, float]]:
    """The sum of each group, and its effective sample size."""
    entry = _required(contents, "groups", source)
    groups = [item.value for item in entry.items()]
    if len({type(group) for group in groups}) != 1 or type(groups[0]) not in (str, int, bool):
        entry.refuse("a list of texts, of whole numbers or of booleans")
    groups = [_group(item) for item in entry.items()]
    entry.distinct(groups)
    sums = _sums(_required(contents, "models", source))
    sizes = _required(contents, "effectiveSampleSizes", source).numbers(low=0.0)
    if not len(groups) == len(sums) == len(sizes):
        entry.damaged(
            f"there are {len(groups)} groups, {len(sums)} models and {len(sizes)} sizes, not as "
            f"many of each,"
        )
    return dict(zip(groups, sums)), dict(zip(groups, sizes))


def read_classes(
    contents: dict[str, Any], model: TreeSum, classification: bool, source: str
) -> tuple[int, tuple[str, ...] | None]:
    """The number of classes, 0 for a number as outcome, and their names; `model` is a sum."""
    entry = _required(contents, "classes", source)
    classes = entry.integer(0, MAX_CLASSES)
    if classes == 1 or (classes > 0) != classification:
        entry.refuse(f"a number from 2 to {MAX_CLASSES}" if classification else "0")
    if Outcome(classes).outputs != model.outputs:
        entry.damaged(f"there are {classes} classes, and a leaf has {model.outputs} value(s),")
    if model.link not in (IDENTITY, logistic_link(classes) if classes else IDENTITY):
        scores = "log odds of two" if model.link == LOGIT else "log weights of more than two"
        entry.damaged(f"the scores are {scores} classes, and there are {classes} classes,")
    names = _required(contents, "classNames", source)
    if names.value is None:
        return classes, None
    if len(names.texts()) != classes:
        names.damaged(f"there are {len(names.texts())} names for {classes} classes")
    return classes, names.texts()


def check_names(names: Any, features: int, source: str) -> None:
    """As many names of columns (featuresCols) as there are features; None if there are none."""
    if names is not None and len(names) != features:
        raise ValueError(
            f"{source} is damaged: featuresCols names {len(names)} columns, and the model has "
            f"{features} features."
        )


def check_thresholds(thresholds: Any, classes: int, source: str) -> None:
    if thresholds is not None and len(thresholds) != classes:
        raise ValueError(
            f"{source} is damaged: thresholds has {len(thresholds)} values for {classes} classes."
        )


def _required(contents: dict[str, Any], name: str, source: str) -> Entry:
    whole = Entry(contents, source)
    if name not in whole.object():
        whole.damaged(f"the entry '{name}' is missing")
    return whole.inner(name)


def _group(entry: Entry) -> Group:
    if isinstance(entry.value, str):
        return entry.text()
    return entry.boolean() if isinstance(entry.value, bool) else entry.integer(-(2**63), 2**63 - 1)


def _sum(entry: Entry) -> TreeSum:
    return from_dict(entry.value, entry.source, entry.path)


def _sums(entry: Entry) -> tuple[TreeSum, ...]:
    sums = tuple(_sum(item) for item in entry.items())
    if not sums:
        entry.refuse("at least one sum of trees")
    for number, other in enumerate(sums[1:], start=1):
        alike = ("features", "outputs", "link")
        if any(getattr(other, name) != getattr(sums[0], name) for name in alike):
            entry.items()[number].damaged(
                "the features, outputs or link differ from those of the first"
            )
    return sums
