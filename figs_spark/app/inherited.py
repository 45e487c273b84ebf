"""How `train` read its table: `score` and `evaluate` read theirs in the same way.

Reader options that say how text is read hold for tables of the same format, and own options win.
The label and the columns it is derived from come back in `evaluate`. A part that `train` made has
only rows that its `where` left. What the model itself needs is derived by the model.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark.sql import SparkSession

from figs_spark.app.config import Settings
from figs_spark.app.errors import UNFIT_INPUT
from figs_spark.app.known_values import KnownValues
from figs_spark.app.reader_options import inherited
from figs_spark.app.saved_models import read_text
from figs_spark.app.sources import exists, kind_of
from figs_spark.dataframes.columns import listed
from figs_spark.dataframes.derived import needed_for
from figs_spark.treesum.strict_json import Entry, parse

log = logging.getLogger("figs_spark")


@dataclass(frozen=True)
class TrainingSource:
    """What is to be known of the table that a model was trained on."""

    format: str | None = None  # None: it was generated
    options: dict[str, str] = field(default_factory=dict)
    derive: dict[str, str] = field(default_factory=dict)
    label: str | None = None
    positive: str | None = None
    known: dict[str, KnownValues] = field(default_factory=dict)
    where: str | None = None  # which rows were used; it is among the settings of `train`

    @classmethod
    def of(cls, spark: SparkSession, values: Any) -> TrainingSource:
        """From the settings of `train`."""
        kind = None if values.input is None else kind_of(spark, values)
        return cls(kind, values.options, values.derive, values.label, values.positive)

    def to_dict(self) -> dict[str, Any]:
        return {
            "format": self.format,
            "options": self.options,
            "derive": self.derive,
            "label": self.label,
            "positive": self.positive,
            "categories": {name: one.to_dict() for name, one in self.known.items()},
        }

    @classmethod
    def from_entry(cls, entry: Entry) -> TrainingSource:
        """What `to_dict` gave, as it was read from a file; a ValueError if it is damaged."""
        names = ("format", "options", "derive", "label", "positive", "categories")
        fields = entry.fields(names)
        texts = {
            name: None if fields[name].value is None else fields[name].text()
            for name in ("format", "label", "positive")
        }
        maps = {
            name: {key: fields[name].inner(key).text() for key in fields[name].object()}
            for name in ("options", "derive")
        }
        categories = fields["categories"]
        known = {
            name: KnownValues.from_entry(categories.inner(name)) for name in categories.object()
        }
        return cls(known=known, **texts, **maps)  # type: ignore[arg-type]


def training_source(spark: SparkSession, settings: Settings[Any]) -> TrainingSource:
    """What `train` recorded beside the model; nothing if `model.save` or an older version wrote."""
    path = f"{str(settings.job.model).rstrip('/')}/settings.json"
    if settings.job.model is None or not exists(spark, path):
        return TrainingSource()
    try:
        saved = Entry(parse(read_text(spark, path), f"'{path}'"), f"'{path}'")
        if saved.inner("source").value is None:
            return TrainingSource()
        where = saved.inner("settings").inner("where")
        source = TrainingSource.from_entry(saved.inner("source"))
        return replace(source, where=None if where.value is None else where.text())
    except ValueError as error:
        raise settings.error("model", str(error), UNFIT_INPUT) from error


def with_reader_options(
    spark: SparkSession, settings: Settings[Any], source: TrainingSource
) -> Settings[Any]:
    """The settings with the reader options of training, if the format is the same."""
    values = settings.job
    if source.format is None or not source.options or kind_of(spark, values) != source.format:
        return settings
    options, others = inherited(source.format, source.options)
    own = {name.lower() for name in values.options}
    if left_out := [name for name in others if name.lower() not in own]:
        log.warning(
            "%s of training (settings.json of the model) is not taken over: it decides what is "
            "read. If this table needs it, give it again.",
            listed([f"options.{name}" for name in left_out]),
        )
    return replace(settings, job=replace(values, options={**options, **values.options}))


def with_rows_in_use(settings: Settings[Any], source: TrainingSource) -> Settings[Any]:
    """The settings with the condition of training, if a part of its rows is asked for."""
    values = settings.job
    if values.part == "all" or values.where is not None or source.where is None:
        return settings
    log.info("Of the %s rows those count that training used: %s", values.part, source.where)
    return replace(settings, job=replace(values, where=source.where))


def with_derivations(
    settings: Settings[Any], source: TrainingSource, names: Iterable[str | None]
) -> Settings[Any]:
    """The settings with what training derived these columns by, or an expression over them."""
    texts = [name for name in names if name]
    needed = needed_for(_mentioned(texts, source.derive), source.derive)
    return replace(settings, job=replace(settings.job, derive={**needed, **settings.job.derive}))


def _mentioned(texts: Iterable[str], derive: dict[str, str]) -> set[str]:
    whole = {f"\0{k}": text for k, text in enumerate(texts)}
    return set(needed_for(whole, {**derive, **whole})) - set(whole)
