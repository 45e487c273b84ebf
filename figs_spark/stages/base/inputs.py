"""Where the features are, and the outputs may go: names, kinds and Columns, from the schema."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
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
    NumericType,
    StringType,
    StructField,
)

from figs_spark.dataframes.columns import column, field, listed, quoted
from figs_spark.treesum import Feature

OUTPUTS = ("predictionCol", "probabilityCol", "rawPredictionCol", "leafCol", "contributionsCol")


@dataclass(frozen=True)
class Inputs:
    """The features as given: scalar columns, or one column that holds them all.

    `features` has categories None for numeric ones, () for numbers that are categories, (False,
    True) for truth values, and () with `is_text` for text, whose categories have yet to be read.
    """

    features: tuple[Feature, ...]
    is_text: tuple[bool, ...]
    packed: Column | None  # array<double> with all features, where they come in one column
    names: tuple[str, ...]  # the columns of the DataFrame that are read


def read_inputs(dataset: DataFrame, stage: Any) -> Inputs:
    """Check the feature columns of a training set against the schema."""
    names = stage.getOrDefault("featuresCols")
    if names is None:
        inputs = _from_one_column(dataset, stage.getOrDefault("featuresCol"))
    else:
        inputs = _from_columns(dataset, names)
    known = [feature.name for feature in inputs.features]
    categorical = set(stage.getOrDefault("categoricalCols") or ())
    unknown = sorted(categorical - set(known))
    if unknown:
        raise ValueError(
            f"categoricalCols names {listed(unknown)}, which are not among the {len(known)} "
            f"features {listed(known)}. Name features only."
        )
    features = tuple(
        Feature(f.name, ()) if f.name in categorical and f.categories is None else f
        for f in inputs.features
    )
    return Inputs(features, inputs.is_text, inputs.packed, inputs.names)


def _from_columns(dataset: DataFrame, names: Sequence[str]) -> Inputs:
    if not names:
        raise ValueError("featuresCols is an empty list. Name at least one column.")
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        raise ValueError(f"featuresCols names {listed(twice)} more than once. Name each once.")
    times = Counter(dataset.columns)
    known = {f.name: f for f in dataset.schema.fields if times[f.name] == 1}
    fields = [known.get(name) or field(dataset, name, "featuresCols") for name in names]
    allowed = (NumericType, BooleanType, StringType)
    wrong = [f for f in fields if not isinstance(f.dataType, allowed)]
    if wrong:
        kinds = ", ".join(f"'{f.name}' {f.dataType.simpleString()}" for f in wrong[:5])
        raise ValueError(
            f"{len(wrong)} of the columns in featuresCols have a type that is not numeric, boolean "
            f"or string: {kinds}. Cast them (a date to a number of days, say) or leave them out."
        )
    return Inputs(
        features=tuple(Feature(f.name, _categories(f.dataType)) for f in fields),
        is_text=tuple(isinstance(f.dataType, StringType) for f in fields),
        packed=None,
        names=tuple(names),
    )


def _categories(kind: DataType) -> tuple[bool, ...] | tuple[()] | None:
    if isinstance(kind, BooleanType):
        return (False, True)
    return () if isinstance(kind, StringType) else None


def _from_one_column(dataset: DataFrame, name: str) -> Inputs:
    found = field(dataset, name, "featuresCol")
    packed = packed_column(found)
    features = _from_metadata(found)
    if features is None:
        size = dataset.where(column(name).isNotNull()).select(F.size(packed)).first()
        length = 0 if size is None else int(size[0])
        features = tuple(Feature(f"{name}[{j}]") for j in range(length))
    return Inputs(features, (False,) * len(features), packed, (name,))


def packed_column(found: StructField, param: str = "featuresCol") -> Column:
    """A vector or array column as array<double>."""
    kind, given = found.dataType, column(found.name)
    if isinstance(kind, VectorUDT):
        return F.when(given.isNotNull(), vector_to_array(given))
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
        return given.cast("array<double>")
    scalars = ", or name scalar columns in featuresCols" if param == "featuresCol" else ""
    raise ValueError(
        f"Column '{found.name}' ({param}) has type {kind.simpleString()}; a vector or an array "
        f"of numbers is needed. Use VectorAssembler{scalars}."
    )


def _from_metadata(found: StructField) -> tuple[Feature, ...] | None:
    """Names and categories of a vector's slots, as VectorAssembler and StringIndexer note them."""
    noted = (found.metadata or {}).get("ml_attr", {})
    size = noted.get("num_attrs")
    slots: dict[int, Feature] = {}
    for kind, attributes in noted.get("attrs", {}).items():
        for slot in attributes:
            name = slot.get("name", f"{found.name}[{slot['idx']}]")
            labels = tuple(slot["vals"]) if kind == "nominal" and "vals" in slot else None
            categories: tuple[()] | None = () if kind == "nominal" else None
            slots[slot["idx"]] = Feature(name, categories, labels)
    if size is None and not slots:
        return None
    length = size if size is not None else max(slots) + 1
    return tuple(slots.get(j, Feature(f"{found.name}[{j}]")) for j in range(length))


def training_column(inputs: Inputs, features: Sequence[Feature]) -> Column:
    """All features as array<double>; text and truth values as positions in their categories."""
    if inputs.packed is not None:
        return inputs.packed
    if any(inputs.is_text):
        return as_numbers(features, [column(feature.name) for feature in features])
    cells = (f"cast({quoted(feature.name)} as double)" for feature in features)
    return F.expr(f"array({', '.join(cells)})")  # thousands of Columns would take half a minute


def as_numbers(features: Sequence[Feature], cells: Sequence[Column]) -> Column:
    """Cells as array<double>; text and truth values as positions in their categories."""
    numbers = []
    for feature, cell in zip(features, cells, strict=True):
        if feature.categories and isinstance(feature.categories[0], str):
            known = F.array(*[F.lit(category) for category in feature.categories])
            cell = F.call_function("array_position", known, cell) - 1
        numbers.append(cell.cast("double"))
    return F.array(*numbers)


def with_scoring_array(dataset: DataFrame, name: str, length: int, new: str) -> DataFrame:
    """With the column `new`: a vector or array column as array<double>, of a checked length."""
    packed = packed_column(field(dataset, name, "featuresCol"))
    message = (
        f"Column '{name}' (featuresCol) has a row without the {length} values that the model was "
        f"trained on. Give all rows these values."
    )
    wrong = column(new).isNotNull() & (F.size(column(new)) != length)
    checked = F.when(wrong, F.raise_error(message)).otherwise(column(new))
    return dataset.withColumn(new, packed).withColumn(new, checked)


def scoring_columns(
    dataset: DataFrame, features: Sequence[Feature], used: set[int], names: Sequence[str]
) -> list[Column]:
    """Scalar columns as the expressions of a model take them; those it uses are checked."""
    if len(names) != len(features):
        raise ValueError(
            f"featuresCols names {len(names)} columns, and the model was trained on "
            f"{len(features)}. Name these, in their order."
        )
    for j in sorted(used):
        kind = field(dataset, names[j], "featuresCols").dataType
        wanted = _wanted(features[j])
        if not isinstance(kind, wanted):
            trained_on = "numeric" if wanted is NumericType else wanted.typeName()
            raise ValueError(
                f"Column '{names[j]}' (featuresCols) has type {kind.simpleString()}, and the model "
                f"was trained on a {trained_on} column. Cast it."
            )
    return [
        column(name).cast("double") if _wanted(feature) is NumericType else column(name)
        for name, feature in zip(names, features, strict=True)
    ]


def check_outputs(dataset: DataFrame, stage: Params) -> None:
    """Every output needs a name that no other column has."""
    taken = dict.fromkeys(dataset.columns, "a column of the DataFrame")
    for param in OUTPUTS:
        name = stage.getOrDefault(param) if stage.hasParam(param) else ""
        if name in taken:
            raise ValueError(
                f"Column '{name}' ({param}) is {taken[name]} already. Give {param} another name."
            )
        if name:
            taken[name] = param


def _wanted(feature: Feature) -> type[DataType]:
    if feature.categories:
        if isinstance(feature.categories[0], bool):
            return BooleanType
        if isinstance(feature.categories[0], str):
            return StringType
    return NumericType
