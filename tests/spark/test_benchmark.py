"""jobs/benchmark.py: the smoke preset runs and its report is well formed. No time is judged."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from figs_spark.datasets import encounters
from jobs import benchmark as job
from jobs.bench import bars, cases, contenders, data, memory, presets
from jobs.bench.first_fits import measure_first
from jobs.bench.measuring import Timing, in_turns
from jobs.bench.mixed import prepare_mixed

SMOKE = presets.PRESETS["smoke"]


@pytest.fixture(scope="module")
def output(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the preset wrote. Nobody is warmed up, since no time is judged."""
    folder = tmp_path_factory.mktemp("bench")
    warmed: set[str] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "warm_up", lambda spark, names, data: warmed.update(names))
        report = job.run(spark, job.parse(["--preset", "smoke", "--output", str(folder)]))
    assert report.failures == 0
    assert warmed == {name for case in SMOKE.cases for name in case.contenders}
    report.save(folder)
    return folder


@pytest.fixture(scope="module")
def saved(output: Path) -> dict[str, Any]:
    return json.loads((output / "smoke.json").read_text(encoding="utf-8"))


def timings(saved: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for case in saved["cases"]:
        for part in ("fits", "first", "scoring", "floors", "ways"):
            yield from case[part].values()
    for curve in saved["growth"]:
        yield from curve["timings"]


def test_the_report_says_what_ran_where(saved: dict[str, Any]) -> None:
    assert set(saved) == {"preset", "judged", "run", "versions", "bars", "cases", "growth"}
    assert {"date", "cpu", "cores", "driver heap GB", "load before", "load after"} <= set(
        saved["run"]
    )
    assert {"python", "java", "pyspark", "numpy", "numba", "xgboost"} <= set(saved["versions"])
    assert [case["name"] for case in saved["cases"]] == [case.name for case in SMOKE.cases]
    assert {curve["axis"] for curve in saved["growth"]} == {
        "rows",
        "features",
        "splits",
        "partitions",
    }


def test_every_time_is_positive_or_explained(saved: dict[str, Any]) -> None:
    for timing in timings(saved):
        if timing["note"]:
            assert timing["note"].startswith("not installed: ")
        else:
            assert all(math.isfinite(s) and s > 0 for s in timing["seconds"])
            assert timing["median"] > 0
    for case in saved["cases"]:
        for name, fit in case["fits"].items():
            least = 0.1 if case["data"] == presets.FRIEDMAN else 0.0  # yes or no is mostly chance
            if name != presets.BAGGED_IMODELS:  # its probabilities are a softmax of its scores
                assert fit["note"] or least < fit["r2"] < 1, name


def test_every_bar_has_a_finite_ratio(saved: dict[str, Any]) -> None:
    missing = any(timing["note"] for timing in timings(saved))
    for bar in saved["bars"]:
        assert bar["value"] is not None or missing
        assert bar["value"] is None or (math.isfinite(bar["value"]) and bar["value"] >= 0)


def test_the_markdown_has_a_row_for_each_contender(output: Path) -> None:
    text = (output / "smoke.md").read_text(encoding="utf-8")
    sections = dict(zip((case.name for case in SMOKE.cases), text.split("\n## ")[2:]))
    for case in SMOKE.cases:
        for name in case.contenders:
            assert f"\n| {name} | " in sections[case.name]
    for bar in ("imodels FIGS / figs_spark auto", "profile and pack / one scan"):
        assert bar in text


def test_the_picture_is_written(output: Path) -> None:
    assert (output / "smoke.png").read_bytes().startswith(b"\x89PNG")
    assert "![seconds for a fit](smoke.png)" in (output / "smoke.md").read_text(encoding="utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_memory_is_that_of_the_driver_and_its_workers(saved: dict[str, Any]) -> None:
    peaks = saved["cases"][0]["fits"][presets.CLUSTER]["memory"]
    assert peaks[memory.JVM] > 100
    assert peaks[memory.PYTHON] > 50
    assert 50 < peaks[memory.WORKER] <= peaks[memory.WORKERS]


def test_who_is_missing_or_too_slow_is_said(
    spark: SparkSession, output: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = contenders.CONTENDERS
    monkeypatch.setitem(given, "absent", replace(given[presets.TREE], package="no_such_package"))
    monkeypatch.setitem(given, "slow", replace(given[presets.IMODELS], most_rows=10))
    case = presets.Case("small", 800, 10, 1, {"absent": 1, "slow": 1})
    table = data.prepare(output / "data", presets.FRIEDMAN, 800, 800, 10, seed=0)
    fits = cases.measure_case(spark, case, table, output / "blocks").fits
    assert fits["absent"].note == "not installed: no_such_package"
    assert fits["slow"].note == "skipped: 800 rows, more than 10"


def test_who_is_there_fits_once_before_being_timed(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fits: list[int] = []

    def fit(spark: SparkSession, task: contenders.Task) -> contenders.Scorer:
        fits.append(task.data.rows)
        return lambda rows: rows

    contender = contenders.Contender(fit)
    absent = replace(contender, package="no_such_package")
    monkeypatch.setattr(contenders, "CONTENDERS", {"there": contender, "absent": absent})
    table = data.prepare(tmp_path, presets.FRIEDMAN, 160, 80, 6, seed=0)
    contenders.warm_up(spark, ["absent", "there"], table)
    assert fits == [160]


def test_a_failure_is_noted_and_the_others_go_on() -> None:
    def fail() -> None:
        raise MemoryError("no room\nfor this")

    found = in_turns({"bad": (fail, 2), "good": (lambda: 7, 2)}, "test")
    assert found["bad"].note == "failed: MemoryError: no room"
    assert found["bad"].median is None
    assert len(found["good"].seconds) == 2
    assert found["good"].result == 7


def test_tables_depend_on_the_seed_alone(tmp_path: Path) -> None:
    one, same, other = (
        data.prepare(tmp_path / folder, presets.FRIEDMAN, 160, 80, 6, seed)
        for folder, seed in (("a", 0), ("b", 0), ("a", 1))
    )
    assert len(one.files) == 16
    assert pq.read_table(one.files[3]) == pq.read_table(same.files[3])
    assert pq.read_table(one.files[3]) != pq.read_table(other.files[3])
    part = one.part(80, 5)
    assert (part.rows, len(part.files), part.features) == (80, 8, ("x0", "x1", "x2", "x3", "x4"))


def test_partitions_of_the_input(spark: SparkSession, tmp_path: Path) -> None:
    table = data.prepare(tmp_path, presets.FRIEDMAN, 800, 800, 6, seed=0)
    for wanted in (1, 2, 4, 8):
        with table.read_in(spark, wanted):
            assert table.frame(spark).rdd.getNumPartitions() == wanted


@pytest.mark.parametrize("rows", ["0", "many"])
def test_a_wrong_number_of_rows_is_refused(rows: str) -> None:
    with pytest.raises(SystemExit) as stop:
        job.parse(["--rows", rows])
    assert stop.value.code == 2


def test_a_real_table_is_copied_whole_under_plain_names(tmp_path: Path) -> None:
    given = pd.DataFrame({"age": range(40), "died or not": [0, 1] * 20})
    given.to_parquet(tmp_path / "ward.parquet")
    table = data.copied(tmp_path / "ward.parquet", tmp_path / "copy", presets.SIGNS)
    features, label = table.arrays()
    assert (table.rows, table.features, table.test_file) == (40, ("x0",), None)
    np.testing.assert_array_equal(features[:, 0], range(40))
    np.testing.assert_array_equal(label, [0, 1] * 20)


@pytest.fixture(scope="module")
def mixed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The preset with text on a few generated rows; no new sessions, which have their own test."""
    folder = tmp_path_factory.mktemp("mixed")
    small = presets.PRESETS["mixed"].scaled(20_000)
    once = tuple(
        replace(case, contenders=dict.fromkeys(case.contenders, 1), first=0) for case in small.cases
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "warm_up", lambda spark, names, data: None)
        patch.setitem(presets.PRESETS, "mixed", replace(small, cases=once))
        report = job.run(spark, job.parse(["--preset", "mixed", "--output", str(folder)]))
    return report.to_dict()


def test_text_is_timed_beside_indexers_and_bands_beside_their_regression(
    mixed: dict[str, Any],
) -> None:
    assert [case["data"] for case in mixed["cases"]] == ["stays", "flights", "bands"]
    assert {timing["note"] for timing in timings(mixed)} == {""}
    ratios = {bar["what"].partition(": ")[2]: bar["value"] for bar in mixed["bars"]}
    for over, under in (
        (presets.AUTO, presets.INDEXED_TREE),
        (presets.BY_BAND, presets.BAND_REGRESSION),
    ):
        assert ratios[f"{over} / {under}"] > 0
    assert not mixed["judged"]  # the tables were generated


@pytest.mark.parametrize(("kind", "features"), [(presets.STAYS, 44), (presets.BANDS, 16)])
def test_generated_and_raw_stays_have_the_shape_of_the_extract(
    spark: SparkSession, tmp_path: Path, kind: str, features: int
) -> None:
    assert len(prepare_mixed(spark, tmp_path, kind, 600, 0, None).features) == features
    raw = encounters(spark, 600).toPandas()
    raw.to_csv(tmp_path / presets.EXTRACT, index=False)
    table = prepare_mixed(spark, tmp_path, kind, 600, 0, tmp_path / presets.EXTRACT)
    frame = table.frame(spark).toPandas()
    assert table.rows == 600
    assert frame[data.LABEL].sum() == (raw["readmitted"] == "<30").sum()
    assert not frame.isin(["?"]).to_numpy().any()
    if kind == presets.BANDS:
        assert frame["band"].nunique() == raw["age"].replace("[0-10)", "[10-20)").nunique() == 9
        assert table.most_texts == frame["race"].nunique(dropna=False)


def test_the_first_fit_has_a_session_of_its_own(spark: SparkSession, tmp_path: Path) -> None:
    table = data.prepare(tmp_path, presets.FRIEDMAN, 400, 400, 5, seed=0)
    case = presets.Case("mixed", 400, 5, 1, {presets.AUTO: 1}, first=1)
    first = measure_first(case, contenders.Task(table, 1, 64), "1g")[presets.AUTO]
    assert first.note == ""
    warm = cases.measure_case(spark, replace(case, first=0), table, tmp_path).fits[presets.AUTO]
    assert first.seconds[0] > warm.seconds[0]


@pytest.mark.parametrize("preset", ["ensembles", "large"])
def test_data_that_a_preset_cannot_use_is_refused(
    preset: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        job.parse(["--preset", preset, "--data", str(tmp_path)])
    assert stop.value.code == 2
    said = "has no recidivism.parquet" if preset == "ensembles" else "uses generated tables only"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("name", presets.PRESETS)
def test_presets_shrink_in_proportion(name: str) -> None:
    small = presets.PRESETS[name].scaled(64_000)
    assert max(most for _, most in small.tables().values()) == 64_000
    assert not small.judged


def test_a_bar_is_met_from_its_side() -> None:
    once, twice = Timing([1.0]), Timing([2.0])
    (bar,) = bars.doubling_bars("splits", once, twice, rows=False)
    assert bar.value == 2.0
    assert bar.met
    assert not replace(bar, limit=1.5).met
    assert replace(bar, limit=1.5, at_least=True).met
    assert replace(bar, value=None).met is None
