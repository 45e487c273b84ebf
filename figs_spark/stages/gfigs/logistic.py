"""The logistic regression of groups that was fitted in the driver, as a model for Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from pyspark.ml.functions import array_to_vector, vector_to_array
from pyspark.ml.linalg import DenseMatrix, DenseVector
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from figs_spark.engine.histograms import Floats
from figs_spark.engine.logistic_regression import Logistic
from figs_spark.treesum.strict_json import Entry

MARGINS = "figs_spark_membership_margins"


@dataclass(frozen=True)
class LogisticMembership:
    """Coefficients and intercepts, one row for each group; with two groups one row, the log odds of
    the second. It has what a LogisticRegressionModel of MLlib has of them."""

    coefficients: tuple[tuple[float, ...], ...]
    intercepts: tuple[float, ...]
    features: str  # the column with the vector
    probability: str  # the column to add

    @classmethod
    def of(cls, fitted: Logistic, features: str, probability: str) -> LogisticMembership:
        rows = tuple(tuple(row) for row in fitted.coefficients.tolist())
        return cls(rows, tuple(fitted.intercepts.tolist()), features, probability)

    @property
    def numClasses(self) -> int:
        return max(2, len(self.intercepts))

    @property
    def coefficientMatrix(self) -> DenseMatrix:
        table = np.array(self.coefficients)
        rows, columns = table.shape
        return DenseMatrix(rows, columns, table.ravel().tolist(), isTransposed=True)

    @property
    def interceptVector(self) -> DenseVector:
        return DenseVector(list(self.intercepts))

    def probabilities(self, columns: Floats) -> Floats:
        """The probability of each group, (rows, groups)."""
        fitted = Logistic(np.array(self.coefficients), np.array(self.intercepts), 0, True)
        return fitted.probabilities(columns)

    def transform(self, dataset: DataFrame) -> DataFrame:
        """The rows with the probability of each group, as a vector."""
        values = vector_to_array(F.col(self.features))
        margins = [
            _margin(values, row, constant)
            for row, constant in zip(self.coefficients, self.intercepts, strict=True)
        ]
        margin = F.col(MARGINS)
        if len(margins) == 1:
            second = 1 / (1 + F.exp(-margin[0]))
            shares = F.array(1 - second, second)
        else:
            raised = F.transform(margin, lambda m: F.exp(m - F.array_max(margin)))
            total = F.aggregate(raised, F.lit(0.0), lambda a, b: a + b)
            shares = F.transform(raised, lambda share: share / total)
        with_margins = dataset.withColumn(MARGINS, F.array(*margins))
        return with_margins.withColumn(self.probability, array_to_vector(shares)).drop(MARGINS)

    def to_dict(self) -> dict[str, Any]:
        rows = [list(row) for row in self.coefficients]
        return {"coefficients": rows, "intercepts": list(self.intercepts)}


def _margin(values: Column, coefficients: tuple[float, ...], constant: float) -> Column:
    factors = F.array(*map(F.lit, coefficients))
    products = F.zip_with(values, factors, lambda value, factor: value * factor)
    return F.aggregate(products, F.lit(constant), lambda a, b: a + b)


def read_logistic(
    saved: Any, groups: int, slots: int, source: str, features: str, probability: str
) -> LogisticMembership:
    """The model from the JSON that `to_dict` made; ValueError if it is damaged."""
    entry = Entry(saved, source, "membershipLogistic")
    fields = entry.fields(("coefficients", "intercepts"))
    rows = tuple(row.numbers() for row in fields["coefficients"].items())
    intercepts = fields["intercepts"].numbers()
    wanted = 1 if groups == 2 else groups
    if len(rows) != wanted or any(len(row) != slots for row in rows):
        fields["coefficients"].refuse(f"{wanted} lists of {slots} numbers")
    if len(intercepts) != wanted:
        fields["intercepts"].refuse(f"{wanted} numbers")
    return LogisticMembership(rows, intercepts, features, probability)
