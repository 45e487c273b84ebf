"""The jobs in sequence, by the files of conf/ and by spark-submit, as a user runs them."""

from __future__ import annotations

import os
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


def test_the_sequence_of_the_readme(tmp_path: Path) -> None:
    small = {"make-registry": ["--rows", "5000"], "train": ["--model.maxSplits", "4"]}
    for job in ("make-registry", "train", "score", "evaluate"):
        config = ROOT / "conf" / f"{job.replace('-', '_')}.yaml"
        command = [str(BIN / "figs-spark"), job, "--config", str(config), *small.get(job, [])]
        if job == "train":
            script = ROOT / "jobs/train.py"
            command = [str(BIN / "spark-submit"), str(script), *command[2:]]
        done = run(command, tmp_path)
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
    assert "score.py: --model: '/no/such' holds no model." in shown
