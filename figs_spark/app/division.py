"""Training, validation and test rows: by shares, by shares of groups, or by a column.

A hash of the group, or of the row if there is no group, decides the part. So all rows of a patient
are in one part, the same in every run, however the rows are partitioned or ordered.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType

from figs_spark.app.config import Settings, key
from figs_spark.app.sources import need_columns
from figs_spark.dataframes.columns import column
from figs_spark.treesum.strict_json import Entry

TRAIN, VALIDATION, TEST = PARTS = ("train", "validation", "test")
BUCKETS = 1_000_000


@dataclass(frozen=True)
class Holdout:
    """Which rows train, which ones choose size and operating point, which ones test."""

    fractions: list[float] = key(
        [0.7, 0.0, 0.3], "shares of training, validation and test rows", low=0, high=1
    )
    group: str | None = key(None, "column; rows with the same value (one patient) stay together")
    column: str | None = key(None, "column that says which part a row is in; replaces fractions")
    validation: list[str] = key(["validation"], "values of that column for validation rows")
    test: list[str] = key(["test"], "values of that column for test rows; all other rows train")
    seed: int = key(0, "seed of the fractions; another seed chooses other rows")


@dataclass(frozen=True)
class Division:
    """How the rows of one table are divided; recorded by `train`, read again by `evaluate`."""

    holdout: Holdout
    hashed: tuple[str, ...]  # the columns whose hash decides

    def part(self) -> Column:
        """The name of the part of each row."""
        holdout = self.holdout
        if holdout.column is not None:
            value = column(holdout.column).cast("string")
            part = F.when(value.isin(holdout.validation), VALIDATION)
            return part.when(value.isin(holdout.test), TEST).otherwise(TRAIN)
        trains, validates, _ = holdout.fractions
        share = _share(self.hashed, holdout.seed)
        part = F.when(share < trains, TRAIN)
        return part.when(share < trains + validates, VALIDATION).otherwise(TEST)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that decide."""
        return (self.holdout.column,) if self.holdout.column else self.hashed

    def rows(self, data: DataFrame, part: str) -> DataFrame:
        need_columns(data, self.columns)
        return data.where(self.part() == part)

    def to_dict(self) -> dict[str, Any]:
        return {"split": asdict(self.holdout), "keys": list(self.hashed)}

    @classmethod
    def from_entry(cls, entry: Entry) -> Division:
        """What `to_dict` gave, as it was read from a file; a ValueError if it is damaged."""
        fields = entry.fields(("split", "keys"))
        saved = fields["split"].fields(
            ("fractions", "group", "column", "validation", "test", "seed")
        )
        shares = saved["fractions"].numbers(low=0.0)
        if len(shares) != len(PARTS):
            saved["fractions"].refuse("a list of three shares")
        names = {
            n: None if saved[n].value is None else saved[n].text() for n in ("group", "column")
        }
        values = {n: [item.text() for item in saved[n].items()] for n in ("validation", "test")}
        seed = saved["seed"].integer(-(2**63), 2**63 - 1)
        holdout = Holdout(fractions=list(shares), seed=seed, **names, **values)  # type: ignore[arg-type]
        return cls(holdout, fields["keys"].texts())


def check_holdout(settings: Settings[Any]) -> None:
    """There must be three shares that add up to 1."""
    shares = settings.job.split.fractions
    if len(shares) != 3 or abs(sum(shares) - 1) > 1e-9:
        raise settings.error(
            "split.fractions",
            f"three shares that add up to 1 are needed (train, validation, test), got {shares}.",
        )
    if shares[0] == 0:
        raise settings.error("split.fractions", "the first share is 0: no rows would train.")


def divide(data: DataFrame, holdout: Holdout, derived: Collection[str] = ()) -> Division:
    """The division of this table: by the group or, if there is none, by all plain columns but the
    derived ones."""
    need_columns(data, [name for name in (holdout.column, holdout.group) if name])
    plain = [f.name for f in data.schema.fields if isinstance(f.dataType, AtomicType)]
    plain = [name for name in plain if name not in derived]
    return Division(holdout, (holdout.group,) if holdout.group else tuple(plain))


def _share(names: Sequence[str], seed: int) -> Column:
    """A number in [0, 1) from the hash of these columns and the seed."""
    hashed = F.xxhash64(*map(column, names), F.lit(f"split {seed}"))
    return F.pmod(hashed, F.lit(BUCKETS)) / BUCKETS
