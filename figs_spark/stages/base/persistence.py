"""Saving and loading of stages, on classic Spark and on Connect, without pickle.

A stage is a directory: `metadata` (uid and Params, in the form of Spark ML) and, for a model,
`model` with versioned JSON; stages inside it have directories of their own, by their own writers.
Metadata and model are one line of text each, written by Spark itself, so every
store that Spark reaches will do. The directory is taken first, by an empty file, so that what was
there is an error or, on request, removed. `metadata` comes last: without it the rest is incomplete.
"""

from __future__ import annotations

import json
import time
from importlib import import_module
from typing import Any

from pyspark.ml.param import Params
from pyspark.ml.util import MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

PACKAGE = "figs_spark"


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
        """Take back what `_contents` gave; raise ValueError where it is damaged."""

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
        spark, contents = _session(self), self.stage._contents()
        metadata = _metadata(self.stage, spark.version)
        _write(spark, path, [], "overwrite" if self.shouldOverwrite else "error")
        if contents is not None:
            _write(spark, f"{path}/model", [json.dumps(contents, allow_nan=False)])
        for name, part in self.stage._parts().items():
            part.save(f"{path}/{name}")
        _write(spark, f"{path}/metadata", [json.dumps(metadata, allow_nan=False)])


class StageReader(MLReader[Any]):
    def __init__(self, cls: type[Persistent]):
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> Any:
        spark = _session(self)
        metadata = _json(spark, f"{path}/metadata")
        expected = _class_name(self.cls)
        found = metadata.get("class", "file without the entry 'class'")
        if found != expected:
            raise ValueError(
                f"{path} holds a {found}, not a {expected}. Load it with the class that saved it."
            )
        stage = self.cls()
        try:
            stage._resetUid(metadata["uid"])
            stage._setDefault(**metadata["defaultParamMap"])
            stage._set(**metadata["paramMap"])
        except (KeyError, AttributeError, TypeError, ValueError) as error:
            what = f"the entry {error} is missing" if isinstance(error, KeyError) else str(error)
            raise ValueError(f"{path}/metadata is damaged: {what}.") from error
        if stage._contents() is not None:
            stage._set_contents(_json(spark, f"{path}/model"), f"{path}/model")
        parts = metadata.get("parts", {})
        stage._set_parts({name: _load(cls, f"{path}/{name}") for name, cls in parts.items()})
        return stage


def _metadata(stage: Persistent, version: str) -> dict[str, Any]:
    parts = stage._parts()
    given = {p.name: value for p, value in stage._paramMap.items() if p.name not in parts}
    return {
        "class": _class_name(type(stage)),
        "timestamp": int(time.time() * 1000),
        "sparkVersion": version,
        "uid": stage.uid,
        "paramMap": given,
        "defaultParamMap": {param.name: value for param, value in stage._defaultParamMap.items()},
        "parts": {
            name: f"{type(p).__module__}.{type(p).__qualname__}" for name, p in parts.items()
        },
    }


def _class_name(cls: type) -> str:
    """The public name, so that a saved stage outlives a change of modules."""
    return f"{PACKAGE}.{cls.__name__}"


def _load(name: str, path: str) -> Any:
    """A stage by the class that saved it."""
    module, _, title = name.rpartition(".")
    try:
        found = getattr(import_module(module), title)
    except (ImportError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} holds a {name}, which cannot be imported: {error}.") from error
    if not (isinstance(found, type) and issubclass(found, MLReadable)):
        raise ValueError(f"{path} is damaged: {name} is no stage that can be loaded.")
    return found.load(path)


def _write(spark: SparkSession, path: str, lines: list[str], mode: str = "error") -> None:
    frame = spark.createDataFrame([(line,) for line in lines], "value string")
    frame.coalesce(1).write.mode(mode).text(path)


def _json(spark: SparkSession, path: str) -> dict[str, Any]:
    try:
        lines = [row[0] for row in spark.read.text(path).collect()]
    except Exception as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    try:
        data = json.loads("\n".join(lines))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: it is not JSON ({error}).") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path} is damaged: it is not a JSON object.")
    return data


def _session(io: MLWriter | MLReader[Any]) -> SparkSession:
    if io._sparkSession is not None:
        return io._sparkSession
    if is_remote():
        from pyspark.sql.connect.session import SparkSession as ConnectSession

        return ConnectSession.builder.getOrCreate()  # type: ignore[return-value]
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()
