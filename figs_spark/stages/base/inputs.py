"""The features of a DataFrame, and the names of output columns, checked against the schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Params
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    NumericType,
    StringType,
    StructField,
    TimestampNTZType,
    TimestampType,
)

from figs_spark.dataframes.codes import level_column, resolved_column
from figs_spark.dataframes.columns import check_collations, column, field, folding, listed, quoted
from figs_spark.dataframes.compat import file_batches
from figs_spark.dataframes.positions import position
from figs_spark.treesum import Feature
from figs_spark.treesum.levels import LevelFeature
from figs_spark.treesum.nodes import TEXT
from figs_spark.treesum.times import DATE, LOCAL_TIMESTAMP, TIMESTAMP

TIME_TYPES: dict[str, type[DataType]] = {
    DATE: DateType,
    TIMESTAMP: TimestampType,
    LOCAL_TIMESTAMP: TimestampNTZType,
}
RESERVED = ("figs_spark_partition", "figs_spark_membership_")  # begin names that training adds
FIRST_ROWS = 64  # that are read for the length of the first array
OUTPUT_PARAMS = (
    "predictionCol",
    "probabilityCol",
    "rawPredictionCol",
    "leafCol",
    "contributionsCol",
    "riskIntervalCol",
)


@dataclass(frozen=True)
class Inputs:
    """The features of a DataFrame: scalar columns, or one column that holds them all.

    The categories of a feature are None if it is numeric, and (False, True) if it is boolean. They
    are () for text and for numbers that are categories: these are yet to be read.
    """

    features: tuple[Feature, ...]
    packed: Column | None  # array<double> with all features, if one column holds them
    names: tuple[str, ...]  # the columns of the DataFrame that are read


def read_inputs(dataset: DataFrame, stage: Any) -> Inputs:
    """Check the feature columns of a training set against the schema."""
    names = stage.getOrDefault("featuresCols")
    if names is None:
        inputs = _from_one_column(dataset, stage.getOrDefault("featuresCol"))
    else:
        inputs = _from_columns(dataset, names)
    feature_names = [feature.name for feature in inputs.features]
    categorical = set(stage.getOrDefault("categoricalCols") or ())
    unknown = sorted(categorical - set(feature_names))
    if unknown:
        raise ValueError(
            f"categoricalCols names {listed(unknown)}, which are not among the "
            f"{len(feature_names)} features {listed(feature_names)}. Name features only."
        )
    features = tuple(
        Feature(f.name, ()) if f.name in categorical and f.categories is None else f
        for f in inputs.features
    )
    return Inputs(features, inputs.packed, inputs.names)


def _from_columns(dataset: DataFrame, names: Sequence[str]) -> Inputs:
    if not names:
        raise ValueError("featuresCols is an empty list. Name at least one column.")
    fold = folding(dataset)
    named = Counter(map(fold, names))
    repeated = sorted(name for name in set(names) if named[fold(name)] > 1)
    if repeated:
        raise ValueError(f"featuresCols names {listed(repeated)} more than once. Name each once.")
    fields = _fields(dataset, names)
    check_collations(fields, "featuresCols")
    allowed: tuple[type[DataType], ...] = (NumericType, BooleanType, StringType)
    allowed += tuple(TIME_TYPES.values())
    wrong = [f for f in fields if not isinstance(f.dataType, allowed)]
    if wrong:
        kinds = ", ".join(f"'{f.name}' {f.dataType.simpleString()}" for f in wrong[:5])
        raise ValueError(
            f"{len(wrong)} of the columns in featuresCols have a type that is not numeric, "
            f"boolean, string, date or timestamp: {kinds}. Cast them or leave them out."
        )
    return Inputs(
        features=tuple(_feature(f.name, f.dataType) for f in fields),
        packed=None,
        names=tuple(f.name for f in fields),
    )


def _fields(dataset: DataFrame, names: Sequence[str]) -> list[StructField]:
    """The field of each column; a ValueError names all that are not there."""
    fold = folding(dataset)
    times = Counter(map(fold, dataset.columns))
    lost = [name for name in names if fold(name) not in times]
    if len(lost) > 1:
        raise ValueError(
            f"{len(lost)} columns of featuresCols are not in the DataFrame: {listed(lost)}. It has "
            f"{listed(dataset.columns)}. Set featuresCols to columns that it has."
        )
    unique = {fold(f.name): f for f in dataset.schema.fields if times[fold(f.name)] == 1}
    return [unique.get(fold(name)) or field(dataset, name, "featuresCols") for name in names]


def _feature(name: str, kind: DataType) -> Feature:
    if isinstance(kind, BooleanType):
        return Feature(name, (False, True))
    if isinstance(kind, StringType):
        return Feature(name, (), kind=TEXT)
    time = next((k for k, cls in TIME_TYPES.items() if isinstance(kind, cls)), "")
    return Feature(name, kind=time)


def _from_one_column(dataset: DataFrame, name: str) -> Inputs:
    source = field(dataset, name, "featuresCol")
    packed = packed_column(source)
    features = _from_metadata(source)
    if features is None:
        with file_batches(dataset.sparkSession, FIRST_ROWS):
            size = dataset.where(column(name).isNotNull()).select(F.size(packed)).first()
        length = 0 if size is None else int(size[0])
        features = tuple(Feature(f"{name}[{j}]") for j in range(length))
    return Inputs(features, packed, (name,))


def packed_column(source: StructField, param: str = "featuresCol") -> Column:
    """A vector or array column as array<double>."""
    kind, values = source.dataType, column(source.name)
    if isinstance(kind, VectorUDT):
        return F.when(values.isNotNull(), vector_to_array(values))
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
        return values.cast("array<double>")
    scalars = ", or name scalar columns in featuresCols" if param == "featuresCol" else ""
    raise ValueError(
        f"Column '{source.name}' ({param}) has type {kind.simpleString()}; a vector or an array "
        f"of numbers is needed. Use VectorAssembler{scalars}."
    )


def _from_metadata(source: StructField) -> tuple[Feature, ...] | None:
    """Names and categories of a vector's slots, from VectorAssembler and StringIndexer.

    A name that stands twice, as VectorAssembler can make it, gives way to the place in the vector.
    """
    metadata = (source.metadata or {}).get("ml_attr", {})
    size = metadata.get("num_attrs")
    slots: dict[int, Feature] = {}
    for kind, attributes in metadata.get("attrs", {}).items():
        for slot in attributes:
            name = slot.get("name", f"{source.name}[{slot['idx']}]")
            labels = tuple(slot["vals"]) if kind == "nominal" and "vals" in slot else None
            categories: tuple[()] | None = () if kind == "nominal" else None
            slots[slot["idx"]] = Feature(name, categories, labels)
    if size is None and not slots:
        return None
    length = size if size is not None else max(slots) + 1
    times = Counter(feature.name for feature in slots.values())
    for j, feature in slots.items():
        if times[feature.name] > 1:
            slots[j] = replace(feature, name=f"{source.name}[{j}]")
    return tuple(slots.get(j, Feature(f"{source.name}[{j}]")) for j in range(length))


def training_column(inputs: Inputs, features: Sequence[Feature]) -> Column:
    """All features as array<double>, see `as_numbers`."""
    if inputs.packed is not None:
        return inputs.packed
    if any(feature.kind == TEXT for feature in features):
        return F.array(*as_numbers(features, [training_cell(feature) for feature in features]))
    return numbers_column(features)


def numbers_column(features: Sequence[Feature]) -> Column:
    """Scalar features as array<double>, with nulls in place of text."""
    texts = (
        "cast(null as double)" if feature.kind == TEXT else number_sql(feature)
        for feature in features
    )
    return F.expr(f"array({', '.join(texts)})")  # thousands of Columns would take half a minute


def number_sql(feature: Feature) -> str:
    """A scalar feature that is no text as a double."""
    return f"cast({_number_sql(feature, feature.name)} as double)"


def training_cell(feature: Feature) -> Column:
    """A scalar feature: a number, a boolean or text."""
    if isinstance(feature, LevelFeature):
        return level_column(feature, column(feature.source))
    return _raw_number(feature, feature.name) if feature.is_time else column(feature.name)


def _number_sql(feature: Feature, name: str) -> str:
    """A column as something that can be cast to double; of dates the days, of times the seconds."""
    cell = quoted(name)
    if feature.kind == DATE:
        return f"unix_date({cell})"
    if feature.kind == LOCAL_TIMESTAMP:  # by its parts, as no time zone may come in
        days = f"unix_date(cast({cell} as date)) * 86400D"
        return f"{days} + hour({cell}) * 3600 + minute({cell}) * 60 + extract(second from {cell})"
    return cell


def _raw_number(feature: Feature, name: str) -> Column:
    return F.expr(f"cast({_number_sql(feature, name)} as double)")


def as_numbers(features: Sequence[Feature], cells: Sequence[Column]) -> list[Column]:
    """Cells as doubles; text and booleans as positions in their categories, text that is none of
    these as -1."""
    numbers = []
    for feature, cell in zip(features, cells, strict=True):
        if feature.kind == TEXT:
            cell = position(cell, [str(category) for category in feature.categories or ()])
        numbers.append(cell.cast("double"))
    return numbers


def used_numbers(
    features: Sequence[Feature], cells: Sequence[Column], used: Sequence[int]
) -> list[Column]:
    """Some of the cells as doubles; if there are none, one number."""
    if not used:
        return [F.lit(0.0)]
    return as_numbers([features[j] for j in used], [cells[j] for j in used])


def with_scoring_array(dataset: DataFrame, name: str, length: int, new: str) -> DataFrame:
    """Add the column `new`: a vector or array column as array<double>, its length checked."""
    packed = packed_column(field(dataset, name, "featuresCol"))
    message = (
        f"Column '{name}' (featuresCol) has a row without the {length} values that the model was "
        f"trained on. Give all rows these values."
    )
    other_length = column(new).isNotNull() & (F.size(column(new)) != length)
    checked = F.when(other_length, F.raise_error(message)).otherwise(column(new))
    return dataset.withColumn(new, packed).withColumn(new, checked)


def scoring_columns(
    dataset: DataFrame, features: Sequence[Feature], used: set[int], names: Sequence[str]
) -> list[Column]:
    """Scalar columns as a model's expressions need them; the types of those it uses are checked."""
    if len(names) != len(features):
        raise ValueError(
            f"featuresCols names {len(names)} columns, and the model was trained on "
            f"{len(features)}. Name these, in their order."
        )
    for j in sorted(used):
        kind = field(dataset, names[j], "featuresCols").dataType
        needed = type_of(features[j])
        if not isinstance(kind, needed):
            trained_on = "numeric" if needed is NumericType else needed.typeName()
            raise ValueError(
                f"Column '{names[j]}' (featuresCols) has type {kind.simpleString()}, and the model "
                f"was trained on a {trained_on} column. Cast it."
            )
    return [
        _scoring_column(feature, name, j in used)
        for j, (name, feature) in enumerate(zip(names, features, strict=True))
    ]


def _scoring_column(feature: Feature, name: str, used: bool) -> Column:
    if feature.is_time:
        return _raw_number(feature, name) if used else F.lit(None).cast("double")
    if feature.system and used:
        return resolved_column(feature, column(name))
    return column(name).cast("double") if feature.holds_numbers else column(name)


def check_outputs(dataset: DataFrame, stage: Params) -> None:
    """ValueError if Spark takes the name of an output for that of another column."""
    fold = folding(dataset)
    taken = {fold(name): f"the column '{name}' of the DataFrame" for name in dataset.columns}
    problems = []
    for param in OUTPUT_PARAMS:
        name = stage.getOrDefault(param) if stage.hasParam(param) else ""
        if fold(name) in taken:
            problems.append(
                f"Column '{name}' ({param}) is {taken[fold(name)]} already. Give {param} another "
                f"name."
            )
        elif name:
            taken[fold(name)] = f"the {param}"
    if problems:
        raise ValueError("\n".join(problems))


def check_reserved(dataset: DataFrame) -> None:
    """ValueError if a column has a name that training uses itself."""
    fold = folding(dataset)
    clashes = [name for name in dataset.columns if fold(name).startswith(RESERVED)]
    if clashes:
        raise ValueError(
            f"{len(clashes)} columns have a name that training uses itself: {listed(clashes)}. "
            f"Rename or drop them."
        )


def type_of(feature: Feature) -> type[DataType]:
    """The type that a column needs to be this feature."""
    if feature.is_time:
        return TIME_TYPES[feature.kind]
    if feature.holds_numbers:
        return NumericType
    return StringType if feature.kind == TEXT else BooleanType
