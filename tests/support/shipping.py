"""What is sent to a cluster: the package as a zip, a Python with its dependencies as an archive.

As docs/clusters.md says it under "What to ship"; what the environment holds is read there.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[2]
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
    run([*pip, "install", "--no-compile", *map(_as_here, needed())])
    pack = [sys.executable, "-m", "venv_pack", "--quiet", "--compress-level", "1"]
    run([*pack, "--prefix", str(place), "--output", str(archive)])
    return archive


def needed() -> list[str]:
    """What the page tells to install for the executors."""
    text = (ROOT / "docs/clusters.md").read_text("utf-8")
    (line,) = re.findall(r"^environment/bin/pip install (.*)$", text, re.MULTILINE)
    option, constraints, *names = shlex.split(line)
    assert (option, (ROOT / constraints).is_file()) == ("--constraint", True)
    return names


def _as_here(name: str) -> str:
    """The version that the tests run with."""
    return f"{name}=={version(name)}"


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
