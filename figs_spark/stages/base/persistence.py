"""Saving and loading of stages, on classic Spark and on Connect, without pickle.

A stage is a directory: `metadata` (uid and Params, in the form of Spark ML) and, for a model,
`model` with versioned JSON; stages inside it have directories of their own, by their own writers.
Metadata and model are one line of text each, written by Spark itself, so every
store that Spark reaches will do. The directory is taken first, by an empty file, so that what was
there is an error or, on request, removed. `metadata` comes last: without it the rest is incomplete.

Saved files are not trusted. `metadata` carries a digest and `model` the fingerprint of the model;
what does not agree with them, or is not what a stage writes, is refused by the file and the entry.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from pyspark.ml.param import Params
from pyspark.ml.util import MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from figs_spark.treesum.contents import check_names, check_thresholds
from figs_spark.treesum.serialization import check_fingerprint, is_version
from figs_spark.treesum.strict_json import Entry, check_digest, digest, parse, shown

PACKAGE = "figs_spark"
TRUSTED = ("pyspark.ml.", f"{PACKAGE}.")  # whose classes a saved stage may name
FORMAT = 2  # of the model; the first had neither format nor fingerprint
MESSAGE = 500  # characters of what is wrong with a Param
FIRST = {"regParam": 0.0, "minCategoryCount": 1, "categorySmoothing": 0.0}  # as 0.1.0 was


class Persistent(Params, MLWritable, MLReadable[Any]):
    """A stage that can be saved; a model overrides the two methods on its contents."""

    def write(self) -> StageWriter:
        return StageWriter(self)

    @classmethod
    def read(cls) -> StageReader:
        return StageReader(cls)

    def _contents(self) -> dict[str, Any] | None:
        """What is to be saved beside the Params, as JSON."""
        return None

    def _set_contents(self, contents: dict[str, Any], source: str) -> None:
        """Take back what `_contents` gave; raise ValueError if it is damaged."""

    def _parts(self) -> dict[str, Any]:
        """Stages inside this one, by name; one that is the value of a Param by the Param's name."""
        return {}

    def _set_parts(self, parts: dict[str, Any]) -> None:
        """Take back what `_parts` gave."""


class StageWriter(MLWriter):
    def __init__(self, stage: Persistent):
        super().__init__()
        self.stage = stage

    def save(self, path: str) -> None:
        spark = _session(self)
        metadata = metadata_of(self.stage, spark.version)
        lines = [] if self.stage._contents() is None else [model_text(self.stage)]
        _write(spark, path, [], "overwrite" if self.shouldOverwrite else "error")
        if lines:
            _write(spark, f"{path}/model", lines)
        for name, part in self.stage._parts().items():
            part.save(f"{path}/{name}")
        _write(spark, f"{path}/metadata", [json.dumps(metadata, allow_nan=False)])


class StageReader(MLReader[Any]):
    def __init__(self, cls: type[Persistent]):
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> Any:
        spark = _session(self)
        metadata = parse(_text(spark, f"{path}/metadata"), f"{path}/metadata")
        stage = stage_from(metadata, self.cls, path)
        if stage._contents() is not None:
            source = f"{path}/model"
            set_model(stage, parse(_text(spark, source), source), source)
        parts = part_classes(metadata.get("parts", {}), f"{path}/metadata")
        stage._set_parts({name: cls.load(f"{path}/{name}") for name, cls in parts.items()})
        return stage


# The model


def model_text(stage: Any) -> str:
    """The model as JSON with its fingerprint, once it was seen that it can be read again."""
    contents: Any = stage._contents()
    saved = {"format": FORMAT, "fingerprint": stage.fingerprint, **contents}
    text = json.dumps(saved, allow_nan=False)
    set_model(stage.copy(), parse(text, "The model"), "The model")
    return text


def set_model(stage: Any, saved: Any, source: str) -> None:
    """Take back what `model_text` wrote, or figs_spark 0.1, which knew no fingerprint."""
    contents = Entry(saved, source).object()
    sealed = "format" in contents or "fingerprint" in contents
    if sealed and not is_version(contents.get("format"), FORMAT):
        raise ValueError(
            f"{source} has format {shown(contents.get('format'))}, and this version of figs_spark "
            f"reads {FORMAT}. Load it with the figs_spark release that wrote it."
        )
    contents = {k: v for k, v in contents.items() if k not in ("format", "fingerprint")}
    stage._set_contents(contents, source)
    if unknown := sorted(set(contents) - set(stage._contents())):
        raise ValueError(f"{source} is damaged: the entry {shown(unknown[0])} is unknown.")
    check_names(stage.getOrDefault("featuresCols"), stage.numFeatures, source)
    check_thresholds(stage._value_if_any("thresholds"), stage._classes, source)
    if sealed:
        check_fingerprint(saved.get("fingerprint"), stage.fingerprint, source)


# The metadata


def set_params(setter: Callable[..., Any], entry: Entry) -> None:
    """Set saved Params; what they may not be is damage."""
    values = entry.object()
    try:
        setter(**values)
    except (AttributeError, TypeError, ValueError, OverflowError, RecursionError) as error:
        reason = str(error) if len(str(error)) <= MESSAGE else f"{str(error)[:MESSAGE]}..."
        raise ValueError(f"{entry.source} is damaged: {reason}") from error


def stage_from(metadata: Any, cls: type[Persistent], path: str) -> Any:
    """A new stage with the uid and the Params of its metadata."""
    source = f"{path}/metadata"
    Entry(metadata, source).object()
    expected = _class_name(cls)
    name = metadata.get("class", "file without the entry 'class'")
    if name != expected:
        short = name if isinstance(name, str) and len(name) <= MESSAGE else shown(name)
        raise ValueError(
            f"{path} holds a {short}, not a {expected}. Load it with the class that saved it."
        )
    stage = cls()
    for name in ("uid", "defaultParamMap", "paramMap"):
        if name not in metadata:
            raise ValueError(f"{source} is damaged: the entry '{name}' is missing.")
    stage._resetUid(Entry(metadata["uid"], source, "uid").text())
    if "digest" not in metadata:  # 0.1.0, which did not know these Params
        stage._setDefault(**{name: value for name, value in FIRST.items() if stage.hasParam(name)})
    set_params(stage._setDefault, Entry(metadata["defaultParamMap"], source, "defaultParamMap"))
    set_params(stage._set, Entry(metadata["paramMap"], source, "paramMap"))
    if "digest" in metadata:
        rest = {name: value for name, value in metadata.items() if name != "digest"}
        check_digest(metadata["digest"], rest, source)
    return stage


def metadata_of(stage: Persistent, version: str) -> dict[str, Any]:
    parts = stage._parts()
    set_params = {p.name: value for p, value in stage._paramMap.items() if p.name not in parts}
    metadata = {
        "class": _class_name(type(stage)),
        "timestamp": int(time.time() * 1000),
        "sparkVersion": version,
        "uid": stage.uid,
        "paramMap": set_params,
        "defaultParamMap": {param.name: value for param, value in stage._defaultParamMap.items()},
        "parts": {
            name: f"{type(p).__module__}.{type(p).__qualname__}" for name, p in parts.items()
        },
    }
    for name, part in parts.items():
        check_can_be_saved(name, part)
    return metadata | {"digest": digest(json.loads(json.dumps(metadata, allow_nan=False)))}


def _class_name(cls: type) -> str:
    """The public name, so that a saved stage outlives a change of modules."""
    return f"{PACKAGE}.{cls.__name__}"


def part_classes(parts: Any, source: str) -> dict[str, Any]:
    """The class of each stage inside this one; a stage of Spark ML or of this package."""
    entries = Entry(parts, source, "parts").object()
    return {name: _part_class(name, cls, source) for name, cls in entries.items()}


def can_be_saved(stage: Any) -> bool:
    """Whether a stage may be part of a saved one: whoever loads it imports its class."""
    return f"{type(stage).__module__}.".startswith(TRUSTED)


def check_can_be_saved(name: str, stage: Any) -> None:
    if not can_be_saved(stage):
        cls = f"{type(stage).__module__}.{type(stage).__qualname__}"
        raise ValueError(
            f"{name} is a {cls}, which cannot be saved: a saved stage holds only stages of "
            f"pyspark.ml and figs_spark. Use one of these, or give its probabilities in a column "
            f"(membershipProbabilityCol)."
        )


def _part_class(part: str, name: Any, source: str) -> Any:
    entry = Entry(name, source, f"parts.{part}")
    if not part.isidentifier():
        entry.damaged(f"{shown(part)} is not the name of a part")
    module, _, title = entry.text().rpartition(".")
    if not f"{module}.".startswith(TRUSTED):
        entry.refuse("the name of a class of pyspark.ml or figs_spark")
    if f"{module}.".startswith(f"{PACKAGE}."):
        module = PACKAGE  # version 0.1.0 wrote the module, and modules move
    try:
        cls = getattr(import_module(module), title)
    except (ImportError, ValueError, AttributeError) as error:
        reason = f"{name:.{MESSAGE}} (parts.{part}) cannot be imported: {error!s:.{MESSAGE}}"
        raise ValueError(f"{source}: {reason}.") from error
    if not (isinstance(cls, type) and issubclass(cls, MLReadable)):
        entry.refuse("a stage that can be loaded")
    return cls


def _write(spark: SparkSession, path: str, lines: list[str], mode: str = "error") -> None:
    frame = spark.createDataFrame([(line,) for line in lines], "value string")
    frame.coalesce(1).write.mode(mode).text(path)


def _text(spark: SparkSession, path: str) -> str:
    try:
        return "\n".join(row[0] for row in spark.read.text(path).collect())
    except Exception as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def _session(io: MLWriter | MLReader[Any]) -> SparkSession:
    if io._sparkSession is not None:
        return io._sparkSession
    if is_remote():
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        return ConnectSession.builder.getOrCreate()  # type: ignore[return-value]
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
