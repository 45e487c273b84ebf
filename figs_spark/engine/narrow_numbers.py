"""Numbers in the narrowest form that changes none of them: most sums are counts of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from figs_spark.engine.kernels.records import Floats

STRETCH = 1 << 14  # numbers that travel in one form
FORMS = tuple(map(np.dtype, (np.uint16, np.uint32, np.float64)))  # from narrow to wide


def narrowest(values: Floats) -> NDArray[Any]:
    """The same numbers in the narrowest form."""
    *narrow, widest = FORMS
    with np.errstate(invalid="ignore"):
        for form in narrow:
            if np.array_equal(cast := values.astype(form), values):
                return cast
    return values.astype(widest, copy=False)


def to_bytes(values: Floats) -> bytes:
    """Numbers on their way: the form of each stretch, then the stretches."""
    stretches = [narrowest(values[at : at + STRETCH]) for at in range(0, len(values), STRETCH)]
    forms = bytes(FORMS.index(each.dtype) for each in stretches)
    return b"".join([forms, *(each.tobytes() for each in stretches)])


def add_bytes(total: Floats, sent: bytes | pa.Buffer) -> None:
    """Add as many numbers as there are, which came as `to_bytes` made them."""
    at = -(-len(total) // STRETCH)  # after the forms
    for k, code in enumerate(np.frombuffer(sent, np.uint8, at)):
        stretch = total[k * STRETCH : (k + 1) * STRETCH]
        stretch += np.frombuffer(sent, FORMS[code], len(stretch), at)
        at += len(stretch) * FORMS[code].itemsize
