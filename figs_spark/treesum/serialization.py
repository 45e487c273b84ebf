"""TreeSum to versioned, strict JSON and back. No pickle, no NaN or Infinity literals."""

from __future__ import annotations

import json
import math
from typing import Any

from figs_spark.treesum.nodes import Feature, Node, Split, TreeSum

FORMAT = "figs_spark.treesum"
VERSION = 1


def to_json(model: TreeSum) -> str:
    return json.dumps(to_dict(model), allow_nan=False)


def from_json(text: str, source: str = "this text") -> TreeSum:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{source} is damaged: it is not JSON ({error}).") from error
    return from_dict(data, source)


def to_dict(model: TreeSum) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "features": [_feature_to_dict(f) for f in model.features],
        "constant": [_number(v) for v in model.constant],
        "losses": [_number(v) for v in model.losses],
        "trees": [_node_to_dict(tree) for tree in model.trees],
    }


def from_dict(data: Any, source: str = "this text") -> TreeSum:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{source} is not a figs_spark model: it has no format '{FORMAT}'.")
    if data.get("version") != VERSION:
        raise ValueError(
            f"{source} has format version {data.get('version')!r}; this figs_spark reads version "
            f"{VERSION}. Load it with the figs_spark release that wrote it."
        )
    try:
        model = TreeSum(
            features=tuple(_feature_from_dict(f) for f in data["features"]),
            trees=tuple(_node_from_dict(t) for t in data["trees"]),
            constant=tuple(float(v) for v in data["constant"]),
            losses=tuple(float(v) for v in data["losses"]),
        )
        _check(model)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        what = f"the entry {error} is missing" if isinstance(error, KeyError) else str(error)
        raise ValueError(f"{source} is damaged: {what}.") from error
    return model


def _check(model: TreeSum) -> None:
    if not model.trees:
        raise ValueError("it has no trees")
    nodes = [node for tree in model.trees for node in tree.walk()]
    if any(len(node.value) != model.outputs for node in nodes):
        raise ValueError(f"a node does not have {model.outputs} value(s)")
    for feature in model.features:
        if feature.labels is not None and len(feature.labels) != len(feature.categories or ()):
            raise ValueError(f"the feature '{feature.name}' has not one label for each category")
    if len({split.step for split in model.splits}) < len(model.splits):
        raise ValueError("two splits claim the same step")
    for split in model.splits:
        if not 0 <= split.feature < len(model.features):
            raise ValueError(f"a split names a feature outside the {len(model.features)} known")
        _check_split(model.features[split.feature], split)


def _check_split(feature: Feature, split: Split) -> None:
    if (split.threshold is None) != (feature.categories is not None):
        kind = "numeric" if feature.categories is None else "categorical"
        raise ValueError(f"the feature '{feature.name}' is {kind}, a split on it is not")
    if split.threshold is not None and math.isnan(split.threshold):
        raise ValueError(f"a split on '{feature.name}' has the threshold NaN")
    if unknown := set(split.categories or ()) - set(feature.categories or ()):
        raise ValueError(f"a split on '{feature.name}' lists unknown categories {unknown}")


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)


def _feature_to_dict(feature: Feature) -> dict[str, Any]:
    data: dict[str, Any] = {"name": feature.name}
    if feature.categories is not None:
        data["categories"] = [_category_to_json(c) for c in feature.categories]
    if feature.labels is not None:
        data["labels"] = list(feature.labels)
    return data


def _feature_from_dict(data: dict[str, Any]) -> Feature:
    categories, labels = data.get("categories"), data.get("labels")
    return Feature(
        name=str(data["name"]),
        categories=None if categories is None else tuple(map(_category_from_json, categories)),
        labels=None if labels is None else tuple(labels),
    )


def _category_to_json(category: Any) -> Any:
    """Numbers that JSON cannot hold become {"number": "inf"}, apart from the text "inf"."""
    if isinstance(category, float) and not math.isfinite(category):
        return {"number": str(category)}
    return category


def _category_from_json(value: Any) -> Any:
    if isinstance(value, dict):
        return float(value["number"])
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _node_to_dict(node: Node) -> dict[str, Any]:
    data: dict[str, Any] = {
        "value": [_number(v) for v in node.value],
        "rows": node.rows,
        "weight": _number(node.weight),
    }
    if branches := node.branches:
        split, left, right = branches
        data |= {
            "split": _split_to_dict(split),
            "left": _node_to_dict(left),
            "right": _node_to_dict(right),
        }
    return data


def _node_from_dict(data: dict[str, Any]) -> Node:
    node = Node(tuple(float(v) for v in data["value"]), int(data["rows"]), float(data["weight"]))
    if "split" not in data:
        return node
    return Node(
        value=node.value,
        rows=node.rows,
        weight=node.weight,
        split=_split_from_dict(data["split"]),
        left=_node_from_dict(data["left"]),
        right=_node_from_dict(data["right"]),
    )


def _split_to_dict(split: Split) -> dict[str, Any]:
    data: dict[str, Any] = {
        "feature": split.feature,
        "step": split.step,
        "gain": _number(split.gain),
        "missing_left": split.missing_left,
    }
    if split.threshold is not None:
        return data | {"threshold": _number(split.threshold)}
    listed = [_category_to_json(c) for c in split.categories or ()]
    return data | {"categories": listed, "listed_left": split.listed_left}


def _split_from_dict(data: dict[str, Any]) -> Split:
    categories = None
    if "threshold" not in data:
        categories = tuple(map(_category_from_json, data["categories"]))
    return Split(
        feature=int(data["feature"]),
        step=int(data["step"]),
        gain=float(data["gain"]),
        missing_left=bool(data["missing_left"]),
        threshold=float(data["threshold"]) if "threshold" in data else None,
        categories=categories,
        listed_left=bool(data.get("listed_left", True)),
    )
