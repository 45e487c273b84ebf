"""How time grows with rows, features, splits and partitions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from jobs.bench.contenders import CONTENDERS, Scorer, Task
from jobs.bench.data import Data
from jobs.bench.measuring import Timing, in_turns
from jobs.bench.presets import CLUSTER, Growth, Point


@dataclass(frozen=True)
class Curve:
    """The times of one contender along one axis."""

    axis: str
    contender: str
    values: list[int]
    timings: list[Timing]

    @property
    def seconds(self) -> list[float] | None:
        """None where a time is missing."""
        found = [timing.median for timing in self.timings if timing.median is not None]
        return found if len(found) == len(self.values) else None

    @property
    def exponent(self) -> float | None:
        """k where the time grows as value ** k, fitted to all times."""
        if self.seconds is None or len(self.values) < 2:
            return None
        return float(np.polyfit(np.log(self.values), np.log(self.seconds), 1)[0])

    def to_dict(self) -> dict[str, Any]:
        ...


def measure_growth(spark: SparkSession, growth: Growth, data: Data) -> list[Curve]:
    runs = {}
    for point in growth.points():
        for name in growth.contenders:
            if point.partitions is None or name == CLUSTER:
                runs[name, point] = ...
