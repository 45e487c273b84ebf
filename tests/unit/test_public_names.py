"""What is public: one table of names, the classes that say so, and all that others import."""

from __future__ import annotations

import ast
import inspect
import json
import pickle
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from random import Random
from textwrap import dedent
from types import FunctionType
from typing import Any

import pytest
from pyspark import cloudpickle

import figs_spark
from figs_spark.stages.base.persistence import part_classes
from figs_spark.treesum.serialization import to_json
from tests.support.treesums import random_tree_sum

ROOT = Path(__file__).parents[2]
NAMES = figs_spark._HOMES
CLASSES = [name for name in NAMES if isinstance(getattr(figs_spark, name), type)]
MODULES = {"figs_spark", "figs_spark.datasets", "figs_spark.mlflow"}

# Types that public ones mention and that nobody names: the reader and the writer of Spark ML, and
# fields by which the rooms of the package talk to one another.
UNNAMED = {"StageReader", "StageWriter", "Reading", "MembershipColumn"}

# The scripts in jobs/ start the command line; the benchmark measures parts of the engine; the
# protocol of the paper goes through the variants by name.
JOBS_MAY_IMPORT = {
    "jobs/bench": {  # parts of the engine, the membership model alone, the way to Python and back
        "figs_spark.dataframes.compat",
        "figs_spark.engine",
        "figs_spark.stages.base.checks",
        "figs_spark.stages.gfigs",
    },
    "jobs/cdi": {"figs_spark.stages.gfigs.variants"},
    "jobs/paper": {"figs_spark.engine.bins", "figs_spark.treesum"},  # the same bins for imodels
    "jobs": {"figs_spark.app.cli", "figs_spark.app.errors"},
}

# The imports in the README of version 0.1.0.
FORMER_README = """
from figs_spark import FIGSClassifier
from figs_spark.datasets import trauma_registry
from figs_spark import BaggedFIGSClassifier
from figs_spark import SensitivitySpecificityEvaluator, calibration, operating_points, roc_auc
from figs_spark.datasets import FEATURES
from figs_spark import GFIGSClassifier, compare_variants, select_gfigs
from figs_spark import stability
from figs_spark.mlflow import load_model, log_model
"""


def test_the_table_has_all_public_names() -> None:
    assert figs_spark.__all__ == sorted(NAMES)
    assert set(NAMES) <= set(dir(figs_spark))
    for name in NAMES:
        assert getattr(figs_spark, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'FIGS'"):
        figs_spark.FIGS  # noqa: B018


def test_the_former_imports_work() -> None:
    exec(FORMER_README, {})


@pytest.mark.parametrize("name", CLASSES)
def test_a_public_class_says_where_it_is(name: str) -> None:
    cls = getattr(figs_spark, name)
    assert cls.__module__ == "figs_spark"
    for dumps in (pickle.dumps, cloudpickle.dumps):
        pickled = dumps(cls)
        assert b"figs_spark" in pickled
        assert NAMES[name].encode() not in pickled  # by reference, to the public place
        assert pickle.loads(pickled) is cls


@pytest.mark.parametrize(
    "name", ["figs_spark.stages.classification.FIGSClassifier", "figs_spark.FIGSClassifier"]
)
def test_a_saved_part_is_found_by_its_public_name(name: str) -> None:
    """A stage inside a G-FIGS; version 0.1.0 wrote the module, which is no longer there."""
    parts = part_classes({"membershipEstimator": name}, "the file")
    assert parts == {"membershipEstimator": figs_spark.FIGSClassifier}


def test_a_worker_that_has_imported_nothing_reads_a_model(tmp_path: Path) -> None:
    model = random_tree_sum(Random(0))
    (tmp_path / "model").write_bytes(cloudpickle.dumps(model))
    script = (
        "import pickle, sys; model = pickle.load(open(sys.argv[1], 'rb'))\n"
        "from figs_spark import TreeSum; assert type(model) is TreeSum\n"
        "assert not any(name.startswith('pyspark') for name in sys.modules)\n"
        "from figs_spark.treesum.serialization import to_json; print(to_json(model))"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == to_json(model)


@pytest.mark.parametrize(
    "path", sorted((ROOT / "figs_spark").rglob("*/__init__.py")), ids=lambda p: p.parent.name
)
def test_a_room_says_that_it_is_internal(path: Path) -> None:
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    assert docstring is not None
    assert docstring.startswith("Internal: ")


# Types


def functions(cls: type) -> Iterator[Any]:
    """The public methods and properties that this package defines."""
    for name in dir(cls):
        value = inspect.getattr_static(cls, name)
        if isinstance(value, property):
            value = value.fget
        elif isinstance(value, cached_property):
            value = value.func
        elif isinstance(value, classmethod | staticmethod):
            value = value.__func__
        own = isinstance(value, FunctionType) and value.__module__.startswith("figs_spark")
        if own and not name.startswith("_"):
            yield value


def result_types(public: Any) -> Iterator[str]:
    """What a public function returns; what a public class has in its fields, and returns."""
    if not isinstance(public, type):
        yield str(inspect.signature(public).return_annotation)
        return
    yield from (str(inspect.signature(f).return_annotation) for f in functions(public))
    if is_dataclass(public):
        yield from (str(field.type) for field in fields(public) if field.name[0] != "_")


def defined_in_the_package() -> set[str]:
    """The names of all classes in the package."""
    files = (ROOT / "figs_spark").rglob("*.py")
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in files]
    return {node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)}


def test_the_types_of_results_are_public() -> None:
    internal = defined_in_the_package() - set(NAMES) - UNNAMED
    used = {
        (name, word)
        for name in NAMES
        for annotation in result_types(getattr(figs_spark, name))
        for word in re.findall(r"\w+", annotation)
    }
    assert ("FIGSClassificationModel", "OperatingPoint") in used
    assert ("Explanation", "Met") in used
    assert {(name, word) for name, word in used if word in internal} == set()


# Imports


def imported(code: str) -> set[tuple[str, str]]:
    """The modules of this package that the code imports from, and the names."""
    found: set[tuple[str, str]] = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {(alias.name, "") for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {(str(node.module), alias.name) for alias in node.names}
    return {(module, name) for module, name in found if module.split(".")[0] == "figs_spark"}


def internal(imports: set[tuple[str, str]], allowed: set[str]) -> set[tuple[str, str]]:
    def is_public(module: str, name: str) -> bool:
        if module == "figs_spark" and name:
            return name in {*NAMES, "__version__", "datasets", "mlflow"}
        if module in MODULES:
            return not name or hasattr(import_module(module), name)
        return any(module == other or module.startswith(f"{other}.") for other in allowed)

    return {(module, name) for module, name in imports if not is_public(module, name)}


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


@pytest.mark.parametrize("page", pages(), ids=lambda path: path.name)
def test_pages_import_public_names(page: Path) -> None:
    blocks = re.findall(r"```python[^\n]*\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    imports = {pair for block in blocks for pair in imported(dedent(block))}
    assert internal(imports, set()) == set()


@pytest.mark.parametrize(
    "notebook", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.name
)
def test_notebooks_import_public_names(notebook: Path) -> None:
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    imports = {pair for text in code for pair in imported(re.sub(r"(?m)^\s*[%!].*", "", text))}
    assert imports
    assert internal(imports, set()) == set()


@pytest.mark.parametrize("folder", JOBS_MAY_IMPORT)
def test_jobs_import_public_names_or_what_they_need(folder: str) -> None:
    files = sorted((ROOT / folder).glob("*.py"))
    imports = {pair for path in files for pair in imported(path.read_text(encoding="utf-8"))}
    assert internal(imports, JOBS_MAY_IMPORT[folder]) == set()
    needed = {module for module, _ in imports}
    assert all(any(m.startswith(name) for m in needed) for name in JOBS_MAY_IMPORT[folder])
