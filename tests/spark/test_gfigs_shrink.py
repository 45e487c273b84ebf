"""G-FIGS with one structure and values for each group, in Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from figs_spark import GFIGSClassificationModel, stability
from tests.support.grouped import classifier, grouped, regressor, shapes


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    return grouped(spark, 400).cache()


@pytest.fixture(scope="module")
def model(data: DataFrame) -> Any:
    return classifier(weighting="shrink", refit="logistic").fit(data)


def values(model: Any) -> np.ndarray:
    sums = [own.treeSum for own in model.models.values()]
    return np.array([[n.value[0] for t in s.trees for n in t.walk()] for s in sums])


def test_all_groups_have_the_splits_of_all_rows(data: DataFrame, model: Any) -> None:
    pooled = classifier(weighting="pooled", refit="logistic").fit(data)
    assert shapes(model) == shapes(pooled)
    assert not np.allclose(*values(model))
    rows = {group: own.trees[0].own_rows for group, own in model.models.items()}
    assert rows == {row["band"]: row["count"] for row in data.groupBy("band").count().collect()}
    assert shapes(model.truncate(2)) == [splits[:2] for splits in shapes(model)]


def test_cluster_and_partitioning_give_the_same(data: DataFrame, model: Any) -> None:
    estimator = classifier(weighting="shrink", refit="logistic", mode="cluster")
    again = estimator.fit(data.repartition(3))
    assert shapes(again) == shapes(model)
    np.testing.assert_allclose(values(again), values(model), atol=1e-9)


def test_one_text_and_one_picture(model: Any) -> None:
    text = str(model)
    assert "one model for 2 groups of band, shrink" in text
    assert text.count("Tree 1 (all rows)") == 1
    assert "old " in text.split("Tree 1")[0]
    assert "drawn to those of all rows by a ridge of" in text
    picture = model.toSVG()
    assert picture.count(">Tree 1<") == 1
    assert ">old<" in picture
    assert ">young<" in picture
    apart = str(model.truncate({"old": 1}))
    assert "band = old (effective sample size" in apart


def test_it_scores_saves_and_exports(data: DataFrame, model: Any, tmp_path: Path) -> None:
    found: Any = model.transform(data).toPandas()
    risks = np.array([p[1] for p in found["probability"]])
    np.testing.assert_allclose(risks, model.predictProbability(found)[:, 1], atol=1e-12)
    assert abs(risks.mean() - found["died"].mean()) < 0.02
    model.save(str(tmp_path / "model"))
    loaded = GFIGSClassificationModel.load(str(tmp_path / "model"))
    assert (str(loaded), loaded.fingerprint) == (str(model), model.fingerprint)
    assert model.toSQL().count("band") >= 2
    model.report(tmp_path / "page.html")
    assert "young" in (tmp_path / "page.html").read_text("utf-8")


def test_numbers_and_stability(data: DataFrame) -> None:
    estimator = regressor(weighting="shrink", maxSplits=3)
    fitted = estimator.fit(data)
    assert fitted.groups == (1, 2, 3)
    assert len({tuple(row) for row in values(fitted).tolist()}) == 3
    found = stability(estimator, data, flip=(), repeats=2, bootstrap=True)
    assert found.table["group"].tolist() == ["all"]
