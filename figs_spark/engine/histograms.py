"""Packed rows + the trees so far -> histograms of residuals and weights over the bins.

One pass adds up, for every feature and bin,

    full  [slot, bin, :]   sum of w * r (one channel per output), sum of w, number of rows
    change[slot, bin, :]   sum of -w * delta (one channel per output)

`full` builds the histogram of a candidate leaf from its rows. `change` updates the histograms of
the leaves of the *other* trees after a split moved the residuals of its rows by `delta`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine import jit, kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

CODE_DTYPE = np.uint8  # hence at most 255 bins and one code for missing
CODES = 256


@dataclass(frozen=True)
class Layout:
    """Where the bins of each feature lie in a flat histogram; the last bin of each is missing.

    A channel of row counts is kept only where counts may differ from weights.
    """

    widths: tuple[int, ...]  # bins per feature, the one for missing included
    outputs: int
    counted: bool

    @property
    def channels(self) -> int:
        return self.outputs + 1 + self.counted

    @cached_property
    def offsets(self) -> NDArray[np.uint64]:
        return np.concatenate([[0], np.cumsum(self.widths)]).astype(np.uint64)

    @property
    def size(self) -> int:
        return int(self.offsets[-1])

    def subset(self, features: Sequence[int] | Ints) -> Layout:
        if len(features) == len(self.widths):
            return self
        return Layout(tuple(self.widths[j] for j in features), self.outputs, self.counted)


@dataclass(frozen=True)
class Rows:
    """The rows of one block as the kernel takes them, with the weights of one model."""

    codes: NDArray[np.uint8]  # (rows, features), row-major: one row is a few cache lines
    target: Floats  # (rows, outputs)
    weight: Floats  # (rows,)
    count: Floats  # (rows,) how many rows of the input each one stands for; 0: left out


@dataclass(frozen=True)
class Program:
    """The trees so far over bin codes, as flat arrays, and what a pass shall add up.

    `left[node] < 0` marks a leaf; a slot of -1 is not added up. With `grown` set to a tree, only
    rows whose leaf in that tree is marked in `moved` count, and `delta` is what moved them.
    """

    features: Ints  # the features to make histograms of
    roots: Ints
    feature: Ints
    left: Ints
    right: Ints
    tree: Ints  # the tree of each node
    goes_left: NDArray[np.uint8]  # (nodes, CODES)
    value: Floats  # (nodes, outputs)
    moved: NDArray[np.uint8]
    delta: Floats  # (nodes, outputs)
    full_slot: Ints
    change_slot: Ints
    root_slot: int  # slot of the histogram of all rows, or -1
    grown: int  # the tree that the last step split, or -1: all rows count

    @property
    def full_slots(self) -> int:
        return 1 + max(self.root_slot, int(self.full_slot.max(initial=-1)))

    @property
    def change_slots(self) -> int:
        return 1 + int(self.change_slot.max(initial=-1))


@dataclass(frozen=True)
class Sums:
    """What one pass added up for one model. The sums of disjoint sets of rows add up."""

    full: Floats  # (slots, bins, channels)
    change: Floats  # (slots, bins, outputs)
    squares: Floats  # (1,) sum of w * r^2 over the rows that counted

    @classmethod
    def zeros(cls, program: Program, layout: Layout) -> Sums:
        size = layout.subset(program.features).size
        return cls(
            np.zeros((program.full_slots, size, layout.channels)),
            np.zeros((program.change_slots, size, layout.outputs)),
            np.zeros(1),
        )

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.full, self.change, self.squares

    def add(self, other: Sums) -> None:
        for mine, theirs in zip(self.arrays(), other.arrays(), strict=True):
            mine += theirs

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.arrays())

    def flat(self) -> Floats:
        return np.concatenate([array.ravel() for array in self.arrays()])

    def fill(self, flat: Floats) -> None:
        """Take back what `flat` gave."""
        ends = np.cumsum([array.size for array in self.arrays()])[:-1]
        for array, part in zip(self.arrays(), np.split(flat, ends), strict=True):
            array[...] = part.reshape(array.shape)


def accumulate(rows: Rows, program: Program, layout: Layout, sums: Sums) -> None:
    """Add these rows to `sums`."""
    run: Any = kernel.accumulate if jit.available() else kernel.accumulate_plain
    part = layout.subset(program.features)
    bins = rows.codes if part is layout else np.take(rows.codes, program.features, axis=1)
    inputs = (rows.codes, bins, rows.target, rows.weight, rows.count)
    run(
        *(_read_only(array) for array in inputs),
        part.offsets,
        program.roots,
        program.feature,
        program.left,
        program.right,
        program.tree,
        program.goes_left,
        program.value,
        program.moved,
        program.delta,
        program.full_slot,
        program.change_slot,
        program.root_slot,
        program.grown,
        layout.counted,
        *sums.arrays(),
    )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """numba compiles anew for arrays that may be written to: let none be."""
    view = array.view()
    view.setflags(write=False)
    return view
