"""Patients in Parquet files: numbers of all kinds, in several layouts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

NUMBERS = ["few", "many", "often", "count", "single", "flag"]
ROWS = 4000
LAYOUTS = ["one file", "small row groups", "many files", "one large"]


def patients_table() -> pa.Table:
    """Numbers of all kinds, null and NaN among them; weights, some of which are 0."""
    random = np.random.default_rng(5)
    few, many = random.integers(0, 12, ROWS) / 4, random.normal(size=ROWS)
    often = np.where(random.random(ROWS) < 0.1, random.normal(size=ROWS), -0.0)
    count, flag = random.integers(-3, 4000, ROWS), random.random(ROWS) < 0.3
    risk = few * (many > 0.3) + 3 * often * flag + (count > 1500) + random.normal(0, 0.2, ROWS)
    missing = random.random((2, ROWS)) < 0.1
    cells = np.column_stack([few, many, often, count, many, flag]).ravel()
    return pa.table(
        {
            "few": pa.array(np.where(missing[0], np.nan, few), mask=missing[1]),
            "many": many,
            "often": often,
            "count": pa.array(count, mask=missing[0]),
            "single": many.astype(np.float32),
            "flag": pa.array(flag, mask=missing[1]),
            "risk": risk,
            "ill": (risk > 1).astype(np.int32),
            "died": risk > 2,
            "w": random.choice([0.0, 0.1, 0.7, 1 / 3], ROWS),
            "held": random.random(ROWS) < 0.3,
            "kind": np.where(risk > 2.5, 2, risk > 1).astype(np.int32),
            "w of two kinds": np.where(risk > 2.5, 0.0, 1.5),
            "together": pa.ListArray.from_arrays(
                np.arange(0, 6 * ROWS + 1, 6, dtype=np.int32),
                pa.array(cells, mask=np.arange(6 * ROWS) % 17 == 3),
            ),
        }
    )


def in_layouts(patients: pa.Table, folder: Path) -> dict[str, str]:
    """The same rows in other files."""
    ends = {
        "one file": [ROWS],
        "small row groups": [ROWS],
        "many files": [*range(80, ROWS + 1, 80)],
        "one large": [10, 3700, 3800, ROWS],
    }
    for name, stops in ends.items():
        (folder / name).mkdir()
        for k, (start, stop) in enumerate(zip([0, *stops], stops, strict=False)):
            size = 333 if name == "small row groups" else None
            part = patients.slice(start, stop - start)
            pq.write_table(part, folder / name / f"part {k:03d}.parquet", row_group_size=size)
    return {name: str(folder / name) for name in ends}
