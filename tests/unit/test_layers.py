"""Imports run one way through the rooms; and Spark is reached by DataFrames only."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = sorted((ROOT / "figs_spark").rglob("*.py"))
KERNELS = sorted((ROOT / "figs_spark/engine/kernels").glob("*.py"))
# Each may import itself and those before it.
LAYERS = (
    "treesum", "pictures", "exports", "dataframes", "engine", "clinical", "stages", "inspection",
    "app",
)  # fmt: skip
FORBIDDEN = {"rdd", "sparkContext", "_sc", "_jsc", "_jvm", "_jdf", "_jsparkSession", "broadcast"}


def parsed(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def imports(path: Path) -> set[str]:
    """Full names of the modules that a file imports, at the top and inside functions."""
    found: set[str] = set()
    for node in parsed(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def attributes(path: Path) -> set[str]:
    names = {node.attr for node in parsed(path) if isinstance(node, ast.Attribute)}
    return names | {str(node.value) for node in parsed(path) if isinstance(node, ast.Constant)}


def begins(name: str, *modules: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for module in modules)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_imports_none_above_it(layer: str) -> None:
    files = sorted((ROOT / "figs_spark" / layer).rglob("*.py"))
    allowed = [f"figs_spark.{name}" for name in LAYERS[: LAYERS.index(layer) + 1]]
    if layer == LAYERS[-1]:  # the jobs take public names and the generated data, too
        allowed.append("figs_spark")
    own = {name for path in files for name in imports(path) if begins(name, "figs_spark")}
    assert files
    assert {name for name in own if not begins(name, *allowed)} == set()


# Rooms and files that know no Spark at all, and what the others leave alone.
WITHOUT_SPARK = [
    *(
        f"treesum/{name}"
        for name in ("__init__", "adjustments", "nodes", "cases", "text", "own_rows", "times")
    ),
    *(f"treesum/{name}" for name in ("explanation", "prediction", "reading", "serialization")),
    *(
        f"treesum/{name}"
        for name in (
            "code_systems",
            "contents",
            "counts",
            "disentanglement",
            "editing",
            "fingerprint",
            "given_values",
            "intervals",
            "levels",
            "paths",
            "points",
            "side_by_side",
            "small_cells",
            "strict_json",
            "visible",
        )
    ),
    "clinical/calibrated",
    "clinical/curves",
    "clinical/decisions",
    "clinical/figures",
    *(f"inspection/{name}" for name in ("counts", "patterns", "strength", "verdicts")),
    "engine/bins",
    "engine/blocks",
    "engine/cells",
    "engine/ensemble_scores",
    "engine/grower",
    "engine/histograms",
    "engine/candidates",
    "engine/constraints",
    "engine/joint_candidates",
    "engine/joint_growth",
    "engine/logistic_fit",
    "engine/logistic_growth",
    "engine/growing_trees",
    "engine/out_of_bag",
    "engine/permissions",
    "engine/polishing",
    "engine/recalibration",
    "engine/refitting",
    "engine/replay",
    "engine/splits",
    "engine/weights",
    *(f"engine/kernels/{name}" for name in ("__init__", "accumulate", "encode", "jit")),
    *(f"engine/kernels/{name}" for name in ("joint_split", "records", "score", "split")),
]


@pytest.mark.parametrize("name", WITHOUT_SPARK)
def test_these_files_know_no_spark(name: str) -> None:
    path = ROOT / f"figs_spark/{name}.py"
    assert {module for module in imports(path) if begins(module, "pyspark")} == set()


def test_every_file_of_treesum_and_the_kernels_is_among_them() -> None:
    rooms = ("treesum", "engine/kernels")
    files = {
        f"{room}/{p.stem}" for room in rooms for p in (ROOT / "figs_spark" / room).glob("*.py")
    }
    assert files <= set(WITHOUT_SPARK)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.stem)
def test_a_kernel_calls_none_of_another_file(path: Path) -> None:
    """numba keeps compiled code until the kernel's own file changes: other files would be stale."""
    room = "figs_spark.engine.kernels"
    others = {name for name in imports(path) if begins(name, room)}
    assert {name for name in others if not begins(name, f"{room}.jit", f"{room}.records")} == set()


@pytest.mark.parametrize(
    ("files", "modules"),
    [
        ("pictures/*.py", ["pyspark"]),
        ("exports/*.py", ["pyspark", "py4j", "figs_spark.pictures"]),
        ("exports/page/*.py", ["pyspark", "py4j"]),
        ("dataframes/*.py", ["pyspark.ml"]),
        ("engine/**/*.py", ["pyspark.ml", "figs_spark.pictures"]),
        ("clinical/*.py", ["figs_spark.pictures"]),
        ("**/*.py", ["jobs", "conf", "tests", "sklearn", "imodels"]),
    ],
)
def test_what_is_not_imported(files: str, modules: list[str]) -> None:
    paths = list((ROOT / "figs_spark").glob(files))
    assert paths
    for path in paths:
        assert {name for name in imports(path) if begins(name, *modules)} == set(), path


@pytest.mark.parametrize("path", PACKAGE, ids=lambda path: str(path.relative_to(ROOT)))
def test_neither_rdds_nor_handles_of_the_virtual_machine(path: Path) -> None:
    assert attributes(path) & FORBIDDEN == set()


def test_the_package_loads_no_spark_before_a_stage_is_asked_for() -> None:
    assert not any(begins(name, "pyspark") for name in imports(ROOT / "figs_spark/__init__.py"))
