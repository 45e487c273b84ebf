"""Writing: in place only when complete, and never over a file unasked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path


def check_absent(paths: list[Path], overwrite: bool) -> None:
    """Before any work: raise FileExistsError if a file is there and may not be replaced."""
    there = [str(path) for path in paths if path.exists()]
    if there and not overwrite:
        raise FileExistsError(
            f"{' and '.join(there)} exist{'s' if len(there) == 1 else ''}. Choose another path, or "
            f"pass overwrite=True (in a job --overwrite)."
        )


def write_files(contents: Mapping[Path, bytes], overwrite: bool) -> None:
    """All files, each under a temporary name first; the last one gets its name last."""
    check_absent(list(contents), overwrite)
    waiting: list[tuple[str, Path]] = []
    try:
        for path, content in contents.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, hidden = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
            waiting.append((hidden, path))
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(hidden, 0o666 & ~_umask())
        for hidden, path in waiting:
            _place(hidden, path, overwrite)
    finally:
        for hidden, _ in waiting:
            Path(hidden).unlink(missing_ok=True)


def _place(hidden: str, path: Path, overwrite: bool) -> None:
    if overwrite:
        os.replace(hidden, path)
        return
    try:
        os.link(hidden, path)  # unlike a renaming, this fails if the file is there by now
    except FileExistsError:
        check_absent([path], overwrite)
    except OSError:  # a file system without links
        check_absent([path], overwrite)
        os.replace(hidden, path)


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
