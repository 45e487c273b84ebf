"""Packed rows + the trees so far -> histograms of residuals and weights over the bins.

One pass adds up, for every feature and bin,

    full   [slot, bin, :]   sum of w * r (one channel per output), sum of w, number of rows;
                            with the logistic loss after w * r the sum of its curvatures
    overlap[slot, bin]      sum of w
    moments[slot, :]        of the targets themselves, for the rows of a full histogram: sum of
                            w * y (one per output), and of w * |y|^2

`full` is the histogram of a candidate leaf, from its rows. `overlap` is over the rows that a leaf
shares with a child of the last split, in another tree: the split moved the residuals of these rows
by one number, so the overlap tells how the histogram of the leaf changes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from figs_spark.engine.kernels import accumulate as kernel
from figs_spark.engine.kernels import jit
from figs_spark.engine.kernels.records import (
    BinArrays,
    Floats,
    Ints,
    PackedRows,
    Slots,
    SumArrays,
    TreeArrays,
    read_only,
)

CODE_DTYPE = np.uint8  # hence at most 255 bins and one code for missing
CODES = 256


@dataclass(frozen=True)
class Layout:
    """Where the bins of each feature lie in a flat histogram; the last bin of each is missing.

    A channel of row counts is kept only if counts may differ from weights.
    """

    widths: tuple[int, ...]  # bins per feature, the one for missing included
    outputs: int
    counted: bool
    curved: bool = False  # whether there is a channel of curvatures

    @property
    def channels(self) -> int:
        return self.weight + 1 + self.counted

    @property
    def weight(self) -> int:
        """The channel of weights."""
        return self.outputs + self.curved

    @cached_property
    def offsets(self) -> NDArray[np.uint64]:
        return np.concatenate([[0], np.cumsum(self.widths)]).astype(np.uint64)

    @property
    def size(self) -> int:
        return int(self.offsets[-1])

    def subset(self, features: Sequence[int] | Ints) -> Layout:
        if len(features) == len(self.widths):
            return self
        return replace(self, widths=tuple(self.widths[j] for j in features))


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
class Request:
    """What one model asks of a pass: the trees so far, and the histograms to add up."""

    features: Ints  # the features to make histograms of
    layout: Layout  # of these histograms
    trees: TreeArrays
    slots: Slots
    start: Floats | None = None  # (outputs,) scores before the first tree, with that loss

    @property
    def full_slots(self) -> int:
        return 1 + max(self.slots.root, int(self.slots.full.max(initial=-1)))

    @property
    def overlap_slots(self) -> int:
        others = 1 + int(self.slots.overlap.max(initial=-1))
        return others * (1 + int(self.slots.child.max(initial=-1)))

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Of the arrays that a pass adds up, in the order of `Sums`."""
        layout = self.layout
        full = (self.full_slots, layout.size, layout.channels)
        moments = (self.full_slots, layout.outputs + 1)
        return full, (self.overlap_slots, layout.size), moments

    @property
    def size(self) -> int:
        """How many numbers a pass adds up."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def counts(self) -> int:
        """How many of these are counts of rows: overlaps, if every row weighs 1."""
        return 0 if self.layout.counted else math.prod(self.shapes[1])


@dataclass(frozen=True)
class Sums:
    """What one pass added up for one model. The sums of disjoint sets of rows add up."""

    full: Floats  # (slots, bins, channels)
    overlap: Floats  # (slots, bins)
    moments: Floats  # (slots, outputs + 1)

    @classmethod
    def zeros(cls, request: Request) -> Sums:
        return cls.over([request], np.zeros(request.size))[0]

    @classmethod
    def over(cls, requests: Sequence[Request], flat: Floats) -> list[Sums]:
        """The sums of each request as views of one flat array: no number is there twice."""
        every, at = [], 0
        for request in requests:
            arrays = []
            for shape in request.shapes:
                arrays.append(flat[at : at + math.prod(shape)].reshape(shape))
                at += math.prod(shape)
            every.append(cls(*arrays))
        return every

    def arrays(self) -> tuple[Floats, Floats, Floats]:
        return self.full, self.overlap, self.moments


def accumulate(rows: Rows, request: Request, sums: Sums) -> None:
    """Add these rows to `sums`."""
    run: Any = kernel.accumulate if jit.available() else kernel.accumulate_plain
    every, layout = rows.codes.shape[1] == len(request.features), request.layout
    bins = rows.codes if every else np.take(rows.codes, request.features, axis=1)
    packed = PackedRows(rows.codes, bins, rows.target, rows.weight, rows.count)
    start = np.zeros(layout.outputs) if request.start is None else request.start
    run(
        PackedRows(*(read_only(array) for array in packed)),
        request.trees,
        request.slots,
        BinArrays(layout.offsets, layout.counted, layout.curved, read_only(start)),
        SumArrays(*sums.arrays()),
    )
