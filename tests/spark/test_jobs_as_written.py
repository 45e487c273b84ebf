"""The jobs as the pages of docs/ write them: in sequence, and by spark-submit."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.jobs import ROOT, call, files
from tests.support.pages import commands

pytestmark = pytest.mark.slow
BIN = Path(sys.executable).parent


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """In a folder of its own, where build/ is written; with conf/ of the checkout."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_REMOTE", "PYSPARK_G"))}
    return subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, timeout=300, check=False
    )


ONE_AFTER_ANOTHER = """
import json, sys
from figs_spark.app.cli import run
for job, *options in json.loads(sys.argv[1]):
    assert run(job, options, f"figs-spark {job}") == 0, job
"""


def test_the_sequence_with_the_files_of_conf(spark: SparkSession, tmp_path: Path) -> None:
    """train by spark-submit; what follows in one other process."""
    (_, *registry), first_look, (_, _, *training), *following = commands(ROOT / "docs/jobs.md")
    assert registry == ["make-registry", "--config", "conf/make_registry.yaml"]
    assert first_look[1:] == ["inspect", "--config", "conf/inspect.yaml"]
    assert [job for _, job, *_ in following] == ["score", "evaluate", "export", "report"]
    for name in ("conf", "jobs"):
        (tmp_path / name).symlink_to(ROOT / name)
    config = ROOT / "conf/make_registry.yaml"
    place = tmp_path / "build/registry"
    assert call("make-registry", "--config", config, "--rows", 5_000, "--output", place) == 0
    steps = json.dumps([step[1:] for step in (first_look, *following)])
    for command in (
        ["spark-submit", "jobs/train.py", *training, "--model.maxSplits", "4"],
        ["python", "-c", ONE_AFTER_ANOTHER, steps],
    ):
        done = run([str(BIN / command[0]), *command[1:]], tmp_path)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
    exported = {"model.sql", "model.sql.proof.json", "report.html"}
    assert files(tmp_path / "build") == {
        "registry", "inspection", "train", "scored", "evaluation", *exported
    }  # fmt: skip
    assert "CASE" in (tmp_path / "build/model.sql").read_text()
    assert (tmp_path / "build/evaluation/roc.png").exists()


@pytest.mark.parametrize(
    ("page", "written"),
    [
        ("docs/deployment.md", {"visits", "model", "scored", "stream", "stream_checkpoint"}),
        (
            "docs/tutorials/platform-engineer.md",
            {"visits", "model", "scored", "stream", "stream_checkpoint"},
        ),
    ],
)
def test_the_jobs_of_a_page(
    page: str, written: set[str], spark: SparkSession, tmp_path: Path
) -> None:
    for program, job, *options in commands(ROOT / page):
        assert program == "figs-spark"
        before = files(tmp_path)
        assert call(job, *(re.sub("^build/\\w+/", f"{tmp_path}/", word) for word in options)) == 0
        assert (files(tmp_path) == before) == ("--dry-run" in options)
    assert files(tmp_path) == written
    assert {"model", "model.txt", "model.svg", "metrics.json"} <= files(tmp_path / "model")
    visits, scored, stream = (
        spark.read.parquet(str(tmp_path / name)) for name in ("visits", "scored", "stream")
    )
    assert scored.count() == stream.count() == visits.count() == 5000
    assert {"prediction", "probability", "contributions"} <= set(scored.columns)
    assert ("rules" in scored.columns) == (page == "docs/deployment.md")


def test_a_missing_input_is_a_line_not_a_trace(tmp_path: Path) -> None:
    options = ["--input", "/no/such", "--model", "/no/such", "--output", str(tmp_path / "o")]
    done = run([str(BIN / "spark-submit"), str(ROOT / "jobs/score.py"), *options], tmp_path)
    shown = done.stdout + done.stderr  # spark-submit shows both as stdout
    assert done.returncode == 3
    assert "\tat " not in shown
    assert "score.py: --model: '/no/such' has no model in it." in shown
