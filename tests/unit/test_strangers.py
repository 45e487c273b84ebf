"""Values that the sample of the bins had missed get bins without a second pass."""

from __future__ import annotations

import numpy as np
import pytest

from figs_spark.engine.bins import Bins, make_bins
from figs_spark.engine.blocks import PARTITION_BITS, Block
from figs_spark.engine.strangers import MOST, Strangers, few, with_new_bins
from figs_spark.treesum import Feature

FEATURES = [Feature("months"), Feature("visits"), Feature("weight")]


def packed(rows: np.ndarray, bins: Bins, parts: int) -> tuple[list[Block], list[Strangers]]:
    """The rows in blocks of 50, by several partitions."""
    blocks, every = [], []
    for number, part in enumerate(np.array_split(rows, parts)):
        strangers = Strangers(bins)
        for start in range(0, len(part), 50):
            table = part[start : start + 50]
            codes, found = bins.encode(table)
            strangers.take(codes, table, found)
            first = (number << PARTITION_BITS) + start
            blocks.append(Block(first, codes, np.zeros(len(table))))
        every.append(strangers)
    return blocks, every


def unseen(every: list[Strangers]) -> dict[int, np.ndarray]:
    columns = {j for strangers in every for j in strangers.values}
    return {j: np.unique(np.concatenate([s.values.get(j, []) for s in every])) for j in columns}


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("most", [255, 7])  # bins: with 7 the visits are cut evenly
def test_rows_are_coded_as_if_the_bins_had_been_known(parts: int, most: int) -> None:
    random = np.random.default_rng(parts)
    months = random.choice([1.0, 2.0, 3.0, np.nan], 600)
    visits = np.floor(random.exponential(1.0, 600))
    rows = np.column_stack([months, visits, random.normal(size=600)])
    rows[[7, 311, 599], 0] = [0.5, 7.0, -np.inf]
    rows[[8, 312, 598], 1] = [40.0, 41.0, 2.5]
    sample = rows[20:300]
    bins = make_bins(sample, FEATURES, most)
    blocks, every = packed(rows, bins, parts)
    assert all(strangers.coded for strangers in every)
    new = bins.widened(unseen(every), FEATURES, most)
    assert (new.features[1].values is None) == (most == 7)
    values = {number: strangers.values for number, strangers in enumerate(every)}
    recoded = with_new_bins(blocks, bins, new, values)
    expected, left = new.encode(rows)
    np.testing.assert_array_equal(np.concatenate([b.codes for b in recoded]), expected)
    assert left == {}
    assert (np.concatenate([b.codes for b in blocks]) != expected).any()


def test_more_values_than_codes_need_a_second_pass() -> None:
    bins = make_bins(np.array([[1.0], [2.0]]), FEATURES[:1], 255)
    rows = np.arange(5_000.0)[:, None]
    _, (strangers,) = packed(rows, bins, 1)
    assert not strangers.coded
    assert len(strangers.values[0]) <= MOST + 50
    assert len(unseen([strangers])[0]) > 255


def test_the_values_that_are_reported_do_not_depend_on_the_partitions() -> None:
    random = np.random.default_rng(0)
    values = np.unique(random.normal(size=5000).round(3))
    assert len(values) > MOST
    some = few(values)
    assert len(some) == MOST
    assert some.tolist() == sorted(set(some) & set(values))
    merged = np.zeros(0)
    for part in np.array_split(random.permutation(values), 7):
        merged = few(np.union1d(merged, few(np.sort(part))))
    assert merged.tolist() == some.tolist()
