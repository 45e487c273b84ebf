"""What a saved model needs of a table, by the types of its features."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.types import BooleanType, NumericType, StringType

from figs_spark import FIGSRegressionModel
from figs_spark.app.saved_models import needed_columns
from figs_spark.treesum import Feature, Node, Split, TreeSum


@pytest.mark.parametrize(
    ("categories", "kind"),
    [
        (None, NumericType),
        ((0.0, 1.0), NumericType),
        ((1.0, 2.0), NumericType),
        ((-3.0,), NumericType),
        ((False, True), BooleanType),
        ((True,), BooleanType),
        (("",), StringType),
        (("0", "1"), StringType),
    ],
)
def test_the_type_of_a_column_follows_from_the_feature(categories: Any, kind: Any) -> None:
    listed = None if categories is None else categories[:1]
    threshold = 0.5 if categories is None else None
    split = Split(0, 0, 1.0, True, threshold=threshold, categories=listed)
    leaf = Node((1.0,), 1, 1.0)
    root = Node((0.0,), 2, 2.0, split, leaf, leaf)
    model = FIGSRegressionModel(featuresCols=["code"])
    model.treeSum = TreeSum((Feature("code", categories),), (root,), (1.0,), (1.0, 0.5))
    assert needed_columns(model) == {"code": kind}
