"""Make a virtual environment with pip, even if Python has no ensurepip.

    python3 conf/make_venv.py .venv

On Debian and Ubuntu ensurepip is in a separate package (python3-venv). If it is missing, the wheel
of pip is fetched from PyPI and installs itself.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path
from urllib.parse import urljoin
from urllib.request import urlopen

PIP = "https://pypi.org/pypi/pip/json"


def main(folder: Path) -> None:
    has_ensurepip = find_spec("ensurepip") is not None
    venv.create(folder, with_pip=has_ensurepip, symlinks=True)
    if not has_ensurepip:
        wheel = fetch_pip(folder)
        subprocess.run([folder / "bin" / "python", wheel / "pip", "install", wheel], check=True)
        wheel.unlink()


def fetch_pip(folder: Path) -> Path:
    files = json.loads(read(PIP))["urls"]
    entry = next(file for file in files if file["packagetype"] == "bdist_wheel")
    url = urljoin(PIP, entry["url"])  # a mirror may give a relative one
    content = read(url)
    if hashlib.sha256(content).hexdigest() != entry["digests"]["sha256"]:
        sys.exit(f"make_venv: {url} was damaged during the download; try again")
    wheel = folder / entry["filename"]
    wheel.write_bytes(content)
    return wheel


def read(url: str) -> bytes:
    print(f"make_venv: fetching {url}", file=sys.stderr)
    with urlopen(url) as answer:
        return bytes(answer.read())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
