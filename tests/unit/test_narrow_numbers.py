"""Sums travel in fewer bytes, and come back as they were."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from figs_spark.engine import narrow_numbers
from figs_spark.engine.narrow_numbers import STRETCH, add_bytes, narrowest, to_bytes
from figs_spark.engine.partial_sums import ARROW, Cutting

NUMBERS = st.one_of(
    st.integers(0, 70_000).map(float),
    st.integers(-3, 1 << 40).map(float),
    st.floats(allow_nan=True, allow_infinity=True),
)


@given(arrays(np.float64, st.integers(0, 40), elements=NUMBERS), st.integers(1, 9))
def test_numbers_come_back(values: np.ndarray, piece: int) -> None:
    total = np.zeros(len(values))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(narrow_numbers, "STRETCH", piece)
        add_bytes(total, to_bytes(values))
    np.testing.assert_array_equal(total, values)


@pytest.mark.parametrize(
    ("values", "form"),
    [
        ([0, 1, 65_535], np.uint16),
        ([0, 65_536], np.uint32),
        ([(1 << 32) - 1], np.uint32),
        ([1 << 32], np.float64),
        ([0, -1], np.float64),
        ([0.5], np.float64),
        ([1, np.nan], np.float64),
        ([1, np.inf], np.float64),
    ],
)
def test_the_narrowest_form(values: list[float], form: type) -> None:
    narrow = narrowest(np.array(values, dtype=np.float64))
    assert narrow.dtype == form
    np.testing.assert_array_equal(narrow, values)


def test_counts_take_a_quarter() -> None:
    counts = np.arange(2 * STRETCH) % 1000.0
    assert len(to_bytes(counts)) == 2 + counts.nbytes // 4
    counts[3] = 0.5  # in the first piece
    assert len(to_bytes(counts)) == 2 + counts.nbytes // 2 + counts.nbytes // 8


@pytest.mark.parametrize("width", [1, 3, 7, 100])
def test_slices_of_several_partitions(width: int) -> None:
    """Added up in the order of partitions, however they arrive; or merged before."""
    random = np.random.default_rng(0)
    parts = [np.where(np.arange(20) % 3, random.normal(size=20), k) for k in range(4)]
    cut = Cutting(20, width)
    sent = [record for k in (2, 0, 3, 1) for record in cut.slices(parts[k], k)]
    assert len(sent) == 4 * -(-20 // width)
    expected = ((parts[0] + parts[1]) + parts[2]) + parts[3]
    np.testing.assert_array_equal(cut.total(pa.Table.from_batches(sent, ARROW)), expected)
    merged = list(cut.merged(iter(sent)))
    assert len(merged) == -(-20 // width)
    total = cut.total(pa.Table.from_batches(merged, ARROW))
    np.testing.assert_allclose(total, expected, rtol=1e-12)
