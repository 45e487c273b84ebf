"""The compiled scoring of ensembles gives what the members give one by one."""

from random import Random

import numpy as np
import pytest

from figs_spark.engine.ensemble_scores import Ensemble
from figs_spark.engine.kernels.score import score_plain
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
    cells = numbers(rows)[:, ensemble.used]
    assert ensemble.member_scores(cells) == pytest.approx(each.transpose(0, 2, 1), 1e-12)
    mean = np.mean([outcome.expected_table(score) for score in each], axis=0)
    assert ensemble.predict(cells) == pytest.approx(mean, 1e-12)


@pytest.mark.parametrize(("splits", "count"), [(8, 5), (60, 5), (8, 200)])
def test_compiled_scores_are_those_of_numpy_to_the_bit(splits: int, count: int) -> None:
    """Rows that fill no batch; trees so large that each row goes its own way, and small ones; and
    features with so many cuts that they are not counted one by one."""
    random = Random(splits)
    members = [random_path(random, splits, outputs=2)[-1] for _ in range(count)]
    ensemble = Ensemble.of(members, Outcome(0))
    cells = numbers(random_rows(random, 150))[:, ensemble.used]
    plain = np.zeros((count, 2, 150))
    score_plain(cells.T, ensemble.trees, plain)
    assert np.array_equal(ensemble.member_scores(cells), plain)


def test_members_without_a_split_need_no_feature() -> None:
    members = [random_path(Random(0), splits=8, outputs=1)[0] for _ in range(2)]
    ensemble = Ensemble.of(members, Outcome(0))
    assert (ensemble.used, ensemble.width) == ((), 1)
    expected = np.full((3, 1), members[0].constant[0])
    assert ensemble.predict(np.zeros((3, 1))) == pytest.approx(expected)
