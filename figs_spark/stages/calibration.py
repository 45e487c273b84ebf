"""A fitted model can be calibrated on new rows: its splits stay, its values change.

One aggregation counts the new rows by their leaves; the rest is done in the driver.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml.functions import vector_to_array
from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from figs_spark.dataframes.columns import column, numeric_field
from figs_spark.engine.cells import MOST_CELLS, Cells
from figs_spark.engine.recalibration import METHODS, recalibrated
from figs_spark.stages.base.model import FittedModel
from figs_spark.treesum import TreeSum

if TYPE_CHECKING:
    from typing_extensions import Self

COUNTED = ("rows", "bad_label", "other_label", "bad_weight", "negative_weight")


class Calibrating(FittedModel):
    """A model of sums of trees whose values can be fitted to new rows."""

    def calibrate(
        self, dataset: DataFrame, method: str = "intercept", weightCol: str | None = None
    ) -> Self:
        """A copy of the model that is calibrated on these rows; it says so when it is printed.

        `method` is "intercept", which moves the score until the mean prediction is the mean of the
        label; "slope", which also stretches it; or "refit", which fits all leaf values again. Use
        rows that the model was not trained on. G-FIGS calibrates the model of each group on the
        rows of the group. An operating point is forgotten.
        """
        if method not in METHODS:
            raise ValueError(f"method is one of {', '.join(METHODS)}, got {method!r}.")
        cells = self._cells_of(dataset, weightCol)
        monotone = bool(self.getOrDefault("monotone"))
        sums = {
            group: recalibrated(tree_sum, *_cells(tree_sum, cells[group]), method, monotone)
            for group, tree_sum in self._sums_by_group().items()
        }
        changed = self.copy()
        changed._take_sums(sums)
        return changed._without_operating_point()

    # Defined by the family

    @abstractmethod
    def _sums_by_group(self) -> Mapping[Any, TreeSum]:
        """The sums of trees, each by the group of its rows."""

    @abstractmethod
    def _take_sums(self, sums: Mapping[Any, TreeSum]) -> None:
        """Have these sums instead."""

    def _group_of_rows(self) -> Column:
        """Which of the sums a row belongs to."""
        return F.lit(0)

    # The new rows by their leaves

    def _cells_of(self, dataset: DataFrame, weight_name: str | None) -> dict[Any, list[Row]]:
        label, leaf = self.getOrDefault("labelCol"), f"{self.uid}_leaf"
        numeric_field(dataset, label, "labelCol")
        if weight_name is not None:
            numeric_field(dataset, weight_name, "weightCol")
        w = F.lit(1.0) if weight_name is None else column(weight_name).cast("double")
        y = column(label).cast("double")
        frame = self._with_one_output(dataset, "leafCol", leaf)
        sums = [F.sum(w * target).alias(f"t{c}") for c, target in enumerate(self._targets(y))]
        rows = (
            frame.groupBy(
                self._group_of_rows().alias("g"), vector_to_array(column(leaf)).alias("leaves")
            )
            .agg(
                *_problems(y, w, self._classes),
                F.count(F.when(w > 0, 1)).alias("used"),
                F.sum(w).alias("w"),
                F.sum(w * y * y).alias("squares"),
                *sums,
            )
            .limit(MOST_CELLS + 1)
            .collect()
        )
        self._check_rows(rows, weight_name)
        cells: dict[Any, list[Row]] = {group: [] for group in self._sums_by_group()}
        for row in rows:
            if row["w"] > 0:
                cells[row["g"]].append(row)
        if empty := [group for group, own in cells.items() if not own]:
            of_group = f" of the group {empty[0]!r}" if len(cells) > 1 else ""
            raise ValueError(f"There are no rows with weight{of_group}. Give some to calibrate on.")
        return cells

    def _targets(self, y: Column) -> list[Column]:
        if self._classes <= 2:
            return [y]
        return [F.when(y == c, 1.0).otherwise(0.0) for c in range(self._classes)]

    def _check_rows(self, rows: list[Row], weight: str | None) -> None:
        total = {name: sum(row[name] for row in rows) for name in COUNTED}
        label, count = self.getOrDefault("labelCol"), total["rows"]
        if not count:
            raise ValueError("The DataFrame is empty: 0 rows. Check the filters before it.")
        known = self._sums_by_group()
        if unknown := [row for row in rows if row["g"] not in known]:
            raise ValueError(
                f"{sum(row['rows'] for row in unknown)} of {count} rows are of a group that the "
                f"model does not have, such as {unknown[0]['g']!r}. Drop these rows."
            )
        if len(rows) > MOST_CELLS:
            raise ValueError(
                f"The leaves of the trees combine in more than {MOST_CELLS:,} ways, too many to "
                f"calibrate. Truncate the model first."
            )
        wrong = {
            "bad_label": f"Column '{label}' (labelCol) is null, NaN or infinite in {{}} of {count} "
            f"rows. Drop or repair these rows.",
            "other_label": f"Column '{label}' (labelCol) is not one of the classes 0 to "
            f"{self._classes - 1} in {{}} of {count} rows. Drop or repair these rows.",
            "bad_weight": f"Column '{weight}' (weightCol) is null, NaN or infinite in {{}} of "
            f"{count} rows. Fill these weights; 0 leaves a row out.",
            "negative_weight": f"Column '{weight}' (weightCol) is negative in {{}} of {count} "
            f"rows. Weights are 0 or more.",
        }
        problems = [text.format(total[name]) for name, text in wrong.items() if total[name]]
        if problems:
            raise ValueError("\n".join(problems))


def _problems(y: Column, w: Column, classes: int) -> list[Column]:
    """Counts of rows that cannot be used, in the order of COUNTED."""

    def not_finite(value: Column) -> Column:
        return value.isNull() | F.isnan(value) | (F.abs(value) == float("inf"))

    other = ~y.isin(list(map(float, range(classes)))) if classes else F.lit(False)
    tests = [F.lit(True), not_finite(y), ~not_finite(y) & other, not_finite(w), w < 0]
    return [F.count(F.when(test, 1)).alias(name) for name, test in zip(COUNTED, tests)]


def _cells(model: TreeSum, rows: list[Row]) -> tuple[Cells, int]:
    """The rows of one sum by leaf, in one order whatever Spark's was; and how many they are."""
    rows = sorted(rows, key=lambda row: row["leaves"])
    target = np.array([[row[f"t{c}"] for c in range(model.outputs)] for row in rows], float)
    one_hot = model.outputs > 1
    squares = target.sum() if one_hot else sum(row["squares"] for row in rows)
    cells = Cells(
        leaves=np.array([row["leaves"] for row in rows], np.int32).reshape(len(rows), -1),
        weight=np.array([row["w"] for row in rows], float),
        target=target,
        squares=float(squares),
    )
    return cells, sum(row["used"] for row in rows)
