"""TreeSum to versioned, strict JSON and back. No pickle, no NaN or Infinity literals.

`to_dict` is the model alone. `to_json` adds the format, its version and the fingerprint, which
`from_json` checks. Version 1, of figs_spark 0.1, has no fingerprint; it is read as strictly.
Numbers are finite, except a threshold (a split by missing alone has one of "inf") and a loss.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from figs_spark.treesum.code_systems import is_system
from figs_spark.treesum.nodes import (
    BOOLEAN,
    IDENTITY,
    LOGIT,
    NUMBER,
    SOFTMAX,
    TEXT,
    Category,
    Coefficients,
    Feature,
    Node,
    Split,
    TreeSum,
    kind_of,
)
from figs_spark.treesum.prediction import MOST_LOG_ODDS
from figs_spark.treesum.strict_json import Entry, digest, parse, plain, shown
from figs_spark.treesum.times import TIMES

FORMAT = "figs_spark.treesum"
VERSION = 2
WITHOUT_FINGERPRINT = 1
MAX_DEPTH = 250  # of a tree: what walks over it recurses


def to_json(model: TreeSum) -> str:
    """Text that `from_json` takes; a ValueError if the model is one that could not be read."""
    data = to_dict(model)
    from_dict(data, "The model")
    head = {"format": FORMAT, "version": VERSION, "fingerprint": digest(data)}
    return json.dumps(head | data, allow_nan=False)


def from_json(text: str, source: str = "this text") -> TreeSum:
    data = parse(text, source)
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ValueError(f"{source} is not a figs_spark model: it has no format '{FORMAT}'.")
    if is_version(data.get("version"), WITHOUT_FINGERPRINT):
        return from_dict(data, source)
    check_version(data.get("version"), source)
    body = {k: v for k, v in data.items() if k not in ("format", "version", "fingerprint")}
    model = from_dict(body, source)
    check_fingerprint(data.get("fingerprint"), digest(body), source)
    return model


def is_version(saved: Any, version: int) -> bool:
    return type(saved) is int and saved == version


def check_version(version: Any, source: str) -> None:
    if not is_version(version, VERSION):
        raise ValueError(
            f"{source} has format version {shown(version)}; this figs_spark reads the versions "
            f"{WITHOUT_FINGERPRINT} and {VERSION}. Load it with the figs_spark release that wrote "
            f"it."
        )


def check_fingerprint(saved: Any, computed: str, source: str) -> None:
    if saved != computed:
        raise ValueError(
            f"{source} is damaged: its entry 'fingerprint' is {saved!r:.80}, and what it holds has "
            f"the fingerprint {computed!r}. It was changed after it was saved; take another copy."
        )


def to_dict(model: TreeSum) -> dict[str, Any]:
    """The model as plain data, from which its fingerprint is computed."""
    data: dict[str, Any] = {
        "features": [_feature_to_dict(f) for f in model.features],
        "constant": [plain(v) for v in model.constant],
        "losses": [plain(v) for v in model.losses],
        "trees": [_node_to_dict(tree) for tree in model.trees],
    }
    if model.link != IDENTITY:
        data["link"] = model.link
    if model.path is not None:
        data["path"] = [[[plain(v) for v in b] for b in size] for size in model.path]
    if model.remarks:
        data["remarks"] = list(model.remarks)
    if model.samples is not None:
        data["samples"] = [[[plain(v) for v in b] for b in one] for one in model.samples]
    return data


def from_dict(data: Any, source: str = "this text", path: str = "") -> TreeSum:
    """What `to_dict` gave; `path` is its place in the file. In version 1 it says its format."""
    entry = Entry(data, source, path)
    head = ("format", "version") if "format" in entry.object() else ()
    later = () if head else ("link", "path", "remarks", "samples")
    fields = entry.fields((*head, "features", "constant", "losses", "trees"), later)
    if head and data["format"] != FORMAT:
        fields["format"].refuse(repr(FORMAT))
    if head and not is_version(data["version"], WITHOUT_FINGERPRINT):
        fields["version"].refuse(str(WITHOUT_FINGERPRINT))
    model = TreeSum(
        features=_features(fields["features"]),
        trees=tuple(_tree(tree) for tree in fields["trees"].items()),
        constant=fields["constant"].numbers(),
        losses=fields["losses"].numbers("inf", low=0.0),
    )
    _check(model, fields)
    return _with_later_entries(model, fields)


def _with_later_entries(model: TreeSum, fields: dict[str, Entry]) -> TreeSum:
    """What models have that are no plain FIGS: a link, a path of coefficients, remarks."""
    if "remarks" in fields:
        remarks = tuple(item.text() for item in fields["remarks"].items())
        model = replace(model, remarks=remarks)
    if "link" in fields:
        if fields["link"].value not in (LOGIT, SOFTMAX):
            fields["link"].refuse(f"{LOGIT!r} or {SOFTMAX!r}")
        model = replace(model, link=fields["link"].value)
        _check_logarithms(model, fields["trees"])
    if "path" in fields:
        path = tuple(_coefficients(item, model, k) for k, item in _sizes(fields["path"], model))
        weights = [n.weight for tree in model.trees for n in tree.walk()]
        valued = model.with_path(path) if min(weights) > 0 else None
        if valued is None or (valued.trees, valued.constant) != (model.trees, model.constant):
            fields["path"].damaged("the coefficients give other values than those of the trees")
        model = valued
    if "samples" in fields:
        size, items = len(model.splits), fields["samples"].items()
        samples = tuple(_coefficients(item, model, size) for item in items)
        if not samples or min(n.weight for tree in model.trees for n in tree.walk()) <= 0:
            fields["samples"].damaged("there are no samples, or nodes without weight")
        model = replace(model, samples=samples)
    return model


def _check_logarithms(model: TreeSum, entry: Entry) -> None:
    largest = sum(max(abs(v) for n in tree.leaves() for v in n.value) for tree in model.trees)
    if (model.link == LOGIT) != (model.outputs == 1) or not largest <= MOST_LOG_ODDS:
        number, what = ("one", "log odds") if model.link == LOGIT else ("several", "log weights")
        most = f"{MOST_LOG_ODDS:g}"
        entry.damaged(f"{what} are {number} value{'s' * (number != 'one')} from -{most} to {most}")


def _sizes(entry: Entry, model: TreeSum) -> list[tuple[int, Entry]]:
    if len(entry.items()) != len(model.losses):
        entry.damaged(f"there are not {len(model.losses)} sizes")
    return list(enumerate(entry.items()))


def _coefficients(entry: Entry, model: TreeSum, splits: int) -> Coefficients:
    """The constant and one coefficient per split, of each output."""
    found = tuple(item.numbers() for item in entry.items())
    if [len(own) for own in found] != [model.outputs] * (splits + 1):
        entry.damaged(f"there are not {splits + 1} coefficients of {model.outputs} output(s)")
    return found


# Features


def _feature_to_dict(feature: Feature) -> dict[str, Any]:
    data: dict[str, Any] = {"name": feature.name}
    if feature.categories is not None:
        data["categories"] = [_category_to_json(c) for c in feature.categories]
    if feature.labels is not None:
        data["labels"] = list(feature.labels)
    if feature.kind != kind_of(feature.categories):
        data["kind"] = feature.kind
    if feature.others:
        data["others"] = feature.others
    if feature.ordered:
        data["ordered"] = True
    if feature.system:
        data["system"] = feature.system
    return data


def _features(entry: Entry) -> tuple[Feature, ...]:
    features = [_feature(item) for item in entry.items()]
    entry.distinct([feature.name for feature in features])
    return tuple(features)


def _feature(entry: Entry) -> Feature:
    fields = entry.fields(["name"], ["categories", "labels", "kind", "others", "ordered", "system"])
    categories, labels = None, None
    if "categories" in fields:
        categories = _categories(fields["categories"])
    if "labels" in fields:
        labels = tuple(item.text() for item in fields["labels"].items())
        if len(labels) != len(categories or ()):
            entry.damaged("there is not one label for each category")
    kind = ""
    if "kind" in fields:
        kind = fields["kind"].text()
        if not (categories == () and kind == TEXT) and not (categories is None and kind in TIMES):
            fields["kind"].refuse(f"'{TEXT}' without categories, or one of {', '.join(TIMES)},")
    others = fields["others"].integer(1, 2**63 - 1) if "others" in fields else 0
    if others and kind_of(categories) in (NUMBER, BOOLEAN):
        fields["others"].refuse("no such entry for numbers and booleans")
    ordered = "ordered" in fields and fields["ordered"].boolean()
    if ordered and (kind or kind_of(categories)) != TEXT:
        fields["ordered"].refuse("no such entry for anything but text")
    system = fields["system"].text() if "system" in fields else ""
    if system and not (is_system(system) and (kind or kind_of(categories)) == TEXT):
        fields["system"].refuse("a known system of codes, for text")
    return Feature(fields["name"].text(), categories, labels, kind, others, ordered, system)


def _category_to_json(category: Category) -> Any:
    """Numbers that JSON cannot hold become {"number": "inf"}, apart from the text "inf"."""
    text = plain(category) if isinstance(category, float) else category
    return {"number": text} if isinstance(category, float) and text is not category else category


def _categories(entry: Entry) -> tuple[Category, ...]:
    """Texts, booleans or numbers, all of one kind."""
    categories = [_category(item) for item in entry.items()]
    if len(set(map(type, categories))) > 1:
        entry.damaged("texts, booleans and numbers are mixed")
    return entry.distinct(categories)


def _category(entry: Entry) -> Category:
    if isinstance(entry.value, (str, bool)):
        return entry.text() if isinstance(entry.value, str) else entry.boolean()
    if isinstance(entry.value, dict):
        number = entry.fields(["number"])["number"]
        return number.number("inf", "-inf")
    return entry.number()


# Trees


def _node_to_dict(node: Node) -> dict[str, Any]:
    data: dict[str, Any] = {
        "value": [plain(v) for v in node.value],
        "rows": node.rows,
        "weight": plain(node.weight),
    }
    if node.own_rows is not None:
        data["own_rows"] = node.own_rows
    if branches := node.branches:
        split, left, right = branches
        data |= {
            "split": _split_to_dict(split),
            "left": _node_to_dict(left),
            "right": _node_to_dict(right),
        }
    return data


def _tree(root: Entry) -> Node:
    """Without recursion: every node is read before its children, and built after them."""
    pending, read = [(root, 0)], []
    while pending:
        entry, depth = pending.pop()
        if depth > MAX_DEPTH:
            root.damaged(f"there are more than {MAX_DEPTH} levels")
        inner = ("split", "left", "right") if "split" in entry.object() else ()
        fields = entry.fields(("value", "rows", "weight", *inner), ("own_rows",))
        own = fields["own_rows"].integer(0, 2**63 - 1) if "own_rows" in fields else None
        node = Node(
            value=fields["value"].numbers(),
            rows=fields["rows"].integer(0, 2**63 - 1),
            weight=fields["weight"].number(low=0.0),
            split=_split(fields["split"]) if inner else None,
            own_rows=own,
        )
        read.append(node)
        pending += [(fields[name], depth + 1) for name in reversed(inner[1:])]
    built: list[Node] = []
    for node in reversed(read):
        if node.split is not None:
            node = replace(node, left=built.pop(), right=built.pop())
        built.append(node)
    return built[0]


def _split_to_dict(split: Split) -> dict[str, Any]:
    data: dict[str, Any] = {
        "feature": split.feature,
        "step": split.step,
        "gain": plain(split.gain),
        "missing_left": split.missing_left,
    }
    if split.threshold is not None:
        return data | {"threshold": plain(split.threshold)}
    listed = [_category_to_json(c) for c in split.categories or ()]
    return data | {"categories": listed, "listed_left": split.listed_left}


def _split(entry: Entry) -> Split:
    numeric = "threshold" in entry.object()
    own = ("threshold",) if numeric else ("categories", "listed_left")
    fields = entry.fields(("feature", "step", "gain", "missing_left", *own))
    return Split(
        feature=fields["feature"].integer(0),
        step=fields["step"].integer(0),
        gain=fields["gain"].number(),
        missing_left=fields["missing_left"].boolean(),
        threshold=fields["threshold"].number("inf", "-inf") if numeric else None,
        categories=None if numeric else _categories(fields["categories"]),
        listed_left=True if numeric else fields["listed_left"].boolean(),
    )


# What must fit together


def _check(model: TreeSum, fields: dict[str, Entry]) -> None:
    trees = fields["trees"]
    if not model.trees or not model.constant:
        trees.damaged("there are no trees, or none of their values")
    for tree, entry in zip(model.trees, trees.items(), strict=True):
        _check_tree(model, tree, entry)
    splits = model.splits
    if [split.step for split in splits] != list(range(len(splits))):
        trees.damaged(f"the steps of the {len(splits)} splits are not 0, 1, 2, ..., each once,")
    if len(model.losses) != len(splits) + 1:
        fields["losses"].damaged(
            f"there are {len(model.losses)} losses for {len(splits)} splits, not one more than them"
        )


def _check_tree(model: TreeSum, tree: Node, entry: Entry) -> None:
    for node in tree.walk():
        if len(node.value) != model.outputs:
            entry.damaged(f"a node does not have {model.outputs} value(s)")
        if branches := node.branches:
            split, *children = branches
            if any(child.split and child.split.step < split.step for child in children):
                entry.damaged(f"a split comes before the one above it, of step {split.step},")
            _check_split(model.features, split, entry)


def _check_split(features: tuple[Feature, ...], split: Split, entry: Entry) -> None:
    if split.feature >= len(features):
        entry.damaged(f"step {split.step} splits feature {split.feature} of {len(features)}")
    feature = features[split.feature]
    if (split.threshold is None) != (feature.categories is not None):
        kind = "numeric" if feature.categories is None else "categorical"
        entry.damaged(f"the feature {shown(feature.name)} is {kind}, and step {split.step} is not")
    listed = set(split.categories or ())
    if unknown := listed - set(feature.categories or ()):
        first = shown(min(unknown, key=str))
        entry.damaged(f"a split on {shown(feature.name)} lists the unknown category {first}")
    if split.categories and type(split.categories[0]) is not type((feature.categories or ("",))[0]):
        entry.damaged(f"a split on {shown(feature.name)} lists categories of another type")
