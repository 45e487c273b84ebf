"""Constraints from Params to the engine; what contradicts is named, all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from figs_spark.dataframes.columns import listed
from figs_spark.engine.bins import CutRule
from figs_spark.engine.constraints import Constraints
from figs_spark.engine.table import Table
from figs_spark.treesum import Feature
from figs_spark.treesum.levels import LevelFeature

NAMING = ("monotone", "forbidden", "required", "interactionGroups", "featureCosts", "allowedCuts")


def read_constraints(stage: Any, table: Table) -> Constraints | None:
    """The constraints of an estimator, which can hold; None if there are none."""
    get, features = stage.getOrDefault, table.features
    place = {feature.name: j for j, feature in enumerate(features)}
    levels = _with_levels(features)
    signs, costs = get("monotone") or {}, get("featureCosts") or {}
    constraints = Constraints(
        monotone=tuple(signs.get(name, 0) for name in place) if signs else (),
        forbidden=frozenset(j for name in get("forbidden") or () for j in levels[name]),
        required=tuple(sorted(place[name] for name in set(get("required") or ()))),
        groups=tuple(
            frozenset(j for n in g for j in levels[n]) for g in get("interactionGroups") or ()
        ),
        costs=tuple(costs.get(_column(f), 0.0) for f in features) if costs else (),
        new_feature_penalty=get("newFeaturePenalty"),
        max_features=get("maxFeatures"),
    )
    return None if constraints == Constraints() else constraints


def _column(feature: Feature) -> str:
    return feature.source if isinstance(feature, LevelFeature) else feature.name


def _with_levels(features: Sequence[Feature]) -> dict[str, list[int]]:
    """The places of each column: of codes also those of their levels."""
    places: dict[str, list[int]] = {}
    for j, feature in enumerate(features):
        places.setdefault(_column(feature), []).append(j)
    return places


def allowed_cuts(stage: Any, features: Sequence[Feature]) -> dict[int, CutRule]:
    """The cuts of features that may not be cut anywhere; unknown names are told later."""
    rules = stage.getOrDefault("allowedCuts") or {}
    place = {feature.name: j for j, feature in enumerate(features) if feature.categories is None}
    return {
        place[name]: rule if isinstance(rule, float) else tuple(rule)
        for name, rule in rules.items()
        if name in place
    }


def constraint_problems(stage: Any, table: Table) -> Iterator[str]:
    """Why constraints cannot hold."""
    features, classes = table.features, table.target.classes
    yield from _unknown(stage, list(_with_levels(features)))
    yield from _of_kinds(stage, features, classes)
    yield from _contradictions(stage, features)


def _unknown(stage: Any, names: list[str]) -> Iterator[str]:
    for param in NAMING:
        value = stage.getOrDefault(param) or ()
        named = [n for group in value for n in group] if param == "interactionGroups" else value
        if unknown := sorted(set(named) - set(names)):
            yield (
                f"{param} names {listed(unknown)}, which are not among the {len(names)} features "
                f"{listed(names)}. Name features only."
            )


def _of_kinds(stage: Any, features: Sequence[Feature], classes: int) -> Iterator[str]:
    """What needs numbers, or one score."""
    categorical = {feature.name for feature in features if feature.categories is not None}
    for param in ("monotone", "allowedCuts"):
        if wrong := sorted(set(stage.getOrDefault(param) or ()) & categorical):
            yield (
                f"{param} names {listed(wrong)}, which are split as sets of categories and have no "
                f"order. Name numeric features only."
            )
    if stage.getOrDefault("monotone") and classes > 2:
        yield (
            f"monotone is for numbers and two classes, and column "
            f"'{stage.getOrDefault('labelCol')}' (labelCol) has {classes} classes. Leave it out."
        )
    most = stage.getOrDefault("maxBins") - 1
    for name, rule in (stage.getOrDefault("allowedCuts") or {}).items():
        if isinstance(rule, list) and len(rule) > most:
            yield (
                f"allowedCuts has {len(rule)} cuts of '{name}', and maxBins allows {most}. Name "
                f"fewer, or a unit."
            )


def _contradictions(stage: Any, features: Sequence[Feature]) -> Iterator[str]:
    get = stage.getOrDefault
    required, forbidden = set(get("required") or ()), set(get("forbidden") or ())
    if both := sorted(required & forbidden):
        yield f"{listed(both)} are both required and forbidden. Take them off one of the lists."
    if set(_with_levels(features)) <= forbidden:
        yield f"forbidden names all {len(forbidden)} features. Leave one at least."
    for param, thing in (("maxSplits", "splits"), ("maxFeatures", "features")):
        if required and get(param) is not None and get(param) < len(required):
            yield (
                f"required names {len(required)} features, and {param} allows {get(param)} "
                f"{thing}. Raise {param}, or require fewer."
            )
    groups, trees = get("interactionGroups"), get("maxTrees")
    if groups and trees is not None and _trees_needed(required, groups) > trees:
        yield (
            f"The required features {listed(sorted(required))} cannot share {trees} tree(s) by "
            f"interactionGroups. Raise maxTrees, or put them in one group."
        )


def _trees_needed(required: set[str], groups: Sequence[Sequence[str]]) -> int:
    """A lower bound: 0, 1, or 2 if no group holds all."""
    if not required:
        return 0
    alone = len(required) == 1
    return 1 if alone or any(required <= set(group) for group in groups) else 2
