"""Fast Interpretable Greedy-Tree Sums (FIGS) on Apache Spark."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from figs_spark.clinical.tables import (
        brier_score,
        calibration,
        operating_points,
        roc_auc,
        roc_curve,
    )
    from figs_spark.stages.bagging import (
        BaggedFIGSClassificationModel,
        BaggedFIGSClassifier,
        BaggedFIGSRegressionModel,
        BaggedFIGSRegressor,
    )
    from figs_spark.stages.classification import FIGSClassificationModel, FIGSClassifier
    from figs_spark.stages.evaluation import SensitivitySpecificityEvaluator
    from figs_spark.stages.gfigs import GFIGSClassifier, GFIGSRegressor
    from figs_spark.stages.grouped import GFIGSClassificationModel, GFIGSRegressionModel
    from figs_spark.stages.regression import FIGSRegressionModel, FIGSRegressor
    from figs_spark.stages.selection import select_gfigs
    from figs_spark.stages.stability import stability
    from figs_spark.stages.variants import compare_variants

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
    "GFIGSClassificationModel",
    "GFIGSClassifier",
    "GFIGSRegressionModel",
    "GFIGSRegressor",
    "SensitivitySpecificityEvaluator",
    "brier_score",
    "calibration",
    "compare_variants",
    "operating_points",
    "roc_auc",
    "roc_curve",
    "select_gfigs",
    "stability",
]

_HOMES = {
    "BaggedFIGSClassificationModel": "stages.bagging",
    "BaggedFIGSClassifier": "stages.bagging",
    "BaggedFIGSRegressionModel": "stages.bagging",
    "BaggedFIGSRegressor": "stages.bagging",
    "FIGSClassificationModel": "stages.classification",
    "FIGSClassifier": "stages.classification",
    "FIGSRegressionModel": "stages.regression",
    "FIGSRegressor": "stages.regression",
    "GFIGSClassificationModel": "stages.grouped",
    "GFIGSClassifier": "stages.gfigs",
    "GFIGSRegressionModel": "stages.grouped",
    "GFIGSRegressor": "stages.gfigs",
    "SensitivitySpecificityEvaluator": "stages.evaluation",
    "brier_score": "clinical.tables",
    "calibration": "clinical.tables",
    "compare_variants": "stages.variants",
    "operating_points": "clinical.tables",
    "roc_auc": "clinical.tables",
    "roc_curve": "clinical.tables",
    "select_gfigs": "stages.selection",
    "stability": "stages.stability",
}


def __getattr__(name: str) -> Any:
    """Stages are imported when asked for: Python workers need the engine alone, and quickly."""
    if name in _HOMES:
        return getattr(import_module(f"figs_spark.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'figs_spark' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
