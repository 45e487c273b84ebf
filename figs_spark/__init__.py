"""Fast Interpretable Greedy-Tree Sums (FIGS) on Apache Spark.

The names in `__all__` are public, and the modules `figs_spark.datasets` and `figs_spark.mlflow`.
All sub-packages are internal: they may change without notice. A public class has the `__module__`
"figs_spark". `make stubs` writes the types of the public names to `__init__.pyi`.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

# Every public name, and the module that defines it.
_HOMES = {
    "BaggedFIGSClassificationModel": "stages.bagged",
    "BaggedFIGSClassifier": "stages.bagged",
    "BaggedFIGSRegressionModel": "stages.bagged",
    "BaggedFIGSRegressor": "stages.bagged",
    "Disentanglement": "treesum.disentanglement",
    "DrawnExplanation": "pictures.waterfall",
    "Edit": "treesum.editing",
    "Explanation": "treesum.explanation",
    "ExportablePipeline": "stages.raw_columns",
    "Exported": "exports.targets",
    "FIGSClassificationModel": "stages.figs",
    "FIGSClassifier": "stages.figs",
    "FIGSRegressionModel": "stages.figs",
    "FIGSRegressor": "stages.figs",
    "Feature": "treesum.nodes",
    "FrequentValue": "inspection.inspection",
    "GFIGSClassificationModel": "stages.gfigs.model",
    "GFIGSClassifier": "stages.gfigs.estimator",
    "GFIGSRegressionModel": "stages.gfigs.model",
    "GFIGSRegressor": "stages.gfigs.estimator",
    "InspectedColumn": "inspection.inspection",
    "Inspection": "inspection.inspection",
    "Membership": "stages.gfigs.membership",
    "Met": "treesum.explanation",
    "Node": "treesum.nodes",
    "OperatingPoint": "clinical.curves",
    "Optimism": "stages.optimism",
    "Points": "treesum.points",
    "SelectedGFIGS": "stages.gfigs.selection",
    "SensitivitySpecificityEvaluator": "stages.evaluator",
    "SizePath": "stages.cross_validation",
    "Split": "treesum.nodes",
    "Stability": "stages.stability",
    "TreeSum": "treesum.nodes",
    "VariantComparison": "stages.gfigs.variants",
    "brier_score": "clinical.measures",
    "calibration": "clinical.measures",
    "compare_variants": "stages.gfigs.variants",
    "disentanglement": "treesum.disentanglement",
    "exportable": "stages.raw_columns",
    "inspect": "inspection.inspection",
    "load_report": "stages.base.embedding",
    "operating_points": "clinical.measures",
    "optimism": "stages.optimism",
    "plot_calibration": "pictures.curves",
    "plot_roc": "pictures.curves",
    "plot_sizes": "pictures.curves",
    "roc_auc": "clinical.measures",
    "roc_curve": "clinical.measures",
    "select_gfigs": "stages.gfigs.selection",
    "stability": "stages.stability",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: Python workers need only the engine, quickly."""
    if name in _HOMES:
        return getattr(import_module(f"figs_spark.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'figs_spark' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
