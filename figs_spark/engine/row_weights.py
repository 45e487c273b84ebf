"""What a row weighs by its class, and which models do not train on it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from figs_spark.dataframes.arrow import Floats

TRAINS_EVERYWHERE = 255  # in the column "held": no model leaves the row out


def factors_of(labels: Floats, factors: Sequence[float]) -> Floats:
    """The factor of the class of each row; 1 for a class that is not among them, as the rows of
    such a class weigh nothing."""
    return np.append(factors, 1.0)[np.minimum(labels, len(factors)).astype(np.intp)]
