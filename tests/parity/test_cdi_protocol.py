"""The experiment on decision instruments, seed by seed, as imodels and scikit-learn run it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from imodels import FIGSClassifier
from pyspark.sql import SparkSession
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from jobs.cdi import protocol, studies
from jobs.cdi.studies import GROUP, LABEL, OLD, YOUNG, Study

LEVELS = (0.94, 0.90)


def write_tables(folder: Path, rows: int = 1_200) -> None:
    """In the form of the published ones. What matters differs by age, few children are injured."""
    random = np.random.default_rng(7)
    age = random.integers(0, 8, rows)
    signs = pd.DataFrame(random.integers(0, 12, (rows, 6)), columns=[f"s{j}" for j in range(6)])
    signs["s0"] += age >= 2  # tells the age a little
    own = np.where(age >= 2, (signs["s1"] > 7) * (signs["s2"] > 3), signs["s3"] > 6)
    risk = 0.02 + 0.15 * own + 0.1 * (signs["s4"] > 8) + 0.01 * signs["s5"] * (signs["s1"] > 4)
    outcome = (random.random(rows) < risk).astype(int)
    unknown = ((age < 2) & (random.random(rows) < 0.6)).astype(int)
    known = signs.assign(AgeInYears=age)
    known.assign(csi=outcome).to_csv(folder / "csi_pred.csv", index=False)
    known.assign(unknown=unknown, csi=outcome).to_csv(folder / "csi_prop.csv", index=False)


class Reference:
    """One seed of the protocol on tables in memory."""

    def __init__(self, study: Study, seed: int):
        self.study = study
        self.rest, self.test = train_test_split(study.rows, test_size=0.2, random_state=seed)
        self.train, self.validation = train_test_split(self.rest, test_size=0.25, random_state=seed)
        positives = int(self.train[LABEL].sum())
        self.factor = (len(self.train) - positives) // positives

    def run(self, variant: str) -> dict[str, dict[str, float]]:
        """By group the metrics on the test rows, of what the validation rows choose."""
        best: Any = None
        for c in protocol.LOGISTIC if variant.startswith("G-") else (1.0,):
            told = LogisticRegression(C=c, max_iter=5_000, tol=1e-10)
            told.fit(self.rest[list(self.study.membership)], self.rest[GROUP])
            sizes = self.choose(variant, told)
            judged = self.order(self.validation, self.fit(variant, told, sizes, self.train))
            if best is None or (*judged, sum(sizes.values())) < best[0]:
                best = (*judged, sum(sizes.values())), told, sizes
        _, told, sizes = best
        scores = self.fit(variant, told, sizes, self.rest)(self.test)
        return self.metrics(scores)

    def choose(self, variant: str, told: Any) -> dict[str, int]:
        """The size of each group, by its own validation rows; if pooled, by all of them."""
        rows, groups = self.validation, (OLD, YOUNG)
        parts = {g: rows if variant in ("CART", "FIGS") else rows[rows[GROUP] == g] for g in groups}
        fits = {
            size: self.fit(variant, told, dict.fromkeys(groups, size), self.train)
            for size in protocol.SIZES
        }

        def chosen(group: str) -> int:
            return min(fits, key=lambda size: (*self.order(parts[group], fits[size]), size))

        return {group: chosen(group) for group in groups}

    def fit(self, variant: str, told: Any, sizes: dict[str, int], rows: pd.DataFrame) -> Any:
        """A function from rows to scores, each row by the model of its group."""
        features = list(self.study.features)
        models = {}
        for group, size in sizes.items():
            weight = 1 + rows[LABEL] * self.factor
            if variant.endswith("-SEP"):
                weight = weight * (rows[GROUP] == group)
            elif variant.startswith("G-"):
                chances = told.predict_proba(rows[list(self.study.membership)])
                weight = weight * chances[:, list(told.classes_).index(group)]
            used = rows[weight > 0]
            model = (
                FIGSClassifier(max_rules=size)
                if "FIGS" in variant
                else DecisionTreeClassifier(max_leaf_nodes=size, random_state=0)
            )
            model.fit(
                used[features].to_numpy(),
                used[LABEL].to_numpy().astype(int),
                sample_weight=weight[weight > 0].to_numpy(),
            )
            models[group] = model

        def scores(judged: pd.DataFrame) -> np.ndarray:
            found = np.empty(len(judged))
            for group, model in models.items():
                own = (judged[GROUP] == group).to_numpy()
                if own.any():
                    found[own] = model.predict_proba(judged.loc[own, features].to_numpy())[:, 1]
            return found.round(9)

        return scores

    def order(self, rows: pd.DataFrame, scores: Any) -> tuple[float, ...]:
        found = scores(rows)
        return tuple(-specificity(rows[LABEL], found, level) for level in LEVELS)

    def metrics(self, scores: np.ndarray) -> dict[str, dict[str, float]]:
        masks = {"all": np.full(len(scores), True)}
        masks |= {g: (self.test[GROUP] == g).to_numpy() for g in (OLD, YOUNG)}
        label = self.test[LABEL].to_numpy()
        return {
            group: {
                "AUC": float(roc_auc_score(label[own], scores[own])),
                **{
                    f"specificity at {level:.0%}": specificity(label[own], scores[own], level)
                    for level in protocol.LEVELS
                },
            }
            for group, own in masks.items()
        }


def specificity(label: Any, scores: np.ndarray, level: float) -> float:
    fpr, tpr, _ = roc_curve(label, scores, drop_intermediate=False)
    return float(1 - fpr[tpr >= level].min())


@pytest.mark.slow
def test_every_variant_is_as_imodels_and_scikit_learn_have_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "LOGISTIC", (2.783, 0.01))
    monkeypatch.setattr(protocol, "SIZES", (8, 12))
    write_tables(tmp_path)
    (study,) = studies.published(tmp_path)
    reference = Reference(study, seed=1)
    expected = {variant: reference.run(variant) for variant in protocol.VARIANTS}
    assert len({metrics["all"]["AUC"] for metrics in expected.values()}) == len(expected)
    for row in protocol.run_seed(spark, study, 1, boosted=False):
        for name, value in expected[row["model"]][row["group"]].items():
            assert row[name] == pytest.approx(value, abs=1e-9), (row["model"], row["group"], name)
