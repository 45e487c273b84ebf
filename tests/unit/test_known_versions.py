"""constraints.txt: versions that the tests ran with, of all that figs_spark needs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conf.make_constraints import PYTHON, installed, written

ROOT = Path(__file__).parents[2]
SETUP = (ROOT / "setup.py").read_text("utf-8")


def runtime() -> list[Requirement]:
    """What setup.py asks for in every installation."""
    (listed,) = re.findall(r"^RUNTIME = \[\n(.*?)^\]", SETUP, re.MULTILINE | re.DOTALL)
    return [Requirement(text) for text in re.findall(r'"(.+)"', listed)]


def test_what_runs_is_constrained_within_its_bounds() -> None:
    _, versions = written()
    needs = [need for need in runtime() if need.marker is None or need.marker.evaluate()]
    assert len(needs) >= 7
    for need in needs:
        assert need.specifier.contains(versions[canonicalize_name(need.name)]), need


def test_the_versions_are_those_of_this_environment() -> None:
    python, versions = written()
    if python != PYTHON:
        pytest.skip(f"constraints.txt is of Python {python}, and this is {PYTHON}")
    here = installed()
    newer = {name: here[name] for name in versions if here.get(name) not in (None, versions[name])}
    if newer:
        pytest.skip(f"this environment has other versions: {newer}. Run make constraints.")
    assert here == versions


@pytest.mark.parametrize("page", ["README.md", *(str(p) for p in (ROOT / "docs").rglob("*.md"))])
def test_no_page_asks_for_versions_by_hand(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    pins = re.findall(r"pip install [^\n`]*?['\"]?[\w-]+(?:<|==)\d[^\n`]*", text)
    assert pins == []
