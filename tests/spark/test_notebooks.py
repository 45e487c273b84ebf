"""Every notebook runs from a clean kernel, and is saved with its figures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
NAMES = ["01_quickstart", "02_gfigs_clinical", "03_bagging_and_tuning", "04_scale_and_deploy"]

each = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def figures(notebook: Any) -> int:
    return sum("image/png" in output.get("data", {}) for output in outputs(notebook))


def test_the_notebooks_are_there() -> None:
    assert [path.stem for path in NOTEBOOKS] == NAMES


@each
def test_it_is_saved_as_it_ran(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert figures(notebook) > 0
    kinds = {output.output_type for output in outputs(notebook)}
    assert "error" not in kinds
    assert not any(output.get("name") == "stderr" for output in outputs(notebook))
    assert path.stat().st_size < 1_000_000


@pytest.mark.slow
@each
def test_it_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith(("SPARK_", "PYSPARK_"))]:
        monkeypatch.delenv(name)  # it sets what it needs
    monkeypatch.setenv("DO_NOT_TRACK", "true")
    saved = nbformat.read(path, as_version=4)
    again = nbformat.read(path, as_version=4)
    for cell in again.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    client = nbclient.NotebookClient(
        again, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    )
    client.execute()
    assert figures(again) == figures(saved)
