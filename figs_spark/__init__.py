"""Fast Interpretable Greedy-Tree Sums (FIGS) on Apache Spark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from figs_spark.stages.bagging import (
        BaggedFIGSClassificationModel,
        BaggedFIGSClassifier,
        BaggedFIGSRegressionModel,
        BaggedFIGSRegressor,
    )
    from figs_spark.stages.classification import FIGSClassificationModel, FIGSClassifier
    from figs_spark.stages.regression import FIGSRegressionModel, FIGSRegressor

__version__ = "0.1.0"

__all__ = [
    "BaggedFIGSClassificationModel",
    "BaggedFIGSClassifier",
    "BaggedFIGSRegressionModel",
    "BaggedFIGSRegressor",
    "FIGSClassificationModel",
    "FIGSClassifier",
    "FIGSRegressionModel",
    "FIGSRegressor",
]

_HOMES = {
    "BaggedFIGSClassificationModel": "bagging",
    "BaggedFIGSClassifier": "bagging",
    "BaggedFIGSRegressionModel": "bagging",
    "BaggedFIGSRegressor": "bagging",
    "FIGSClassificationModel": "classification",
    "FIGSClassifier": "classification",
    "FIGSRegressionModel": "regression",
    "FIGSRegressor": "regression",
}


def __getattr__(name: str) -> Any:
    """Stages are imported when asked for: Python workers need the engine alone, and quickly."""
    if name in _HOMES:
        return getattr(import_module(f"figs_spark.stages.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'figs_spark' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
