"""A table as a hospital's system writes it: CSV with '?' for missing, codes, bands, text labels."""

from __future__ import annotations

import csv
from pathlib import Path
from random import Random

COLUMNS = (
    "encounter",
    "patient",
    "age",
    "admission_type",
    "diag",
    "stays",
    "admitted",
    "discharged",
    "readmitted",
)
DIAGNOSES = ("428", "250.01", "410", "V57", "486", "8")
BANDS = tuple(f"[{10 * k}-{10 * k + 10})" for k in range(3, 9))


def write_encounters(path: Path, rows: int = 1_500, seed: int = 0) -> Path:
    """One row per encounter. The admission types are the codes 1, 2, 3 and 8."""
    random = Random(seed)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(_encounter(random, k) for k in range(rows))
    return path


def _encounter(random: Random, number: int) -> list[object]:
    age, diagnosis = random.choice(BANDS), random.choice(DIAGNOSES)
    stays, kind = min(random.randrange(9), random.randrange(9)), random.choice((1, 2, 3, 8))
    days = random.randrange(1, 15)
    risk = 0.1 + 0.3 * (diagnosis in ("428", "410")) + 0.25 * (stays > 3) + 0.15 * (kind == 8)
    month, day = random.randrange(1, 12), random.randrange(1, 13)
    readmitted = "<30" if random.random() < risk else random.choice(("NO", ">30"))
    return [
        number,
        number // 2,
        "?" if random.random() < 0.05 else age,
        kind,
        "?" if random.random() < 0.05 else diagnosis,
        stays,
        f"2008-{month:02d}-{day:02d}",
        f"2008-{month:02d}-{day + days:02d}",
        readmitted,
    ]
