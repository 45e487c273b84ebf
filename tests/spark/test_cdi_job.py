"""The experiment on clinical decision instruments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession
from sklearn.metrics import roc_auc_score
from sklearn.metrics import roc_curve as sklearn_roc_curve

from jobs import cdi_experiment as job
from jobs.cdi import protocol, studies


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Tables in the form of the published ones: outcome last, membership columns apart."""
    random = np.random.default_rng(0)
    age = random.integers(0, 12, 400)
    sign = (random.random((400, 2)) < 0.4).astype(int)
    risk = np.where(age >= 2, 0.1 + 0.6 * sign[:, 0], 0.1 + 0.6 * sign[:, 1])
    outcome = (random.random(400) < risk).astype(int)
    pred = pd.DataFrame({"AgeInYears": age, "a": sign[:, 0], "b": sign[:, 1], "csi": outcome})
    unknown = ((age < 2) & (random.random(400) < 0.8)).astype(int)
    pred.to_csv(tmp_path / "csi_pred.csv", index=False)
    prop = pred[["AgeInYears", "a"]].assign(b_unknown=unknown, csi=outcome)
    prop.to_csv(tmp_path / "csi_prop.csv", index=False)
    return tmp_path


def test_a_published_table_is_read_by_its_rules(folder: Path) -> None:
    (study,) = studies.published(folder)
    assert study.name == "csi"
    assert study.features == ("AgeInYears", "a", "b")
    assert study.membership == ("membership: a", "membership: b_unknown")
    older = study.rows["AgeInYears"] >= 2
    assert (study.rows[studies.GROUP] == np.where(older, studies.OLD, studies.YOUNG)).all()
    assert set(study.rows[studies.LABEL]) == {0.0, 1.0}


def test_tables_of_other_lengths_are_refused(folder: Path) -> None:
    short = pd.read_csv(folder / "csi_prop.csv").iloc[:-1]
    short.to_csv(folder / "csi_prop.csv", index=False)
    with pytest.raises(SystemExit, match=r"csi_pred.csv has 400 rows and csi_prop.csv 399"):
        studies.published(folder)
    (folder / "csi_prop.csv").unlink()
    with pytest.raises(SystemExit, match=r"has none of csi_pred\.csv with csi_prop\.csv"):
        studies.published(folder)


def test_metrics_equal_those_of_scikit_learn() -> None:
    random = np.random.default_rng(1)
    y = (random.random(300) < 0.3).astype(int)
    score = np.round(random.random(300) + 0.4 * y, 1)
    fpr, tpr, _ = sklearn_roc_curve(y, score, drop_intermediate=False)
    tp, fp = tpr * y.sum(), fpr * (1 - y).sum()
    curve = pd.DataFrame({"sensitivity": tpr, "specificity": 1 - fpr, "tp": tp, "fp": fp})
    found = protocol.metrics(curve)
    assert found["AUC"] == pytest.approx(roc_auc_score(y, score), abs=1e-12)
    assert found["specificity at 94%"] == pytest.approx((1 - fpr[tpr >= 0.94]).max())
    f1 = 2 * tp / (tp + fp + y.sum())
    assert found["F1"] == pytest.approx(f1.max())


@pytest.mark.slow
def test_the_experiment_runs(
    spark: SparkSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: protocol.VARIANTS[name] for name in ("CART", "G-FIGS")}
    monkeypatch.setattr(protocol, "VARIANTS", few)
    monkeypatch.setattr(protocol, "SIZES", (4, 6))
    monkeypatch.setattr(protocol, "LOGISTIC", ())
    monkeypatch.setattr(protocol, "BOOSTED", (2,))
    options = job.parser().parse_args(["--data", str(folder), "--seeds", "0", "1"])
    *_, results = job.experiment(spark, options)
    assert results.groupby(["model", "group"]).size().tolist() == [2] * 6
    assert results["group"].tolist()[:3] == ["all", studies.OLD, studies.YOUNG]
    assert results["AUC"].between(0, 1).all()
    assert results.loc[results["group"] == "all", "AUC"].gt(0.6).all()
    sizes = results.groupby("model")["splits"].max()
    assert sizes["CART"] <= 5
    assert sizes["G-FIGS"] <= 12
    job.write(results, tmp_path / "report")
    text = (tmp_path / "report/cdi.md").read_text()
    assert text.count("| G-FIGS |") == 3
    assert " ± " in text
    assert (tmp_path / "report/cdi.png").stat().st_size > 10_000
    with pytest.raises(SystemExit, match="4"):
        job.main(["--output", str(tmp_path / "report")])
