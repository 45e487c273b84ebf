"""Numbers for rows that have no id: by their content, the same however rows are partitioned.

The column id is a hash of the content of a row. Equal rows are told apart by a running count; which
of them gets which count makes no difference, since they are equal. The count goes into the high
bits, so both ways below give a row the same number: a window over the hash if the rows stay on the
cluster, NumPy if they come to the driver.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from figs_spark.engine.blocks import Block

SHIFT = 40  # bits below the running count


def numbered_frame(frame: DataFrame) -> DataFrame:
    """With numbers in the column id, in place of hashes."""
    equal = Window.partitionBy("id").orderBy("id")
    count = (F.row_number().over(equal) - 1).cast("bigint")
    return frame.withColumn("id", F.col("id").bitwiseXOR(F.shiftleft(count, SHIFT)))


def numbered_blocks(blocks: Sequence[Block]) -> list[Block]:
    """The same for blocks in the driver."""
    hashes = np.concatenate([_hashes(block) for block in blocks])
    numbers = np.split(running_numbers(hashes), np.cumsum([len(block) for block in blocks])[:-1])
    return [replace(block, ids=ids) for block, ids in zip(blocks, numbers, strict=True)]


def _hashes(block: Block) -> NDArray[np.int64]:
    assert block.ids is not None
    return block.ids


def running_numbers(hashes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Each hash with the count of equal ones before it in the high bits."""
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)])
    lengths = np.diff(np.append(starts, len(ordered)))
    counts = np.empty(len(hashes), dtype=np.int64)
    counts[order] = np.arange(len(ordered)) - np.repeat(starts, lengths)
    return hashes ^ (counts << SHIFT)
