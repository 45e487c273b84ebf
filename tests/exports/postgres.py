"""A real PostgreSQL server, on a socket in a folder of its own; it lives as long as the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def binaries() -> Path | None:
    """The folder with initdb and pg_ctl, if PostgreSQL is installed."""
    if command := shutil.which("initdb"):
        return Path(command).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Connection parameters of a server that listens on a socket only.

    PostgreSQL refuses to run as root: then it runs as the user of its package, or as nobody.
    """
    home = Path(tempfile.mkdtemp(prefix="figs_pg_", dir=_open_to_all()))  # sockets: a short path
    account = _account()
    if os.geteuid() == 0:
        os.chown(home, account.pw_uid, account.pw_gid)

    def run(*command: str) -> None:
        _run_as(account, [str(folder / command[0]), *command[1:]], home)

    data = home / "data"
    try:
        run("initdb", "-D", str(data), "-U", "figs", "--auth=trust", "-E", "UTF8", "--locale=C")
        options = f"-c listen_addresses='' -c unix_socket_directories='{home}' -c fsync=off"
        run("pg_ctl", "-D", str(data), "-w", "-l", str(home / "log"), "-o", options, "start")
        try:
            yield f"host={home} user=figs dbname=postgres"
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _account() -> pwd.struct_passwd:
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    known = {account.pw_name: account for account in pwd.getpwall()}
    return known.get("postgres") or known["nobody"]


def _open_to_all() -> str | None:
    """A folder for temporary files whose parents every user may enter; None: the usual one."""
    for folder in (tempfile.gettempdir(), "/tmp", "/var/tmp", "/dev/shm"):
        path = Path(folder).resolve()
        if path.is_dir() and all(one.stat().st_mode & 0o001 for one in (path, *path.parents)):
            return folder
    return None


def _run_as(account: pwd.struct_passwd, command: list[str], home: Path) -> None:
    other: dict[str, Any] = {}
    if os.geteuid() == 0:
        other = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
    done = subprocess.run(
        command,
        cwd=home,
        env={**os.environ, "HOME": str(home)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        **other,
    )
    if done.returncode:
        log = home / "log"
        told = log.read_text()[-500:] if log.exists() else ""
        raise OSError(f"{command[0]} failed: {done.stderr}{told}")
