"""A DataFrame with labels and scores: which columns they are in, and whether they can be used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.ml.functions import vector_to_array
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DateType,
    DoubleType,
    FloatType,
    IntegralType,
    NumericType,
    StringType,
)

from figs_spark.clinical.curves import RowsByScore
from figs_spark.clinical.rows_by_score import sums_by_score
from figs_spark.dataframes.columns import column, field, numeric_field
from figs_spark.dataframes.labels import label_number

FRACTIONAL = (FloatType, DoubleType)
GROUPING = (StringType, IntegralType, BooleanType, DateType, *FRACTIONAL)


@dataclass(frozen=True)
class Scored:
    """A DataFrame, and its columns with the label, the score, the weight and the group.

    The label is 0 or 1, a boolean, or text if the score is of a model that knows the two classes.
    The score is a number, or the second of two numbers in a vector or array, as in `probability`.
    """

    frame: DataFrame
    label: str
    score: str
    weight: str | None = None
    group: str | None = None

    def by_group(self, both: bool = True) -> list[tuple[Any, RowsByScore]]:
        """The rows by score: of all rows, under "all", and then of each group.

        A ValueError names the column, the count and the remedy. With `both`, it is also an error if
        all rows are of one class. A null group is a group too.
        """
        sums = sums_by_score(self._columns())
        self._check(sums, both)
        used = sums["rows"] > 0
        groups = sums.pop("g")[used]
        columns = {name: values[used] for name, values in sums.items()}
        whole = RowsByScore.of(columns["rank"], columns)
        if self.group is None:
            return [("all", whole)]
        parts: list[tuple[Any, RowsByScore]] = []
        names = sorted(set(groups), key=lambda name: (name is None, name))
        numbered = {name: k for k, name in enumerate(names)}
        numbers = np.array([numbered[name] for name in groups])
        for k, name in enumerate(names):
            part = {column: values[numbers == k] for column, values in columns.items()}
            parts.append((name, RowsByScore.of(part["rank"], part)))
        return [("all", whole), *parts]

    def overall(self, both: bool = True) -> RowsByScore:
        return self.by_group(both)[0][1]

    # Columns

    def _columns(self) -> DataFrame:
        """y, s, w, g, and `wide`: whether a vector does not have two values."""
        label = label_number(self.frame, self.label, self.score)
        if self.weight:
            numeric_field(self.frame, self.weight, "weightCol")
        score, wide = self._score_column()
        return self.frame.select(
            label.alias("y"),
            score.alias("s"),
            (column(self.weight).cast("double") if self.weight else F.lit(1.0)).alias("w"),
            (self._group_column(self.group) if self.group else F.lit(0)).alias("g"),
            wide.alias("wide"),
        )

    def _score_column(self) -> tuple[Column, Column]:
        kind, score = field(self.frame, self.score, "scoreCol").dataType, column(self.score)
        if isinstance(kind, NumericType):
            return score.cast("double"), F.lit(False)
        if kind.simpleString() == "vector":
            array = F.when(score.isNotNull(), vector_to_array(score))
        elif isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
            array = score.cast("array<double>")
        else:
            raise ValueError(
                f"Column '{self.score}' (scoreCol) has type {kind.simpleString()}; a number, or a "
                f"vector or array with one number per class, is needed. Name such a column."
            )
        return F.get(array, F.lit(1)), array.isNotNull() & (F.size(array) != 2)

    def _group_column(self, name: str) -> Column:
        kind, group = field(self.frame, name, "groupCol").dataType, column(name)
        if not isinstance(kind, GROUPING):
            raise ValueError(
                f"Column '{name}' (groupCol) has type {kind.simpleString()}; text, a number, a "
                f"boolean or a date is needed. Cast it."
            )
        return F.when(~F.isnan(group), group) if isinstance(kind, FRACTIONAL) else group

    # Checks

    def _named(self, param: str) -> str:
        names = {"labelCol": self.label, "scoreCol": self.score, "weightCol": self.weight}
        return f"Column '{names[param]}' ({param})"

    def _wrong(self) -> dict[str, str]:
        label, score, weight = map(self._named, ("labelCol", "scoreCol", "weightCol"))
        return {
            "missing_label": f"{label} is null or NaN in {{}}. Drop or repair these rows.",
            "other_label": f"{label} is neither 0 nor 1 in {{}}. Score one class against the rest.",
            "other_length": f"{score} does not have 2 values in {{}}: two classes are needed. Give "
            f"the score of one class as a number.",
            "bad_score": f"{score} is null, NaN or infinite in {{}}. Drop or repair these rows.",
            "bad_weight": f"{weight} is null, NaN or infinite in {{}}. Fill these weights; 0 "
            f"leaves a row out.",
            "negative_weight": f"{weight} is negative in {{}}. Weights must be 0 or more.",
        }

    def _check(self, sums: dict[str, Any], both: bool) -> None:
        rows, used = (int(sums[name].sum()) for name in ("all", "rows"))
        if rows == 0:
            raise ValueError("The DataFrame is empty: 0 rows. Check the filters before it.")
        for name, message in self._wrong().items():
            if count := int(sums[name].sum()):
                raise ValueError(message.format(f"{count} of {rows} rows"))
        if used == 0:
            raise ValueError(
                f"{self._named('weightCol')} is 0 in all {rows} rows. At least one must be "
                f"positive."
            )
        for name, value in (("positives", 1), ("negatives", 0)):
            if both and not sums[name].sum() > 0:
                raise ValueError(
                    f"{self._named('labelCol')} is {value} in 0 of {used} rows: there are no "
                    f"{name}. Take rows of both classes."
                )
