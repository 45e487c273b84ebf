"""Every notebook runs from its first cell to its last, and is saved with its figures."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from pyspark.sql import SparkSession

from tests.support.notebooks import (
    FOLDER,
    figures_by_kernel,
    figures_by_session,
    saved_figures,
    saved_outputs,
)

NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NAMES = [
    "01_quickstart",
    "02_gfigs_clinical",
    "03_bagging_and_tuning",
    "04_scale_and_deploy",
    "05_real_ehr",
]
DEPLOYING = FOLDER / "04_scale_and_deploy.ipynb"

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def test_the_notebooks_are_there() -> None:
    assert [path.stem for path in NOTEBOOKS] == NAMES


@each
def test_it_is_saved_as_it_ran(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert saved_figures(notebook) > 0
    kinds = {output.output_type for output in saved_outputs(notebook)}
    assert "error" not in kinds
    assert not any(output.get("name") == "stderr" for output in saved_outputs(notebook))
    assert path.stat().st_size < 1_000_000


@pytest.mark.slow
def test_a_clean_kernel_runs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith(("SPARK_", "PYSPARK_"))]:
        monkeypatch.delenv(name)  # it sets what it needs
    monkeypatch.setenv("DO_NOT_TRACK", "true")
    assert figures_by_kernel(DEPLOYING) == saved_figures(nbformat.read(DEPLOYING, as_version=4))


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", [path for path in NOTEBOOKS if path != DEPLOYING], ids=lambda path: path.stem
)
def test_it_runs_where_spark_is_there(
    spark: SparkSession, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.chdir(FOLDER)
    figures = figures_by_session(path, spark, most_rows=6_000)
    assert figures == saved_figures(nbformat.read(path, as_version=4))
