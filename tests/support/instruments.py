"""Models for the exports: random sums of trees of every family, and rows as values by column."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

from figs_spark.exports.dialects import DIALECTS
from figs_spark.exports.instrument import Family, Instrument, Kind
from figs_spark.exports.sql import Sheet, output_texts
from figs_spark.exports.statements import expression
from figs_spark.exports.vectors import Vectors
from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.nodes import LOGIT, SOFTMAX
from figs_spark.treesum.prediction import Outcome
from tests.support.treesums import random_rows, random_tree_sum

FINGERPRINT = "0123456789abcdef" * 4
GROUPS = ("north", "it's south", "3")
KINDS: tuple[Kind, ...] = ("sum", "mean", "groups")


def instrument(
    *sums: TreeSum, classes: int = 0, kind: Kind = "sum", groups: Any = GROUPS, **fields: Any
) -> Instrument:
    """A model of any family over columns named as the features."""
    family = Family(kind, sums)
    if kind == "groups":
        family = Family(kind, sums, tuple(groups[: len(sums)]), "the group")
    return Instrument(
        title="FIGSModel",
        subject="Probability of died = 1" if classes else "Prediction of days",
        family=family,
        outcome=Outcome(classes, sums[0].link),
        columns=tuple(sums[0].feature_names),
        fingerprint=FINGERPRINT,
        version="0.0.0",
        **fields,
    )


def stump(name: str, category: str) -> Any:
    """A model that tells this category from all others, in a column of this name."""
    yes, no = Node((0.75,), 1, 1.0), Node((0.25,), 1, 1.0)
    split = Split(0, 0, 1.0, missing_left=False, categories=(category,))
    root = Node((0.0,), 2, 2.0, split, yes, no)
    one = TreeSum((Feature(name, (category, "other")),), (root,), (0.5,), (0.0,) * 2)
    return instrument(one, classes=2)


def random_instrument(
    random: Random,
    splits: int = 6,
    kind: Kind | None = None,
    classes: int | None = None,
    **changes: str,
) -> Instrument:
    """Any family, outcome and threshold; `changes` are those of `without`."""
    kind = random.choice(KINDS) if kind is None else kind
    classes = random.choice([0, 2, 3]) if classes is None else classes
    outputs = classes if classes > 2 else 1
    count = 1 if kind == "sum" else 3
    sums = [random_tree_sum(random, random.randrange(splits + 1), outputs) for _ in range(count)]
    if classes and random.random() < 0.4:
        sums = [logarithms(one) for one in sums]
    fields: dict[str, Any] = {}
    if classes and random.random() < 0.3:
        fields["thresholds"] = tuple(random.choice([0.1, 0.5, 0.9]) for _ in range(classes))
    elif classes == 2:
        fields["threshold"] = random.choice([0.5, 0.2, -1.0])
    return instrument(
        *(without(one, **changes) for one in sums), kind=kind, classes=classes, **fields
    )


def logarithms(one: TreeSum) -> TreeSum:
    """The sum with values that are log odds or, of several outputs, log weights."""

    def node(tree: Node) -> Node:
        tree = replace(tree, value=tuple(max(-4.0, min(4.0, 3 * v)) for v in tree.value))
        if not (branches := tree.branches):
            return tree
        return replace(tree, left=node(branches[1]), right=node(branches[2]))

    link = LOGIT if one.outputs == 1 else SOFTMAX
    constant = tuple(c - 1.5 for c in range(one.outputs))
    return replace(one, trees=tuple(map(node, one.trees)), constant=constant, link=link)


def without(one: TreeSum, nul: str = "bell", **names: str) -> TreeSum:
    """With another text for NUL, which few targets hold, and other names of features."""

    def fixed(category: Any) -> Any:
        return category.replace("\0", nul) if isinstance(category, str) else category

    def node(tree: Node) -> Node:
        if not (branches := tree.branches):
            return tree
        split, left, right = branches
        if split.categories is not None:
            split = replace(split, categories=tuple(map(fixed, split.categories)))
        return replace(tree, split=split, left=node(left), right=node(right))

    features = tuple(
        replace(
            f,
            name=names.get(f"f{j}", f.name),
            categories=None if f.categories is None else tuple(map(fixed, f.categories)),
        )
        for j, f in enumerate(one.features)
    )
    return replace(one, features=features, trees=tuple(map(node, one.trees)))


PLAIN_NAMES = {
    f"f{j}": name for j, name in enumerate(["age", "sbp", "x y", "größe", "site", "hurt", "code"])
}


def random_vectors(model: Instrument, random: Random, count: int) -> Vectors:
    """Random rows with missing values, infinities and unseen categories, and the results."""
    patients = []
    for row in random_rows(random, count):
        cells = [c.replace("\0", "bell") if isinstance(c, str) else c for c in row]
        patient = dict(zip(model.columns, cells, strict=True))
        if model.group_column is not None:
            patient[model.group_column] = random.choice([*model.groups, "unknown", None])
        patients.append(
            {k: v for k, v in patient.items() if k in (*model.inputs, model.group_column)}
        )
    return Vectors(tuple(patients), tuple(model.evaluate(patients)))


def score_sql(one: TreeSum, output: int = 0, dialect: str = "spark") -> str:
    """One raw score of a sum of trees as an expression."""
    classes = one.outputs if one.outputs > 2 else 0
    model = instrument(one, classes=classes)
    if not classes:
        return expression(model, dialect, "score")
    texts = output_texts(model, Sheet(DIALECTS[dialect]), ["score"])
    return list(texts.values())[output].code
