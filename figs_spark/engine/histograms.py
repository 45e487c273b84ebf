"""Packed rows + the trees so far -> histograms of residuals and weights over the bins.

One pass adds up, for every feature and bin,

    full   [slot, bin, :]   sum of w * r (one channel per output), sum of w, number of rows
    overlap[slot, bin]      sum of w

`full` builds the histogram of a candidate leaf from its rows. `overlap` is over the rows that a
leaf has in common with a child of the last split, in another tree: the split moved the residuals
of these rows by one number, and so tells how the histogram of the leaf changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.kernels import accumulate as kernel
from figs_spark.engine.kernels import jit

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

    def compact(self) -> Rows:
        """Without the rows that are left out."""
        used = np.flatnonzero(self.count)
        if len(used) == len(self.count):
            return self
        return Rows(self.codes[used], self.target[used], self.weight[used], self.count[used])


@dataclass(frozen=True)
class Program:
    """The trees so far over bin codes, as flat arrays, and what a pass shall add up.

    A row in `node` goes on to `first[node] + goes_right[node, code]`, its code being that of the
    feature of the node; a leaf leads to itself. A slot of -1 is not added up. With `grown` set to
    a tree, only rows whose leaf in that tree is a child of the last split to look at (`child` 0,
    perhaps 1) count. The overlaps of the second child have their slots after those of the first.
    """

    features: Ints  # the features to make histograms of
    layout: Layout  # of these histograms
    roots: Ints
    levels: Ints  # of splits in each tree, at most
    feature: Ints
    first: Ints  # the left child; the right one follows it
    goes_right: NDArray[np.bool_]  # (nodes, CODES)
    value: Floats  # (nodes, outputs)
    child: Ints  # 0 or 1 for the children to look at, else -1
    full_slot: Ints
    overlap_slot: Ints
    root_slot: int  # slot of the histogram of all rows, or -1
    grown: int  # the tree that the last step split, or -1: all rows count

    @property
    def full_slots(self) -> int:
        return 1 + max(self.root_slot, int(self.full_slot.max(initial=-1)))

    @property
    def overlap_slots(self) -> int:
        others = 1 + int(self.overlap_slot.max(initial=-1))
        return others * (1 + int(self.child.max(initial=-1)))


@dataclass(frozen=True)
class Sums:
    """What one pass added up for one model. The sums of disjoint sets of rows add up."""

    full: Floats  # (slots, bins, channels)
    overlap: Floats  # (slots, bins)
    squares: Floats  # (1,) sum of w * r^2 over the rows that counted

    @classmethod
    def zeros(cls, program: Program) -> Sums:
        layout = program.layout
        return cls(
            np.zeros((program.full_slots, layout.size, layout.channels)),
            np.zeros((program.overlap_slots, layout.size)),
            np.zeros(1),
        )

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.full, self.overlap, self.squares

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


def accumulate(rows: Rows, program: Program, sums: Sums) -> None:
    """Add these rows to `sums`."""
    run: Any = kernel.accumulate if jit.available() else kernel.accumulate_plain
    every = rows.codes.shape[1] == len(program.features)
    bins = rows.codes if every else np.take(rows.codes, program.features, axis=1)
    inputs = (rows.codes, bins, rows.target, rows.weight, rows.count)
    run(
        *(_read_only(array) for array in inputs),
        program.layout.offsets,
        program.roots,
        program.levels,
        program.feature,
        program.first,
        program.goes_right,
        program.value,
        program.child,
        program.full_slot,
        program.overlap_slot,
        program.root_slot,
        program.grown,
        program.layout.counted,
        *sums.arrays(),
    )


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """numba compiles anew for arrays that may be written to: let none be."""
    view = array.view()
    view.setflags(write=False)
    return view
