"""Chooses the number of splits by cross-validation: one batch of fits gives the loss of every size.

The models of all folds and the model of all rows grow together over the same packed rows. A row has
the weight 0 in the model of its own fold. Smaller models are inside larger ones, so each fold gives
the losses of all sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import IntegralType

from figs_spark.dataframes.columns import column, hashable_field
from figs_spark.pictures.axes import pyplot
from figs_spark.pictures.curves import plot_sizes

if TYPE_CHECKING:
    import pandas as pd

MOST_FOLDS = 250
REFITS = {"with_refit": "lossWithRefit", "without_refit": "lossWithoutRefit"}
ALLOWED_ERRORS = 0.5  # standard errors that the recommended size may lose


@dataclass(frozen=True)
class SizePath:
    """The loss after 0, 1, 2, ... splits, and the sizes to choose from.

    `table` has one row per number of splits. `loss` is the squared error (in classification, of the
    probabilities) on held-out rows, as a mean over the folds, with its `standardError`.
    `lossWithRefit` is that of models whose values are fitted together at the end (of two classes by
    logistic regression unless `refit` says otherwise), `lossWithoutRefit` of values as they grew.
    `trainingLoss` is the loss of the model of all rows on these rows. `bic` is
    rows * log(trainingLoss) + log(rows) * (1 + the freedom of each split): a split chooses a value
    and a threshold, which is 2; or, if it is a set of categories, a value and the side of each
    category that its leaf has, but for one.
    `model` is the model of all rows, at its largest size, and `chosen` at the recommended one.
    `foldLosses` has the loss of every size in each fold.
    """

    __module__ = "figs_spark"

    table: pd.DataFrame
    model: Any
    foldLosses: pd.DataFrame

    @property
    def recommended(self) -> int:
        """The smallest size that loses little: at most half a standard error more than the best.

        The differences are paired, fold by fold, so that what makes a fold hard for all sizes does
        not count.
        """
        excess = self.foldLosses.sub(self.foldLosses[self.best], axis=0)
        within = excess.mean() <= ALLOWED_ERRORS * excess.sem()
        within[self.best] = True
        return int(within.idxmax())

    @property
    def chosen(self) -> Any:
        """The model of all rows at the recommended size."""
        return self.model.truncate(self.recommended)

    @property
    def best(self) -> int:
        """The size with the smallest mean loss."""
        return int(self.table["loss"].idxmin())

    @property
    def smallest(self) -> int:
        """The smallest size whose mean loss is within one standard error of the best."""
        best = self.table.loc[self.best]
        within = self.table["loss"] <= best["loss"] + best["standardError"]
        return int(within.idxmax())

    @property
    def bic(self) -> int:
        """The size with the smallest BIC."""
        return int(self.table["bic"].idxmin())

    def plot(self, ax: Any = None) -> Any:
        """Draw the loss by the number of splits, with the choices; returns the matplotlib axes."""
        if ax is None:
            ax = pyplot().figure(figsize=(6, 4), layout="constrained").add_subplot()
        plot_sizes(self.table, ax=ax)
        for size, label, colour in (
            (self.best, f"best: {self.best}", "tab:green"),
            (self.recommended, f"recommended: {self.recommended}", "tab:blue"),
            (self.smallest, f"within one standard error: {self.smallest}", "tab:orange"),
        ):
            ax.axvline(size, linestyle="--", color=colour, label=label)
        ax.legend(fontsize=8)
        return ax


def fold_column(dataset: DataFrame, folds: int, name: str | None, seed: int) -> Column:
    """The fold of each row: random, or by a column; rows with equal values share a fold."""
    if not 2 <= folds <= MOST_FOLDS:
        raise ValueError(f"numFolds must be from 2 to {MOST_FOLDS}, got {folds}.")
    if name is None:
        return F.floor(F.rand(seed) * folds).cast("int")
    kind, fold = hashable_field(dataset, name, "foldCol").dataType, column(name)
    missing, lowest, highest = dataset.select(
        F.count(F.when(fold.isNull(), 1)), F.min(fold), F.max(fold)
    ).collect()[0]
    if missing:
        raise ValueError(f"Column '{name}' (foldCol) is null in {missing} rows. Fill it.")
    if lowest is not None and lowest == highest:
        raise ValueError(
            f"Column '{name}' (foldCol) has one value in all rows: none would be left to train on. "
            f"Name a column with at least {folds} values."
        )
    numbered = isinstance(kind, IntegralType) and lowest is not None
    if numbered and lowest >= 0 and highest < folds:
        return fold.cast("int")
    return F.pmod(F.xxhash64(fold), F.lit(folds)).cast("int")


def fold_losses(held_out: list[np.ndarray], sizes: int) -> pd.DataFrame:
    """A row per fold, a column per size; a fold that stopped early keeps the loss of its last."""
    import pandas as pd

    padded = [np.append(loss, np.repeat(loss[-1], sizes))[:sizes] for loss in held_out]
    return pd.DataFrame(padded).rename_axis(index="fold", columns="splits")


def size_table(
    by_fold: pd.DataFrame, training: tuple[float, ...], rows: int, freedoms: Sequence[int]
) -> pd.DataFrame:
    """The table of a SizePath.

    `freedoms` says of each split in how many ways it could be chosen, 1 for a threshold.
    """
    import pandas as pd

    sizes, losses = len(training), by_fold.to_numpy()
    fitted = np.maximum(np.array(training), np.finfo(float).tiny)
    chosen = 1 + np.concatenate([[0], np.cumsum(np.array(freedoms, dtype=float) + 1)])[:sizes]
    return pd.DataFrame(
        {
            "loss": losses.mean(axis=0),
            "standardError": losses.std(axis=0, ddof=1) / np.sqrt(len(losses)),
            "trainingLoss": training,
            "bic": rows * np.log(fitted) + np.log(rows) * chosen,
        },
        index=pd.RangeIndex(sizes, name="splits"),
    )
