"""Values to bin codes: compiled by numba, and the same in NumPy."""

# mypy: allow-untyped-defs

from __future__ import annotations

import numpy as np

from figs_spark.engine.kernels import jit


@jit.compiled
def encode(table, bins, codes, strangers):
    """Bin codes by binary search; counts the values that an exactly binned feature has no bin for.

    If such values share a bin, it is the last one before that of missing values.

    The rows of a batch go down the search together: no branch depends on the data, so the
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
            length = len(cuts)
            for q in range(rows):
                v[q] = table[first + q, j]
            at[:] = 0
            while length > 1:
                half = length >> 1
                for q in range(batch):
                    at[q] += np.int32(half) * np.int32(cuts[at[q] + half - 1] < v[q])
                length -= half
            if length == 1:
                for q in range(batch):
                    at[q] += np.int32(cuts[at[q]] < v[q])
            for q in range(rows):
                codes[first + q, j] = at[q] if v[q] == v[q] else len(cuts) + 1 + other[j]
            if exact[j]:
                for q in range(rows):
                    if v[q] == v[q] and values[starts[j] + j + at[q]] != v[q]:
                        if other[j]:
                            codes[first + q, j] = len(cuts) + 1
                        else:
                            strangers[j] += 1


def encode_plain(table, bins, codes, strangers):
    """The same in NumPy."""
    for j in range(table.shape[1]):
        column = table[:, j]
        start, stop = bins.starts[j], bins.starts[j + 1]
        cuts = bins.edges[start:stop]
        places = np.searchsorted(cuts, column, "left")
        missing = np.isnan(column)
        codes[:, j] = np.where(missing, len(cuts) + 1 + bins.other[j], places)
        if bins.exact[j]:
            strange = (bins.values[start + j + places] != column) & ~missing
            if bins.other[j]:
                codes[strange, j] = len(cuts) + 1
            else:
                strangers[j] += np.sum(strange)
