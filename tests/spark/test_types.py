"""What mypy makes of the public names: it takes what is right and refuses what is not.

It starts no Spark, but takes as long as a test that does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

api = pytest.importorskip("mypy.api")

ROOT = Path(__file__).parents[2]
RIGHT = """\
from pyspark.sql import DataFrame
from typing_extensions import assert_type

import figs_spark
from figs_spark import FIGSClassificationModel, FIGSClassifier, GFIGSClassifier, TreeSum


def use(rows: DataFrame) -> None:
    estimator = FIGSClassifier(featuresCols=["age"], maxSplits=None, classWeight={1: 2.0})
    assert_type(estimator.setMaxDepth(3).setThreshold(0.3), FIGSClassifier)
    assert_type(estimator.getFeaturesCols(), list[str] | None)
    model = estimator.setParams(labelCol="died", featureSubsetStrategy=0.5).fit(rows)
    assert_type(model, FIGSClassificationModel)
    assert_type(estimator.fit(rows, [{estimator.maxSplits: 3}]), list[FIGSClassificationModel])
    assert_type(FIGSClassificationModel.load("path"), FIGSClassificationModel)
    assert_type(model.truncate(3).copy().setOperatingPoint(0.9, on=rows), FIGSClassificationModel)
    assert_type(model.treeSum, TreeSum)
    assert_type(model.operatingPoint, figs_spark.OperatingPoint | None)
    assert_type(model.toSVG(width=600), str)
    assert_type(estimator.crossValidatePath(rows, numFolds=3).best, int)
    assert_type(figs_spark.select_gfigs(GFIGSClassifier(), rows, rows), figs_spark.SelectedGFIGS)
    assert_type(figs_spark.stability(estimator, rows), figs_spark.Stability)
"""
WRONG = """\
from figs_spark import FIGSClassifier, FIGSRegressor, roc_auc
FIGSClassifier(maxSplit=8)  # call-arg
FIGSClassifier(maxSplits="many")  # arg-type
FIGSClassifier("age")  # call-arg
FIGSRegressor(threshold=0.5)  # call-arg
FIGSRegressor().setMaxSplit(8)  # attr-defined
FIGSRegressor().setMode(None)  # arg-type
FIGSRegressor().numTrees  # attr-defined
roc_auc(label="died")  # call-arg
"""


@pytest.fixture
def _usual_recursion() -> Iterator[None]:
    """mypy lets Python recurse deeper, and leaves it so: later tests could end the process."""
    usual = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(usual)


@pytest.mark.usefixtures("_usual_recursion")
def test_mypy_sees_keywords_setters_and_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    for name, text in (("right", RIGHT), ("wrong", WRONG)):
        (tmp_path / f"{name}.py").write_text(text)
    files = [str(tmp_path / "right.py"), str(tmp_path / "wrong.py")]
    report, problems, _ = api.run([*files, "--no-error-summary"])
    assert problems == ""
    errors = re.findall(r"(\w+)\.py:(\d+): error: .*\[([\w-]+)\]", report)
    marks = re.findall("# (.*)", WRONG)
    assert errors == [("wrong", str(line), mark) for line, mark in enumerate(marks, start=2)], (
        report
    )
