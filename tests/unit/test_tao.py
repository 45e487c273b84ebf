"""TAO and TAO-SEP by the protocol of the experiment on decision instruments."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from jobs.cdi import protocol, tao
from jobs.cdi.studies import GROUP, LABEL, OLD, YOUNG, Study


@pytest.fixture
def study(monkeypatch: pytest.MonkeyPatch) -> Study:
    """One sign tells much; few of the young have the outcome."""
    monkeypatch.setattr(tao, "ITERATIONS", 2)
    monkeypatch.setattr(protocol, "SIZES", (3, 5))
    random = np.random.default_rng(0)
    sign = random.integers(0, 3, 600).astype(float)
    rows = pd.DataFrame({"sign": sign, "cause": random.choice(["fall", "crash"], 600)})
    rows.loc[:20, "sign"] = np.nan
    rows[GROUP] = np.where(random.random(600) < 0.3, YOUNG, OLD)
    rows[LABEL] = (random.random(600) < np.where(sign == 2, 0.5, 0.1)).astype(float)
    return Study("study", rows, ("sign", "cause"), ())


def test_both_variants_are_measured_for_all_and_by_group(study: Study) -> None:
    records = tao.run_seed(study, seed=0)
    assert [(row["model"], row["group"]) for row in records] == [
        (model, group) for model in ("TAO", "TAO-SEP") for group in ("all", OLD, YOUNG)
    ]
    assert all(row["AUC"] > 0.6 for row in records if row["group"] == "all")
    assert set(records[-1]["sizes"]) == {OLD, YOUNG}
    assert records[-1]["splits"] == sum(records[-1]["sizes"].values()) <= 8


def test_text_and_missing_values_become_numbers(study: Study) -> None:
    encoded = tao.encode(study)
    assert encoded.features == ("sign", "cause_crash", "cause_fall", "sign missing")
    assert not encoded.rows[list(encoded.features)].isna().any(axis=None)
    assert encoded.rows["sign missing"].sum() == 21


def test_a_group_without_the_outcome_takes_the_smallest_tree(study: Study) -> None:
    study.rows.loc[study.rows[GROUP] == YOUNG, LABEL] = 0.0
    *_, young = tao.run_seed(study, seed=0)
    assert young["sizes"][YOUNG] == 2
    assert np.isnan(young["AUC"])


def test_metrics_equal_those_of_scikit_learn(study: Study) -> None:
    scores = np.random.default_rng(1).random(600).round(1)
    everyone, *_ = tao.evaluate(study.rows, scores)
    assert everyone["AUC"] == pytest.approx(roc_auc_score(study.rows[LABEL], scores))
