"""Weights that are drawn, not stored: the same row gets the same number every time."""

import numpy as np
import pytest

from figs_spark.engine.blocks import Block, Target, from_records, to_record
from figs_spark.engine.weights import BootstrapWeights, OwnWeights

TARGET = Target(0)


def block(first: int, rows: int, **fields: np.ndarray) -> Block:
    return Block(first, np.zeros((rows, 1), np.uint8), np.zeros(rows), **fields)


def test_the_counts_of_a_bootstrap_sample_are_poisson() -> None:
    times = BootstrapWeights(TARGET, seed=1).times(np.arange(200_000), member=0)
    shares = [np.mean(times == k) for k in range(4)]
    assert shares == pytest.approx(np.exp(-1) / np.array([1, 1, 2, 6]), abs=0.004)
    assert times.mean() == pytest.approx(1, abs=0.01)


def test_rate_and_replacement() -> None:
    ids = np.arange(100_000)
    half = BootstrapWeights(TARGET, 1, rate=0.5).times(ids, 0)
    assert half.mean() == pytest.approx(0.5, abs=0.01)
    without = BootstrapWeights(TARGET, 1, rate=0.5, replacement=False).times(ids, 0)
    assert set(without) == {0.0, 1.0}
    assert without.mean() == pytest.approx(0.5, abs=0.01)
    assert (BootstrapWeights(TARGET, 1, replacement=False).times(ids, 0) == 1).all()


def test_members_and_seeds_draw_apart() -> None:
    ids = np.arange(50_000)
    draws = [
        BootstrapWeights(TARGET, seed).times(ids, member) for seed in (1, 2) for member in (0, 1)
    ]
    correlations = np.asarray(np.corrcoef(draws))[np.triu_indices(4, 1)]
    assert np.abs(correlations).max() < 0.02


def test_a_row_is_drawn_by_its_number_or_by_its_id() -> None:
    weights = BootstrapWeights(TARGET, seed=3)
    whole = weights.rows(block(0, 100), 5).weight
    halves = [weights.rows(block(first, 50), 5).weight for first in (0, 50)]
    assert np.concatenate(halves).tolist() == whole.tolist()
    named = weights.rows(block(700, 100, ids=np.arange(100)), 5).weight
    assert named.tolist() == whole.tolist()


def test_rows_are_either_in_the_sample_or_held() -> None:
    weights = BootstrapWeights(TARGET, seed=3)
    rows = block(0, 1000, weight=np.linspace(0.5, 2, 1000))
    inside, held = weights.rows(rows, 2), weights.held_out_rows(rows, 2)
    assert ((inside.count > 0) != (held.count > 0)).all()
    assert held.weight[held.count > 0].tolist() == rows.weight[held.count > 0].tolist()  # type: ignore[index]


def test_a_merged_row_counts_for_all_it_stands_for() -> None:
    found = OwnWeights(TARGET).rows(block(0, 3, count=np.array([1.0, 5.0, 2.0])), 0)
    assert found.weight.tolist() == found.count.tolist() == [1, 5, 2]
    weighted = block(0, 3, count=np.array([1.0, 5.0, 2.0]), weight=np.array([0.5, 2.5, 0.0]))
    found = OwnWeights(TARGET).rows(weighted, 0)
    assert found.weight.tolist() == [0.5, 2.5, 0]
    assert found.count.tolist() == [1, 5, 0]


def test_rows_weigh_nothing_in_the_model_of_their_fold() -> None:
    held = np.array([0, 1, 1, 255], np.uint8)
    weights = OwnWeights(TARGET)
    assert weights.rows(block(0, 4, held=held), 1).weight.tolist() == [1, 0, 0, 1]
    assert weights.held_out_rows(block(0, 4, held=held), 1).weight.tolist() == [0, 1, 1, 0]


def test_each_model_may_have_its_own_weights() -> None:
    given = np.array([[0.5, 1.0], [0.0, 2.0], [0.25, 0.0]])
    (packed,) = from_records([to_record(block(0, 3, weight=given))], TARGET)
    for rows in (block(0, 3, weight=given), packed):
        for member in (0, 1):
            found = OwnWeights(TARGET).rows(rows, member)
            assert found.weight.tolist() == given[:, member].tolist()
            assert found.count.tolist() == (given[:, member] > 0).tolist()
            assert found.weight.flags.c_contiguous
