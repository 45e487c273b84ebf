"""Packed rows -> cells: the rows that share their leaves in all trees, added up.

Whatever the leaf values are, a model gives all rows of a cell the same score. So the weight of each
cell and its sum of the target are all that fitting leaf values needs: one pass serves every ridge,
every link and every size of a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.blocks import Block
from figs_spark.engine.histograms import Floats, Ints
from figs_spark.engine.kernels import accumulate as kernel
from figs_spark.engine.kernels import jit
from figs_spark.engine.kernels.records import TreeArrays, read_only
from figs_spark.engine.weights import Weights

MOST_CELLS = 1 << 20
LARGEST_KEY = 1 << 62


class TooManyCells(ValueError):
    """The leaves of a model combine in too many ways."""


@dataclass(frozen=True)
class Cells:
    """Sums over the rows of each cell."""

    leaves: Ints  # (cells, trees) the node of each tree
    weight: Floats  # (cells,) sum of w
    target: Floats  # (cells, outputs) sum of w * y
    squares: float  # sum of w * y^2 over all rows and outputs

    def __len__(self) -> int:
        return len(self.weight)


@dataclass(frozen=True)
class CellWork:
    """What a pass adds up: the cells of some models, over the rows that train each or, if they are
    `held_out`, over those that do not.

    `class_factors` are taken out of the weights: then they are those before `classWeight`.
    """

    members: Sequence[int]
    trees: Sequence[TreeArrays]
    weights: Weights
    class_factors: Floats | None = None
    held_out: bool = False

    def __call__(self, blocks: Iterator[Block]) -> list[Cells | None]:
        """The cells of each model; None if they are too many."""
        parts: list[list[Cells]] = [[] for _ in self.members]
        for block in blocks:
            for k, (member, trees) in enumerate(zip(self.members, self.trees, strict=True)):
                parts[k].append(self._of_block(block, member, trees))
                if sum(map(len, parts[k])) > 2 * MOST_CELLS:
                    parts[k] = [merged(parts[k])]
        cells = [merged(own) for own in parts]
        return [None if len(own) > MOST_CELLS else own for own in cells]

    def _of_block(self, block: Block, member: int, trees: TreeArrays) -> Cells:
        choose = self.weights.held_out_rows if self.held_out else self.weights.rows
        rows, weight = choose(block, member), None
        if self.class_factors is not None:
            weight = rows.weight / self.class_factors[block.target]
        used = np.flatnonzero(rows.count)
        weight = (rows.weight if weight is None else weight)[used]
        target = rows.target[used]
        leaves = find_leaves(np.ascontiguousarray(rows.codes[used]), trees)
        squares = float(weight @ (target**2).sum(axis=1))
        return _added(leaves, weight, target * weight[:, None], squares)


def merged(parts: Sequence[Cells]) -> Cells:
    """The cells of disjoint sets of rows together, always in the same order."""
    if len(parts) == 1:
        return parts[0]
    return _added(
        np.concatenate([part.leaves for part in parts]).T,
        np.concatenate([part.weight for part in parts]),
        np.concatenate([part.target for part in parts]),
        sum(part.squares for part in parts),
    )


def all_cells(parts: Sequence[Cells | None]) -> Cells:
    """The cells of all parts of the rows; ValueError if they are too many."""
    whole = [part for part in parts if part is not None]
    cells = merged(whole) if len(whole) == len(parts) else None
    if cells is None or len(cells) > MOST_CELLS:
        raise TooManyCells(
            f"The leaves of the trees combine in more than {MOST_CELLS:,} ways, too many to fit "
            f"their values together. Lower maxSplits, or set refit to 'none' and calibrate to "
            f"False."
        )
    return cells


def _added(leaves: Ints, weight: Floats, target: Floats, squares: float) -> Cells:
    """Rows or cells with the same leaves, `leaves` (trees, rows), become one cell."""
    first, number = _numbered(leaves)
    size = len(first)
    columns = [summed(number, column, size) for column in target.T]
    return Cells(
        leaves=np.ascontiguousarray(leaves[:, first].T),
        weight=summed(number, weight, size),
        target=np.column_stack(columns),
        squares=squares,
    )


def summed(number: NDArray[np.intp], values: Floats, size: int) -> Floats:
    """The sum of the values with each number."""
    return np.bincount(number, values, size).astype(np.float64, copy=False)


def _numbered(leaves: Ints) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """A row of each cell, and the number of the cell of each row."""
    key, size = np.zeros(leaves.shape[1], np.int64), 1
    for of_tree in leaves:
        span = int(of_tree.max(initial=0)) + 1
        if size * span > LARGEST_KEY:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
            size = int(key.max(initial=0)) + 1
        key, size = key * span + of_tree, size * span
    if size > len(key):
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        return first, number
    first_of = np.full(size, -1, np.intp)  # few keys need no sorting
    first_of[key[::-1]] = np.arange(len(key))[::-1]
    has_rows = first_of >= 0
    return first_of[has_rows], (np.cumsum(has_rows) - 1)[key]


def find_leaves(codes: NDArray[np.uint8], trees: TreeArrays) -> Ints:
    """The leaf of each row in each tree, (trees, rows)."""
    leaves = np.zeros((len(trees.roots), len(codes)), np.int32)
    run: Any = kernel.find_leaves if jit.available() else kernel.find_leaves_plain
    run(read_only(codes), trees, leaves)
    return leaves
