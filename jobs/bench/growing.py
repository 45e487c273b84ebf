"""How time grows with rows, features, splits and partitions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from jobs.bench.contenders import CONTENDERS, Task
from jobs.bench.data import Data
from jobs.bench.measuring import Timing, in_turns
from jobs.bench.presets import Growth, Point


@dataclass(frozen=True)
class Curve:
    """The times of one contender along one axis."""

    axis: str
    contender: str
    values: tuple[int, ...]
    timings: tuple[Timing, ...]

    @property
    def seconds(self) -> list[float | None]:
        return [timing.median for timing in self.timings]

    @property
    def exponent(self) -> float | None:
        """k if time grows as value ** k, fitted to all points; None if a point is missing."""
        if len(self.values) < 2 or None in self.seconds:
            return None
        seconds = np.array(self.seconds, dtype=np.float64)
        return float(np.polyfit(np.log(self.values), np.log(seconds), 1)[0])

    def to_dict(self) -> dict[str, Any]:
        return {
            "axis": self.axis,
            "contender": self.contender,
            "values": list(self.values),
            "timings": [timing.to_dict() for timing in self.timings],
            "exponent": self.exponent,
        }


def measure_growth(spark: SparkSession, growth: Growth, data: Data) -> list[Curve]:
    """Measure all points in turns; a point on several axes is measured once."""

    def fit(contender: str, point: Point) -> None:
        part = data.part(point.rows, point.features)
        with part.read_in(spark, point.partitions):
            CONTENDERS[contender].fit(spark, Task(part, point.splits, growth.bins))

    curves = list(growth.curves())
    runs = {
        f"{contender}, {point}": (partial(fit, contender, point), growth.repeats)
        for _, contender, points in curves
        for point in points
    }
    timings = in_turns(runs, "growth")
    return [
        Curve(
            axis,
            contender,
            tuple(getattr(point, axis) for point in points),
            tuple(timings[f"{contender}, {point}"] for point in points),
        )
        for axis, contender, points in curves
    ]
