"""What is fitted while things go wrong: the three families on the same generated rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from figs_spark import BaggedFIGSClassifier, FIGSRegressor, GFIGSClassifier
from figs_spark.treesum.serialization import to_dict
from tests.support.nearly import about

ROWS, PARTITIONS = 20_000, 4
FEATURES = [f"x{j}" for j in range(8)]
FIGS, BAGGED, GROUPS = "FIGS", "Bagging-FIGS", "G-FIGS"
FAMILIES = (FIGS, BAGGED, GROUPS)


def write_rows(spark: SparkSession, folder: Path) -> str:
    """Rows that do not compress, as Parquet: each column is a hash of the row's number."""
    columns = [f"double(pmod(xxhash64(id, {j}), 10007)) x{j}" for j in range(len(FEATURES))]
    target = "x0 / 2000 + if(x1 > 4000, 3, 0) + if(x2 > 7000 and x3 < 3000, 2, 0) + x7 / 9000"
    frame = spark.range(0, ROWS, 1, PARTITIONS).selectExpr("id", *columns)
    frame = frame.selectExpr("*", f"{target} y", "int(x0 + x1 + x4 > 15000) died")
    frame = frame.selectExpr("*", "if(x5 < 3000, 'child', 'adult') band")
    path = str(folder / "rows")
    frame.write.parquet(path)
    return path


def estimator(family: str, work_dir: str | None = None, splits: int = 8) -> Any:
    common: dict[str, Any] = {
        "featuresCols": FEATURES,
        "mode": "cluster",
        "maxSplits": splits,
        "workDir": work_dir,
        "maxBins": 64,
    }
    if family == FIGS:
        return FIGSRegressor(**common, labelCol="y")
    if family == BAGGED:
        return BaggedFIGSClassifier(**common, labelCol="died", numEstimators=4, idCol="id", seed=3)
    return GFIGSClassifier(**common, labelCol="died", groupCol="band", membershipExcludeCols=["x5"])


def fitted(data: DataFrame, family: str, work_dir: str | None = None) -> Any:
    """The trees of a fit, as JSON."""
    model = estimator(family, work_dir).fit(data)
    if family == FIGS:
        sums = [model.treeSum]
    else:
        sums = list(model.members if family == BAGGED else model._sums.values())
    return json.loads(json.dumps([to_dict(tree_sum) for tree_sum in sums]))


def same(trees: Any, expected: Any) -> bool:
    """The same trees, but for the order in which numbers were added up."""
    return bool(trees == about(expected))
