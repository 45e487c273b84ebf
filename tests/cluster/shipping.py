"""What is sent to a cluster: the package as a zip, a Python with its dependencies as an archive.

As the README says it:

    pip wheel --no-deps --wheel-dir build/ship .          # renamed to .zip, for --py-files
    python -m venv environment
    environment/bin/pip install numpy 'pandas<3' pyarrow numba tqdm
    venv-pack --prefix environment --output environment.tar.gz
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
NEEDED = ("numpy", "pandas<3", "pyarrow", "numba", "tqdm")  # pyspark is there already
PYTHON = "./environment/bin/python"


def package(folder: Path) -> Path:
    """The wheel of the checkout under the name that Spark's executors take."""
    source = folder / "source"  # setuptools leaves traces where it builds
    source.mkdir()
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "figs_spark", source / "figs_spark")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "wheel", "--no-deps", "--wheel-dir", str(folder), str(source)])
    (wheel,) = folder.glob("*.whl")
    return wheel.rename(wheel.with_suffix(".zip"))


def environment(folder: Path) -> Path:
    """A relocatable virtual environment with what executors need besides Spark."""
    place, archive = folder / "environment", folder / "environment.tar.gz"
    run([sys.executable, str(ROOT / "conf/make_venv.py"), str(place)])
    pip = [str(place / "bin/python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
    run([*pip, "install", "--no-compile", *(_as_here(need) for need in NEEDED)])
    pack = [sys.executable, "-m", "venv_pack", "--quiet", "--compress-level", "1"]
    run([*pack, "--prefix", str(place), "--output", str(archive)])
    return archive


def _as_here(need: str) -> str:
    """The version that the tests run with."""
    name = need.partition("<")[0]
    return f"{name}=={version(name)}"


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
