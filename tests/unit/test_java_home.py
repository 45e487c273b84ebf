"""conf/java_home.py on machines made of shell scripts: which Java it takes, what it installs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from conf import java_home


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def java(home: Path, version: str = "17", *, vector: bool = True, at: Path | None = None) -> Path:
    """A `java` of this home that answers the probe; `at` is where it lies until installed."""
    settings = f"    java.home = {home}\\n    java.specification.version = {version}\\n"
    refusal = "" if vector else "echo 'Module jdk.incubator.vector not found' >&2; exit 1"
    return script(at or home / "bin" / "java", f"{refusal}\nprintf '{settings}' >&2")


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java, no package manager, no sudo, no network, not root."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(java_home, "INSTALLED", [tmp_path / "jvm"])
    monkeypatch.setattr(java_home, "DOWNLOADS", tmp_path / ".jdk")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(sys, "executable", str(script(tmp_path / "python", "exit 1")))


def test_java_home_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    java(tmp_path / "given")
    java(tmp_path / "jvm" / "other")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "given"))
    assert java_home.find() == tmp_path / "given"


def test_java_on_the_path_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "bin" / "java").symlink_to(java(tmp_path / "linked", "21"))
    assert java_home.find() == tmp_path / "linked"


@pytest.mark.parametrize("home", ["jvm/java-17", ".jdk/jdk-17.0.1", ".jdk/jdk-17/Contents/Home"])
def test_the_usual_folders_are_searched(tmp_path: Path, home: str) -> None:
    java(tmp_path / home)
    assert java_home.find() == tmp_path / home


def test_what_spark_cannot_start_on_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java(tmp_path / "old", "16")
    java(tmp_path / "jvm" / "1-cut-down", vector=False)
    script(tmp_path / "jvm" / "2-broken" / "bin" / "java", "exit 0").chmod(0o644)
    java(tmp_path / "jvm" / "3-good", "21")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    assert java_home.find() == tmp_path / "jvm" / "3-good"


@pytest.mark.parametrize("manager", ["apt-get", "dnf"])
@pytest.mark.parametrize("user", ["root", "sudoer"])
def test_root_installs_the_package(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    manager: str,
    user: str,
) -> None:
    """The first package does not exist here, the second does."""
    if user == "root":
        monkeypatch.setattr(os, "geteuid", lambda: 0)
    else:
        script(tmp_path / "bin" / "sudo", '[ "$1" = -n ] && shift && "$@"')
        script(tmp_path / "bin" / "true", "exit 0")
    home = tmp_path / "jvm" / "java-21"
    java(home, "21", at=tmp_path / "archive")
    script(
        tmp_path / "bin" / manager,
        f'[ "$*" = "install -y {java_home.PACKAGES[manager][1]}" ] || exit 1\n'
        f"/bin/mkdir -p {home}/bin && /bin/cp {tmp_path}/archive {home}/bin/java",
    )
    assert java_home.main() == 0
    assert capfd.readouterr().out == f"{home}\n"


def test_others_download_into_the_checkout(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    home = tmp_path / ".jdk" / "jdk-17"
    java(home, at=tmp_path / "archive")
    script(
        Path(sys.executable),
        '[ "$*" = "-m pip install install-jdk" ] && exit 0\n'
        f"case $2 in *\"jdk.install('17', path='{home.parent}')\") ;; *) exit 1;; esac\n"
        f"/bin/mkdir -p {home}/bin && /bin/cp {tmp_path}/archive {home}/bin/java",
    )
    script(tmp_path / "bin" / "apt-get", "exit 1")
    assert java_home.main() == 0
    assert capfd.readouterr().out == f"{home}\n"


def test_at_last_it_names_the_command(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    script(tmp_path / "bin" / "apt-get", "exit 1")
    script(tmp_path / "bin" / "sudo", "exit 1")
    assert java_home.main() == 1
    said = capfd.readouterr()
    assert said.out == ""
    assert "sudo apt-get install openjdk-17-jre-headless" in said.err
