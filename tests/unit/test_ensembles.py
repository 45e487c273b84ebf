"""The compiled scoring of ensembles gives what the members give one by one."""

from random import Random

import numpy as np
import pytest

from figs_spark.engine.ensemble_scores import Ensemble
from figs_spark.treesum import Feature
from figs_spark.treesum.prediction import Outcome
from tests.support.treesums import FEATURES, Row, random_path, random_rows


def numbers(rows: list[Row]) -> np.ndarray:
    """Rows as the ensemble takes them: text and truth values as positions of their categories."""

    def cell(feature: Feature, value: object) -> float:
        if value is None or value != value:
            return np.nan
        if feature.categories is not None and not feature.holds_numbers:
            known = list(feature.categories)
            return float(known.index(value)) if value in known else -1.0
        return float(value)  # type: ignore[arg-type]

    return np.array([[cell(f, v) for f, v in zip(FEATURES, row, strict=True)] for row in rows])


@pytest.mark.parametrize("compiled", ["1", "0"])
@pytest.mark.parametrize("classes", [0, 2, 3])
def test_an_ensemble_predicts_the_mean_of_its_members(
    classes: int, compiled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIGS_SPARK_NUMBA", compiled)
    random, outcome = Random(classes), Outcome(classes)
    members = [random_path(random, splits=8, outputs=outcome.outputs)[-1] for _ in range(7)]
    rows = random_rows(random, 300)
    table = np.empty((len(rows), len(FEATURES)), dtype=object)
    table[:] = rows
    each = np.array([member.predict(table) for member in members])
    ensemble = Ensemble.of(members, outcome)
    assert ensemble.member_scores(numbers(rows)) == pytest.approx(each.transpose(1, 0, 2), 1e-12)
    mean = np.mean([outcome.expected_table(score) for score in each], axis=0)
    assert ensemble.predict(numbers(rows)) == pytest.approx(mean, 1e-12)
