"""The comparison on the raw extract: AUC and its interval by the bootstrap over patients."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from jobs.readmission import area, bootstrap, results


def test_area_under_weights() -> None:
    random = np.random.default_rng(0)
    risks, labels = random.random(300).round(2), random.random(300) < 0.3
    weights = random.integers(0, 4, (3, 300))
    expected = [roc_auc_score(labels, risks, sample_weight=weight) for weight in weights]
    assert area(labels, risks, weights) == pytest.approx(expected)


def test_persons_are_drawn_whole() -> None:
    persons = np.repeat(np.arange(50), 3)
    weights = bootstrap(persons, 20)
    assert weights.shape == (20, 150)
    assert (weights.sum(axis=1) == 150).all()
    assert (weights.reshape(20, 50, 3) == weights.reshape(20, 50, 3)[:, :, :1]).all()


def test_the_table_has_differences_to_figs() -> None:
    random = np.random.default_rng(0)
    risk = random.random(2_000)
    test = pd.DataFrame({"encounter_id": np.arange(2_000), "patient_nbr": np.arange(2_000) // 2})
    test["early"] = random.random(2_000) < risk
    noisy = pd.Series(risk + random.normal(0, 1, 2_000))
    table = results(test, {("figs", True): noisy, ("tree", True): pd.Series(risk)})
    tree = table.set_index("model").loc["MLlib decision tree, depth 4"]
    value, low, high = (float(v) for v in tree["more than FIGS with ICD-9"].replace("(", "")
                        .replace(")", "").replace("to ", "").split())  # fmt: skip
    assert 0 < low < value < high
    assert tree["AUC with ICD-9"].startswith("0.8")
