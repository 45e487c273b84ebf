"""Training, validation and test rows: by shares, by shares of groups, or by a column.

Shares are taken by a hash of the group (or, without one, of the row), so a patient is on one side
only, in every run, however the rows are partitioned or ordered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType

from figs_spark.app.config import Settings, key
from figs_spark.app.sources import need_columns
from figs_spark.dataframes.columns import column

TRAIN, VALIDATION, TEST = PARTS = ("train", "validation", "test")
BUCKETS = 1_000_000


@dataclass(frozen=True)
class Split:
    """Which rows train, which ones choose size and operating point, which ones judge."""

    fractions: list[float] = key(
        [0.7, 0.0, 0.3], "shares of training, validation and test rows", low=0, high=1
    )
    group: str | None = key(None, "column: rows with equal values, such as a patient's, stay whole")
    column: str | None = key(None, "column that says where a row belongs; instead of fractions")
    validation: list[str] = key(["validation"], "values of the column: validation rows")
    test: list[str] = key(["test"], "values of the column: test rows; all others train")
    seed: int = key(0, "of the fractions: another seed, other rows")


@dataclass(frozen=True)
class Division:
    """A split of one table, to be recorded: the columns whose hash decides are named."""

    split: Split
    keys: tuple[str, ...]

    def part(self) -> Column:
        """The name of the part of each row."""
        split = self.split
        if split.column is not None:
            value = column(split.column).cast("string")
            chosen = F.when(value.isin(split.validation), VALIDATION)
            return chosen.when(value.isin(split.test), TEST).otherwise(TRAIN)
        trains, validates, _ = split.fractions
        share = _share(self.keys, split)
        chosen = F.when(share < trains, TRAIN)
        return chosen.when(share < trains + validates, VALIDATION).otherwise(TEST)

    def rows(self, data: DataFrame, part: str) -> DataFrame:
        need_columns(data, [self.split.column] if self.split.column else self.keys)
        return data.where(self.part() == part)

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Division:
        return cls(Split(**data["split"]), tuple(data["keys"]))


def check_split(settings: Settings[Any]) -> None:
    """Shares are three, and make one."""
    shares = settings.given.split.fractions
    if len(shares) != 3 or abs(sum(shares) - 1) > 1e-9:
        raise settings.error(
            "split.fractions",
            f"three shares that add up to 1 are needed (train, validation, test), got {shares}.",
        )
    if shares[0] == 0:
        raise settings.error("split.fractions", "the first share, of training rows, is 0.")


def divide(data: DataFrame, split: Split) -> Division:
    """The division of this table: by the group or, where there is none, by all plain columns."""
    needed = [name for name in (split.column, split.group) if name]
    need_columns(data, needed)
    plain = [f.name for f in data.schema.fields if isinstance(f.dataType, AtomicType)]
    return Division(split, (split.group,) if split.group else tuple(plain))


def _share(keys: Sequence[str], split: Split) -> Column:
    """A number in [0, 1) from the hash of the keys and the seed."""
    hashed = F.xxhash64(*map(column, keys), F.lit(f"split {split.seed}"))
    return F.pmod(hashed, F.lit(BUCKETS)) / BUCKETS
