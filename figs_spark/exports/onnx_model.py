"""The model as ONNX: TreeEnsemble of ai.onnx.ml 5 in double, text by LabelEncoder.

The inputs are the columns, each of shape (rows, 1). Numbers, codes and booleans are double, NaN for
missing; text is text, and a missing one is given as the text in the property `missing_text`.
Every tree writes to an output of its own, and the trees are added in the order of `add_in_runs`,
so the scores are those of `TreeSum.predict` to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import numpy as np

from figs_spark.exports.instrument import Instrument
from figs_spark.treesum import Feature, Node, Split
from figs_spark.treesum.nodes import BOOLEAN, CODE, TEXT, add_in_runs

OPSET, ML_OPSET, IR_VERSION = 18, 5, 10
LESS_OR_EQUAL, MEMBER = 0, 6  # modes of a node
SUM, NO_TRANSFORM = 1, 0
UNKNOWN, NOBODY = -1.0, -2.0  # the place of an unknown category, and of none
MISSING_TEXT = ""


def to_onnx(model: Instrument, proof: str = "not verified") -> bytes:
    """A serialised ONNX model; `proof` says whether and how it was verified."""
    onnx = _onnx()
    graph = _Graph(onnx)
    table = _table(model, graph)
    scores = _scores(model, graph, table)
    outputs = {"score": graph.joined(scores)}
    if model.classes:
        probabilities = model.whole.probabilities(scores, graph)
        limits = (model.threshold, model.thresholds)
        chosen = model.outcome.predicted_class(probabilities, *limits, graph)
        shown = probabilities[1:] if model.classes == 2 else probabilities
        outputs |= {"probability": graph.joined(shown), "prediction": chosen}
    else:
        outputs["prediction"] = scores[0]
    if model.kind == "groups":
        outputs = {name: _known(model, graph, value) for name, value in outputs.items()}
    return graph.finished(model, outputs, proof)


def missing_text(model: Instrument) -> str:
    """What stands for a missing text: nothing at all, unless that is a category itself."""
    texts = {str(c) for f in model.features for c in f.categories or () if isinstance(c, str)}
    texts |= {g for g in model.groups if isinstance(g, str)}
    token = MISSING_TEXT
    while token in texts:
        token = f"<missing{'_' * len(token)}>"
    return token


def _onnx() -> Any:
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "Export to ONNX needs the package onnx: pip install 'figs_spark[onnx]'."
        ) from error
    return onnx


@dataclass
class _Value:
    """A tensor of the graph, (rows, 1); arithmetic adds nodes."""

    name: str
    graph: _Graph

    def __add__(self, other: Any) -> _Value:
        return self.graph.node("Add", self, other)

    def __truediv__(self, other: Any) -> _Value:
        return self.graph.node("Div", self, other)

    def __gt__(self, other: Any) -> _Value:
        return self.graph.node("Greater", self, other)

    def __rsub__(self, other: float) -> _Value:
        return self.graph.node("Sub", self.graph.number(float(other)), self)


@dataclass
class _Graph:
    """The algebra of `treesum.prediction` as nodes of a graph."""

    onnx: Any
    nodes: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)
    initializers: list[Any] = field(default_factory=list)

    def node(self, kind: str, *inputs: Any, domain: str = "", **attributes: Any) -> _Value:
        return self.many(kind, 1, *inputs, domain=domain, **attributes)[0]

    def many(
        self, kind: str, outputs: int, *inputs: Any, domain: str = "", **attributes: Any
    ) -> list[_Value]:
        names = [f"n{len(self.nodes)}_{k}" for k in range(outputs)]
        names_in = [v.name if isinstance(v, _Value) else self.number(float(v)).name for v in inputs]
        make = self.onnx.helper.make_node
        self.nodes.append(make(kind, names_in, names, domain=domain, **attributes))
        return [_Value(name, self) for name in names]

    def array(self, values: Any) -> Any:
        return self.onnx.numpy_helper.from_array(np.asarray(values))

    def initial(self, values: Any) -> _Value:
        name = f"c{len(self.initializers)}"
        self.initializers.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return _Value(name, self)

    def number(self, value: float) -> _Value:
        key = repr(value)
        name = self.constants.get(key)
        if name is None:
            name = self.initial(np.array([[value]], np.float64)).name
            self.constants[key] = name
        return _Value(name, self)

    def clipped(self, value: _Value) -> _Value:
        low, high = (self.initial(np.float64(limit)) for limit in (0.0, 1.0))
        return self.node("Clip", value, low, high)

    def logistic(self, value: _Value) -> _Value:
        powers = self.node("Exp", self.node("Neg", value))
        return self.node("Div", 1.0, powers + 1.0)

    def power(self, value: _Value) -> _Value:
        return self.node("Exp", value)

    def choose(self, condition: _Value, yes: _Value, no: _Value) -> _Value:
        return self.node("Where", condition, yes, no)

    def ratio(self, part: _Value, total: _Value, otherwise: float) -> _Value:
        return self.choose(total > 0.0, part / total, self.number(otherwise))

    def largest(self, values: Sequence[_Value]) -> _Value:
        """The first of equal ones, as a column of doubles, by comparisons."""
        place, best = self.number(0.0), values[0]
        for k, value in enumerate(values[1:], start=1):
            better = value > best
            place = self.choose(better, self.number(float(k)), place)
            best = self.choose(better, value, best)
        return place

    def joined(self, values: Sequence[_Value]) -> _Value:
        return values[0] if len(values) == 1 else self.node("Concat", *values, axis=1)

    def column(self, name: str, kind: int) -> _Value:
        info = self.onnx.helper.make_tensor_value_info(name, kind, ["rows", 1])
        self.inputs.append(info)
        return _Value(name, self)

    def finished(self, model: Instrument, outputs: dict[str, _Value], proof: str) -> bytes:
        helper, double = self.onnx.helper, self.onnx.TensorProto.DOUBLE
        infos = []
        for name, value in outputs.items():
            width = 1 if name == "prediction" or model.outputs == 1 else model.outputs
            self.nodes.append(helper.make_node("Identity", [value.name], [name]))
            infos.append(helper.make_tensor_value_info(name, double, ["rows", width]))
        graph = helper.make_graph(self.nodes, "figs_spark", self.inputs, infos, self.initializers)
        made = helper.make_model(
            graph,
            opset_imports=[
                helper.make_opsetid("", OPSET),
                helper.make_opsetid("ai.onnx.ml", ML_OPSET),
            ],
            ir_version=IR_VERSION,
            producer_name="figs_spark",
            producer_version=model.version,
            doc_string=model.subject,
        )
        properties = {
            "fingerprint": model.fingerprint,
            "proof": proof,
            "missing_text": missing_text(model),
            "classes": "\n".join(model.labels),
            "notes": "\n".join([*model.notes, model.operating_point or ""]).strip(),
        }
        helper.set_model_props(made, properties)
        self.onnx.checker.check_model(made)
        serialized: bytes = made.SerializeToString()
        return serialized


# Inputs


def _table(model: Instrument, graph: _Graph) -> _Value:
    """The columns that the model reads, side by side in double; categories by their place."""
    double = graph.onnx.TensorProto.DOUBLE
    columns = []
    for column, feature in model.inputs.items():
        if feature.kind in (TEXT, CODE):
            kind = graph.onnx.TensorProto.STRING if feature.kind == TEXT else double
            known, missing = feature.categories or (), _missing_place(feature)
            columns.append(_encoded(graph, column, kind, known, missing_text(model), missing))
        else:
            columns.append(_number(graph, graph.column(column, double), feature))
    if not columns:  # a constant model still needs to know the number of rows
        columns.append(graph.column("rows", double))
    return graph.joined(columns)


def _number(graph: _Graph, column: _Value, feature: Feature) -> _Value:
    """The column itself, in which NaN is missing; of a boolean the place of a missing value."""
    if feature.kind != BOOLEAN:
        return column
    return graph.choose(graph.node("IsNaN", column), graph.number(_missing_place(feature)), column)


def _missing_place(feature: Feature) -> float:
    """What stands for a missing category: the place after the last one.

    Not NaN: onnxruntime 1.31 sends NaN to a wrong side of some sets, if a set on the same column
    lies below another.
    """
    return 2.0 if feature.kind == BOOLEAN else float(len(feature.categories or ()))


def _encoded(
    graph: _Graph, column: str, kind: int, known: Sequence[Any], missing: str, place: float
) -> _Value:
    """The place of a category, `place` for a missing one, -1 for one that is not known."""
    proto, count = graph.onnx.TensorProto, len(known) + 1
    make, places = graph.onnx.helper.make_tensor, [*map(float, range(count - 1)), place]
    keys: list[Any] = [*known, math.nan]
    if kind == proto.STRING:
        keys = [str(text).encode() for text in (*known, missing)]
    return graph.node(
        "LabelEncoder",
        graph.column(column, kind),
        domain="ai.onnx.ml",
        keys_tensor=make("keys", kind, [count], keys),
        values_tensor=make("values", proto.DOUBLE, [count], places),
        default_tensor=make("default", proto.DOUBLE, [1], [UNKNOWN]),
    )


def _group_places(model: Instrument, graph: _Graph) -> _Value:
    """The place of the group of each row; below 0 if it is unknown."""
    assert model.group_column is not None
    existing = next((n for n in graph.nodes if n.name == "group"), None)
    if existing is not None:
        return _Value(existing.output[0], graph)
    if isinstance(model.groups[0], str):
        kind, missing = graph.onnx.TensorProto.STRING, missing_text(model)
        place = _encoded(graph, model.group_column, kind, model.groups, missing, UNKNOWN)
    else:
        group_value = graph.column(model.group_column, graph.onnx.TensorProto.DOUBLE)
        place = graph.number(-1.0)
        for k, group in enumerate(model.groups):
            same = graph.node("Equal", group_value, float(group))
            place = graph.choose(same, graph.number(float(k)), place)
    graph.nodes[-1].name = "group"
    return place


def _known(model: Instrument, graph: _Graph, value: _Value) -> _Value:
    known = graph.node("GreaterOrEqual", _group_places(model, graph), 0.0)
    return graph.choose(known, value, graph.number(float("nan")))


# Scores


def _scores(model: Instrument, graph: _Graph, table: _Value) -> list[_Value]:
    outputs = range(model.outputs)
    sums = _sums(model, graph, table)
    if model.kind == "sum":
        return sums[0]
    if model.kind == "mean":
        members = [model.outcome.expected(own, graph) for own in sums]
        size = float(len(members))
        return [reduce(lambda a, b: a + b, [m[c] for m in members]) / size for c in outputs]
    places = _group_places(model, graph)
    scores = [graph.number(0.0)] * model.outputs
    for k, own in enumerate(sums):
        here = graph.node("Equal", places, float(k))
        scores = [graph.choose(here, own[c], scores[c]) for c in outputs]
    return scores


def _sums(model: Instrument, graph: _Graph, table: _Value) -> list[list[_Value]]:
    """The scores of each sum of trees."""
    flat = _Trees(model)
    pieces = [
        flat.add(tree, c) for one in model.sums for tree in one.trees for c in range(model.outputs)
    ]
    parts = iter(flat.node(graph, table, len(pieces)))
    scores = []
    for one in model.sums:
        trees = [[next(parts) for _ in range(model.outputs)] for _ in one.trees]
        scores.append([_added(graph, [t[c] for t in trees]) for c in range(model.outputs)])
    return scores


def _added(graph: _Graph, terms: list[_Value]) -> _Value:
    return add_in_runs(terms, lambda run: graph.node("Sum", *run) if len(run) > 1 else run[0])


class _Trees:
    """The attributes of a TreeEnsemble: inner nodes and leaves are numbered apart."""

    def __init__(self, model: Instrument) -> None:
        self.model = model
        self.place = {j: k for k, j in enumerate(model.used)}
        self.roots: list[int] = []
        self.inner: list[dict[str, Any]] = []
        self.members: list[float] = []
        self.targets: list[int] = []
        self.weights: list[float] = []

    def add(self, tree: Node, output: int) -> int:
        """A tree that writes to an output of its own; a single leaf becomes a split of equals."""
        target = len(self.roots)
        self.roots.append(len(self.inner))
        if tree.branches is None:
            tree = Node(tree.value, 1, 1.0, Split(-1, 0, 0.0, True, 0.0), tree, tree)
        self._add(tree, output, target)
        return target

    def _add(self, node: Node, output: int, target: int) -> tuple[int, bool]:
        branches = node.branches
        if branches is None:
            self.targets.append(target)
            self.weights.append(node.value[output])
            return len(self.weights) - 1, True
        split, left, right = branches
        own: dict[str, Any] = {}
        self.inner.append(own)
        at = len(self.inner) - 1
        listed_true = split.threshold is not None or split.listed_left
        yes, no = (left, right) if listed_true else (right, left)
        own["feature"] = self.place.get(split.feature, 0)
        own["missing"] = int(split.missing_left == listed_true)
        if split.threshold is not None:
            own["mode"], own["split"] = LESS_OR_EQUAL, split.threshold
        else:
            own["mode"], own["split"], own["missing"] = MEMBER, 0.0, 0
            listed = _places(self.model.features[split.feature], split)
            self.members += [*(listed or [NOBODY]), math.nan]
        own["true"], own["true_leaf"] = self._add(yes, output, target)
        own["false"], own["false_leaf"] = self._add(no, output, target)
        return at, False

    def node(self, graph: _Graph, table: _Value, targets: int) -> list[_Value]:
        """The TreeEnsemble, and its outputs one by one."""

        def column(name: str) -> list[Any]:
            return [own[name] for own in self.inner]

        members = {"membership_values": graph.array(np.array(self.members))} if self.members else {}
        whole = graph.node(
            "TreeEnsemble",
            table,
            domain="ai.onnx.ml",
            n_targets=targets,
            aggregate_function=SUM,
            post_transform=NO_TRANSFORM,
            tree_roots=self.roots,
            nodes_featureids=column("feature"),
            nodes_modes=graph.array(np.array(column("mode"), np.uint8)),
            nodes_splits=graph.array(np.array(column("split"), np.float64)),
            nodes_truenodeids=column("true"),
            nodes_trueleafs=list(map(int, column("true_leaf"))),
            nodes_falsenodeids=column("false"),
            nodes_falseleafs=list(map(int, column("false_leaf"))),
            nodes_missing_value_tracks_true=column("missing"),
            leaf_targetids=self.targets,
            leaf_weights=graph.array(np.array(self.weights)),
            **members,
        )
        if targets == 1:
            return [whole]
        return graph.many("Split", targets, whole, axis=1, num_outputs=targets)


def _places(feature: Feature, split: Split) -> list[float]:
    """What goes with the listed categories, as the numbers that stand for it."""
    listed = split.categories or ()
    if feature.kind == BOOLEAN:
        places = [float(c) for c in listed]
    else:
        places = [float((feature.categories or ()).index(c)) for c in listed]
    return [*places, _missing_place(feature)] if split.missing_left == split.listed_left else places
