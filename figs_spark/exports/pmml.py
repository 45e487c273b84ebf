"""The model as PMML 4.4: sums of TreeModels, and what follows from the scores as output fields."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from figs_spark.exports.instrument import HIGH, LOW, Instrument
from figs_spark.exports.pmml_trees import attribute, content, indented, schema, simple, tree_model
from figs_spark.exports.texts import Language, Text
from figs_spark.treesum import Feature, TreeSum
from figs_spark.treesum.nodes import LOGIT, add_in_runs

MOST_LEAVES = 20_000
LARGEST = 1.7976931348623157e308
NAMESPACE = "http://www.dmg.org/PMML-4_4"
FUNCTIONS = {"+": "+", "-": "-", "/": "/", ">": "greaterThan", ">=": "greaterOrEqual"}


def to_pmml(model: Instrument, proof: str = "not verified") -> str:
    """PMML text; `proof` says whether and how it was verified."""
    if model.leaves > MOST_LEAVES:
        raise ValueError(
            f"The model has {model.leaves:,} leaves, and PMML is written for {MOST_LEAVES:,} at "
            f"most. Export it as ONNX or Python."
        )
    remarks = [*model.notes, *([model.operating_point] if model.operating_point else [])]
    remarks += [f"Fingerprint of the model: {model.fingerprint}", f"{proof}"]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<PMML xmlns="{NAMESPACE}" version="4.4">',
        f"  <Header description={attribute(model.subject)}>",
        f'    <Application name="figs_spark" version={attribute(model.version)}/>',
        *(f"    <Annotation>{content(remark)}</Annotation>" for remark in remarks),
        "  </Header>",
        *_dictionary(model),
        *indented(_top(model)),
        "</PMML>",
    ]
    return "\n".join(lines) + "\n"


def _dictionary(model: Instrument) -> list[str]:
    fields = []
    for column, feature in model.inputs.items():
        optype, kind = _type(feature)
        fields.append(f'<DataField name={attribute(column)} optype="{optype}" dataType="{kind}"/>')
    if model.group_column is not None:
        kind = {str: "string", bool: "boolean", int: "integer"}[type(model.groups[0])]
        name = attribute(model.group_column)
        fields.append(f'<DataField name={name} optype="categorical" dataType="{kind}"/>')
    head = f'  <DataDictionary numberOfFields="{len(fields)}">'
    return [head, *(f"    {text}" for text in fields), "  </DataDictionary>"]


def _type(feature: Feature) -> tuple[str, str]:
    if feature.categories is None:
        return "continuous", "double"
    if feature.holds_numbers:
        return "categorical", "double"
    boolean = isinstance(feature.categories[0] if feature.categories else "", bool)
    return "categorical", "boolean" if boolean else "string"


# What follows from the scores


def _operation(operator: str, left: str, right: str) -> str:
    return _apply(FUNCTIONS[operator], left, right)


def _apply(function: str, *parts: str) -> str:
    return f'<Apply function="{function}">{"".join(parts)}</Apply>'


def _constant(value: float) -> str:
    if math.isinf(value):
        value = math.copysign(LARGEST, value)
    return f'<Constant dataType="double">{value!r}</Constant>'


LANGUAGE = Language(_constant, _operation)


@dataclass
class _Outputs:
    """The algebra of `treesum.prediction` in PMML; parts that are used again are output fields."""

    fields: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    known: dict[str, Text] = field(default_factory=dict)

    def let(self, value: Text, name: str, final: bool = False, kind: str = "double") -> Text:
        if not final and value.code in self.known:
            return self.known[value.code]
        unique = name if name not in self.names else f"{name}_{len(self.names)}"
        self.names.append(unique)
        self.known[value.code] = _reference(unique)
        optype = "continuous" if kind == "double" else "categorical"
        head = f'<OutputField name={attribute(unique)} optype="{optype}" dataType="{kind}"'
        shown = "" if final else ' isFinalResult="false"'
        self.fields.append(f'{head} feature="transformedValue"{shown}>{value.code}</OutputField>')
        return _reference(unique)

    def clipped(self, value: Text) -> Text:
        code = _apply("max", _constant(0.0), _apply("min", _constant(1.0), value.code))
        return self.let(Text(code, LANGUAGE), "figs_clipped")

    def logistic(self, value: Text) -> Text:
        power = _apply("exp", _apply("-", _constant(0.0), value.code))
        code = _apply("/", _constant(1.0), _apply("+", _constant(1.0), power))
        return self.let(Text(code, LANGUAGE), "figs_risk")

    def power(self, value: Text) -> Text:
        return self.let(Text(_apply("exp", value.code), LANGUAGE), "figs_weight")

    def choose(self, condition: Text, yes: Text, no: Text) -> Text:
        return Text(_apply("if", condition.code, yes.code, no.code), LANGUAGE)

    def ratio(self, part: Text, total: Text, otherwise: float) -> Text:
        total = self.let(total, "figs_total")
        share = _apply("/", part.code, total.code)
        code = _apply("if", (total > 0.0).code, share, _constant(otherwise))
        return self.let(Text(code, LANGUAGE), "figs_ratio")

    def number(self, value: float) -> Text:
        return Text(_constant(value), LANGUAGE)

    def largest(self, values: Sequence[Text]) -> Text:
        code = _constant(float(len(values) - 1))
        for k in reversed(range(len(values) - 1)):
            tests = [_operation(">=", values[k].code, v.code) for v in values[k + 1 :]]
            test = reduce(lambda a, b: _apply("and", a, b), tests)
            code = _apply("if", test, _constant(float(k)), code)
        return Text(code, LANGUAGE)


def _reference(name: str) -> Text:
    return Text(f"<FieldRef field={attribute(name)}/>", LANGUAGE, is_name=True)


def _result_fields(model: Instrument, outputs: _Outputs, scores: Sequence[Text]) -> None:
    """The final fields: score, probability, prediction, risk_group."""
    if not model.classes:
        outputs.let(scores[0], "prediction", final=True)
        return
    probabilities = model.whole.probabilities(scores, outputs)
    if model.classes == 2:
        outputs.let(probabilities[1], "probability", final=True)
        named = probabilities
    else:
        pairs = zip(probabilities, probability_names(model), strict=True)
        named = [outputs.let(p, name, final=True) for p, name in pairs]
    limits = (model.threshold, model.thresholds)
    chosen = model.outcome.predicted_class(named, *limits, outputs)
    chosen = outputs.let(chosen, "prediction", final=True)
    if model.classes == 2:
        high, low = (f'<Constant dataType="string">{name}</Constant>' for name in (HIGH, LOW))
        code = _apply("if", _apply("equal", chosen.code, _constant(1.0)), high, low)
        outputs.let(Text(code, LANGUAGE), "risk_group", final=True, kind="string")


def probability_names(model: Instrument) -> list[str]:
    if model.classes == 2:
        return ["probability"]
    return [f"probability_{label}" for label in model.labels]


def score_names(model: Instrument) -> list[str]:
    return [f"score_{label}" for label in model.score_labels] or ["score"]


# Models


def _top(model: Instrument) -> list[str]:
    """The whole model: its scores, and a last field list that says what they stand for."""
    outputs = _Outputs()
    by_member = model.kind == "mean" and model.outcome.link == LOGIT
    if model.outputs == 1 and not by_member:
        name = score_names(model)[0]
        outputs.names.append(name)
        _result_fields(model, outputs, [_reference(name)])
        return _score_model(model, 0, [_predicted_field(name), *outputs.fields])
    segments: list[list[str]] = []
    if model.kind == "mean":
        scores = _mean_of_shares(model, segments, outputs)
    else:
        names = [f"figs_score_{c}" for c in range(model.outputs)]
        segments += [_score_model(model, c, [_predicted_field(n)]) for c, n in enumerate(names)]
        scores = [_reference(name) for name in names]
    named = [outputs.let(s, n, final=True) for s, n in zip(scores, score_names(model))]
    _result_fields(model, outputs, named)
    fields = [n for s in segments for n in re.findall(r'<OutputField name=("[^"]*")', "\n".join(s))]
    last = _constant_model(fields, outputs.fields)
    return _mining_model(model, "modelChain", [*segments, last], [])


def _mean_of_shares(model: Instrument, segments: list[list[str]], outputs: _Outputs) -> list[Text]:
    """Of many classes or log odds: each member's scores are segments, what they stand for and its
    mean are output fields."""
    members = []
    for which, one in enumerate(model.sums):
        names = [f"figs_{which + 1}_{c}" for c in range(model.outputs)]
        for c, name in enumerate(names):
            segments.append(_sum_model(model, one, c, [_predicted_field(name)]))
        members.append(model.outcome.expected([_reference(n) for n in names], outputs))
    totals = [
        reduce(lambda a, b: outputs.let(a + b, "figs_sum"), [m[c] for m in members])
        for c in range(model.outputs)
    ]
    return [total / float(len(members)) for total in totals]


def _predicted_field(name: str) -> str:
    return (
        f'<OutputField name={attribute(name)} optype="continuous" dataType="double" '
        f'feature="predictedValue"/>'
    )


def _score_model(model: Instrument, output: int, fields: Sequence[str]) -> list[str]:
    """One score, by whatever kind of model."""
    if model.kind == "sum":
        return _sum_model(model, model.sums[0], output, fields)
    segments = [_sum_model(model, one, output, []) for one in model.sums]
    if model.kind == "groups":
        assert model.group_column is not None
        predicates = [simple(model.group_column, "equal", group) for group in model.groups]
        return _mining_model(model, "selectFirst", segments, fields, predicates)
    if model.classes:
        limits = ["<Targets>", '  <Target min="0.0" max="1.0"/>', "</Targets>"]
        segments = [_with_targets(segment, limits) for segment in segments]
    return _mining_model(model, "average", segments, fields)


def _with_targets(model: list[str], targets: list[str]) -> list[str]:
    """PMML has the targets before the trees or the segments."""
    at = next(k for k, line in enumerate(model) if re.match(r"  <(Segmentation|Node)\b", line))
    return [*model[:at], *indented(targets), *model[at:]]


def _sum_model(model: Instrument, one: TreeSum, output: int, fields: Sequence[str]) -> list[str]:
    """The trees of a sum, added in the order of `add_in_runs`."""
    trees = [tree_model(model, tree, output) for tree in one.trees]
    whole: list[str] = add_in_runs(
        trees, lambda run: _mining_model(model, "sum", run, []) if len(run) > 1 else run[0]
    )
    if len(one.trees) == 1:  # a MiningModel can hold output fields whatever is in it
        whole = _mining_model(model, "sum", [whole], [])
    at = next(k for k, line in enumerate(whole) if line == "  </MiningSchema>")
    return [*whole[: at + 1], *_output(fields), *whole[at + 1 :]]


def _mining_model(
    model: Instrument,
    method: str,
    segments: Sequence[list[str]],
    fields: Sequence[str],
    predicates: Sequence[str] = (),
) -> list[str]:
    lines = ['<MiningModel functionName="regression">', *schema(model), *_output(fields)]
    lines.append(f'  <Segmentation multipleModelMethod="{method}">')
    for k, segment in enumerate(segments):
        predicate = predicates[k] if predicates else "<True/>"
        lines += [f'    <Segment id="{k + 1}">', f"      {predicate}"]
        lines += [*indented(segment, 3), "    </Segment>"]
    return [*lines, "  </Segmentation>", "</MiningModel>"]


def _output(fields: Sequence[str]) -> list[str]:
    return ["  <Output>", *(f"    {text}" for text in fields), "  </Output>"] if fields else []


def _constant_model(names: Sequence[str], fields: Sequence[str]) -> list[str]:
    """The end of a chain: it reads the scores before it, and says what they stand for."""
    read = [f'    <MiningField name={name} invalidValueTreatment="asIs"/>' for name in names]
    return [
        '<RegressionModel functionName="regression">',
        *["  <MiningSchema>", *read, "  </MiningSchema>"],
        *_output(fields),
        '  <RegressionTable intercept="0.0">',
        f'    <NumericPredictor name={names[0]} coefficient="1.0"/>',
        "  </RegressionTable>",
        "</RegressionModel>",
    ]
