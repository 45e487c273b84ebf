"""Cells: the smallest pieces of an experiment. A finished one is kept in a file, not run again.

The name of the file is a hash of the settings, so a cell with other settings is another cell.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

Record = dict[str, Any]  # one row of results


@dataclass(frozen=True)
class Cell:
    """What is measured at once. Its settings say all that its records depend on."""

    part: str
    settings: Mapping[str, Any]
    repeat: int = 0  # cells of repeat 0 come first, of all parts

    @cached_property
    def key(self) -> str:
        text = json.dumps({"part": self.part, **self.settings}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def __str__(self) -> str:
        shown = [f"{value}" for value in self.settings.values() if isinstance(value, str | int)]
        return f"{self.part}: {', '.join(shown)}"


@dataclass(frozen=True)
class Store:
    """The finished cells, in a folder for each part."""

    folder: Path

    def path(self, cell: Cell) -> Path:
        return self.folder / cell.part / f"{cell.key}.json"

    def keep(self, cell: Cell, records: list[Record], about: Record) -> None:
        """Write beside the target and rename: a run that is stopped leaves no half of a cell."""
        path = self.path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(f".{os.getpid()}.tmp")
        content = {"settings": dict(cell.settings), **about, "records": records}
        draft.write_text(json.dumps(content, indent=1), "utf-8")
        draft.replace(path)

    def load(self, cell: Cell) -> Record | None:
        """What was kept: settings, records, seconds and versions; None if the cell is not done."""
        path = self.path(cell)
        return json.loads(path.read_text("utf-8")) if path.exists() else None

    def forget(self, cell: Cell) -> None:
        self.path(cell).unlink(missing_ok=True)
