"""The model as one file of Python that needs nothing but Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from figs_spark.exports.instrument import HIGH, LOW, Instrument, rule_texts
from figs_spark.exports.texts import Language, Text
from figs_spark.treesum import Feature, Node, Split
from figs_spark.treesum.cases import cases, takes_listed
from figs_spark.treesum.code_systems import code_system
from figs_spark.treesum.nodes import IDENTITY, add_in_runs
from figs_spark.treesum.text import describe, describe_each
from figs_spark.treesum.visible import visible

MOST_PRINTED = 200  # leaves; a larger model is not printed in the docstring


def number(value: float) -> str:
    return repr(value) if math.isfinite(value) else f"float('{value}')"


LANGUAGE = Language(number)


@dataclass
class _Body:
    """The algebra of `treesum.prediction` in Python; parts that are used again are variables."""

    lines: list[str] = field(default_factory=list)

    def let(self, value: Text, name: str) -> Text:
        if value.is_name:
            return value
        taken = {line.partition(" = ")[0] for line in self.lines}
        unique = name if name not in taken else f"{name}_{len(taken)}"
        self.lines.append(f"{unique} = {value.code}")
        return Text(unique, LANGUAGE, is_name=True)

    def clipped(self, value: Text) -> Text:
        return self.let(Text(f"min(1.0, max(0.0, {value.code}))", LANGUAGE), "clipped")

    def logistic(self, value: Text) -> Text:
        return self.let(Text(f"1.0 / (1.0 + math.exp(-{value.code}))", LANGUAGE), "risk")

    def power(self, value: Text) -> Text:
        return self.let(Text(f"math.exp({value.code})", LANGUAGE), "weight")

    def choose(self, condition: Text, yes: Text, no: Text) -> Text:
        return Text(f"({yes.code} if {condition.code} else {no.code})", LANGUAGE)

    def ratio(self, part: Text, total: Text, otherwise: float) -> Text:
        total = self.let(total, "total")
        code = f"({part.code} / {total.code} if {total.code} > 0 else {number(otherwise)})"
        return Text(code, LANGUAGE)

    def number(self, value: float) -> Text:
        return Text(number(value), LANGUAGE)

    def largest(self, values: Sequence[Text]) -> Text:
        listed = self.let(Text(f"[{', '.join(v.code for v in values)}]", LANGUAGE), "shares")
        return Text(f"float({listed.code}.index(max({listed.code})))", LANGUAGE)


def to_python(model: Instrument, proof: str = "not verified") -> str:
    """Source with `predict(patient)`; `proof` says whether and how it was verified."""
    levels = _levels(model)
    parts = [
        _docstring(model, proof),
        _HEAD.format("import math\n" if model.outcome.link != IDENTITY else ""),
        _constants(model, proof),
        _predict(model),
        *_score_functions(model),
        _VALUES_BY_GROUP if model.kind == "groups" else _VALUES,
        _VALUE if levels is None else _VALUE_IN_LEVELS,
        *([] if levels is None else [levels]),
    ]
    return "\n\n".join(parts)


def _docstring(model: Instrument, proof: str) -> str:
    lines = [f"{model.subject}: a model of figs_spark in plain Python.", ""]
    lines += [
        "`predict(patient)` takes a dict with a value for each of COLUMNS, None if missing.",
        "",
    ]
    if model.leaves <= MOST_PRINTED:
        lines += [_printed(model), ""]
    lines += [*([model.operating_point, ""] if model.operating_point else []), *model.notes]
    lines += [
        f"Fingerprint of the model: {model.fingerprint}",
        f"Written by figs_spark {model.version}; {proof}.",
    ]
    text = visible("\n".join(lines)).replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{text}\n"""'


def _printed(model: Instrument) -> str:
    names = model.score_labels or None
    outcome = f"the {model.subject[0].lower()}{model.subject[1:]}"
    if model.kind == "sum":
        return describe(model.sums[0], model.title, outcome, names)
    if model.kind == "groups":
        headings = {
            f"{model.group_column} = {g!r}": one for g, one in zip(model.groups, model.sums)
        }
    else:
        headings = {f"Member {k}": one for k, one in enumerate(model.sums, start=1)}
    return describe_each(headings, model.title, outcome, names)


_HEAD = """from __future__ import annotations

{}from collections.abc import Mapping
from typing import Any"""


def _constants(model: Instrument, proof: str) -> str:
    lines = [
        f"FINGERPRINT = {model.fingerprint!r}",
        f"VERSION = {model.version!r}",
        f"PROOF = {proof!r}",
    ]
    if model.classes:
        lines.append(f"CLASSES = {model.labels!r}")
    if model.kind == "groups":
        lines += [f"GROUP = {model.group_column!r}", f"GROUPS = {model.groups!r}"]
    kinds = [f"    {column!r}: {_kind(f)!r}," for column, f in model.inputs.items()]
    return "\n".join([*lines, "COLUMNS: dict[str, str] = {", *kinds, "}"])


def _levels(model: Instrument) -> str | None:
    """The levels of codes, the narrowest first, and the function that finds them; None if the
    model has none."""
    lines = []
    for column, feature in model.inputs.items():
        system = code_system(feature.system) if feature.system else None
        if system is None:
            continue
        known = [str(c) for c in feature.categories or ()]
        levels = sorted(filter(system.is_level, known), key=system.depth, reverse=True)
        if levels:
            ranges = {key: system.ranges(key) for key in levels}
            lines.append(f"    {column!r}: ({system.name!r}, {tuple(known)!r}, {ranges!r}),")
    return "\n".join([_LEVELS_HEAD, *lines, "}", _LEVELS]) if lines else None


def _kind(feature: Feature) -> str:
    return "number" if feature.holds_numbers else feature.kind


def _predict(model: Instrument) -> str:
    body = _Body()
    scores = [Text(f"score[{c}]", LANGUAGE, is_name=True) for c in range(model.outputs)]
    shown = f"{_shown('score', model.outputs)}"
    if model.classes:
        named = model.whole.probabilities(scores, body)
        if model.classes > 2:
            named = [body.let(p, f"p{k}") for k, p in enumerate(named)]
        limits = (model.threshold, model.thresholds)
        body.let(model.outcome.predicted_class(named, *limits, body), "prediction")
        own = named[1].code if model.classes == 2 else f"[{', '.join(p.code for p in named)}]"
    else:
        body.let(Text("score[0]", LANGUAGE), "prediction")
        own = "None"
    entries = [f'"score": {shown},', f'"probability": {own},', '"prediction": prediction,']
    if model.classes == 2:
        entries.append(f'"risk_group": "{HIGH}" if prediction == 1.0 else "{LOW}",')
    if model.kind != "mean":
        single = "[0]" if model.outputs == 1 else ""
        entries.append(f'"contributions": [added{single} for added, _ in fired],')
        entries.append('"rules": [rule for _, rule in fired],')
    fired = ["score, fired = _score(x)"] if model.kind != "mean" else ["score = _score(x)"]
    lines = ["x = _values(patient)", *fired, *body.lines, "return {"]
    lines += [f"    {entry}" for entry in entries] + ["}"]
    head = [
        "def predict(patient: Mapping[str, Any]) -> dict[str, Any]:",
        f'    """{_escaped(_meaning(model))}"""',
    ]
    return "\n" + "\n".join([*head, *(f"    {line}" for line in lines)])


def _shown(name: str, outputs: int) -> str:
    return f"{name}[0]" if outputs == 1 else f"list({name})"


def _meaning(model: Instrument) -> str:
    if not model.classes:
        return "The score, which is the prediction; there is no probability."
    if model.classes == 2:
        return (
            f"The score, the probability of class {model.labels[1]}, the predicted class: 1 or 0."
        )
    return "The score and the probability of each of CLASSES, and the place of the predicted one."


def _escaped(text: str) -> str:
    return text.encode("unicode_escape").decode().replace('"', "'")


# Trees


def _score_functions(model: Instrument) -> list[str]:
    functions = []
    for which, one in enumerate(model.sums):
        texts = rule_texts(one) if model.kind != "mean" else None
        for k, tree in enumerate(one.trees):
            paths = None if texts is None else texts[k]
            functions.append(_tree_function(model, f"_tree_{which + 1}_{k + 1}", tree, paths))
        functions.append(_sum_function(model, which))
    functions.append(_score_function(model))
    return functions


def _tree_function(model: Instrument, name: str, tree: Node, paths: Sequence[str] | None) -> str:
    place = {id(leaf): i for i, leaf in enumerate(tree.leaves())}

    def value(leaf: Node) -> str:
        values = "(" + "".join(f"{number(v)}, " for v in leaf.value).rstrip() + ")"
        return values if paths is None else f"{values}, {paths[place[id(leaf)]]!r}"

    returns = "tuple[float, ...]" if paths is None else "tuple[tuple[float, ...], str]"
    lines = _branches(model, tree, value, "    ")
    return "\n".join([f"\ndef {name}(x: dict[str, Any]) -> {returns}:", *lines])


def _branches(
    model: Instrument, node: Node, value: Callable[[Node], str], indent: str
) -> list[str]:
    clauses, last = cases(node)
    lines = []
    for split, left, subtree in clauses:
        feature = model.features[split.feature]
        test = _test(feature, repr(model.columns[split.feature]), split, left)
        lines.append(f"{indent}if {test}:")
        lines += _branches(model, subtree, value, indent + "    ")
    return [*lines, f"{indent}return {value(last)}"]


def _test(feature: Feature, column: str, split: Split, left: bool) -> str:
    x = f"x[{column}]"
    inside = takes_listed(split, left)
    if split.threshold is not None:
        test = f"{x} {'<=' if inside else '>'} {number(split.threshold)}"
    else:
        listed = ", ".join(
            number(c) if isinstance(c, float) else repr(c) for c in split.categories or ()
        )
        listed = f"({listed},)" if listed else "()"
        test = f"{x} {'in' if inside else 'not in'} {listed}"
    if split.missing_left == left:
        return f"{x} is None or {test}"
    return f"{x} is not None and {test}"


def _sum_function(model: Instrument, which: int) -> str:
    """One sum of trees: the scores, and of a single sum or a group what each tree adds."""
    one, outputs = model.sums[which], range(model.outputs)
    trees = range(1, len(one.trees) + 1)
    name = f"_sum_{which + 1}"

    def added(run: Sequence[str]) -> str:
        return f"({' + '.join(run)})" if len(run) > 1 else run[0]

    if model.kind == "mean":
        calls = [f"    t{k} = _tree_{which + 1}_{k}(x)" for k in trees]
        sums = [add_in_runs([f"t{k}[{c}]" for k in trees], added) for c in outputs]
        body = _Body()
        expected = model.outcome.expected([Text(s, LANGUAGE) for s in sums], body)
        lines = [*calls, *(f"    {line}" for line in body.lines)]
        result = "".join(f"{e.code}, " for e in expected).rstrip()
        head = f"\ndef {name}(x: dict[str, Any]) -> tuple[float, ...]:"
        return "\n".join([head, *lines, f"    return ({result})"])
    listed = ", ".join(f"_tree_{which + 1}_{k}(x)" for k in trees)
    sums = [add_in_runs([f"t[{k - 1}][0][{c}]" for k in trees], added) for c in outputs]
    head = f"\ndef {name}(x: dict[str, Any]) -> tuple[tuple[float, ...], list[Any]]:"
    return "\n".join([head, f"    t = [{listed}]", f"    return ({', '.join(sums)},), t"])


def _score_function(model: Instrument) -> str:
    if model.kind == "sum":
        return "\n_score = _sum_1"
    names = ", ".join(f"_sum_{k}" for k in range(1, len(model.sums) + 1))
    if model.kind == "groups":
        return f"\n_SUMS = dict(zip(GROUPS, ({names},)))\n\n\n{_BY_GROUP}"
    return f"\n_MEMBERS = ({names},)\n\n\n{_MEAN}"


_BY_GROUP = """def _score(x: dict[str, Any]) -> tuple[tuple[float, ...], list[Any]]:
    return _SUMS[x[GROUP]](x)"""

_MEAN = """def _score(x: dict[str, Any]) -> tuple[float, ...]:
    members = [member(x) for member in _MEMBERS]
    total = members[0]
    for member in members[1:]:
        total = tuple(a + b for a, b in zip(total, member))
    return tuple(t / len(members) for t in total)"""

_VALUES = '''
def _values(patient: Mapping[str, Any]) -> dict[str, Any]:
    """The values that the trees compare: None if missing, numbers as float."""
    lost = [name for name in COLUMNS if name not in patient]
    if lost:
        raise KeyError(f"the patient lacks {lost}; None is for missing")
    return {name: _value(name, kind, patient[name]) for name, kind in COLUMNS.items()}'''

_VALUES_BY_GROUP = (
    _VALUES.replace("    return {", "    values = {")
    + """
    group = patient.get(GROUP)
    if type(group) is not type(GROUPS[0]) or group not in GROUPS:
        raise ValueError(f"{GROUP!r} is {group!r}; the model knows the groups {GROUPS}")
    return {**values, GROUP: group}"""
)

_VALUE = """
def _value(name: str, kind: str, value: Any) -> Any:
    if value is None or value != value:
        return None
    if kind == "number":
        return float(value)
    if not isinstance(value, bool if kind == "boolean" else str):
        raise TypeError(f"{name!r} is {value!r}; {kind} is needed")
    return value
"""

_VALUE_IN_LEVELS = _VALUE.rstrip().removesuffix("return value") + "return _level(name, value)\n"

_LEVELS_HEAD = """
LEVELS: dict[str, tuple[str, tuple[str, ...], dict[str, tuple[tuple[str, str], ...]]]] = {"""

_LEVELS = '''
def _level(name: str, code: Any) -> Any:
    """A code that the trees do not name as the narrowest level with it that they do."""
    if name not in LEVELS or code in LEVELS[name][1]:
        return code
    system, _, levels = LEVELS[name]
    unit = _unit(system, code)
    for key, ranges in levels.items():
        if any(low <= unit[: len(low)] <= high for low, high in ranges):
            return key
    return code


def _unit(system: str, code: str) -> str:
    """What ranges are compared with; "" for text that is no code."""
    if system not in ("icd9", "icd10"):
        return code + "." if system == "dotted" else code.upper() if system == "atc" else code
    start = code.upper().partition(".")[0]
    if system == "icd9" and not start.startswith("E"):
        start = start.rjust(3, "0")
    start = start[: 4 if system == "icd9" and start.startswith("E") else 3]
    digits = start[2:] if system == "icd10" else start[1:]
    fits = len(start) > 2 and start[1].isdigit() and (digits.isdigit() or system == "icd10")
    return start if fits else ""
'''
