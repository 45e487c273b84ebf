"""The arrays that kernels take, a few records of them by name.

numba compiles a function for the types of its arguments. A named tuple of arrays is such a type,
and its class is part of it: so the records live here, beside the kernels.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]


class PackedRows(NamedTuple):
    """Rows of one block, with the weights of one model."""

    codes: NDArray[np.uint8]  # (rows, features)
    bins: NDArray[np.uint8]  # (rows, features that histograms are made of)
    target: Floats  # (rows, outputs)
    weight: Floats  # (rows,)
    times: Floats  # (rows,) how many rows of the input each one stands for; 0: left out


class TreeArrays(NamedTuple):
    """Trees over bin codes. A row in `node` goes on to `first[node] + goes_right[node, code]`, with
    its code of the feature of the node. A leaf leads to itself."""

    roots: Ints  # (trees,)
    depths: Ints  # (trees,) splits on the longest way down
    feature: Ints  # (nodes,)
    first: Ints  # (nodes,) the left child; the right one follows it
    goes_right: NDArray[np.bool_]  # (nodes, CODES)
    value: Floats  # (nodes, outputs)


class Slots(NamedTuple):
    """Where a pass adds up what; a slot of -1 is not added up.

    With `grown` set to a tree, only rows count whose leaf in that tree is a child of the last split
    to look at (`child` 0, perhaps 1). The overlaps of the second child follow those of the first.
    """

    full: Ints  # (nodes,)
    overlap: Ints  # (nodes,)
    child: Ints  # (nodes,) 0 or 1 for the children to look at, else -1
    root: int  # slot of the histogram of all rows, or -1
    grown: int  # the tree that the last step split, or -1: all rows count


class BinArrays(NamedTuple):
    """The flat layout of histograms."""

    offsets: NDArray[np.uint64]  # (features + 1,) the first bin of each feature
    counted: bool  # whether rows are counted besides their weights
    curved: bool  # whether the loss is logistic: then its curvature is added up, too
    start: Floats  # (outputs,) the scores before the first tree, if it is


class SumArrays(NamedTuple):
    """What a pass adds up."""

    full: Floats  # (slots, bins, channels)
    overlap: Floats  # (slots, bins)
    moments: Floats  # (slots, outputs + 1) of the target: sum of w * y, and of w * |y|^2


class EdgeArrays(NamedTuple):
    """The bins of all features in a row. Feature j has its edges, and infinity behind them, from
    starts[j] to starts[j + 1]; so it has its values, one more than edges."""

    edges: Floats
    starts: NDArray[np.int64]
    values: Floats
    exact: NDArray[np.uint8]  # (features,) whether every value has a bin of its own
    other: NDArray[np.uint8]  # (features,) or whether those without one share the last bin


class Grids(NamedTuple):
    """An even grid over the edges of each feature. It tells about where a value lies, so that few
    edges are left to compare it with."""

    origin: Floats  # (features,)
    scale: Floats  # (features,) cells per unit; 0: all values are in the first cell
    below: NDArray[np.uint8]  # (features, cells) the edges in the cells before
    steps: NDArray[np.int64]  # (features,) of the search among the edges in a cell


class CutLimits(NamedTuple):
    """What makes a cut valid. Gains closer than `tie` are equal."""

    min_rows: int
    min_weight: float
    empty: float  # a side with no more weight than this counts as empty
    tie: float
    ridge: float = 0.0  # that is added to the weight of a side


class EnsembleArrays(NamedTuple):
    """The trees of all members of an ensemble; `left < 0` marks a leaf. Children come after their
    parent, and the nodes of a tree lie together."""

    member_roots: Ints  # (members + 1,) where the roots of each member begin
    roots: Ints
    ends: Ints  # of each tree: the place after its last node
    feature: Ints
    threshold: Floats  # NaN: the split lists categories
    listed_start: Ints  # (nodes + 1,) where the listed categories of each node begin
    listed: Floats
    listed_left: NDArray[np.uint8]
    missing_left: NDArray[np.uint8]
    left: Ints
    right: Ints
    value: Floats  # (nodes, outputs)
    rank: NDArray[Any]  # (nodes,) the place of the threshold among the cuts of its feature
    cut_start: Ints  # (features + 1,) where the cuts of each feature begin
    cuts: Floats  # of each feature, in order
    place_row: Ints  # (nodes,) where `score` has the places of its feature; -1: none is compared
    low_slot: Ints  # (nodes,) where `score` finds the leaf of the left child
    high_slot: Ints  # and of the right one


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """numba compiles anew for arrays that may be written to: let none be."""
    view = array.view()
    view.setflags(write=False)
    return view
