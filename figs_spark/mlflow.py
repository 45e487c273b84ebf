"""Models in MLflow, served without Spark: pip install 'figs_spark[mlflow]'.

>>> from figs_spark.mlflow import load_model, log_model
>>> info = log_model(model, name="figs")
>>> load_model(info.model_uri)  # the model again, a stage of Spark ML
>>> mlflow.pyfunc.load_model(info.model_uri).predict(frame)  # pandas to pandas

A logged model is one file of JSON: the class, the Params, what `model.save` writes, and the
fingerprint of the model, which is checked when the file is read. The package is logged with it as
code. So a server needs NumPy and pandas, but neither PySpark nor Java. The served model takes one
column per feature, which may have missing values; for G-FIGS also the group. It returns
`prediction`; for two classes also `probability`, of class 1; for more classes
`probability_<class>` for each.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from figs_spark import __version__
from figs_spark.treesum import Feature, TreeSum
from figs_spark.treesum.contents import (
    check_names,
    check_thresholds,
    read_classes,
    read_groups,
    read_members,
    read_sum,
)
from figs_spark.treesum.fingerprint import digest, stage_fingerprint
from figs_spark.treesum.given_values import check_once
from figs_spark.treesum.nodes import TEXT
from figs_spark.treesum.prediction import THRESHOLD, Outcome
from figs_spark.treesum.serialization import check_fingerprint, is_version
from figs_spark.treesum.strict_json import Entry, check_digest, parse, shown

if TYPE_CHECKING:
    import pandas as pd

FLAVOR = "figs_spark"
FILE = "model.json"
FORMAT = 2  # the first had neither fingerprint nor digest
MIXTURE = "mixture"
KINDS = {
    f"{kind}{outcome}Model"
    for kind in ("FIGS", "BaggedFIGS", "GFIGS")
    for outcome in ("Regression", "Classification")
}


def log_model(model: Any, name: str = "model", **options: Any) -> Any:
    """Log a fitted model to the active run of MLflow, with a signature; returns its ModelInfo.

    `options` are those of `mlflow.models.Model.log`, such as `registered_model_name`. Before
    MLflow 3, `name` is the artifact path.
    """
    mlflow = _mlflow()
    this = import_module(__name__)
    old = int(mlflow.__version__.split(".")[0]) < 3
    place = {"artifact_path": name} if old else {"artifact_path": None, "name": name}
    return mlflow.models.Model.log(flavor=this, model=model, **place, **options)


def save_model(model: Any, path: str, mlflow_model: Any = None, **options: Any) -> None:
    """Write a fitted model to a local folder in MLflow's format.

    `options` are those of `mlflow.pyfunc.save_model`.
    """
    mlflow = _mlflow()
    entry = to_entry(model)
    described = mlflow.models.Model() if mlflow_model is None else mlflow_model
    described.add_flavor(FLAVOR, class_name=entry["class"], version=__version__)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, FILE)
        source.write_text(json.dumps(entry, allow_nan=False), encoding="utf-8")
        defaults = {
            "signature": signature(model),
            "code_paths": [str(Path(__file__).parent)],
            "pip_requirements": [f"{lib.__name__}=={lib.__version__}" for lib in _libraries()],
        }
        mlflow.pyfunc.save_model(
            path=path,
            mlflow_model=described,
            loader_module=__name__,
            data_path=str(source),
            **{**defaults, **options},
        )


def load_model(uri: str) -> Any:
    """A logged model as the stage it was: it transforms DataFrames, prints and draws itself."""
    mlflow = _mlflow()
    folder = Path(mlflow.artifacts.download_artifacts(artifact_uri=uri))
    flavors = mlflow.models.Model.load(str(folder / "MLmodel")).flavors
    if FLAVOR not in flavors:
        raise ValueError(
            f"{uri} has the flavors {sorted(flavors)}, not '{FLAVOR}'. Load it with one of these."
        )
    path = folder / flavors["python_function"]["data"]
    return from_entry(read_entry(path), str(path))


def signature(model: Any) -> Any:
    """The columns that the served model takes and returns. Columns that no split uses are optional.

    Every feature may be null. Numbers are double, because an integer column of MLflow cannot have
    missing values; MLflow refuses int64 for them, so pass integers as float64.
    """
    _mlflow()
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, Schema

    served = Served.of(to_entry(model))
    inputs: list[Any] = [
        ColSpec(_type(feature), name, required=j in served.used)
        for j, (feature, name) in enumerate(zip(served.features, served.names, strict=True))
    ]
    if served.group is not None and served.group not in served.names:
        kind = {bool: "boolean", int: "long", str: "string"}[type(served.groups[0])]
        inputs.append(ColSpec(kind, served.group))
    outputs: list[Any] = [ColSpec("double", name) for name in served.outputs]
    return ModelSignature(inputs=Schema(inputs), outputs=Schema(outputs))


def _type(feature: Feature) -> str:
    if feature.is_time:
        return "datetime"
    if feature.holds_numbers:
        return "double"
    return "string" if feature.kind == TEXT else "boolean"


# The file


def to_entry(model: Any) -> dict[str, Any]:
    """A model as JSON; without a membership model that is a stage of Spark ML."""
    kind = type(model).__name__
    if kind not in KINDS:
        raise ValueError(
            f"A fitted FIGS, Bagging-FIGS or G-FIGS model is needed, got {kind}. For a "
            f"PipelineModel pass its last stage, model.stages[-1], or log it with mlflow.spark."
        )
    params = {param.name: value for param, value in model.extractParamMap().items()}
    if params.get("unseenGroup") == MIXTURE:
        raise ValueError(
            "unseenGroup is 'mixture', which needs the membership model and so Spark. Set it to "
            "'error', or save the model with model.save."
        )
    given = {param.name: value for param, value in model._paramMap.items()}
    data = {
        "format": FORMAT,
        "fingerprint": model.fingerprint,
        "class": kind,
        "uid": model.uid,
        "given": given,
        "params": params,
        "contents": model._contents(),
    }
    entry: dict[str, Any] = json.loads(json.dumps(data, allow_nan=False))
    return entry | {"digest": digest(entry)}


def read_entry(path: Path) -> dict[str, Any]:
    """What `to_entry` gave, from the file."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} is damaged: it is not text in UTF-8 ({error}).") from error
    return checked_entry(parse(text, str(path)), str(path))


def checked_entry(data: Any, source: str) -> dict[str, Any]:
    """An entry whose parts have their types and whose digest is right; `source` names its file."""
    if not isinstance(data, dict) or data.get("class") not in sorted(KINDS):
        raise ValueError(f"{source} is damaged: it does not hold a model of figs_spark.")
    if not any(is_version(data.get("format"), known) for known in (1, FORMAT)):
        raise ValueError(
            f"{source} has format {shown(data.get('format'))}, and this version of figs_spark "
            f"reads 1 and {FORMAT}. Use the version that wrote it."
        )
    sealed = ("fingerprint", "digest") if data["format"] == FORMAT else ()
    known = ("format", "class", "uid", "given", "params", "contents", *sealed)
    entries = Entry(data, source).fields(known)
    entries["uid"].text()
    for name in ("given", "params", "contents"):
        entries[name].object()
    if sealed:
        rest = {name: value for name, value in data.items() if name != "digest"}
        check_digest(data["digest"], rest, source)
    return data


def from_entry(entry: dict[str, Any], source: str = "The logged model") -> Any:
    """The stage that was logged."""
    import figs_spark
    from figs_spark.stages.base.persistence import FORMAT as SEALED
    from figs_spark.stages.base.persistence import set_model, set_params

    model = getattr(figs_spark, entry["class"])()
    model._resetUid(entry["uid"])
    set_params(model._set, Entry(entry["given"], source, "given"))
    contents = dict(entry["contents"])
    if "digest" in entry:
        contents |= {"format": SEALED, "fingerprint": entry["fingerprint"]}
    elif contents.get("membershipColumns", 0) is None:  # the first format has it for every kind
        del contents["membershipColumns"]
    set_model(model, contents, source)
    return model


# Serving


@dataclass(frozen=True)
class Served:
    """A model without Spark: one or more sums of trees, and what is made of their scores."""

    sums: tuple[tuple[TreeSum, ...], ...]  # the members of each group's model
    groups: tuple[Any, ...]  # (None,) where there is one model for all
    group: str | None
    names: tuple[str, ...]  # the column of each feature
    classes: int  # 0: a number comes out
    class_names: tuple[str, ...]
    threshold: float
    thresholds: tuple[float, ...] | None

    @classmethod
    def of(cls, entry: dict[str, Any], source: str = FILE) -> Served:
        """From what `to_entry` gave or `read_entry` read; a ValueError if it is damaged."""
        kind, contents = entry["class"], entry["contents"]
        sums, groups = _sums(kind, contents, source)
        first = sums[0][0]
        classes, names = read_classes(contents, first, kind.endswith("ClassificationModel"), source)
        params = Entry(entry["params"], source, "params")
        columns, thresholds = params.inner("featuresCols"), params.inner("thresholds")
        threshold = params.inner("threshold").number() if classes else THRESHOLD
        served = cls(
            sums=sums,
            groups=groups,
            group=params.inner("groupCol").text() if kind.startswith("GFIGS") else None,
            names=tuple(first.feature_names) if columns.value is None else columns.texts(),
            classes=classes,
            class_names=names or tuple(map(str, range(classes))),
            threshold=threshold,
            thresholds=None if thresholds.value is None else thresholds.numbers(low=0.0),
        )
        check_names(served.names, len(first.features), source)
        check_thresholds(served.thresholds, classes, source)
        if "fingerprint" in entry:
            computed = stage_fingerprint(contents, threshold, served.thresholds)
            check_fingerprint(entry["fingerprint"], computed, source)
        return served

    @property
    def features(self) -> tuple[Feature, ...]:
        return self.sums[0][0].features

    @property
    def used(self) -> set[int]:
        """The features that make a difference."""
        return {split.feature for members in self.sums for m in members for split in m.splits}

    @property
    def outputs(self) -> list[str]:
        if self.classes == 0:
            return ["prediction"]
        if self.classes == 2:
            return ["prediction", "probability"]
        return ["prediction", *(f"probability_{name}" for name in self.class_names)]

    def predict(self, frame: Any, params: dict[str, Any] | None = None) -> pd.DataFrame:
        """Predictions for a pandas DataFrame, by MLflow's rules for a python function."""
        import pandas as pd

        values = self._values(pd.DataFrame(frame))
        numbers = self._group_numbers(frame)
        expected = np.empty((len(values), self.outcome.outputs))
        for k, members in enumerate(self.sums):
            in_group = numbers == k
            if in_group.any():
                part = values[in_group]
                tables = [self.outcome.expected_table(m.predict(part)) for m in members]
                expected[in_group] = np.mean(tables, axis=0)
        return pd.DataFrame(self._table(expected), columns=self.outputs, index=values.index)

    def _table(self, expected: np.ndarray) -> np.ndarray:
        """The output columns, from the number or the probabilities that were expected."""
        if self.classes == 0:
            return expected
        p = expected[:, 0]
        probabilities = [1 - p, p] if self.classes == 2 else list(expected.T)
        chosen = self.outcome.predicted_class(probabilities, self.threshold, self.thresholds)
        return np.column_stack([chosen, expected])

    @property
    def outcome(self) -> Outcome:
        return Outcome(self.classes, self.sums[0][0].link)

    def _values(self, frame: pd.DataFrame) -> pd.DataFrame:
        """The features under the names that the trees know. A column that no split uses may be
        absent. One that is used must be there, so that a typing error cannot count as missing."""
        absent = [self.names[j] for j in sorted(self.used) if self.names[j] not in frame]
        if absent:
            raise ValueError(
                f"The columns {absent} are needed by the model. Use null for missing values."
            )
        check_once(frame.columns, self.names)
        values = frame.reindex(columns=list(self.names))
        return values.set_axis([feature.name for feature in self.features], axis=1)

    def _group_numbers(self, frame: Any) -> np.ndarray:
        if self.group is None:
            return np.zeros(len(frame), dtype=int)
        if self.group not in frame:
            raise ValueError(f"Column '{self.group}' (groupCol) is needed and missing.")
        places = {group: k for k, group in enumerate(self.groups)}
        groups = frame[self.group].tolist()
        unseen = [group for group in groups if group not in places]
        if unseen:
            raise ValueError(
                f"Column '{self.group}' (groupCol) is {unseen[0]!r} in {groups.count(unseen[0])} "
                f"of {len(groups)} rows, and the model was trained on {list(self.groups)}. Repair "
                f"or drop these rows."
            )
        return np.array([places[group] for group in groups], dtype=int)


def _sums(
    kind: str, contents: dict[str, Any], source: str
) -> tuple[tuple[tuple[TreeSum, ...], ...], tuple[Any, ...]]:
    """The members of each group's model, and the groups."""
    if kind.startswith("GFIGS"):
        by_group, _ = read_groups(contents, source)
        return tuple((own,) for own in by_group.values()), tuple(by_group)
    if kind.startswith("Bagged"):
        return (read_members(contents, source),), (None,)
    return ((read_sum(contents, source),),), (None,)


def _load_pyfunc(path: str) -> Served:
    """Called by MLflow, with the file that was logged."""
    return Served.of(read_entry(Path(path)), path)


# What may not be there


def _mlflow() -> Any:
    try:
        import mlflow.artifacts
        import mlflow.models
        import mlflow.pyfunc
    except ImportError as error:
        raise ImportError(
            f"figs_spark.mlflow needs MLflow, which cannot be imported ({error}). Install it: "
            f"pip install 'figs_spark[mlflow]'."
        ) from error
    return mlflow


def _libraries() -> Sequence[Any]:
    import pandas as pd

    return np, pd
