"""pip finds versions for PySpark 3.5, for PySpark 4 and beside databricks-connect, with no pins by
hand. Nothing is installed; pip asks its package index, and without one the tests are skipped."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from packaging.version import Version

from tests.databricks.clients import WITH_CLIENTS
from tests.unit.test_constraints import runtime

ROOT = Path(__file__).parents[2]
OLD_CLIENT = ROOT / "conf" / "databricks-connect-16.1.txt"
NO_INDEX = ("No matching distribution", "Could not find a version", "Max retries", "Connection")
WITHOUT_SPARK = [str(need) for need in runtime() if need.name != "pyspark"]

pytestmark = [*WITH_CLIENTS, pytest.mark.slow]


def resolved(folder: Path, *requirements: str) -> dict[str, Version]:
    """The versions that pip would install into an empty environment, by name."""
    report = folder / "report.json"
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    run = subprocess.run(
        [*pip, "--dry-run", "--ignore-installed", "--report", str(report), *requirements],
        capture_output=True,
        text=True,
    )
    if run.returncode and any(sign in run.stderr for sign in NO_INDEX):
        if "conflict" in run.stderr:
            raise AssertionError(run.stderr)
        pytest.skip(f"there is no package index: {run.stderr.strip().splitlines()[-1]}")
    assert run.returncode == 0, run.stderr
    found = [entry["metadata"] for entry in json.loads(report.read_text("utf-8"))["install"]]
    return {each["name"].lower().replace("_", "-"): Version(each["version"]) for each in found}


@pytest.mark.parametrize("spark", ["3.5", "4"])
def test_with_pyspark(spark: str, tmp_path: Path) -> None:
    versions = resolved(tmp_path, f"pyspark=={spark}.*", str(ROOT))
    assert str(versions["pyspark"]).startswith(f"{spark}.")
    _check_bounds(versions)


@pytest.mark.parametrize("options", [["--constraint", str(OLD_CLIENT)], []], ids=["16.1", "newest"])
def test_beside_databricks_connect(options: list[str], tmp_path: Path) -> None:
    if not options and sys.version_info < (3, 12):
        pytest.skip("databricks-connect from 17 on needs Python 3.12")
    versions = resolved(tmp_path, *options, "databricks-connect", *WITHOUT_SPARK)
    assert versions["databricks-connect"] >= Version("16.1")
    assert "pyspark" not in versions
    _check_bounds(versions)


def _check_bounds(versions: dict[str, Version]) -> None:
    for need in runtime():
        if need.name in versions:
            assert need.specifier.contains(versions[need.name]), need
    if versions["numpy"] < Version("2"):
        assert versions["pyarrow"] < Version("26"), "pyarrow 26 needs NumPy 2, and pip is not told"
