"""Print the path of a Chromium in which the tests can open a page; install one if there is none.

    CHROMIUM=$(.venv/bin/python conf/chromium.py)

It looks at $CHROMIUM and on the PATH. If there is none, it tries the package of the distribution
(as root, or by sudo if that asks for no password). If this fails, a message says which command to
run, and the tests in tests/browser are skipped. stdout has the path only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from conf.java_home import install_package, package_manager, say

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
PACKAGES = {"apt-get": ("chromium",), "dnf": ("chromium",)}


def main() -> int:
    path = find() or (find() if install_package(PACKAGES) else None)
    if path is None:
        say(f"no Chromium was found or could be installed. Run\n\n    {advice()}\n")
        return 1
    print(path)
    return 0


def find() -> str | None:
    """A Chromium that starts; the `chromium-browser` of some distributions is only a hint."""
    named = os.environ.get("CHROMIUM")
    candidates = [named] if named else [shutil.which(name) for name in NAMES]
    return next((path for path in candidates if path and _starts(path)), None)


def _starts(path: str) -> bool:
    try:
        probe = subprocess.run(
            [path, "--version"], capture_output=True, stdin=subprocess.DEVNULL, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return probe.returncode == 0


def advice() -> str:
    manager = package_manager()
    if manager:
        return f"sudo {manager} install {PACKAGES[manager][0]}"
    return "export CHROMIUM=/path/to/chromium    # or Chrome"


if __name__ == "__main__":
    sys.exit(main())
