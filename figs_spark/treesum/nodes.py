"""Feature, Split, Node and TreeSum: a sum of small decision trees as frozen plain data.

A node keeps the value it had as a leaf, and a split keeps the greedy step that made it. So every
model contains its smaller ones: `TreeSum.truncate(k)` undoes all but the first k splits.

If the values were fitted together after each split, the model keeps a path of coefficients instead:

    f = c + sum over splits of b * (sqrt(WR / WL) in the left child, -sqrt(WL / WR) in the right)

with the weights WL and WR of the two children. `path[k]` has c and the b of the first k splits.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from figs_spark.treesum.code_systems import code_system
from figs_spark.treesum.given_values import check_cells, check_once
from figs_spark.treesum.times import TIMES, to_numbers

Category = str | bool | float
NUMBER, BOOLEAN, TEXT, CODE = "number", "boolean", "text", "code"  # what a feature holds
IDENTITY, LOGIT, SOFTMAX = "identity", "logit", "softmax"  # what makes probabilities of scores
Term = TypeVar("Term")
Value = tuple[float, ...]  # one number per output
Coefficients = tuple[Value, ...]  # the constant, then one of each split in the order of steps


@dataclass(frozen=True)
class Feature:
    """A column of the input; `categories` is None for a numeric one.

    `kind` is "number", "boolean", "text", "code", a number that stands for a category, or "date",
    "timestamp" or "timestamp_ntz", which are split as numbers. It needs to be given only for these
    and for text without categories. A fitted model has the categories that some split lists.
    `others` is how many values were too rare in training, or beyond the most frequent, to be
    categories of their own. Categories that are `ordered` are split at a place in their order: the
    split lists all from there on. Codes of a `system` have levels among their categories, and a
    code that is not among them counts as the narrowest level that holds it.
    """

    __module__ = "figs_spark"

    name: str
    categories: tuple[Category, ...] | None = None
    labels: tuple[str, ...] | None = None  # names of the categories, if other than themselves
    kind: str = ""
    others: int = 0
    ordered: bool = False
    system: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "kind", self.kind or kind_of(self.categories))

    def label(self, category: Category) -> str:
        if self.labels is not None and self.categories is not None:
            return self.labels[self.categories.index(category)]
        if self.system and isinstance(category, str):
            return code_system(self.system).label(category)
        return str(category).removesuffix(".0") if isinstance(category, float) else str(category)

    def resolved(self, value: Any) -> Any:
        """A value as one of the categories, if it is one or in one."""
        if not self.system or not isinstance(value, str):
            return value
        return code_system(self.system).resolved(value, self._known)

    @cached_property
    def _known(self) -> frozenset[Category]:
        return frozenset(self.categories or ())

    @property
    def holds_numbers(self) -> bool:
        """Whether the values are float64: numbers, categories that are numbers, or times."""
        return self.kind in (NUMBER, CODE, *TIMES)

    @property
    def is_time(self) -> bool:
        """Whether the values are dates or timestamps."""
        return self.kind in TIMES


def kind_of(categories: tuple[Category, ...] | None) -> str:
    """What a feature with these categories holds; without any it may also be text."""
    if categories is None:
        return NUMBER
    first = categories[0] if categories else 0.0
    if isinstance(first, bool):
        return BOOLEAN
    return TEXT if isinstance(first, str) else CODE


@dataclass(frozen=True)
class Split:
    """Numeric: `value <= threshold` goes left. Categorical: the listed categories go to one side.

    The other side takes every category that is not listed, so it also takes unseen ones.
    """

    __module__ = "figs_spark"

    feature: int
    step: int
    gain: float
    missing_left: bool
    threshold: float | None = None
    categories: tuple[Category, ...] | None = None
    listed_left: bool = True

    def goes_left(self, column: NDArray[Any]) -> NDArray[np.bool_]:
        """Which rows of a column go left; `_column` prepared the column."""
        missing = is_missing(column)
        if self.threshold is not None:
            left = column <= self.threshold
        elif column.dtype == object:
            listed = set(self.categories or ())
            left = np.array([v in listed for v in column], dtype=bool) == self.listed_left
        else:
            left = np.isin(column, np.array(self.categories, dtype=float)) == self.listed_left
        return np.where(missing, self.missing_left, left)


@dataclass(frozen=True)
class Node:
    """A node: the value it has (or had) as a leaf, and the number of training rows in it.

    `own_rows` are those of the group that the model is for, if rows of other groups trained it too.
    """

    __module__ = "figs_spark"

    value: tuple[float, ...]
    rows: int
    weight: float
    split: Split | None = None
    left: Node | None = None
    right: Node | None = None
    own_rows: int | None = None

    @property
    def shown_rows(self) -> int:
        """The rows to show to a reader: of the group itself, if there is one."""
        return self.rows if self.own_rows is None else self.own_rows

    @property
    def branches(self) -> tuple[Split, Node, Node] | None:
        """The split with both children, or None in a leaf."""
        if self.split is None or self.left is None or self.right is None:
            return None
        return self.split, self.left, self.right

    def leaves(self) -> Iterator[Node]:
        """The leaves from left to right."""
        for node in self.walk():
            if node.split is None:
                yield node

    def walk(self) -> Iterator[Node]:
        """All nodes, parents before children, left before right."""
        yield self
        if branches := self.branches:
            yield from branches[1].walk()
            yield from branches[2].walk()

    def depth(self) -> int:
        branches = self.branches
        return 1 + max(branches[1].depth(), branches[2].depth()) if branches else 0

    def valued(self, value: Value, coefficients: Coefficients) -> Node:
        """With this value; every split below adds its coefficient to both of its children."""
        node = replace(self, value=value)
        if not (branches := self.branches):
            return node
        split, *children = branches
        own, factors = coefficients[split.step + 1], arms(*(child.weight for child in children))
        left, right = (
            child.valued(tuple(v + factor * b for v, b in zip(value, own)), coefficients)
            for child, factor in zip(children, factors)
        )
        return replace(node, left=left, right=right)

    def truncate(self, k: int) -> Node:
        branches = self.branches
        if branches is None or branches[0].step >= k:
            return replace(self, split=None, left=None, right=None)
        return replace(self, left=branches[1].truncate(k), right=branches[2].truncate(k))


def arms(left: float, right: float) -> tuple[float, float]:
    """What a coefficient of 1 adds to children of these weights: its weighted mean is 0."""
    return math.sqrt(right / left), -math.sqrt(left / right)


@dataclass(frozen=True)
class TreeSum:
    """f(x) = sum over trees of the value of the leaf that x falls in.

    `losses[k]` is the weighted mean squared error on the training rows after k splits; with the
    links "logit" and "softmax" it is that of the probabilities. `path` has the
    coefficients of every size if values were fitted together. `remarks` say what was done to the
    values after the growing. `samples` has the coefficients in bootstrap samples of the rows.
    """

    __module__ = "figs_spark"

    features: tuple[Feature, ...]
    trees: tuple[Node, ...]
    constant: tuple[float, ...]  # the weighted mean of the target: the model with no split
    losses: tuple[float, ...]
    link: str = IDENTITY
    path: tuple[Coefficients, ...] | None = None
    remarks: tuple[str, ...] = ()
    samples: tuple[Coefficients, ...] | None = None

    @property
    def outputs(self) -> int:
        return len(self.constant)

    @property
    def splits(self) -> list[Split]:
        """All splits in the order in which they were made."""
        made = [n.split for tree in self.trees for n in tree.walk() if n.split is not None]
        return sorted(made, key=lambda split: split.step)

    @property
    def feature_names(self) -> list[str]:
        return [feature.name for feature in self.features]

    def importances(self) -> NDArray[np.float64]:
        """Share of the total gain by feature; all zero for a model without splits."""
        gains = np.zeros(len(self.features))
        for split in self.splits:
            gains[split.feature] += split.gain
        total = gains.sum()
        return gains / total if total > 0 else gains

    def truncate(self, k: int) -> TreeSum:
        """The model as it was after its first k splits."""
        if k < 0:
            raise ValueError(f"truncate(k) takes a number of splits k >= 0, got {k}.")
        trees = [t.truncate(k) for t in self.trees if t.split is not None and t.split.step < k]
        if not trees:
            root = self.trees[0]
            trees = [Node(self.constant, root.rows, root.weight, own_rows=root.own_rows)]
        samples = self.samples if k >= len(self.splits) else None
        smaller = replace(self, trees=tuple(trees), losses=self.losses[: k + 1], samples=samples)
        if self.path is None or k >= len(self.path) - 1:
            return smaller
        return smaller.with_path(self.path[: k + 1])

    def with_path(self, path: tuple[Coefficients, ...]) -> TreeSum:
        """With the values that the last coefficients of a path give, and the path."""
        trees = self.valued(path[-1])
        return replace(self, trees=trees, constant=path[0][0], path=path, samples=None)

    def valued(self, coefficients: Coefficients) -> tuple[Node, ...]:
        """The trees with the values that these coefficients give; the first has the constant."""
        first, *others = self.trees
        none = (0.0,) * self.outputs
        of_first = first.valued(coefficients[0], coefficients)
        return of_first, *(tree.valued(none, coefficients) for tree in others)

    def predict(self, values: Any) -> NDArray[np.float64]:
        """Raw scores, shape (rows, outputs).

        `values` is a pandas DataFrame with columns of these names, or a two-dimensional array-like
        with columns in the order of `feature_names`. None and NaN are missing.
        """
        trees = list(np.moveaxis(self.contributions(values), 1, 0))
        return add_in_runs(trees, partial(reduce, operator.add))

    def contributions(self, values: Any) -> NDArray[np.float64]:
        """What each tree adds to the score, shape (rows, trees, outputs)."""
        leaves = self.leaf_indices(values)
        parts = [
            np.array([leaf.value for leaf in tree.leaves()])[leaves[:, k]]
            for k, tree in enumerate(self.trees)
        ]
        return np.stack(parts, axis=1)

    def leaf_indices(self, values: Any) -> NDArray[np.intp]:
        """Index of the leaf, from left to right, that each row falls in; shape (rows, trees)."""
        columns, rows = self._columns(values)
        leaves = np.zeros((rows, len(self.trees)), dtype=np.intp)
        for k, tree in enumerate(self.trees):
            index = 0
            pending = [(tree, np.arange(rows))]
            while pending:
                node, at = pending.pop()
                if branches := node.branches:
                    split, left, right = branches
                    side = split.goes_left(columns[split.feature][at])
                    pending += [(right, at[~side]), (left, at[side])]
                else:
                    leaves[at, k] = index
                    index += 1
        return leaves

    def _columns(self, values: Any) -> tuple[dict[int, NDArray[Any]], int]:
        """The columns that the splits use, by feature, and the number of rows."""
        used = sorted({split.feature for split in self.splits})
        if hasattr(values, "columns") and hasattr(values, "loc"):
            missing = [self.features[j].name for j in used if self.features[j].name not in values]
            if missing:
                raise ValueError(f"The model needs the columns {missing}, which are missing.")
            check_once(values.columns, [self.features[j].name for j in used])
            cells = {j: _cells(values[self.features[j].name]) for j in used}
            return {j: _column(self.features[j], c) for j, c in cells.items()}, len(values)
        # A list of rows may mix types, and NumPy would turn [1.0, True, "a"] into text.
        table = values if isinstance(values, np.ndarray) else np.array(values, dtype=object)
        if table.ndim != 2 or table.shape[1] != len(self.features):
            raise ValueError(
                f"predict takes a table of shape (rows, {len(self.features)}), one column per "
                f"feature in the order of `feature_names`; got shape {table.shape}."
            )
        return {j: _column(self.features[j], table[:, j]) for j in used}, len(table)


def only_named(models: Sequence[TreeSum]) -> list[TreeSum]:
    """The models, their features with the categories that a split of some model lists.

    No other category is part of a model that is saved. All models keep the same features.
    """
    listed: dict[int, set[Category]] = {}
    for split in (split for model in models for split in model.splits):
        listed.setdefault(split.feature, set()).update(split.categories or ())
    features = tuple(
        _with_categories(feature, listed.get(j, set()))
        for j, feature in enumerate(models[0].features if models else ())
    )
    return [replace(model, features=features) for model in models]


def _with_categories(feature: Feature, kept: set[Category]) -> Feature:
    if feature.categories is None or feature.kind == BOOLEAN:
        return feature
    places = [place for place, category in enumerate(feature.categories) if category in kept]
    labels = feature.labels and tuple(feature.labels[place] for place in places)
    categories = tuple(feature.categories[place] for place in places)
    return replace(feature, categories=categories, labels=labels)


def add_in_runs(terms: Sequence[Term], add: Callable[[Sequence[Term]], Term]) -> Term:
    """Add from left to right in runs of eight, then the sums of the runs, and so on.

    NumPy, Spark Columns and SQL text all add in this order, so their scores agree to the last bit.
    The expression for many trees stays shallow; Spark Connect refuses a deep one.
    """
    while len(terms) > 1:
        terms = [add(terms[i : i + 8]) for i in range(0, len(terms), 8)]
    return terms[0]


def is_missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    if column.dtype == object:
        return np.array([v is None or v != v for v in column], dtype=bool)
    return np.isnan(column)


def _cells(series: Any) -> NDArray[Any]:
    """The values of a pandas Series, with None for pandas' NA, which is neither true nor false."""
    cells: NDArray[Any] = series.to_numpy()
    return series.to_numpy(dtype=object, na_value=None) if cells.dtype == object else cells


def _column(feature: Feature, cells: NDArray[Any]) -> NDArray[Any]:
    """Numbers as float64 with NaN for missing; text and booleans as objects."""
    if not feature.holds_numbers:
        cells = np.asarray(cells, dtype=object)
        check_cells(feature.name, feature.kind, cells)
        return np.array([feature.resolved(v) for v in cells], object) if feature.system else cells
    if feature.is_time and cells.dtype.kind in "OMU":
        return to_numbers(feature.kind, cells)
    if cells.dtype == object:
        cells = np.array([np.nan if v is None or v != v else v for v in cells])
    try:
        return np.asarray(cells, dtype=np.float64)
    except (TypeError, ValueError):  # text may be that of a number
        check_cells(feature.name, feature.kind, cells)
        raise
