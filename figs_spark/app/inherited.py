"""How `train` read its table: `score` and `evaluate` read theirs in the same way.

Reader options that say how text is read hold for tables of the same format, and own options win.
The label and the columns it is derived from come back in `evaluate`. A part that `train` made has
only rows that its `where` left. What the model itself needs is derived by the model. What a model
of `privacy: strict` hides, its evaluation and its exports hide as well.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from pyspark.sql import SparkSession

from figs_spark.app.config import Settings
from figs_spark.app.errors import UNFIT_INPUT
from figs_spark.app.known_values import KnownValues
from figs_spark.app.reader_options import inherited, unknown, warn_of_unknown
from figs_spark.app.saved_models import read_text
from figs_spark.app.sources import exists, kind_of
from figs_spark.dataframes.columns import listed
from figs_spark.dataframes.derived import needed_for
from figs_spark.treesum.strict_json import Entry, parse

log = logging.getLogger("figs_spark")
OF_TRAINING = " of training (settings.json of the model)"
Privacy = Literal["open", "strict"]


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
    privacy: Privacy = "open"  # so is this

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
    path = _settings_path(spark, settings.job.model)
    if path is None:
        return TrainingSource()
    try:
        saved = Entry(parse(read_text(spark, path), f"'{path}'"), f"'{path}'")
        privacy = _privacy(saved.inner("settings").inner("privacy"))
        if saved.inner("source").value is None:
            return TrainingSource(privacy=privacy)
        where = saved.inner("settings").inner("where")
        source = TrainingSource.from_entry(saved.inner("source"))
        where_text = None if where.value is None else where.text()
        return replace(source, where=where_text, privacy=privacy)
    except ValueError as error:
        raise settings.error("model", str(error), UNFIT_INPUT) from error


def _settings_path(spark: SparkSession, model: str | None) -> str | None:
    """The settings.json beside the model, also if the folder `model` inside is what is named."""
    if model is None:
        return None
    folder = model.rstrip("/")
    folders = [folder, *([folder.removesuffix("/model")] if folder.endswith("/model") else [])]
    return next((p for f in folders if exists(spark, p := f"{f}/settings.json")), None)


def _privacy(saved: Entry) -> Privacy:
    """A value that cannot be read is an error: counts are not shown by mistake."""
    if saved.value is None:
        return "open"  # an older version wrote
    if saved.text() not in get_args(Privacy):
        saved.refuse(" or ".join(get_args(Privacy)))
    return "strict" if saved.value == "strict" else "open"


def with_privacy(settings: Settings[Any], source: TrainingSource) -> Settings[Any]:
    """The settings with the privacy of training, unless they name another."""
    if settings.job.privacy is not None:
        return settings
    if source.privacy == "strict":
        log.info("privacy: strict, as the model was trained; --privacy open shows all counts.")
    return replace(settings, job=replace(settings.job, privacy=source.privacy))


def with_reader_options(
    spark: SparkSession, settings: Settings[Any], source: TrainingSource
) -> Settings[Any]:
    """The settings with the reader options of training, if the format is the same."""
    values = settings.job
    if source.format is None or not source.options or kind_of(spark, values) != source.format:
        return settings
    options, others = inherited(source.format, source.options)
    own = {name.lower() for name in values.options}
    _warn_of_left_out(source.format, [name for name in others if name.lower() not in own])
    return replace(settings, job=replace(values, options={**options, **values.options}))


def _warn_of_left_out(kind: str, names: list[str]) -> None:
    """Options of training that are not taken over: some did nothing, others decide what is read."""
    ignored = unknown(kind, names)
    origins = {f"options.{name}": f"options.{name}{OF_TRAINING}" for name in ignored}
    warn_of_unknown(kind, ignored, origins)
    deciding = [f"options.{name}" for name in names if name not in ignored]
    if not deciding:
        return
    is_left, it = ("is not taken over: it decides", "it")
    if len(deciding) > 1:
        is_left, it = ("are not taken over: they decide", "them")
    log.warning(
        f"%s{OF_TRAINING} {is_left} what is read. If this table needs {it}, give {it} again.",
        listed(deciding),
    )


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
