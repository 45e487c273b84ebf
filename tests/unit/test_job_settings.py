"""Settings of the jobs: YAML with lines, options that win, refusals before Spark starts."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from runpy import run_module
from typing import Any

import pytest
import yaml

from figs_spark.app.cli import JOBS, main
from figs_spark.app.config import Key, Settings, keys_of
from figs_spark.app.errors import WRONG_USAGE, JobError
from figs_spark.app.inherited import TrainingSource, with_reader_options
from figs_spark.app.options import read_settings
from figs_spark.app.reader_options import inherited, reader_options, warn_of_unknown
from figs_spark.app.train import Train, check, chosen_size, with_large_leaves
from figs_spark.stages.params.values import texts

CONF = Path(__file__).parents[2] / "conf"


def test_the_module_is_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.argv", ["figs-spark", "no-such-job"])
    monkeypatch.delitem(sys.modules, "figs_spark.app.cli")
    with pytest.raises(SystemExit) as ended:
        run_module("figs_spark.app.cli", run_name="__main__", alter_sys=True)
    assert ended.value.code == WRONG_USAGE
    assert "figs-spark" in capsys.readouterr().err


def test_one_name_in_place_of_a_list_is_told_the_list() -> None:
    with pytest.raises(TypeError, match=r"such as \['age'\], got 'age'"):
        texts("age")


def read(*arguments: str) -> Settings[Train]:
    return read_settings(Train, "train.py", arguments)


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Settings from YAML text and options."""

    def write(text: str, *arguments: str) -> Settings[Train]:
        path = tmp_path / "train.yaml"
        path.write_text(text)
        return read("--config", str(path), *arguments)

    return write


def refusal(call: Any, *arguments: Any) -> str:
    with pytest.raises(JobError) as error:
        call(*arguments)
    assert error.value.exit_code == WRONG_USAGE
    return str(error.value)


# Reading


def test_without_anything_the_defaults_hold() -> None:
    values = read().job
    assert (values.input, values.kind, values.rows) == (None, "figs", 100_000)
    assert values.split.fractions == [0.7, 0.0, 0.3]
    assert values.model == {}


def test_values_of_all_types(written: Any) -> None:
    values = written(
        "input: visits\nrows: 5_000\nfeatures: [age, sex]\n"
        "model: {maxSplits: 7, minImpurityDecrease: 1e-4}\n"
        "split:\n  fractions: [1, 0, 0]\n  group: null\noperatingPoint: {sensitivity: 1}\n"
    ).job
    assert (values.rows, values.features) == (5000, ["age", "sex"])
    assert values.model == {"maxSplits": 7, "minImpurityDecrease": 1e-4}
    assert values.split.fractions == [1.0, 0.0, 0.0]
    assert values.operatingPoint.sensitivity == 1.0


def test_options_win_over_the_file(written: Any) -> None:
    text = "label: died\nmodel: {maxSplits: 7, maxTrees: 2}\nsplit: {seed: 3, group: patient}\n"
    options = ["--label", "1", "--model.maxSplits", "4", "--model.mode=cluster"]
    options += ["--split.seed", "-5", "--split.fractions", "0.5", "0.25", "0.25"]
    values = written(text, *options, "--split.group", "null").job
    assert values.label == "1"
    assert values.model == {"maxSplits": 4, "maxTrees": 2, "mode": "cluster"}
    assert (values.split.seed, values.split.group) == (-5, None)
    assert values.split.fractions == [0.5, 0.25, 0.25]


@pytest.mark.parametrize("text", ["?", "-", "#", "|", "yes", "*", "[70-80)", "--", "1e3", "null"])
def test_reader_options_are_texts(written: Any, text: str) -> None:
    assert read("--options.nullValue", text).job.options == {"nullValue": text}
    assert read(f"--options.nullValue={text}", "--rows", "5").job.options == {"nullValue": text}
    quoted = json.dumps(text)
    assert written(f"options: {{nullValue: {quoted}}}\n").job.options == {"nullValue": text}
    assert read("--options", f"{{nullValue: {quoted}}}").job.options == {"nullValue": text}


def test_reader_options_in_yaml_need_no_quotes(written: Any) -> None:
    values = written("options:\n  header: no\n  maxColumns: 007\n  nullValue: 2020-01-01\n").job
    assert values.options == {"header": "no", "maxColumns": "007", "nullValue": "2020-01-01"}
    message = refusal(written, "options: {nullValue: [a]}\n")
    assert "line 1: 'options': the entry 'nullValue' needs a text, got ['a']" in message


def test_an_unknown_reader_option_is_named(caplog: pytest.LogCaptureFixture) -> None:
    options = {"nulValue": "?", "HEADER": "no", "fs.s3a.endpoint": "x"}
    warn_of_unknown("csv", options, {"options.nulValue": "--options.nulValue"})
    (message,) = [record.getMessage() for record in caplog.records]
    assert message.startswith("--options.nulValue: Spark's csv reader ignores it")
    assert message.endswith("did you mean 'nullValue'?")
    assert reader_options("csv", options) == {"inferSchema": "true", **options}


def test_an_option_that_training_ignored_is_called_so(caplog: pytest.LogCaptureFixture) -> None:
    saved = {"nulValue": "?", "pathGlobFilter": "a*", "fs.s3a.endpoint": "x"}
    settings = replace(read(), job=replace(read("--input", "x.csv").job, format="csv"))
    source = TrainingSource(format="csv", options=saved)
    taken = with_reader_options(None, settings, source).job.options  # type: ignore[arg-type]
    assert taken == {}
    ignored, left_out = (record.getMessage() for record in caplog.records)
    assert left_out == (
        "'options.pathGlobFilter', 'options.fs.s3a.endpoint' of training (settings.json of the "
        "model) are not taken over: they decide what is read. If this table needs them, give them "
        "again."
    )
    assert ignored == (
        "options.nulValue of training (settings.json of the model): Spark's csv reader ignores it; "
        "did you mean 'nullValue'?"
    )


def test_flags() -> None:
    settings = read("--dry-run")
    assert (settings.dry_run, settings.overwrite) == (True, False)


def test_an_empty_file_is_no_settings(written: Any) -> None:
    assert written("# nothing yet\n").job == read().job


# Refusing


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input: a\nlabl: b\n", "line 2: unknown key 'labl'; did you mean 'label'?"),
        ("split:\n  group: a\n  sed: 1\n", "line 3: unknown key 'split.sed'; did you mean 'seed'?"),
        ("rows: many\n", "line 1: 'rows': a whole number is needed, got 'many'"),
        ("rows: 0\n", "line 1: 'rows': a number at least 1 is needed, got 0"),
        ("\nrows: true\n", "line 2: 'rows': a whole number is needed, got True"),
        ("label: on\n", "line 1: 'label': text is needed, got True; put it in quotes"),
        ("features: age\n", "line 1: 'features': a list, each text, is needed, got 'age'"),
        ("kind: forest\n", "line 1: 'kind': one of figs, bagged, gfigs is needed, got 'forest'"),
        ("model: 7\n", "line 1: 'model': a map of keys and values is needed, got 7"),
        ("split: 0.7\n", "line 1: 'split' is a section: put its keys below it, indented"),
        ("size: {folds: 1}\n", "line 1: 'size.folds': a number from 2 to 250 is needed, got 1"),
        ("rows: 1\nrows: 2\n", "line 2: 'rows' is set twice"),
        ("rows: [1\n", "line 2: this is not YAML"),
        ("- rows\n", "keys and values are needed"),
    ],
)
def test_the_line_is_named(written: Any, text: str, message: str) -> None:
    assert f"{message}" in refusal(written, text)


def test_all_problems_are_named_at_once(written: Any) -> None:
    found = refusal(written, "rows: x\nlabl: y\nsplit: {seed: z}\n")
    assert [f"line {k}:" in found for k in (1, 2, 3)] == [True] * 3


def test_a_missing_file_is_named() -> None:
    assert "--config nowhere.yaml cannot be read: No such file" in refusal(
        read, "--config", "nowhere.yaml"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "many"], "--rows: a whole number is needed, got 'many'"),
        (["--task", "ranking"], "--task: one of auto, classification, regression is needed"),
        (["--inputs", "x"], "unknown option --inputs"),
        (["--model.maxSplits"], "--model.maxSplits needs a value"),
        (["stray"], "unknown option stray"),
    ],
)
def test_wrong_options_are_named(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        read(*arguments)
    assert stop.value.code == WRONG_USAGE
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("input: a\n", "label: the column to predict is needed"),
        ("model:\n  maxTrees: 2\n  maxSplit: 3\n", "line 3 (model.maxSplit): FIGSClassifier and"),
        ("model: {maxSplit: 3}\n", "did you mean 'maxSplits'?"),
        ("model: {maxBins: 900}\n", "line 1 (model.maxBins): a finite number from 2 to 255"),
        ("model: {labelCol: died}\n", "line 1 (model.labelCol): the job sets this Param; use the"),
        (
            "kind: bagged\nmodel: {leafCol: x}\n",
            "BaggedFIGSClassifier and BaggedFIGSRegressor have",
        ),
        ("kind: gfigs\nmodel: {groupCols: x}\n", "did you mean 'groupCol'?"),
        ("split: {fractions: [0.5, 0.5]}\n", "three shares that add up to 1 are needed"),
        ("split: {fractions: [0, 0.5, 0.5]}\n", "the first share is 0: no rows would train"),
        ("size: {choose: validation}\n", "there are no validation rows"),
        ("operatingPoint: {sensitivity: 0.9}\n", "there are no validation rows"),
        ("kind: bagged\nsize: {choose: best}\n", "'best' is for kind figs, not bagged"),
        (
            "task: regression\nsplit: {column: part}\noperatingPoint: {sensitivity: 0.9}\n",
            "an operating point needs two classes",
        ),
    ],
)
def test_what_contradicts_itself_is_refused(written: Any, text: str, message: str) -> None:
    assert message in refusal(check, written(text))


def test_an_option_is_named_where_it_is_at_fault() -> None:
    assert refusal(check, read("--model.maxSplit", "3")).startswith("--model.maxSplit: ")


def test_null_and_maps_are_values_of_params(written: Any) -> None:
    settings = written("model: {maxSplits: null, maxTrees: null, classWeight: {1: 20}}\n")
    check(settings)
    assert settings.job.model == {"maxSplits": None, "maxTrees": None, "classWeight": {1: 20}}


# The command


@pytest.mark.parametrize("job", JOBS)
def test_the_commented_file_names_every_key_and_nothing_else(job: str) -> None:
    cls = import_module(f"figs_spark.app.{job.replace('-', '_')}").SETTINGS
    path = CONF / f"{job.replace('-', '_')}.yaml"
    settings = read_settings(cls, job, ["--config", str(path)])
    names = {name for name, item in keys_of(cls).items() if isinstance(item, Key)}
    top = yaml.safe_load(path.read_text())
    named = {
        f"{name}.{inner}" if f"{name}.{inner}" in names else name
        for name, value in top.items()
        for inner in (value if isinstance(value, dict) and value else {"": None})
    }
    generated_only = {"rows"} if job == "train" else set()
    assert names - generated_only == named
    import_module(cls.__module__).check(settings)


@pytest.mark.parametrize("job", JOBS)
def test_help_lists_keys_and_exit_codes(job: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([job, "--help"])
    shown = capsys.readouterr().out
    assert stop.value.code == 0
    assert all(text in shown for text in ("--config FILE", "--output", "exit codes:", "  4  "))


def test_without_a_job_the_jobs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert all(job in capsys.readouterr().out for job in ("train",))
    with pytest.raises(SystemExit) as stop:
        main(["retrain"])
    assert stop.value.code == WRONG_USAGE


def test_a_refusal_before_spark_has_a_message_and_a_code(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["score", "--input", "a"]) == WRONG_USAGE
    assert capsys.readouterr().err.startswith("figs-spark score: model: a model is needed")


def test_strict_privacy_asks_for_leaves_that_do_not_point_to_persons() -> None:
    rows = "--model.minInstancesPerNode"
    assert with_large_leaves(read(rows, "3")).job.model == {"minInstancesPerNode": 3}
    strict = with_large_leaves(read("--privacy", "strict", "--model.maxSplits", "4"))
    assert strict.job.model == {
        "minInstancesPerNode": 11,
        "minCategoryCount": 11,
        "maxSplits": 4,
    }
    assert with_large_leaves(read("--privacy", "strict", rows, "20")).job.model == {
        "minInstancesPerNode": 20,
        "minCategoryCount": 11,
    }
    message = refusal(check, read("--privacy", "strict", rows, "10"))
    assert "minInstancesPerNode" in message
    assert "needs at least 11 rows in a leaf, got 10" in message
    message = refusal(check, read("--privacy", "strict", "--model.minCategoryCount", "1"))
    assert "minCategoryCount" in message
    assert "needs at least 11 rows of a category, got 1" in message


def test_one_split_is_no_splits() -> None:
    size = {"choose": "recommended", "folds": 5, "choices": {"recommended": 1, "best": 4}}
    assert chosen_size({**size, "splits": 1}) == ", 1 split by 5 folds (recommended; best: 4)"
    assert ", 4 splits by" in chosen_size({**size, "splits": 4})


def test_a_model_does_not_choose_the_rows_that_are_read() -> None:
    """Its settings.json is no trusted file: a stream with cleanSource deletes what it has read."""
    saved = {"sep": ";", "nullValue": "?", "cleanSource": "delete", "pathGlobFilter": "a*"}
    saved |= {"mode": "DROPMALFORMED", "fs.s3a.endpoint": "elsewhere", "path": "/etc", "SEP": ","}
    options, others = inherited("csv", saved)
    assert options == {"sep": ";", "nullValue": "?", "SEP": ","}
    assert others == ["cleanSource", "pathGlobFilter", "mode", "fs.s3a.endpoint", "path"]
    assert inherited("delta", {"versionAsOf": "3"}) == ({}, ["versionAsOf"])
    values = replace(read("--input", "x.csv").job, options={"Mode": "PERMISSIVE"}, format="csv")
    settings = replace(read(), job=values)
    source = TrainingSource(format="csv", options=saved)
    taken = with_reader_options(None, settings, source).job.options  # type: ignore[arg-type]
    assert taken == {"sep": ";", "nullValue": "?", "SEP": ",", "Mode": "PERMISSIVE"}
