"""What estimators and models share: they take Spark DataFrames, and derive columns first."""

from __future__ import annotations

from pyspark.sql import DataFrame

from figs_spark.dataframes.derived import with_derived
from figs_spark.stages.params.declared import DeclaredParams


class Deriving(DeclaredParams):
    """A stage with the Param `derivedCols`."""

    def _with_derived(self, dataset: DataFrame) -> DataFrame:
        return with_derived(dataset, self.getOrDefault("derivedCols") or {}, "derivedCols")
