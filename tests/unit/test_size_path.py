"""Which size cross-validation recommends."""

from __future__ import annotations

import numpy as np
import pytest

from figs_spark.stages.cross_validation import SizePath, fold_losses, size_table


def path_of(held_out: list[list[float]]) -> SizePath:
    sizes = max(map(len, held_out))
    by_fold = fold_losses([np.array(losses) for losses in held_out], sizes)
    table = size_table(by_fold, tuple(by_fold.mean()), 100, [1] * (sizes - 1))
    return SizePath(table, None, by_fold)


def test_a_fold_that_stopped_early_keeps_its_last_loss() -> None:
    path = path_of([[1.0, 0.5], [1.0, 0.6, 0.4]])
    assert path.foldLosses.to_numpy().tolist() == [[1.0, 0.5, 0.5], [1.0, 0.6, 0.4]]
    assert path.table["loss"].tolist() == pytest.approx([1.0, 0.55, 0.45])


def test_differences_are_paired() -> None:
    """Folds differ much, and in each the larger size is a little better."""
    path = path_of([[9.0, 1.00, 0.90], [9.0, 3.00, 2.91], [9.0, 5.00, 4.92]])
    assert path.best == 2
    assert path.smallest == 1  # within one standard error of such different folds
    assert path.recommended == 2
    noisy = path_of([[9.0, 1.0, 0.5], [9.0, 1.0, 1.45], [9.0, 1.0, 1.0]])
    assert noisy.best == 2
    assert noisy.recommended == 1


def test_the_best_of_equal_sizes_is_the_smallest() -> None:
    path = path_of([[1.0, 0.5, 0.5], [1.0, 0.5, 0.5]])
    assert path.recommended == path.best == 1
