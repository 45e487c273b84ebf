"""Notebooks, executed: by a kernel of their own, or by IPython in the process of the tests."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import nbclient
import nbformat
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib import pyplot as plt
from pyspark.sql import SparkSession
from traitlets.config import Config

FOLDER = Path(__file__).parents[2] / "notebooks"
PNG = "image/png"


def saved_outputs(notebook: Any) -> list[Any]:
    return [output for cell in notebook.cells for output in cell.get("outputs", [])]


def saved_figures(notebook: Any) -> int:
    return sum(PNG in output.get("data", {}) for output in saved_outputs(notebook))


def figures_by_kernel(path: Path) -> int:
    """Execute in a process of its own, which starts Spark, and count the figures."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    place = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources=place).execute()
    return saved_figures(notebook)


def figures_by_session(path: Path, spark: SparkSession, most_rows: int) -> int:
    """Execute where `spark` is there, as on Databricks, and count the figures. Generated tables
    have at most so many rows."""
    notebook = nbformat.read(path, as_version=4)
    count = 0
    with shell() as ipython:
        ipython.push({"spark": spark})
        for cell in notebook.cells:
            if cell.cell_type == "code":
                with capture_output() as captured:
                    done = ipython.run_cell(with_fewer_rows(cell.source, most_rows))
                done.raise_error()
                count += sum(PNG in output.data for output in captured.outputs)
    spark.catalog.clearCache()
    return count


def with_fewer_rows(source: str, most: int) -> str:
    def fewer(written: re.Match[str]) -> str:
        return f"rows={min(int(written[1]), most)}"

    return re.sub(r"\brows=([\d_]+)", fewer, source)


class Shell(InteractiveShell):
    """IPython without windows."""

    def enable_gui(self, gui: str | None = None) -> None:
        assert gui is None


@contextmanager
def shell() -> Iterator[InteractiveShell]:
    """IPython with figures in line; nothing of it is left at the end."""
    backend, main = mpl.get_backend(), sys.modules["__main__"]
    ipython = Shell.instance(config=Config(HistoryManager={"enabled": False}))
    try:
        with mpl.rc_context():
            ipython.enable_matplotlib("inline")
            try:
                yield ipython
            finally:
                plt.close("all")
                ipython.enable_matplotlib("agg")  # so that the next shell registers its figures
    finally:
        mpl.use(backend)
        ipython.reset()
        Shell.clear_instance()
        sys.modules["__main__"] = main  # where multiprocessing looks for the program
