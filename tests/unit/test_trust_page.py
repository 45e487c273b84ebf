"""docs/trust.md shows the table of the last `make torture`, which tried enough."""

from __future__ import annotations

import re
from pathlib import Path

from tests.torture.__main__ import MARKS
from tests.torture.faults import AT_ONCE, INTERRUPTS, KILLS, SETTINGS
from tests.torture.workload import FAMILIES

TEXT = (Path(__file__).parents[2] / "docs" / "trust.md").read_text("utf-8")
TABLE = TEXT.split(MARKS[0])[1].split(MARKS[1])[0]


def tried(what: str) -> int:
    (count,) = re.findall(rf"^\| \*\*{what} tried\*\* \| \*\*([\d,]+)\*\* \|", TABLE, re.MULTILINE)
    return int(count.replace(",", ""))


def test_the_last_run_tried_enough_and_nothing_failed() -> None:
    assert tried("faults") >= 50
    assert tried("inputs") >= 168
    assert tried("mutations") >= 100_000
    assert "FAILED" not in TABLE
    assert re.search(r"^Last run: \d{4}-\d\d-\d\d, PySpark [\d.]+", TABLE, re.MULTILINE)


def test_all_kinds_of_faults_are_there() -> None:
    kinds = [*KILLS, "SIGINT", "disk full", "changed setting"]
    kinds += {f"{len(families)} fits at once" for families in AT_ONCE}
    counts = dict(re.findall(r"^\| ([^|*]+) \| (\d+) \|", TABLE, re.MULTILINE))
    assert set(kinds) <= set(counts)
    assert int(counts["SIGINT"]) == INTERRUPTS * len(FAMILIES)
    assert int(counts["changed setting"]) == len(SETTINGS)
