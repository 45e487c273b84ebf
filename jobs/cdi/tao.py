"""TAO and TAO-SEP: one tree of imodels for all patients, or one for each group, tuned by TAO."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import roc_curve

from jobs.cdi import protocol
from jobs.cdi.studies import GROUP, LABEL, Study

ITERATIONS = 20


def run_seed(study: Study, seed: int) -> list[dict[str, Any]]:
    """The metrics of both variants, by the protocol of the others."""
    encoded = encode(study)
    parts = protocol.parts(encoded, seed)
    records = []
    for variant in ("TAO", "TAO-SEP"):
        sizes, scores = _chosen(encoded, parts, variant)
        common = {"study": study.name, "seed": seed, "model": variant}
        common |= {"splits": sum(size - 1 for size in sizes.values())}
        common |= {"sizes": {group: size - 1 for group, size in sizes.items()}}
        records += [common | row for row in evaluate(parts[2], scores)]
    return records


def encode(study: Study) -> Study:
    """Numbers for scikit-learn: text by indicators, missing by the median and an indicator."""
    values = pd.get_dummies(study.rows[list(study.features)], dtype=float).astype(float)
    missing = values.isna()
    told = missing.loc[:, missing.any()].add_suffix(" missing").astype(float)
    table = pd.concat([values.fillna(values.median()), told], axis=1)
    rows = pd.concat([table, study.rows[[GROUP, LABEL]]], axis=1)
    return Study(study.name, rows, tuple(table.columns), (), study.sensitivities)


def _chosen(
    study: Study, parts: tuple[pd.DataFrame, ...], variant: str
) -> tuple[dict[str, int], np.ndarray]:
    """The number of leaves by group, chosen on validation rows, and scores of the test rows."""
    train, validation, test = parts
    both = pd.concat([train, validation])
    groups = {"all"} if variant == "TAO" else sorted(set(study.rows[GROUP]))
    sizes, scores = {}, np.empty(len(test))
    for group in groups:
        own = [rows if group == "all" else rows[rows[GROUP] == group] for rows in (*parts, both)]
        ranked = {size: _rank(study, own[0], own[1], size) for size in protocol.SIZES}
        sizes[group] = min(ranked, key=lambda size: (*ranked[size], size))
        mask = np.full(len(test), True) if group == "all" else (test[GROUP] == group).to_numpy()
        scores[mask] = _scores(study, own[3], own[2], sizes[group])
    return sizes, scores


def _rank(study: Study, train: pd.DataFrame, rows: pd.DataFrame, size: int) -> tuple[float, ...]:
    """Smaller is better: the false positive rate at each sensitivity; all equal without a case."""
    if rows[LABEL].min() == rows[LABEL].max():
        return (1.0,) * len(study.sensitivities)
    fpr, tpr, _ = roc_curve(rows[LABEL], _scores(study, train, rows, size), drop_intermediate=False)
    return tuple(float(fpr[tpr >= level].min()) for level in study.sensitivities)


def _scores(study: Study, train: pd.DataFrame, rows: pd.DataFrame, leaves: int) -> np.ndarray:
    from imodels import TaoTreeClassifier

    names = list(study.features)
    label = train[LABEL].to_numpy()
    positives = int(label.sum())
    if positives in (0, len(label)):
        return np.full(len(rows), label[0])
    weight = 1 + label * ((len(label) - positives) // positives)
    args = {"max_leaf_nodes": leaves, "random_state": 0}
    model = TaoTreeClassifier(model_args=args, n_iters=ITERATIONS)
    model.fit(train[names].to_numpy(), label, sample_weight=weight)
    return np.asarray(model.predict_proba(rows[names].to_numpy())[:, 1], float)


def evaluate(test: pd.DataFrame, scores: np.ndarray) -> list[dict[str, Any]]:
    """All rows, then each group; metrics as the protocol has them."""
    masks = {"all": np.full(len(test), True)}
    masks |= {group: (test[GROUP] == group).to_numpy() for group in sorted(set(test[GROUP]))}
    return [
        {"group": group, **protocol.metrics(_curve(test.loc[own, LABEL].to_numpy(), scores[own]))}
        for group, own in masks.items()
    ]


def _curve(label: np.ndarray, scores: np.ndarray) -> pd.DataFrame:
    if label.min() == label.max():
        nothing = [np.nan, np.nan]
        return pd.DataFrame(dict.fromkeys(("sensitivity", "specificity", "tp", "fp"), nothing))
    fpr, tpr, _ = roc_curve(label, scores, drop_intermediate=False)
    tp, fp = tpr * label.sum(), fpr * (1 - label).sum()
    return pd.DataFrame({"sensitivity": tpr, "specificity": 1 - fpr, "tp": tp, "fp": fp})
