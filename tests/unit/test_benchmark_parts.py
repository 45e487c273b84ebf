"""Parts of jobs/benchmark.py that need no Spark: one case alone, and fits in other processes."""

from __future__ import annotations

from pathlib import Path

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from jobs import benchmark as job
from jobs.bench import bars, releases
from jobs.bench.cases import CaseResult
from jobs.bench.data import prepare
from jobs.bench.layouts import ONE_LARGE, in_files
from jobs.bench.measuring import Measured, Timing, in_turns
from jobs.bench.memory import DRIVER, WORKER
from jobs.bench.presets import CLUSTER, FRIEDMAN, PRESETS, RELEASED, TREE, WIDE_ARRAY


def test_what_was_measured_elsewhere_is_taken_as_it_is() -> None:
    done = Measured("a model", 7.5, {DRIVER: 100.0})
    timing = in_turns({"other": (lambda: done, 2)}, "test", count=lambda: 3)["other"]
    assert timing.seconds == [7.5, 7.5]
    assert timing.memory == {DRIVER: 100.0}
    assert (timing.result, timing.jobs) == ("a model", None)


def test_one_case_alone_has_no_curves() -> None:
    preset = PRESETS["standard"].only("tree")
    assert [case.name for case in preset.cases] == ["tree"]
    assert preset.growth is None
    assert TREE in preset.contenders("friedman", 50)


def test_a_case_that_is_not_there_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        job.parse(["--only", "forest"])
    assert "--only forest: the preset has small, tree, stumps" in capsys.readouterr().err


def test_time_and_memory_stand_beside_those_of_a_release() -> None:
    def timing(seconds: float, driver: float, worker: float) -> Timing:
        return Timing([seconds], [{DRIVER: driver, WORKER: worker}])

    (case,) = PRESETS["wide"].cases
    fits = {
        CLUSTER: timing(30, 900, 300),
        WIDE_ARRAY: timing(10, 1200, 300),
        RELEASED: timing(200, 1000, 300),
    }
    met = {
        bar.what.partition(": ")[2]: bar.met for bar in bars.case_bars(CaseResult(case, 1, fits))
    }
    assert met == {
        f"{CLUSTER} / {RELEASED}": True,
        f"{WIDE_ARRAY} / {RELEASED}": True,
        f"{DRIVER}, memory of {CLUSTER} / {RELEASED}": True,
        f"{WORKER}, memory of {CLUSTER} / {RELEASED}": True,
        f"{DRIVER}, memory of {WIDE_ARRAY} / {RELEASED}": False,
        f"{WORKER}, memory of {WIDE_ARRAY} / {RELEASED}": True,
    }


def test_the_code_of_a_release_comes_from_the_history(tmp_path: Path) -> None:
    if obstacle := releases.obstacle("0.1.0"):
        pytest.skip(obstacle)  # a shallow clone, or no git
    code = releases._checked_out("0.1.0", tmp_path)
    package = (code / "figs_spark" / "__init__.py").read_text(encoding="utf-8")
    assert '__version__ = "0.1.0"' in package
    assert releases._checked_out("0.1.0", tmp_path) == code


@pytest.mark.parametrize(
    ("files", "rows"), [(4, [100] * 4), (ONE_LARGE, [360, 6, 5, 6, 6, 6, 5, 6])]
)
def test_the_same_rows_in_other_files(tmp_path: Path, files: int | str, rows: list[int]) -> None:
    data = prepare(tmp_path, FRIEDMAN, 400, 400, 5, seed=0)
    (folder,) = in_files(data, files).files  # Spark is given the folder
    paths = sorted(Path(folder).iterdir())
    assert [pq.read_metadata(path).num_rows for path in paths] == rows
    assert ds.dataset(paths).to_table().equals(ds.dataset(list(data.files)).to_table())


def test_a_release_that_is_not_in_the_history_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(releases.COMMITS, "0.0.0", "0" * 40)
    assert releases.obstacle("0.0.0") == "skipped: 0.0.0 is not in the history here"
