"""The Params: each is declared once, here, with its default, its check and its text.

A stage lists the declarations it has (`declared = (MAX_SPLITS, ...)`); keyword arguments, setters
and getters follow from the list.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pyspark.ml.param import Param, Params

Stage = TypeVar("Stage", bound="DeclaredParams")


@dataclass(frozen=True)
class Declared:
    """One Param: `convert` turns what the user gave into the value or says what is wrong.

    None is a value where it is the default, or where `optional` says so.
    """

    name: str
    default: Any
    convert: Callable[[Any], Any]
    text: str
    optional: bool = False


class DeclaredParams(Params):
    """Params with a setter and a getter each, and keyword arguments, from their declarations."""

    declared: tuple[Declared, ...] = ()

    if TYPE_CHECKING:  # setters and getters, which a type checker cannot see

        def __getattr__(self, name: str) -> Any: ...

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for item in cls.__dict__.get("declared", ()):
            setattr(cls, item.name, Param(Params._dummy(), item.name, item.text, item.convert))
            title = item.name[0].upper() + item.name[1:]
            if not hasattr(cls, f"set{title}"):
                setattr(cls, f"set{title}", _setter(item.name))
            if not hasattr(cls, f"get{title}"):
                setattr(cls, f"get{title}", _getter(item.name))

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(**{item.name: item.default for item in self.declared})
        self.setParams(**params)

    def given(self, name: str) -> Any:
        """The value of a Param; None where the stage does not have it."""
        return self.getOrDefault(name) if self.hasParam(name) else None

    def setParams(self: Stage, **params: Any) -> Stage:
        """Set several Params by name."""
        known = {item.name for item in self.declared}
        unknown = sorted(set(params) - known)
        if unknown:
            raise TypeError(
                f"{type(self).__name__} has no Param {', '.join(map(repr, unknown))}; "
                f"it has {', '.join(sorted(known))}."
            )
        return self._set(**params)

    def _set(self: Stage, **params: Any) -> Stage:
        required = {d.name for d in self.declared if d.default is not None and not d.optional}
        for name, value in params.items():
            if value is None and name in required:
                raise TypeError(f"{name} may not be None.")
            try:
                super()._set(**{name: value})
            except ValueError as error:
                raise ValueError(f"{name}: {error}.") from None
        return self


def with_signature(cls: type[Stage]) -> type[Stage]:
    """Show the keywords and their defaults in help() and in editors."""
    keywords = [
        inspect.Parameter(item.name, inspect.Parameter.KEYWORD_ONLY, default=item.default)
        for item in cls.declared
    ]
    cls.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    return cls


def _setter(name: str) -> Callable[[Any, Any], Any]:
    def set_param(self: DeclaredParams, value: Any) -> DeclaredParams:
        return self._set(**{name: value})

    set_param.__doc__ = f"Set `{name}`."
    return set_param


def _getter(name: str) -> Callable[[Any], Any]:
    def get_param(self: DeclaredParams) -> Any:
        return self.getOrDefault(name)

    get_param.__doc__ = f"The value of `{name}`, or its default."
    return get_param


# What a value may be.


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a string is needed, got {value!r}")
    return value


def texts(value: Any) -> list[str]:
    if isinstance(value, str) or not all(isinstance(v, str) for v in value):
        raise TypeError(f"a list of strings is needed, got {value!r}")
    return list(value)


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"True or False is needed, got {value!r}")
    return value


def numbers(value: Any) -> list[float]:
    return [number(0)(v) for v in value]


def choice(*allowed: str) -> Callable[[Any], str]:
    def convert(value: Any) -> str:
        if value not in allowed:
            raise ValueError(f"one of {', '.join(map(repr, allowed))} is needed, got {value!r}")
        return str(value)

    return convert


def integer(low: float = -math.inf, high: float = math.inf) -> Callable[[Any], int]:
    def convert(value: Any) -> int:
        whole = hasattr(value, "__index__") or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole:
            raise TypeError(f"an integer is needed, got {value!r}")
        return int(_within(value, low, high))

    return convert


def number(low: float = -math.inf, high: float = math.inf) -> Callable[[Any], float]:
    def convert(value: Any) -> float:
        if isinstance(value, bool) or not hasattr(value, "__float__"):
            raise TypeError(f"a number is needed, got {value!r}")
        return float(_within(value, low, high))

    return convert


def _within(value: Any, low: float, high: float) -> Any:
    if not low <= value <= high or math.isinf(value):
        bounds = f"at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
        raise ValueError(f"a finite number {bounds} is needed, got {value!r}")
    return value


def class_weight(value: Any) -> str | dict[int, float]:
    """A rule, or factors by label; in JSON the labels are texts."""
    if not isinstance(value, Mapping):
        return choice("none", "balanced", "inverse")(value)
    found: dict[int, float] = {}
    for label, factor in value.items():
        try:
            known = integer(0)(float(label))
        except (TypeError, ValueError):
            raise ValueError(f"labels are the integers 0, 1, ..., got {label!r}") from None
        if not number(0)(factor) > 0:
            raise ValueError(f"the label {known} needs a factor above 0, got {factor!r}")
        found[known] = float(factor)
    return found


def subset_strategy(value: Any) -> str:
    """all, sqrt, log2, onethird, auto, a share in (0, 1] or a number of features."""
    found = str(value)
    if found in ("auto", "all", "sqrt", "log2", "onethird"):
        return found
    try:
        share = float(found)
    except ValueError:
        share = -1.0
    if share <= 0 or (share > 1 and not share.is_integer()):
        raise ValueError(
            "'auto', 'all', 'sqrt', 'log2', 'onethird', a share in (0, 1] or a number of features "
            f"is needed, got {value!r}"
        )
    return found


def features_per_step(strategy: str, features: int, auto: str) -> int | None:
    """How many features a step may choose among; None means all of them."""
    strategy = auto if strategy == "auto" else strategy
    if strategy == "all":
        return None
    if strategy == "sqrt":
        wanted = math.ceil(math.sqrt(features))
    elif strategy == "log2":
        wanted = math.ceil(math.log2(features))
    elif strategy == "onethird":
        wanted = math.ceil(features / 3)
    elif "." in strategy or "e" in strategy.lower():
        share = float(strategy)
        wanted = math.ceil(share * features) if share <= 1 else int(share)
    else:
        wanted = int(strategy)
    wanted = max(1, wanted)
    return None if wanted >= features else wanted


FEATURES_COL = Declared("featuresCol", "features", text, "vector or array column with the features")
FEATURES_COLS = Declared(
    "featuresCols",
    None,
    texts,
    "scalar feature columns (numeric, boolean, string); used instead of featuresCol when set",
)
CATEGORICAL_COLS = Declared(
    "categoricalCols",
    None,
    texts,
    "features to be split as sets of categories though they are numbers; text and truth values "
    "always are",
)
LABEL_COL = Declared("labelCol", "label", text, "column with the outcome")
WEIGHT_COL = Declared("weightCol", None, text, "column with row weights; not set: all 1")
PREDICTION_COL = Declared("predictionCol", "prediction", text, "output: the prediction")
PROBABILITY_COL = Declared(
    "probabilityCol", "probability", text, "output: vector with the probability of each class"
)
RAW_PREDICTION_COL = Declared(
    "rawPredictionCol", "rawPrediction", text, "output: vector with the score of each class"
)
THRESHOLD = Declared(
    "threshold",
    0.5,
    number(-1, 1),
    "two classes: predict 1 where its probability is above this; below 0: always",
)
THRESHOLDS = Declared(
    "thresholds",
    None,
    numbers,
    "one number per class: predict the class with the largest probability / threshold",
)
CLASS_WEIGHT = Declared(
    "classWeight",
    "none",
    class_weight,
    "'balanced' gives all classes the same total weight; 'inverse', of two classes, multiplies the "
    "weight of class 1 by the ratio of negatives to positives; {label: factor}: factors of your "
    "own, 1 for a label that is not named",
)
LEAF_COL = Declared("leafCol", "", text, "output: vector with the leaf in each tree; '' for none")
CONTRIBUTIONS_COL = Declared(
    "contributionsCol",
    "",
    text,
    "output: what each tree adds to the score, an array with one value per tree (several classes: "
    "one array per tree); '' for none",
)
MAX_SPLITS = Declared(
    "maxSplits",
    12,
    integer(0),
    "splits in all trees together; None: as long as any helps, which can take long",
    optional=True,
)
MAX_TREES = Declared("maxTrees", None, integer(1), "trees; 1 grows CART; None: no limit")
MAX_DEPTH = Declared("maxDepth", None, integer(1), "depth of a tree; None: no limit")
MAX_BINS = Declared("maxBins", 255, integer(2, 255), "bins per feature, without the missing one")
MIN_INSTANCES = Declared("minInstancesPerNode", 1, integer(1), "rows in a leaf, at least")
MIN_WEIGHT = Declared(
    "minWeightFractionPerNode",
    0.0,
    number(0, 0.5),
    "share of the total weight in a leaf, at least",
)
MIN_DECREASE = Declared(
    "minImpurityDecrease", 0.0, number(0), "gain / total weight of a split must be above this"
)
SUBSET = Declared(
    "featureSubsetStrategy",
    "all",
    subset_strategy,
    "features each step may choose among: 'all', 'sqrt', 'log2', 'onethird', a share or a number",
)
VALIDATION_COL = Declared(
    "validationIndicatorCol",
    None,
    text,
    "boolean column: true rows do not train, they choose the number of splits",
)
SEED = Declared("seed", 0, integer(), "seed of random feature subsets")
MODE = Declared(
    "mode",
    "auto",
    choice("auto", "driver", "cluster"),
    "where the packed rows live; 'auto' takes the driver while they are small",
)
WORK_DIR = Declared(
    "workDir",
    None,
    text,
    "directory for packed rows where Spark refuses to cache them (serverless); emptied after a fit",
)
VERBOSE = Declared("verbose", False, boolean, "show a progress bar")
NUM_ESTIMATORS = Declared("numEstimators", 100, integer(1), "members of the ensemble")
SUBSAMPLING_RATE = Declared(
    "subsamplingRate", 1.0, number(1e-9, 1), "size of a member's sample, as a share of the rows"
)
BOOTSTRAP = Declared(
    "bootstrap", True, boolean, "draw samples with replacement (Poisson counts), or without"
)
OOB_SCORE = Declared(
    "oobScore", False, boolean, "judge each row by the members that did not train on it"
)
ID_COL = Declared(
    "idCol",
    None,
    text,
    "column that names a row: makes the samples the same however the rows are partitioned",
)

INPUTS = (FEATURES_COL, FEATURES_COLS, CATEGORICAL_COLS)
OUTPUTS = (PREDICTION_COL, LEAF_COL, CONTRIBUTIONS_COL)
CLASS_OUTPUTS = (PROBABILITY_COL, RAW_PREDICTION_COL, THRESHOLD, THRESHOLDS)
GROWING = (
    MAX_SPLITS,
    MAX_TREES,
    MAX_DEPTH,
    MAX_BINS,
    MIN_INSTANCES,
    MIN_WEIGHT,
    MIN_DECREASE,
    SUBSET,
    VALIDATION_COL,
    SEED,
    MODE,
    WORK_DIR,
    VERBOSE,
)
