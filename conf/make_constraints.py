"""Write constraints.txt: the versions of this environment, of all that figs_spark needs to run.

    python -m conf.make_constraints        # or: make constraints

It names what `pip install figs_spark[connect,plot,mlflow,onnx]` brings, and nothing of the tests.
"""

from __future__ import annotations

import platform
import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FILE = Path(__file__).parents[1] / "constraints.txt"
EXTRAS = {"connect", "plot", "mlflow", "onnx"}
PYTHON = ".".join(platform.python_version_tuple()[:2])


def main() -> None:
    head = [
        "# Versions that are known to work together: those that the tests ran with, on Python "
        f"{PYTHON}.",
        "#     pip install --constraint constraints.txt .",
        "# Written by make constraints.",
    ]
    lines = [f"{name}=={version}" for name, version in sorted(installed().items())]
    FILE.write_text("\n".join([*head, *lines, ""]), "utf-8")


def installed() -> dict[str, str]:
    """The version of every package that figs_spark needs, itself left out."""
    versions: dict[str, str] = {}
    pending = [Requirement(f"figs_spark[{','.join(sorted(EXTRAS))}]")]
    seen = set()
    while pending:
        need = pending.pop()
        name = canonicalize_name(need.name)
        if (name, *sorted(need.extras)) in seen:
            continue
        seen.add((name, *sorted(need.extras)))
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # of another platform
        versions[name] = found.version
        pending += _needs(found.requires or [], need.extras)
    del versions["figs-spark"]
    return versions


def _needs(texts: list[str], extras: set[str]) -> list[Requirement]:
    """The requirements that hold here."""
    needs = [Requirement(text) for text in texts]
    return [
        need
        for need in needs
        if need.marker is None or any(need.marker.evaluate({"extra": e}) for e in {"", *extras})
    ]


def written() -> tuple[str, dict[str, str]]:
    """The Python that constraints.txt was written with, and its versions."""
    text = FILE.read_text("utf-8")
    (python,) = re.findall(r"on Python (\S+)\.$", text, re.MULTILINE)
    return python, dict(re.findall(r"^([\w.-]+)==(\S+)$", text, re.MULTILINE))


if __name__ == "__main__":
    main()
