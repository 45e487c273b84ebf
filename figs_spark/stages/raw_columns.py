"""A pipeline in terms of its raw columns: what StringIndexer, Bucketizer and VectorAssembler do
before a model becomes part of its trees.

The trees of the result split on the columns of the table as it is before the pipeline. An index of
a text becomes the text, a bucket becomes its limits. Each leaf keeps its value, so the scores are
the same to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.ml import PipelineModel
from pyspark.ml.feature import Bucketizer, StringIndexerModel, VectorAssembler

from figs_spark.exports.instrument import Instrument, Patient
from figs_spark.stages.base.exporting import Exporting
from figs_spark.stages.base.model import FittedModel
from figs_spark.stages.base.rows import by_name
from figs_spark.treesum import Feature, Node, Split, TreeSum
from figs_spark.treesum.nodes import only_named

KEEP = "keep"


@dataclass(frozen=True)
class Raw:
    """A column of the table."""

    column: str


@dataclass(frozen=True)
class Indexed:
    """A text column that StringIndexer made numbers of."""

    column: str
    labels: tuple[str, ...]
    keeps_unknown: bool


@dataclass(frozen=True)
class Bucketed:
    """A numeric column that Bucketizer cut into buckets."""

    column: str
    limits: tuple[float, ...]
    keeps_nan: bool


Source = Raw | Indexed | Bucketed


class ExportablePipeline(Exporting):
    """A fitted pipeline, to be exported in terms of the columns that it reads."""

    __module__ = "figs_spark"

    def __init__(self, model: FittedModel, sources: Sequence[Source]) -> None:
        self._model = model
        self._sources = tuple(sources)

    def _instrument(self, small_cell: int | None = None) -> Instrument:
        return in_raw_columns(self._model._instrument(small_cell), self._sources)

    def _patient(self, row: Any) -> Patient:
        named = by_name(row)
        if named is None:
            raise ValueError("The row of a pipeline needs names: give a dict, a Row or a Series.")
        return named


def exportable(model: Any) -> Any:
    """What can be exported: a model of figs_spark itself, or a fitted pipeline that ends in one.

    The stages before the model may be StringIndexer, Bucketizer and VectorAssembler. The result has
    `export`, `toSQL`, `toPMML`, `toONNX`, `toPython` and `toFHIR`, all in terms of the raw columns.
    """
    if isinstance(model, Exporting):
        return model
    if not isinstance(model, PipelineModel):
        raise TypeError(
            f"A {type(model).__name__} cannot be exported. Give a model of figs_spark, or a "
            f"PipelineModel that ends in one."
        )
    *before, last = _flat(model)
    if not isinstance(last, FittedModel):
        raise ValueError(
            f"The last stage of the pipeline is a {type(last).__name__} ({last.uid}), not a model "
            f"of figs_spark. Take it out: PipelineModel(stages[:-1])."
        )
    made: dict[str, list[Source]] = {}
    for stage in before:
        made |= _made_by(stage, made)
    return ExportablePipeline(last, _features(last, made))


def _flat(pipeline: PipelineModel) -> list[Any]:
    stages: list[Any] = []
    for stage in pipeline.stages:
        stages += _flat(stage) if isinstance(stage, PipelineModel) else [stage]
    return stages


def _made_by(stage: Any, made: Mapping[str, list[Source]]) -> dict[str, list[Source]]:
    """The columns that a stage makes, and what each is made of; a vector has several."""
    if isinstance(stage, VectorAssembler):
        parts = [made.get(name, [Raw(name)]) for name in stage.getInputCols()]
        return {stage.getOutputCol(): [source for part in parts for source in part]}
    if not isinstance(stage, (StringIndexerModel, Bucketizer)):
        raise ValueError(
            f"The pipeline has a {type(stage).__name__} ({stage.uid}). Exported are StringIndexer, "
            f"Bucketizer and VectorAssembler before the model; apply other stages to the table."
        )
    several = stage.isSet("inputCols")
    inputs = stage.getInputCols() if several else [stage.getInputCol()]
    outputs = stage.getOutputCols() if several else [stage.getOutputCol()]
    derived = [name for name in inputs if name in made]
    if derived:
        raise ValueError(
            f"The {type(stage).__name__} {stage.uid} reads the columns {derived}, which a stage "
            f"before it made. Exported is one such stage per column."
        )
    keeps = stage.getHandleInvalid() == KEEP
    if isinstance(stage, StringIndexerModel):
        labels = stage.labelsArray
        sources: list[Source] = [
            Indexed(c, tuple(own), keeps) for c, own in zip(inputs, labels, strict=True)
        ]
    else:
        limits = stage.getSplitsArray() if several else [stage.getSplits()]
        sources = [Bucketed(c, tuple(own), keeps) for c, own in zip(inputs, limits, strict=True)]
    return {name: [source] for name, source in zip(outputs, sources, strict=True)}


def _features(model: FittedModel, made: Mapping[str, list[Source]]) -> list[Source]:
    """What each feature of the model is made of."""
    names = model.getOrDefault("featuresCols")
    group = model.getOrDefault("groupCol") if model.hasParam("groupCol") else None
    if group in made:
        raise ValueError(f"The groups are in '{group}', which a stage makes. Use a raw column.")
    if names is None:
        name = model.getOrDefault("featuresCol")
        sources = made.get(name, [])
        if len(sources) != model.numFeatures:
            raise ValueError(
                f"Column '{name}' (featuresCol) has {model.numFeatures} values, and the pipeline "
                f"makes {len(sources)} of them from single columns. Assemble single columns."
            )
        return sources
    vectors = [name for name in names if len(made.get(name, [Raw(name)])) > 1]
    if vectors:
        raise ValueError(f"The features {vectors} are vectors. Name the vector as featuresCol.")
    return [made.get(name, [Raw(name)])[0] for name in names]


# Trees over the raw columns


def in_raw_columns(model: Instrument, sources: Sequence[Source]) -> Instrument:
    """The same model over the columns that its features are made of."""
    columns = list(dict.fromkeys(source.column for source in sources))
    features = tuple(_feature(c, sources, model.features) for c in columns)
    places = [columns.index(source.column) for source in sources]

    def rewritten(one: TreeSum) -> TreeSum:
        trees = tuple(_rewritten(tree, sources, places) for tree in one.trees)
        return replace(one, features=features, trees=trees)

    family = replace(
        model.family,
        sums=tuple(only_named([rewritten(one) for one in model.sums])),
        notes=(*model.family.notes, *_notes(sources)),
    )
    return replace(model, family=family, columns=tuple(columns))


def _feature(column: str, sources: Sequence[Source], features: Sequence[Feature]) -> Feature:
    kinds = {
        Feature(column, s.labels)
        if isinstance(s, Indexed)
        else Feature(column)
        if isinstance(s, Bucketed)
        else replace(f, name=column)
        for s, f in zip(sources, features, strict=True)
        if s.column == column
    }
    if len(kinds) > 1:
        raise ValueError(
            f"The pipeline uses column '{column}' in two ways that differ in kind (as text, as a "
            f"number, as a code). Copy the column under another name, and use each in one way."
        )
    return kinds.pop()


def _notes(sources: Sequence[Source]) -> tuple[str, ...]:
    notes = []
    if any(isinstance(s, Indexed) and not s.keeps_unknown for s in sources):
        notes.append("Texts that StringIndexer does not know are scored here; Spark refuses them.")
    if any(isinstance(s, Bucketed) for s in sources):
        notes.append("A limit such as 17.999999999999996 is the last number before 18: x < 18.")
        notes.append("Values outside the buckets count as in the nearest; Spark refuses them.")
    return tuple(notes)


def _rewritten(node: Node, sources: Sequence[Source], places: Sequence[int]) -> Node:
    branches = node.branches
    if branches is None:
        return node
    split = branches[0]
    left, right = (_rewritten(child, sources, places) for child in branches[1:])
    source, place = sources[split.feature], places[split.feature]
    if isinstance(source, Bucketed):
        return _by_buckets(replace(node, left=left, right=right), source, place)
    moved = replace(split, feature=place)
    if isinstance(source, Indexed):
        moved = _by_texts(moved, source)
    return replace(node, split=moved, left=left, right=right)


def _goes_left(split: Split, number: float) -> bool:
    if split.threshold is not None:
        return number <= split.threshold
    return (number in (split.categories or ())) == split.listed_left


def _by_texts(split: Split, source: Indexed) -> Split:
    """The texts on the other side than unknown ones are listed."""
    unknown = _goes_left(split, float(len(source.labels)))
    listed = [t for i, t in enumerate(source.labels) if _goes_left(split, float(i)) != unknown]
    return replace(
        split,
        threshold=None,
        categories=tuple(listed),
        listed_left=not unknown,
        missing_left=unknown if source.keeps_unknown else split.missing_left,
    )


def _by_buckets(node: Node, source: Bucketed, place: int) -> Node:
    """Splits at the limits of the buckets, from the lowest up; the same child may occur twice."""
    assert node.split is not None
    assert node.left is not None
    assert node.right is not None
    split, count = node.split, len(source.limits) - 1
    sides = [_goes_left(split, float(i)) for i in range(count)]
    if source.keeps_nan and _goes_left(split, float(count)) != split.missing_left:
        raise ValueError(
            f"Bucketizer keeps NaN of column '{source.column}' as a bucket of its own, and the "
            f"model treats that otherwise than null. Fit it with handleInvalid 'error'."
        )
    children = {True: node.left, False: node.right}
    last = [i for i in range(count) if i + 1 == count or sides[i] != sides[i + 1]]
    runs = [(sides[i], source.limits[i + 1]) for i in last]

    def chain(rest: Sequence[tuple[bool, float]], missing_done: bool) -> Node:
        (side, limit), *others = rest
        takes_missing = side == split.missing_left and not missing_done
        if not others and (takes_missing or missing_done):
            return children[side]
        threshold = math.nextafter(limit, -math.inf) if others else math.inf
        own = Split(place, split.step, split.gain, takes_missing, threshold=threshold)
        other = chain(others, missing_done or takes_missing) if others else children[not side]
        return replace(node, split=own, left=children[side], right=other)

    return chain(runs, False)
