"""From the settings of a model to an estimator: its class, and Params that it has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, NumericType

import figs_spark
from figs_spark.app.config import Settings, nearest
from figs_spark.app.errors import UNFIT_INPUT
from figs_spark.dataframes.columns import column
from figs_spark.stages.params.declared import Declared

Kind = Literal["figs", "bagged", "gfigs"]
Task = Literal["auto", "classification", "regression"]

NAMES = {"figs": "FIGS", "bagged": "BaggedFIGS", "gfigs": "GFIGS"}
SUFFIXES = {"classification": "Classifier", "regression": "Regressor"}
MOST_CLASSES = 20  # whole numbers beyond are an amount, not classes
JUDGED = ("predictionCol", "probabilityCol")
ELSEWHERE = {
    "labelCol": "label",
    "featuresCols": "features",
    "weightCol": "weight",
    "validationIndicatorCol": "size.choose: validation",
}


def estimator_class(kind: str, task: str) -> type[Any]:
    found: type[Any] = getattr(figs_spark, NAMES[kind] + SUFFIXES[task])
    return found


def check_params(settings: Settings[Any]) -> None:
    """Every entry of `model` is a Param of the estimator, or of one of the two that it may be."""
    values = settings.given
    tasks = SUFFIXES if values.task == "auto" else (values.task,)
    classes = [estimator_class(values.kind, task) for task in tasks]
    known = {item.name: item for cls in classes for item in cls.declared}
    for name, value in values.model.items():
        where = f"model.{name}"
        if name in ELSEWHERE:
            raise settings.error(where, f"set by the job: use the key {ELSEWHERE[name]}.")
        if name not in known:
            names = " and ".join(cls.__name__ for cls in classes)
            raise settings.error(where, f"{names} have no such Param; {nearest(name, known)}")
        _check_value(settings, where, known[name], value)


def _check_value(settings: Settings[Any], where: str, param: Declared, value: Any) -> None:
    if value is None and (param.default is None or param.optional):
        return
    if param.name in JUDGED and value == "":
        raise settings.error(where, "the job needs this column to judge the model.")
    try:
        param.convert(value)
    except (TypeError, ValueError) as error:
        raise settings.error(where, f"{error}.") from None


def columns_in_params(model: dict[str, Any]) -> Iterator[str]:
    """Columns that Params name, such as groupCol: none of them is a feature unless listed."""
    for name, value in model.items():
        if name.endswith("Col") and isinstance(value, str) and value:
            yield value


def task_of(data: DataFrame, settings: Settings[Any]) -> str:
    """The task, where it is "auto" by the label: few whole numbers from 0 up are classes."""
    task, label = settings.given.task, settings.given.label
    kind = data.schema[label].dataType
    if task != "auto":
        return str(task)
    if isinstance(kind, BooleanType):
        return "classification"
    if not isinstance(kind, NumericType):
        message = f"column '{label}' is {kind.simpleString()}; a number or a truth value is needed."
        raise settings.error("label", message, UNFIT_INPUT)
    y = column(label).cast("double")
    seen = data.select(F.min(y), F.max(y), F.count(F.when(y != F.floor(y), 1))).collect()[0]
    if seen[0] is None:
        message = f"column '{label}' has no value: there is nothing to learn from."
        raise settings.error("label", message, UNFIT_INPUT)
    whole = seen[2] == 0 and seen[0] >= 0 and seen[1] <= MOST_CLASSES
    return "classification" if whole else "regression"
