"""Record what version 0.1.0 does: generated rows, fitted models, their predictions, saved folders.

The fixtures are written once, by 0.1.0 itself. To write them again, copy `tests/support` into a
checkout of 0.1.0 and run there

    PYTHONPATH=$PWD SPARK_CONF_DIR=$PWD/conf python -m tests.support.make_models_0_1_0

then copy `tests/fixtures` back. The rows come from a generator, and the tests read them from
`rows.csv`: another version of NumPy may generate others.
"""

from __future__ import annotations

import csv
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, SparkSession

import figs_spark
from tests.support.models_0_1_0 import (
    ESTIMATORS,
    RECORDED,
    SAVED,
    SAVED_MODELS,
    WARDS,
    coefficients,
    environment,
    fit_model,
    predictions,
    read_rows,
)

VERSION = "0.1.0"
ROWS = 320
SITES = ("arm", "chest", "head", "leg", "neck")


def main() -> None:
    if figs_spark.__version__ != VERSION:
        sys.exit(f"figs_spark {VERSION} is needed, {figs_spark.__file__} is another version")
    print(f"recording {Path(figs_spark.__file__).parent}", file=sys.stderr)
    for folder in (RECORDED, SAVED):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    write_rows(RECORDED / "rows.csv")
    write_json(RECORDED / "environment.json", environment())
    spark = start_spark()
    rows = read_rows(spark).cache()
    for name in ESTIMATORS:
        record(name, rows)
    spark.stop()


def start_spark() -> SparkSession:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return SparkSession.builder.master("local[2]").appName("figs_spark 0.1.0").getOrCreate()


def record(name: str, rows: DataFrame) -> None:
    """Fit one model, write what it is and predicts; save it where it is one of the saved."""
    model = fit_model(name, rows)
    contents = {
        "class": type(model).__name__,
        "params": {param.name: value for param, value in model.extractParamMap().items()},
        "contents": model._contents(),
        "membershipCoefficients": coefficients(model),
        "text": str(model),
        "predictions": predictions(model, rows),
    }
    write_json(RECORDED / f"{name}.json", contents)
    if name in SAVED_MODELS:
        save(model, SAVED / name)


def save(model: Any, folder: Path) -> None:
    """Save without checksum files, which nobody needs to read it."""
    model.save(str(folder))
    for checksum in folder.rglob(".*.crc"):
        checksum.unlink()


def write_json(path: Path, contents: dict[str, Any]) -> None:
    """Strict JSON with one line for each entry."""
    lines = [f'"{key}": {compact_json(value)}' for key, value in contents.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def compact_json(value: Any) -> str:
    return json.dumps(value, allow_nan=False, separators=(",", ":"))


def write_rows(path: Path) -> None:
    """Null is an empty cell, NaN is the word."""
    columns = generate_columns(np.random.default_rng(20240601))
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(map(cell, column) for column in columns.values()), strict=True))


def generate_columns(random: np.random.Generator) -> dict[str, list[Any]]:
    """Features, then outcomes that depend on them, then holes in the features."""
    a, c = random.normal(50, 15, ROWS).round(1), random.normal(0, 1, ROWS).round(4)
    b, code = random.integers(0, 9, ROWS) / 2, random.integers(2, 8, ROWS)
    flag, site = random.random(ROWS) < 0.35, random.choice(SITES, ROWS)
    ward = np.clip((a + random.normal(0, 12, ROWS) + 12 * (site == "head")) // 18 - 1, 0, 2)
    signal = 0.05 * a + np.where(c > 0.4, b, -1.0) + 1.5 * np.isin(code, [3, 6])
    signal += 2 * flag * (site == "head") + 0.7 * ward + np.isin(site, ["leg", "arm"])
    amount = signal + random.normal(0, 0.8, ROWS)
    event = signal + random.normal(0, 1.2, ROWS) > 6
    grade = np.digitize(signal + random.normal(0, 1, ROWS), [2.5, 5.5])
    weight = np.where(random.random(ROWS) < 0.05, 0, random.uniform(0.1, 3, ROWS).round(2))
    columns = {
        "id": np.arange(ROWS),
        "a": with_holes(a, np.nan, random),
        "b": with_holes(b, None, random),
        "c": c,
        "flag": with_holes(flag, None, random),
        "site": with_holes(site, None, random),
        "code": with_holes(code, None, random),
        "weight": weight,
        "ward": np.array(WARDS)[ward.astype(int)],
        "held": random.random(ROWS) < 0.3,
        "amount": amount.round(3),
        "event": event.astype(int),
        "grade": grade,
    }
    return {name: values.tolist() for name, values in columns.items()}


def with_holes(values: np.ndarray, hole: Any, random: np.random.Generator) -> np.ndarray:
    """One cell in twelve is missing."""
    return np.where(random.random(len(values)) < 1 / 12, hole, values.astype(object))


def cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return "NaN" if value != value else str(value)


if __name__ == "__main__":
    main()
