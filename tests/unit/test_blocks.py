"""Packed rows as records, and back: what follows each other may come back as one block."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from figs_spark.engine.blocks import ARROW, Block, from_records, report_record, to_record
from figs_spark.engine.table import Target


def packed(random: np.random.Generator, first: int, rows: int, classes: int, models: int) -> Block:
    return Block(
        first=first,
        codes=random.integers(0, 255, (rows, 3)).astype(np.uint8),
        target=Target(classes).store(random.integers(0, 2, rows).astype(float)),
        weight=random.random((rows, models)) if models else None,
        ids=random.integers(0, 1 << 60, rows) if models else None,
    )


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("classes", [0, 2])
@pytest.mark.parametrize("models", [0, 1, 2])
def test_records_come_back_whole_in_runs(classes: int, models: int, large: bool) -> None:
    random = np.random.default_rng(0)
    places = [(0, 5), (5, 4), (9, 7), (16, 2), (1 << 40, 3), ((1 << 40) + 3, 3)]
    blocks = [packed(random, first, rows, classes, models) for first, rows in places]
    records = [to_record(block) for block in blocks[:4]]
    records += [report_record("{}"), *map(to_record, blocks[4:]), report_record("{}")]
    table = pa.Table.from_batches(records).combine_chunks()
    if large:
        names = [pa.large_binary() if pa.types.is_binary(f.type) else f.type for f in ARROW]
        table = table.cast(pa.schema(list(zip(ARROW.names, names))))
    batch = table.to_batches()[0].slice(1)  # a buffer that begins elsewhere
    expected = {1: [1, 1, 1, 1, 1], 8: [2, 1, 2], 100: [3, 2]}
    for least, records_in_each in expected.items():
        found = list(from_records([batch], Target(classes), least))
        assert len(found) == len(records_in_each)
        at = 1
        for block, count in zip(found, records_in_each):
            parts = blocks[at : at + count]
            at += count
            assert block.first == parts[0].first
            np.testing.assert_array_equal(block.codes, np.concatenate([p.codes for p in parts]))
            np.testing.assert_array_equal(block.target, np.concatenate([p.target for p in parts]))
            if models:
                weight = np.concatenate(
                    [np.squeeze(p.weight, 1) if models == 1 else p.weight for p in parts]
                )  # type: ignore[arg-type]
                np.testing.assert_array_equal(block.weight, weight)
                np.testing.assert_array_equal(block.ids, np.concatenate([p.ids for p in parts]))
            else:
                assert block.weight is None
