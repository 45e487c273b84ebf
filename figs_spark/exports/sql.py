"""The outputs of a model as SQL expressions, in any dialect of `dialects`.

A tree is one CASE (`treesum.cases`), a score the sum of its trees in the order of
`treesum.nodes.add_in_runs`, and what follows from the scores is written by the rule of
`treesum.prediction` itself, over texts instead of numbers.

An expression may need a part several times, such as the score that is clipped. A `Sheet` in layers
gives such a part a name and a place in an inner SELECT; a flat one repeats it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from figs_spark.exports.dialects import Dialect, shortened
from figs_spark.exports.instrument import HIGH, LOW, Group, Instrument, rule_texts
from figs_spark.exports.levels import with_levels
from figs_spark.exports.texts import Language, Text
from figs_spark.treesum import Feature, Node, Split
from figs_spark.treesum.cases import cases, takes_listed
from figs_spark.treesum.nodes import Category, add_in_runs

OUTPUTS = ("score", "probability", "prediction", "risk_group", "contributions", "rules")
MOST_CHARACTERS = 1_000_000  # BigQuery takes no more in one statement
MOST_REPEATED = 100_000  # without layers; planning takes seconds beyond
NEVER = "1 = 0"
LARGEST = 1.7976931348623157e308


@dataclass
class Sheet:
    """The algebra of `treesum.prediction` on texts; in layers it names what is used again."""

    dialect: Dialect
    layered: bool = False
    newline: str = "\n"
    layers: list[dict[str, str]] = field(default_factory=list)

    def let(self, text: Text, name: str) -> Text:
        """The text under a name, if there are layers."""
        if not self.layered or text.is_name:
            return text
        while len(self.layers) <= text.layer:
            self.layers.append({})
        layer = self.layers[text.layer]
        same = next((known for known, sql in layer.items() if sql == text.code), None)
        if same is None:
            taken = {known for layer in self.layers for known in layer}
            numbered = (f"{name}_{k}" for k in range(2, len(taken) + 3))
            same = name if name not in taken else next(n for n in numbered if n not in taken)
            layer[same] = text.code
        return Text(self.dialect.quoted(same), self._language, text.layer + 1, is_name=True)

    def text(self, sql: str, *parts: Text) -> Text:
        if len(sql) > (MOST_CHARACTERS if self.layered else MOST_REPEATED):
            raise too_long(len(sql), self.layered)
        return Text(sql, self._language, max((p.layer for p in parts), default=0))

    @property
    def _language(self) -> Language:
        return Language(self.dialect.number)

    # The algebra

    def clipped(self, value: Text) -> Text:
        zero, one = (self.dialect.number(v) for v in (0.0, 1.0))
        greatest, least = self.dialect.greatest, self.dialect.least
        if greatest is not None and least is not None:
            clip = self.text(f"{greatest}({zero}, {least}({one}, {value.code}))", value)
        else:
            v = self.let(value, "figs_value")
            cases = f"WHEN {v.code} < {zero} THEN {zero} WHEN {v.code} > {one} THEN {one}"
            clip = self.text(f"CASE {cases} ELSE {v.code} END", v)
        return self.let(clip, "figs_clipped")

    def logistic(self, value: Text) -> Text:
        one = self.dialect.number(1.0)
        risk = self.text(f"({one} / ({one} + EXP(-({value.code}))))", value)
        return self.let(risk, "figs_risk")

    def power(self, value: Text) -> Text:
        return self.let(self.text(f"EXP({value.code})", value), "figs_weight")

    def choose(self, condition: Text, yes: Text, no: Text) -> Text:
        sql = f"CASE WHEN {condition.code} THEN {yes.code} ELSE {no.code} END"
        return self.text(sql, condition, yes, no)

    def ratio(self, part: Text, total: Text, otherwise: float) -> Text:
        total = self.let(total, "figs_total")
        zero, other = self.dialect.number(0.0), self.dialect.number(otherwise)
        sql = f"CASE WHEN {total.code} > {zero} THEN {part.code} / {total.code} ELSE {other} END"
        return self.let(self.text(sql, part, total), "figs_ratio")

    def number(self, value: float) -> Text:
        if math.isinf(value) and self.dialect.infinity is None:
            value = math.copysign(LARGEST, value)
        return self.text(self.dialect.number(value))

    def largest(self, values: Sequence[Text]) -> Text:
        named = [self.let(v, "figs_share") for v in values]
        clauses = []
        for k, value in enumerate(named[:-1]):
            tests = " AND ".join(f"{value.code} >= {other.code}" for other in named[k + 1 :])
            clauses.append(f"WHEN {tests} THEN {self.dialect.number(float(k))}")
        last = self.dialect.number(float(len(named) - 1))
        return self.text(f"CASE {' '.join(clauses)} ELSE {last} END", *named)


def too_long(size: int, layered: bool) -> ValueError:
    limit = MOST_CHARACTERS if layered else MOST_REPEATED
    remedy = "" if layered else "Name a table and the columns to keep, which is shorter, or export"
    return ValueError(
        f"The SQL would have {size:,} characters or more, and {limit:,} are the most. "
        f"{remedy or 'Export'} the model as ONNX or Python."
    )


# From a model to its outputs


def output_texts(model: Instrument, sheet: Sheet, outputs: Sequence[str]) -> dict[str, Text]:
    """The columns of the outputs by name, each null for a row of an unknown group."""
    check_outputs(model, outputs)
    check_values(model, sheet.dialect)
    writer = _Writer(model, sheet)
    columns: dict[str, Text] = {}
    for output in outputs:
        columns |= {name: writer.guarded(text) for name, text in getattr(writer, output)().items()}
    return columns


def check_outputs(model: Instrument, outputs: Sequence[str]) -> None:
    """Raise ValueError for an output that there is not, or that this model does not have."""
    unknown = [name for name in outputs if name not in OUTPUTS]
    if unknown or not outputs:
        raise ValueError(f"The output {unknown} is not known. There are {', '.join(OUTPUTS)}.")
    lacking = {
        "probability": "predicts a number" if not model.classes else "",
        "risk_group": "has not two classes" if model.classes != 2 else "",
        "contributions": "is a mean of several sums of trees" if model.kind == "mean" else "",
        "rules": "is a mean of several sums of trees" if model.kind == "mean" else "",
    }
    for name in outputs:
        if lacking.get(name):
            raise ValueError(f"{model.title} {lacking[name]}: it has no output '{name}'.")


def check_values(model: Instrument, dialect: Dialect) -> None:
    """Raise ValueError for values that the dialect cannot tell apart, or cannot hold."""
    for one in model.sums:
        for split in one.splits:
            feature = one.features[split.feature]
            if dialect.empty_text_is_null and "" in (feature.categories or ()):
                listed = "" in (split.categories or ())
                if (listed == split.listed_left) != split.missing_left:
                    raise ValueError(
                        f"The feature {shortened(feature.name)} has an empty text among its "
                        f"categories, which {dialect.name} takes for missing. Recode it."
                    )
        texts = [f for f in one.features if f.categories and isinstance(f.categories[0], str)]
        for feature in texts:
            bare = {str(c).rstrip(" ") for c in feature.categories or ()}
            if dialect.name == "tsql" and len(bare) < len(feature.categories or ()):
                raise ValueError(
                    f"Categories of the feature {shortened(feature.name)} differ by spaces at the "
                    f"end only, which tsql takes for equal. Recode them."
                )
        values = [v for tree in one.trees for leaf in tree.leaves() for v in leaf.value]
        if dialect.infinity is None and not all(map(math.isfinite, values)):
            raise ValueError(f"A leaf value is infinite, and {dialect.name} has no such number.")


@dataclass
class _Writer:
    model: Instrument
    sheet: Sheet

    def __post_init__(self) -> None:
        self._scores: list[Text] | None = None
        self._probabilities: list[Text] | None = None

    # The outputs, each a text or several by name

    def score(self) -> dict[str, Text]:
        return self._named("score", self.scores())

    def probability(self) -> dict[str, Text]:
        texts = self.probabilities()
        return self._named("probability", texts[1:] if self.model.classes == 2 else texts)

    def prediction(self) -> dict[str, Text]:
        if not self.model.classes:
            return {"prediction": self.scores()[0]}
        limits = (self.model.threshold, self.model.thresholds)
        outcome = self.model.outcome
        return {"prediction": outcome.predicted_class(self.probabilities(), *limits, self.sheet)}

    def risk_group(self) -> dict[str, Text]:
        one = self.sheet.number(1.0).code
        prediction = self.sheet.let(self.prediction()["prediction"], "figs_prediction")
        high, low = (self.sheet.dialect.literal(name) for name in (HIGH, LOW))
        sql = f"CASE WHEN {prediction.code} = {one} THEN {high} ELSE {low} END"
        return {"risk_group": self.sheet.text(sql, prediction)}

    def contributions(self) -> dict[str, Text]:
        named: dict[str, Text] = {}
        for k in range(self._most_trees):
            parts = [self._tree(k, c) for c in range(self.model.outputs)]
            named |= self._named(f"contribution_{k + 1}", parts)
        return named

    def rules(self) -> dict[str, Text]:
        texts = [rule_texts(one) for one in self.model.sums]

        def rule(which: int, k: int, newline: str) -> str:
            tree = self.model.sums[which].trees[k]
            literals = [self.sheet.dialect.literal(text) for text in texts[which][k]]
            place = {id(leaf): i for i, leaf in enumerate(tree.leaves())}
            return self._tree_sql(tree, lambda leaf: literals[place[id(leaf)]], newline)

        trees = {k + 1: self._of_tree(k, rule) for k in range(self._most_trees)}
        return {f"rule_{k}": self.sheet.let(text, f"figs_rule_{k}") for k, text in trees.items()}

    # What they are made of

    def scores(self) -> list[Text]:
        if self._scores is None:
            self._scores = [self.sheet.let(s, "figs_score") for s in self._raw_scores()]
        return self._scores

    def probabilities(self) -> list[Text]:
        if self._probabilities is None:
            risks = self.model.whole.probabilities(self.scores(), self.sheet)
            self._probabilities = [self.sheet.let(p, "figs_probability") for p in risks]
        return self._probabilities

    def _raw_scores(self) -> list[Text]:
        model, outputs = self.model, range(self.model.outputs)
        if model.kind == "sum":
            trees = range(len(model.sums[0].trees))
            return [self._sum([self._tree(k, c) for k in trees]) for c in outputs]
        if model.kind == "groups":
            return [self._by_group(partial(self._one, c)) for c in outputs]
        members = []
        for which in range(len(model.sums)):
            scores = [self.sheet.text(self._one(c, which, self.sheet.newline)) for c in outputs]
            members.append(model.outcome.expected(scores, self.sheet))
        size = self.sheet.number(float(len(members)))
        sums = [self._added([member[c] for member in members]) for c in outputs]
        return [total / size for total in sums]

    def _one(self, output: int, which: int, newline: str) -> str:
        """The score of one sum, with no part named."""
        trees = self.model.sums[which].trees
        value = self._value(output)
        return _sum_in_runs([self._tree_sql(t, value, newline) for t in trees], newline)

    def _tree(self, k: int, output: int) -> Text:
        """What a tree adds, under a name; by group if there are groups."""

        def added(which: int, k: int, newline: str) -> str:
            return self._tree_sql(self.model.sums[which].trees[k], self._value(output), newline)

        return self.sheet.let(self._of_tree(k, added), f"figs_tree_{k + 1}")

    def _of_tree(self, k: int, write: Callable[[int, int, str], str]) -> Text:
        if self.model.kind == "sum":
            return self.sheet.text(write(0, k, self.sheet.newline))
        sums = self.model.sums
        return self._by_group(lambda g, n: write(g, k, n) if k < len(sums[g].trees) else None)

    def _by_group(self, write: Callable[[int, str], str | None]) -> Text:
        """What is written for the group that a row belongs to; null for other groups."""
        newline = self.sheet.newline
        lines = ["CASE"]
        for which, group in enumerate(self.model.groups):
            if (sql := write(which, newline + "    ")) is not None:
                lines.append(f"  WHEN {self._is_group([group])} THEN {sql}")
        return self.sheet.text(newline.join([*lines, "END"]))

    def _is_group(self, groups: Sequence[Group]) -> str:
        assert self.model.group_column is not None
        return _listing(self.sheet.dialect, self.model.group_column, groups, True)

    def guarded(self, text: Text) -> Text:
        """Null for a row of an unknown group: GREATEST and CASE would make a number of it."""
        if self.model.kind != "groups":
            return text
        known = self.sheet.text(self._is_group(self.model.groups))
        if self.sheet.layered:
            one = self.sheet.number(1.0)
            flag = self.sheet.text(f"CASE WHEN {known.code} THEN {one.code} END")
            self.sheet.let(flag, "figs_known")
            column = self.sheet.dialect.quoted("figs_known")
            known = Text(f"{column} = {one.code}", text.language, layer=1)
        return self.sheet.text(f"CASE WHEN {known.code} THEN {text.code} END", text, known)

    def _tree_sql(self, tree: Node, value: Callable[[Node], str], newline: str) -> str:
        return tree_sql(self.model, tree, self.sheet.dialect, value, newline)

    def _value(self, output: int) -> Callable[[Node], str]:
        return lambda leaf: self.sheet.dialect.number(leaf.value[output])

    def _sum(self, terms: Sequence[Text]) -> Text:
        return self.sheet.text(_sum_in_runs([t.code for t in terms], self.sheet.newline), *terms)

    def _added(self, terms: Sequence[Text]) -> Text:
        """Added from left to right, without parentheses: a thousand of them are too deep."""
        return self.sheet.text(f"({' + '.join(t.code for t in terms)})", *terms)

    def _named(self, name: str, texts: Sequence[Text]) -> dict[str, Text]:
        if len(texts) == 1:
            return {name: texts[0]}
        labels = self.model.score_labels
        return {f"{name}_{label}": t for label, t in zip(labels, texts, strict=True)}

    @property
    def _most_trees(self) -> int:
        return max(len(one.trees) for one in self.model.sums)


# Trees


def tree_sql(
    model: Instrument, node: Node, dialect: Dialect, value: Callable[[Node], str], newline: str
) -> str:
    """A tree as one CASE; `value` writes what stands in a leaf."""
    clauses, last = cases(node)
    if not clauses:
        return value(last)
    lines = ["CASE"]
    for split, left, subtree in clauses:
        feature, column = model.features[split.feature], model.columns[split.feature]
        test = _test(dialect, feature, column, split, left)
        if test != NEVER:
            inner = tree_sql(model, subtree, dialect, value, newline + "    ")
            lines.append(f"  WHEN {test} THEN {inner}")
    if len(lines) == 1:
        return value(last)
    return newline.join([*lines, f"  ELSE {value(last)}", "END"])


def _test(dialect: Dialect, feature: Feature, column: str, split: Split, left: bool) -> str:
    """Whether a row is on this side; false or null, which no WHEN accepts, if it is not.

    A comparison with null is null. NaN, in dialects that have it, may be above every number or
    equal to none, so it is let in or kept out by name.
    """
    x = dialect.quoted(column)
    inside = takes_listed(split, left)
    if split.threshold is not None:
        test = _compared(dialect, x, split.threshold, inside)
    else:
        test = _listing(dialect, column, split.categories or (), inside)
        test = with_levels(dialect, test, feature, split, column, inside)
    nan = dialect.nan_test.format(x) if dialect.nan_test and feature.holds_numbers else None
    if split.missing_left == left:
        return " OR ".join([test, f"{x} IS NULL", *([nan] if nan else [])])
    return test if inside or nan is None else f"{test} AND NOT ({nan})"


def _compared(dialect: Dialect, x: str, threshold: float, inside: bool) -> str:
    if math.isinf(threshold) and dialect.infinity is None:
        return f"{x} IS NOT NULL" if (threshold > 0) == inside else NEVER
    return f"{x} {'<=' if inside else '>'} {dialect.limit(threshold)}"


def _listing(dialect: Dialect, column: str, listed: Sequence[Category], inside: bool) -> str:
    x = dialect.quoted(column)
    if dialect.infinity is None:
        listed = [c for c in listed if not (isinstance(c, float) and math.isinf(c))]
    if not listed:
        return NEVER if inside else f"{x} IS NOT NULL"
    if isinstance(listed[0], str):
        x = dialect.exact_text.format(x)
    values = [_category(dialect, category) for category in listed]
    if len(values) == 1:
        return f"{x} {'=' if inside else '<>'} {values[0]}"
    return f"{x} {'IN' if inside else 'NOT IN'} ({', '.join(values)})"


def _category(dialect: Dialect, category: Category) -> str:
    if isinstance(category, bool):
        return dialect.booleans[category]
    if isinstance(category, str):
        return dialect.literal(category)
    return str(category) if isinstance(category, int) else dialect.limit(category)


def _sum_in_runs(terms: Sequence[str], newline: str) -> str:
    def add(run: Sequence[str]) -> str:
        return "(" + f"{newline}+ ".join(run) + ")" if len(run) > 1 else run[0]

    return add_in_runs(terms, add)
