"""Values to bin codes: compiled by numba, and the same in NumPy."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine.kernels import jit
from figs_spark.engine.kernels.records import Grids

CELLS = 512  # of a grid: about two for each of 255 edges


@jit.compiled
def encode(table, bins, grids, codes, strangers):
    """Bin codes; counts the values that an exactly binned feature has no bin for.

    If such values share a bin, it is the last one before that of missing values.

    The rows of a batch go together: a cell of the grid tells how many edges are below a value for
    certain, and a binary search counts those in the cell. No branch depends on the data, so the
    processor never guesses wrong, and one step of all rows is one vector operation.
    """
    edges, starts, values = bins.edges, bins.starts, bins.values
    exact, other = bins.exact, bins.other
    batch = 64
    v = np.zeros(batch)
    at = np.zeros(batch, dtype=np.int32)
    for first in range(0, table.shape[0], batch):
        rows = min(batch, table.shape[0] - first)
        for j in range(table.shape[1]):
            cuts = edges[starts[j] : starts[j + 1]]
            last = np.int32(len(cuts) - 1)
            below, origin, scale = grids.below[j], grids.origin[j], grids.scale[j]
            for q in range(rows):
                v[q] = table[first + q, j]
            for q in range(batch):
                at[q] = below[_cell(v[q], origin, scale)]
            for step in range(grids.steps[j] - 1, -1, -1):
                ahead = np.int32((1 << step) - 1)
                for q in range(batch):
                    middle = min(at[q] + ahead, last)
                    at[q] += np.int32(cuts[middle] < v[q]) << step
            for q in range(rows):
                codes[first + q, j] = at[q] if v[q] == v[q] else last + 1 + other[j]
            if exact[j]:
                for q in range(rows):
                    if v[q] == v[q] and values[starts[j] + at[q]] != v[q]:
                        if other[j]:
                            codes[first + q, j] = last + 1
                        else:
                            strangers[j] += 1


@jit.compiled
def _cell(value, origin, scale):
    """The cell of a value: a larger value is in no lower cell, so edges in lower ones are below it.
    What is missing is in the first cell."""
    at = (value - origin) * scale
    at = at if at > 0.0 else 0.0
    at = at if at < CELLS - 1.0 else CELLS - 1.0
    return np.int32(at)


def empty_grids(features: int) -> Grids:
    return Grids(
        origin=np.zeros(features),
        scale=np.zeros(features),
        below=np.zeros((features, CELLS), dtype=np.uint8),
        steps=np.zeros(features, dtype=np.int64),
    )


@jit.compiled
def lay_grids(edges, starts, grids):
    """Fill the grids: from the first to the last edge of each feature, if both are finite."""
    counts = np.zeros(CELLS, dtype=np.int64)
    for j in range(len(starts) - 1):
        cuts = edges[starts[j] : starts[j + 1] - 1]
        if len(cuts) > 1:
            scale = (CELLS - 2.0) / (cuts[-1] - cuts[0])
            if 0.0 < scale < np.inf and np.isfinite(cuts[0]):
                grids.origin[j], grids.scale[j] = cuts[0], scale
        counts[:] = 0
        for k in range(len(cuts)):
            counts[_cell(cuts[k], grids.origin[j], grids.scale[j])] += 1
        before = most = 0
        for c in range(CELLS):
            grids.below[j, c] = before
            before += counts[c]
            most = max(most, counts[c])
        while 1 << grids.steps[j] <= most:
            grids.steps[j] += 1


def encode_plain(table, bins, codes, strangers):
    """The same in NumPy."""
    for j in range(table.shape[1]):
        column = table[:, j]
        start, stop = bins.starts[j], bins.starts[j + 1] - 1
        cuts = bins.edges[start:stop]
        places = np.searchsorted(cuts, column, "left")
        missing = np.isnan(column)
        codes[:, j] = np.where(missing, len(cuts) + 1 + bins.other[j], places)
        if bins.exact[j]:
            strange = (bins.values[start + places] != column) & ~missing
            if bins.other[j]:
                codes[strange, j] = len(cuts) + 1
            else:
                strangers[j] += np.sum(strange)
