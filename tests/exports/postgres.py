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


def binaries() -> Path | None:
    """The folder with initdb and pg_ctl, if PostgreSQL is installed."""
    if command := shutil.which("initdb"):
        return Path(command).resolve().parent
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return found[-1].parent if found else None


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """Connection parameters of a server that listens on a socket only.

    PostgreSQL refuses to run as root: then it runs as the user that its package made.
    """
    user = "postgres" if os.geteuid() == 0 else pwd.getpwuid(os.geteuid()).pw_name
    home = Path(tempfile.mkdtemp(prefix="figs_pg_"))  # a short path: sockets need one
    if os.geteuid() == 0:
        shutil.chown(home, user)

    def run(*command: str) -> None:
        prefix = ["runuser", "-u", user, "--"] if os.geteuid() == 0 else []
        done = subprocess.run(
            [*prefix, str(folder / command[0]), *command[1:]],
            cwd=home,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{command[0]} failed: {done.stderr}")

    data = home / "data"
    try:
        run("initdb", "-D", str(data), "-U", user, "--auth=trust", "-E", "UTF8", "--locale=C")
        options = f"-c listen_addresses='' -c unix_socket_directories='{home}' -c fsync=off"
        run("pg_ctl", "-D", str(data), "-w", "-l", str(home / "log"), "-o", options, "start")
        try:
            yield f"host={home} user={user} dbname=postgres"
        finally:
            run("pg_ctl", "-D", str(data), "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home, ignore_errors=True)
