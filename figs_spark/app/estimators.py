"""From the settings of a model to an estimator: its class and its Params."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, NumericType, StringType

import figs_spark
from figs_spark.app.config import Settings, nearest
from figs_spark.app.errors import UNFIT_INPUT
from figs_spark.dataframes.columns import column
from figs_spark.stages.params.declared import Declared

Kind = Literal["figs", "bagged", "gfigs"]
Task = Literal["auto", "classification", "regression"]

NAMES = {"figs": "FIGS", "bagged": "BaggedFIGS", "gfigs": "GFIGS"}
SUFFIXES = {"classification": "Classifier", "regression": "Regressor"}
MOST_CLASSES = 20  # larger whole numbers are an amount, not classes
NEEDED_OUTPUTS = ("predictionCol", "probabilityCol")
ELSEWHERE = {
    "labelCol": "label",
    "featuresCols": "features",
    "weightCol": "weight",
    "validationIndicatorCol": "size.choose: validation",
}


def estimator_class(kind: str, task: str) -> type[Any]:
    cls: type[Any] = getattr(figs_spark, NAMES[kind] + SUFFIXES[task])
    return cls


def check_params(settings: Settings[Any]) -> None:
    """Every entry of `model` must be a Param of the estimator, or of one of the two it may be."""
    values = settings.job
    tasks = SUFFIXES if values.task == "auto" else (values.task,)
    classes = [estimator_class(values.kind, task) for task in tasks]
    params = {item.name: item for cls in classes for item in cls.declared}
    for name, value in values.model.items():
        where = f"model.{name}"
        if name in ELSEWHERE:
            raise settings.error(where, f"the job sets this Param; use the key {ELSEWHERE[name]}.")
        if name not in params:
            names = " and ".join(cls.__name__ for cls in classes)
            raise settings.error(where, f"{names} have no such Param; {nearest(name, params)}")
        _check_value(settings, where, params[name], value)


def _check_value(settings: Settings[Any], where: str, param: Declared, value: Any) -> None:
    if value is None and (param.default is None or param.optional):
        return
    if param.name in NEEDED_OUTPUTS and value == "":
        raise settings.error(where, "the job needs this column to evaluate the model.")
    try:
        param.convert(value)
    except (TypeError, ValueError) as error:
        raise settings.error(where, f"{error}.") from None


def columns_in_params(model: dict[str, Any]) -> Iterator[str]:
    """Columns that Params name, such as groupCol; they are features only if listed as such."""
    for name, value in model.items():
        if name.endswith("Col") and isinstance(value, str) and value:
            yield value


def task_of(data: DataFrame, settings: Settings[Any]) -> str:
    """The task; if it is "auto", the label decides: few whole numbers from 0 up are classes."""
    task, label = settings.job.task, settings.job.label
    kind = data.schema[label].dataType
    if task != "auto":
        return str(task)
    if isinstance(kind, (BooleanType, StringType)):
        return "classification"
    if not isinstance(kind, NumericType):
        message = (
            f"column '{label}' is {kind.simpleString()}; a number, a boolean or text is needed."
        )
        raise settings.error("label", message, UNFIT_INPUT)
    y = column(label).cast("double")
    counted = data.select(F.min(y), F.max(y), F.count(F.when(y != F.floor(y), 1)))
    low, high, fractional = counted.collect()[0]
    if low is None:
        message = f"column '{label}' has no value: there is nothing to learn from."
        raise settings.error("label", message, UNFIT_INPUT)
    classes = fractional == 0 and low >= 0 and high <= MOST_CLASSES
    return "classification" if classes else "regression"
