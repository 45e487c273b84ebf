"""The command line of jobs/train.py."""

from __future__ import annotations

import pytest

from figs_spark.datasets import FEATURES
from jobs.train import parse


def test_without_input_the_registry_is_described() -> None:
    options = parse([])
    assert (options.label, options.id, options.task) == (
        "intervention",
        "patient_id",
        "classification",
    )
    assert options.features == list(FEATURES)
    assert options.output is None


def test_an_input_needs_a_label_and_keeps_its_own_columns() -> None:
    options = parse(["--input", "visits", "--label", "length of stay", "--task", "regression"])
    assert (options.label, options.id, options.features) == ("length of stay", None, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--input", "visits"], "--input needs --label"),
        (["--overwrite"], "--overwrite needs --output"),
        (["--max-splits", "0"], "0 is not a positive number"),
        (["--rows", "-5"], "-5 is not a positive number"),
        (["--rows", "many"], "invalid positive value: 'many'"),
        (["--task", "ranking"], "invalid choice: 'ranking'"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        parse(arguments)
    assert stop.value.code == 2
    assert message in capsys.readouterr().err
