"""Spark's xxhash64 of rows in Python, to the bit, so that a row has the same hash wherever it is:
what is drawn at random by content does not depend on where the rows are."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Hashes = NDArray[np.uint64]

SEED = np.uint64(42)  # of Spark
P1, P2, P3, P4, P5 = (  # the primes of xxHash
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
NOT_A_NUMBER = np.uint64(0x7FF8000000000000)


def content_hashes(matrix: Floats, nulls: NDArray[np.bool_], numbers: Floats) -> NDArray[np.int64]:
    """xxhash64(array of the features, the columns of numbers...), which may be those of an array,
    too; nulls leave the hash as it is."""
    features = zip(matrix.T, nulls.T, strict=True)
    return hashes_of([*features, *((column, None) for column in numbers.T)]).view(np.int64)


def hashes_of(columns: Iterable[tuple[Floats, NDArray[np.bool_] | None]]) -> Hashes:
    """xxhash64(columns...), each with where it is null, as without a sign."""
    hashes: Any = SEED
    for values, nulls in columns:
        hashed = _with_double(hashes, values)
        hashes = hashed if nulls is None else np.where(nulls, hashes, hashed)
    return hashes


def _with_double(hashes: Hashes, values: Floats) -> Hashes:
    """The hash of a double on top of others: -0.0 as 0.0, every NaN as the same."""
    bits = (values + 0.0).view(np.uint64)
    bits = np.where(np.isnan(values), NOT_A_NUMBER, bits)
    with np.errstate(over="ignore"):
        mixed = hashes + P5 + np.uint64(8)
        mixed ^= _rotated(bits * P2, 31) * P1
        mixed = _rotated(mixed, 27) * P1 + P4
        mixed ^= mixed >> np.uint64(33)
        mixed *= P2
        mixed ^= mixed >> np.uint64(29)
        mixed *= P3
        mixed ^= mixed >> np.uint64(32)
    return mixed


def _rotated(values: Hashes, left: int) -> Hashes:
    return (values << np.uint64(left)) | (values >> np.uint64(64 - left))
