"""The experiments of the paper, all parts with the quick preset, in one session."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import SparkSession

from jobs.cdi import protocol, tao
from jobs.paper import command, curves
from jobs.paper.cells import Cell
from jobs.paper.report import Report

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes; one feature tells much."""
    path = tmp_path_factory.mktemp("paper")
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.random((200, 3)).round(2), columns=["a.b", "c d", "e"])
    yes = (frame["e"] + random.normal(0, 0.3, 200) > 0.5).astype(int)
    frame.assign(outcome=yes).to_parquet(path / "heart.parquet")
    return path


def test_all_parts_are_measured_once_and_reported(
    spark: SparkSession, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = {name: protocol.VARIANTS[name] for name in ("CART", "FIGS", "G-FIGS")}
    monkeypatch.setattr(protocol, "VARIANTS", few)
    monkeypatch.setattr(protocol, "SIZES", (4,))
    monkeypatch.setattr(protocol, "LOGISTIC", (2.783,))
    monkeypatch.setattr(tao, "ITERATIONS", 1)
    pytest.importorskip("imodels")
    run = command.Run(command.QUICK, list(command.PARTS), folder, tmp_path)
    without = [cell for cell in run.cells() if not needs_extra(cell)]
    monkeypatch.setattr(command.Run, "cells", lambda self: without)
    assert run.measure(spark, minutes=None) == []
    assert all(run.store.path(cell).exists() for cell in without)

    monkeypatch.setattr(command, "PARTS", dict.fromkeys(command.PARTS, REFUSES))
    assert run.measure(spark, minutes=None) == []  # nothing is left to measure
    monkeypatch.undo()
    results, _ = run.results("curves")
    ours, theirs = (results[results["method"] == m] for m in (curves.FIGS, curves.IMODELS))
    assert ours["score"].tolist() == pytest.approx(theirs["score"].tolist(), abs=1e-9)
    run.report().write(tmp_path)
    text = (tmp_path / "report.md").read_text("utf-8")
    assert set(re.findall(r"\(`--only (\w+)`\)", text)) == set(command.PARTS)
    assert {path.stem for path in (tmp_path / "figures").iterdir()} == set(command.PARTS)
    assert "| TAO-SEP |" in text
    assert (tmp_path / "report.html").stat().st_size > 100_000
    for cell in without:  # a run that ended early: any cell may be the only one of its part
        results, done = run.results(cell.part, [cell])
        assert len(done) == 1
        if len(results):
            Report({cell.part: command.PARTS[cell.part].section(results)}, []).write(tmp_path)


def needs_extra(cell: Cell) -> bool:
    """xgboost and pygam are no part of the test extra."""
    return cell.settings.get("method") in ("XGBoost", "GAM")


class Refuses:
    """A part that may not be measured."""

    def measure(self, *_: object) -> None:
        raise AssertionError("measured again")


REFUSES = Refuses()


def test_a_cell_that_fails_is_named_and_the_others_go_on(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def measure(_: object, settings: dict[str, object], __: Path) -> list[dict[str, object]]:
        if settings["method"] == curves.CART:
            raise ValueError("no tree today")
        return [{"splits": 1, "score": 0.5, "binary": True}]

    monkeypatch.setattr(curves, "measure", measure)
    run = command.Run(command.QUICK, ["curves"], folder, tmp_path)
    failed = run.measure(None, minutes=None)
    assert {cell.settings["method"] for cell in failed} == {curves.CART}
    assert "curves: heart, 0, CART, 200 failed" in caplog.text
    assert "no tree today" in caplog.text
    assert len(list((tmp_path / "cells/curves").iterdir())) == len(run.cells()) - len(failed)
