"""Fitting a model, with a choice of its number of splits and its threshold."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from figs_spark.app.config import Settings, key
from figs_spark.app.division import TRAIN, VALIDATION
from figs_spark.app.errors import UNFIT_INPUT, JobError
from figs_spark.app.estimators import columns_in_params, estimator_class
from figs_spark.app.metrics import BINARY, outcome
from figs_spark.dataframes.derived import needed_for
from figs_spark.stages.base.checks import Checked
from figs_spark.stages.figs import FIGSModel
from figs_spark.stages.params.catalogue import CALIBRATE

if TYPE_CHECKING:
    import pandas as pd

IS_VALIDATION = "figs_spark_validation"
SENSITIVITY = "operatingPoint.sensitivity"
CROSS_VALIDATED = ("recommended", "best", "smallest", "bic")


@dataclass(frozen=True)
class Size:
    """How the number of splits is chosen, up to the Param maxSplits."""

    choose: Literal["fixed", "validation", "recommended", "best", "smallest", "bic"] = key(
        "fixed",
        "fixed: maxSplits; validation: least loss on validation rows; by cross-validation: "
        "recommended (fewest splits that lose at most half a paired standard error), best (least "
        "loss), smallest (fewest splits within one standard error of it) or bic",
    )
    folds: int = key(
        5, "folds of the cross-validation; a split.group stays in one", low=2, high=250
    )


@dataclass(frozen=True)
class Operating:
    """The threshold of a model of two classes."""

    sensitivity: float | None = key(
        None,
        "choose the threshold with at least this sensitivity on validation rows",
        low=0,
        high=1,
    )


@dataclass(frozen=True)
class Fitted:
    model: Any
    size: dict[str, Any]
    sizes: pd.DataFrame | None  # the loss of every size


def check_fitting(settings: Settings[Any]) -> None:
    """Raise if two choices contradict one another."""
    values = settings.job
    chosen, split = values.size.choose, values.split
    validates = split.column is not None or (len(split.fractions) == 3 and split.fractions[1] > 0)
    if chosen != "fixed" and values.kind != "figs":
        raise settings.error("size.choose", f"'{chosen}' is for kind figs, not {values.kind}.")
    remedy = "Make the second of split.fractions more than 0, or name a split.column."
    if chosen == "validation" and not validates:
        raise settings.error("size.choose", f"there are no validation rows. {remedy}")
    if values.operatingPoint.sensitivity is None:
        return
    if not validates:
        raise settings.error(SENSITIVITY, f"there are no validation rows. {remedy}")
    if values.task == "regression":
        raise settings.error(SENSITIVITY, "an operating point needs two classes.")


def _estimator(values: Any, features: list[str], task: str) -> Any:
    """The estimator; it knows how the columns that scoring needs are derived."""
    params = dict(values.model, labelCol=values.label, featuresCols=features)
    if sys.stderr.isatty():  # a person waits
        params.setdefault("verbose", True)
    if values.weight:
        params["weightCol"] = values.weight
    if values.codeSystems:
        params["codeSystems"] = values.codeSystems
    lists = [names for names in values.model.values() if isinstance(names, list)]
    scoring = {*features, *columns_in_params(values.model), *chain(*lists)}
    if derived := needed_for(filter(_is_text, scoring), values.derive):
        params["derivedCols"] = derived
    cls = estimator_class(values.kind, task)
    if any(item.name == CALIBRATE.name for item in cls.declared):
        params.setdefault(CALIBRATE.name, True)
    return cls(**params)


def _is_text(name: Any) -> bool:
    return isinstance(name, str)


def check_rows(rows: DataFrame, settings: Settings[Any], features: list[str], task: str) -> Checked:
    """Check the training rows as the estimator does, without fitting."""
    try:
        checked: Checked = _estimator(settings.job, features, task)._check_rows(rows)
    except (TypeError, ValueError) as error:
        raise JobError(UNFIT_INPUT, str(error)) from error
    return checked


def fit(
    parts: dict[str, DataFrame], settings: Settings[Any], features: list[str], task: str
) -> Fitted:
    """Fit; data that do not fit raise TypeError or ValueError, as in the estimator."""
    values = settings.job
    estimator = _estimator(values, features, task)
    chosen = values.size.choose
    if chosen in CROSS_VALIDATED:
        fitted = _cross_validated(estimator, parts[TRAIN], settings)
    elif chosen == "validation":
        both = parts[TRAIN].withColumn(IS_VALIDATION, F.lit(False))
        both = both.union(parts[VALIDATION].withColumn(IS_VALIDATION, F.lit(True)))
        model = estimator.setValidationIndicatorCol(IS_VALIDATION).fit(both)
        fitted = Fitted(model, {"choose": chosen, "splits": model.numSplits}, model.summary)
    else:
        model = estimator.fit(parts[TRAIN])
        summary = model.summary if isinstance(model, FIGSModel) else None
        fitted = Fitted(model, {"choose": chosen}, summary)
    if values.operatingPoint.sensitivity is not None:
        _set_operating_point(fitted.model, parts[VALIDATION], settings)
    return fitted


def _cross_validated(estimator: Any, rows: DataFrame, settings: Settings[Any]) -> Fitted:
    size, group = settings.job.size, settings.job.split.group
    sizes = estimator.crossValidatePath(rows, numFolds=size.folds, foldCol=group)
    choices = {name: getattr(sizes, name) for name in CROSS_VALIDATED}
    splits = choices[size.choose]
    chosen = {"choose": size.choose, "splits": splits, "folds": size.folds, "choices": choices}
    return Fitted(sizes.model.truncate(splits), chosen, sizes.table.reset_index())


def _set_operating_point(model: Any, rows: DataFrame, settings: Settings[Any]) -> None:
    values = settings.job
    if outcome(model) != BINARY:
        message = "an operating point needs two classes, and this label has other values."
        raise settings.error(SENSITIVITY, message, UNFIT_INPUT)
    level = values.operatingPoint.sensitivity
    model.setOperatingPoint(sensitivity=level, on=rows, weightCol=values.weight)
