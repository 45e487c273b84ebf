"""conf/chromium.py on machines made of shell scripts: which Chromium it takes, what it installs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from conf import chromium
from tests.unit.test_java_home import script


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No Chromium, no package manager, not root."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CHROMIUM", raising=False)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    return folder


def test_the_one_that_is_named_comes_first(
    bare_machine: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture,
) -> None:
    script(bare_machine / "chromium", "exit 0")
    own = script(tmp_path / "own", "exit 0")
    monkeypatch.setenv("CHROMIUM", str(own))
    assert chromium.main() == 0
    assert capsys.readouterr().out == f"{own}\n"


def test_one_that_does_not_start_is_not_taken(bare_machine: Path) -> None:
    script(bare_machine / "chromium", "exit 1")
    assert chromium.find() is None
    good = script(bare_machine / "google-chrome", "exit 0")
    assert chromium.find() == str(good)


def test_root_installs_it(bare_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    script(
        bare_machine / "apt-get",
        f'[ "$1" = install ] || exit 0\n[ "$3" = chromium ] || exit 1\n'
        f"printf '#!/bin/sh\\nexit 0\\n' > {bare_machine}/chromium\n"
        f"/bin/chmod 755 {bare_machine}/chromium",
    )
    assert chromium.main() == 0


def test_without_it_the_command_is_named(bare_machine: Path, capsys: pytest.CaptureFixture) -> None:
    assert chromium.main() == 1
    assert "export CHROMIUM=" in capsys.readouterr().err
    script(bare_machine / "dnf", "exit 1")
    assert chromium.main() == 1
    shown = capsys.readouterr()
    assert "sudo dnf install chromium" in shown.err
    assert shown.out == ""
