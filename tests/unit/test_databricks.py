"""The asset bundle: what it asks for exists, and its resources have the types that Databricks gives
them. That a workspace takes it is not tested here."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from databricks.bundles.core import Resources
from databricks.bundles.jobs import Job

from figs_spark.app import cli, databricks
from figs_spark.app.options import read_settings
from figs_spark.app.train import Train, check

ROOT = Path(__file__).parents[2]
BUNDLE = yaml.safe_load((ROOT / "databricks.yml").read_text("utf-8"))
TASKS = [task for job in BUNDLE["resources"]["jobs"].values() for task in job["tasks"]]


def texts(part: Any) -> Iterator[str]:
    if isinstance(part, dict | list):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from texts(inner)
    elif isinstance(part, str):
        yield part


def filled(text: str) -> str:
    """With the defaults of the variables."""
    return re.sub(r"\$\{var\.(\w+)\}", lambda m: BUNDLE["variables"][m[1]]["default"], text)


def test_every_variable_is_declared_and_used() -> None:
    used = {name for text in texts(BUNDLE) for name in re.findall(r"\$\{var\.(\w+)\}", text)}
    assert used == set(BUNDLE["variables"])


def test_the_resources_have_the_types_of_databricks() -> None:
    assert set(BUNDLE["resources"]) == {"jobs"}
    resources = Resources()
    for name, job in BUNDLE["resources"]["jobs"].items():
        resources.add_job(name, Job.from_dict(job))
        assert _without_empty(Job.from_dict(job).as_dict()) == job
    assert not resources.diagnostics.has_error()


@pytest.mark.parametrize(
    ("place", "wrong", "message"),
    [
        (["tasks", 0, "python_wheel_task", "entry_pont"], "x", "Unexpected field 'entry_pont'"),
        (["max_concurrent_runs"], "many", "many"),
        (["job_clusters", 0, "new_cluster", "data_security_mode"], "OPEN", "OPEN"),
    ],
)
def test_what_databricks_does_not_know_is_refused(
    place: list[Any], wrong: Any, message: str
) -> None:
    job = copy.deepcopy(BUNDLE["resources"]["jobs"]["train"])
    part = job
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = wrong
    with pytest.raises((ValueError, TypeError), match=message):
        Job.from_dict(job)


def _without_empty(part: Any) -> Any:
    if isinstance(part, dict):
        return {k: _without_empty(v) for k, v in part.items() if v not in (None, [], {})}
    return [_without_empty(inner) for inner in part] if isinstance(part, list) else part


def test_the_entry_point_is_that_of_the_package() -> None:
    assert TASKS
    setup = (ROOT / "setup.py").read_text("utf-8")
    for task in TASKS:
        wheel = task["python_wheel_task"]
        assert f'name="{wheel["package_name"]}"' in setup
        assert f'"{wheel["entry_point"]} = figs_spark.app.databricks:main"' in setup


def test_the_parameters_are_those_of_the_job() -> None:
    for task in TASKS:
        name, *options = map(filled, task["python_wheel_task"]["parameters"])
        assert name == "train"
        settings = read_settings(Train, "figs-spark-task", options)
        check(settings)
        assert settings.job.format == "table"
        assert settings.job.input == BUNDLE["variables"]["input"]["default"]
        assert str(settings.job.output).startswith("/Volumes/")


def test_the_cluster_of_a_task_is_there() -> None:
    for job in BUNDLE["resources"]["jobs"].values():
        keys = {cluster["job_cluster_key"] for cluster in job["job_clusters"]}
        assert {task["job_cluster_key"] for task in job["tasks"]} == keys


@pytest.mark.parametrize("code", [0, 3])
def test_only_what_failed_exits(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli, "main", lambda arguments: code)
    if code == 0:
        databricks.main(["train"])
        return
    with pytest.raises(SystemExit) as exited:
        databricks.main(["train"])
    assert exited.value.code == code
