"""Bootstrap intervals of FIGS in Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from figs_spark import FIGSClassificationModel, FIGSClassifier, load_report
from tests.support.patients import FEATURES, patients

ASKED = {
    "featuresCols": FEATURES,
    "labelCol": "died",
    "maxSplits": 4,
    "refit": "logistic",
    "intervalSamples": 30,
    "riskIntervalCol": "between",
}


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return patients(spark, 400).cache()


@pytest.fixture(scope="module")
def model(data: DataFrame) -> Any:
    return FIGSClassifier(**ASKED).fit(data)


def test_rows_get_the_interval_of_their_risk(data: DataFrame, model: Any, tmp_path: Path) -> None:
    found: Any = model.transform(data).toPandas()
    risk = np.array([p[1] for p in found["probability"]])
    low, high = np.array(found["between"].tolist()).T
    assert ((low < risk) & (risk < high)).mean() > 0.95
    row = data.first()
    assert f"{100 * low[0]:.1f}% to {100 * high[0]:.1f}%" in str(model.explain(row))
    model.save(str(tmp_path / "model"))
    loaded = FIGSClassificationModel.load(str(tmp_path / "model"))
    assert loaded.fingerprint == model.fingerprint
    assert loaded.transform(data).first()["between"] == found["between"][0].tolist()
    model.report(tmp_path / "page.html")
    assert "by 30 bootstrap samples" in (tmp_path / "page.html").read_text("utf-8")
    assert load_report(tmp_path / "page.html").numSplits == model.numSplits


def test_every_mode_and_layout_draws_the_same(data: DataFrame, model: Any) -> None:
    again = FIGSClassifier(**ASKED, mode="cluster").fit(data.repartition(3))
    np.testing.assert_allclose(again.treeSum.samples, model.treeSum.samples, atol=1e-6)


def test_what_cannot_be_given_is_named(data: DataFrame, model: Any) -> None:
    with pytest.raises(ValueError, match="intervalSamples is 0"):
        FIGSClassifier(**{**ASKED, "intervalSamples": 0}).fit(data)
    with pytest.raises(ValueError, match="riskIntervalCol is for numbers and two classes"):
        FIGSClassifier(**{**ASKED, "refit": "none", "labelCol": "triage"}).fit(data)
    with pytest.raises(ValueError, match="truncated, edited or calibrated since"):
        model.truncate(2).transform(data)
