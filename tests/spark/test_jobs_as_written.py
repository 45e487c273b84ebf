"""The jobs in sequence, as the README writes them, and by spark-submit."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.jobs_support import ROOT, files

pytestmark = pytest.mark.slow
BIN = Path(sys.executable).parent


def run(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """In a folder of its own, where build/ is written; with conf/ of the checkout."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_REMOTE", "PYSPARK_G"))}
    return subprocess.run(
        command, cwd=folder, env=kept, capture_output=True, text=True, timeout=300, check=False
    )


def written() -> list[list[str]]:
    """The commands of the README that start jobs by their files of conf/."""
    lines = (ROOT / "README.md").read_text().splitlines()
    wanted = [line for line in lines if line.startswith("figs-spark ") and "--config" in line]
    return [shlex.split(line, comments=True) for line in wanted]


def test_the_sequence_of_the_readme(tmp_path: Path) -> None:
    small = {"make-registry": ["--rows", "5000"], "train": ["--model.maxSplits", "4"]}
    commands = written()
    assert [job for _, job, *_ in commands] == ["make-registry", "train", "score", "evaluate"]
    for name in ("conf", "jobs"):
        (tmp_path / name).symlink_to(ROOT / name)
    for command in commands:
        if command[1] == "train":
            command = ["spark-submit", "jobs/train.py", *command[2:], *small["train"]]
        else:
            command = [*command, *small.get(command[1], [])]
        done = run([str(BIN / command[0]), *command[1:]], tmp_path)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    assert files(tmp_path / "build") == {"registry", "train", "scored", "evaluation"}
    assert (tmp_path / "build/evaluation/roc.png").exists()


def test_a_missing_input_is_a_line_not_a_trace(tmp_path: Path) -> None:
    options = ["--input", "/no/such", "--model", "/no/such", "--output", str(tmp_path / "o")]
    done = run([str(BIN / "spark-submit"), str(ROOT / "jobs/score.py"), *options], tmp_path)
    shown = done.stdout + done.stderr  # spark-submit shows both as stdout
    assert done.returncode == 3
    assert "\tat " not in shown
    assert "score.py: --model: '/no/such' has no model in it." in shown
