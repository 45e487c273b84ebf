"""The job that compares models by their held-out scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from jobs import compare, sums


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A classification and a regression, each with one strong feature."""
    path = tmp_path_factory.mktemp("compare")
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.random((300, 3)), columns=["a.b", "c d", "e"])
    yes = (frame["e"] + random.normal(0, 0.2, 300) > 0.5).astype(int)
    frame.assign(outcome=yes).to_parquet(path / "yes.parquet")
    frame.assign(outcome=frame["e"] * 3).to_parquet(path / "number.parquet")
    return path


def test_every_model_is_scored_on_every_split(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = [name for name in compare.MODELS if "FIGS" in name or "Forest" in name]
    monkeypatch.setattr(compare, "MODELS", {name: compare.MODELS[name] for name in few})
    options = compare.parser().parse_args(["--data", str(folder), "--splits", "2"])
    results = compare.compare(spark, options)
    assert results.groupby(["data", "model"]).size().tolist() == [2] * 6
    assert results.groupby("data")["classification"].first().to_dict() == {
        "number": False,
        "yes": True,
    }
    means = results.groupby(["data", "model"])["score"].mean()
    assert (means["number"] > 0.8).all()
    assert means["yes"].between(0.8, 1.0, inclusive="left").all()


def test_the_table_has_a_row_per_data_set_and_the_mean() -> None:
    first, second = list(compare.MODELS)[:2]
    records = [
        ("b", True, 0, first, 0.5, 1.0),
        ("b", True, 1, first, 0.7, 3.0),
        ("b", True, 0, second, 0.8, 2.0),
        ("b", True, 1, second, 0.8, 2.0),
        ("a", True, 0, first, 0.2, 1.0),
        ("a", True, 0, second, np.nan, np.nan),
    ]
    text = compare.tables(pd.DataFrame(records, columns=compare.COLUMNS))
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    assert rows[0] == ["| data", first, f"{second} |"]
    assert rows[2] == ["| a", "0.200", "left out |"]
    assert rows[3][:2] == ["| b", "0.600 ± 0.100"]
    assert rows[4] == ["| mean", "0.400", " |"]


def test_a_folder_without_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"no \\*.parquet in {tmp_path}"):
        compare.main(["--data", str(tmp_path)])


def test_a_name_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(SystemExit, match=r"--only: .* has no heart\.parquet"):
        compare.main(["--data", str(folder), "--only", "yes", "heart"])


def test_ways_to_grow_are_compared_at_equal_sizes(
    spark: SparkSession, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sums, "SIZES", (1, 3))
    results = sums.compare_sums(spark, folder, ["yes", "number"], splits=1, rows=200)
    own = results[results["way"] != sums.IMODELS]
    assert own.groupby(["data", "way"]).size().to_dict() == {
        **{("yes", way): 2 for way in sums.WAYS},
        **{("number", way): 2 for way in sums.WAYS if way not in sums.CLASSES_ONLY},
    }
    assert results[results["data"] == "number"]["R2"].max() > 0.7
    assert results[results["data"] == "yes"]["AUC"].min() > 0.7


def test_differences_are_paired() -> None:
    rows = [
        ("a", 0, "FIGS", 3, np.nan, 0.7, 0.5, 0.2),
        ("a", 0, "better", 3, np.nan, 0.8, 0.4, 0.4),
        ("b", 0, "FIGS", 3, np.nan, 0.6, 0.5, 0.3),
        ("b", 0, "better", 3, np.nan, 0.6, 0.5, 0.3),
    ]
    text = sums.sums_table(pd.DataFrame(rows, columns=sums.COLUMNS))
    assert "| better |  | +0.050 ± 0.050 (1 of 2) | -0.050 ± 0.050 (1 of 2) |" in text


def test_measures_are_those_of_scikit_learn() -> None:
    from sklearn.metrics import log_loss, r2_score, roc_auc_score

    random = np.random.default_rng(0)
    y, p = (random.random(200) < 0.3).astype(float), random.random(200).round(2)
    _, area, loss, spared = sums.measured(y, p, binary=True)
    assert area == pytest.approx(roc_auc_score(y, p))
    assert loss == pytest.approx(log_loss(y, np.clip(p, 0.001, 0.999)))
    limit = max(t for t in p if (p[y == 1] >= t).mean() >= sums.SENSITIVITY)
    assert spared == pytest.approx((p[y == 0] < limit).mean())
    assert sums.measured(p, p / 2, binary=False)[0] == pytest.approx(r2_score(p, p / 2))
