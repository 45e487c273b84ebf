"""How much would the values of a model differ on other rows? Bootstrap samples of its values.

The splits stay. Each sample draws the rows again (Poisson counts), and all values are fitted to it
as they were to the rows themselves: with the same ridge and link. Values that were not fitted
together but grew greedily move as a least-squares fit of them does. One pass adds up the cells of
some samples at a time.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from figs_spark.engine.backends import Backend
from figs_spark.engine.cells import Cells, CellWork, all_cells
from figs_spark.engine.grower import Growth
from figs_spark.engine.histograms import Floats
from figs_spark.engine.refitting import Basis, Order, fit_size
from figs_spark.treesum.adjustments import as_path
from figs_spark.treesum.nodes import Coefficients

SAMPLES_PER_PASS = 16


def value_samples(
    backend: Backend,
    growth: Growth,
    size: int,
    samples: int,
    order: Order,
    class_factors: Floats | None = None,
) -> tuple[Coefficients, ...]:
    """The coefficients of the model with `size` splits in each sample.

    The weights of the backend have the rows themselves as member 0, and sample k as member k.
    """
    basis, model = Basis(growth.trees.nodes), growth.model
    own = np.array(as_path(model.truncate(size))[-1])
    own[0] -= growth.centre
    ridge = growth.ridges[size]

    def fitted(cells: Cells) -> Floats:
        columns = np.column_stack([np.ones(len(cells)), basis.of_cells(cells)[:, :size]])
        return fit_size(cells, columns, basis.penalty[:size], ridge, growth.link, own, order(size))

    rows, *others = (
        fitted(cells) for cells in _cells(backend, growth, range(samples + 1), class_factors)
    )
    moved = [own + one - rows for one in others]
    for coefficients in moved:
        coefficients[0] += growth.centre
    return tuple(tuple(map(tuple, np.round(one, 9).tolist())) for one in moved)


def _cells(
    backend: Backend, growth: Growth, members: range, factors: Floats | None
) -> Iterator[Cells]:
    for at in range(0, len(members), SAMPLES_PER_PASS):
        some = members[at : at + SAMPLES_PER_PASS]
        work = CellWork(some, [growth.trees.arrays()] * len(some), backend.weights, factors)
        for parts in zip(*backend.gather(work), strict=True):
            yield all_cells(parts)
