"""The Params of FIGS and Bagging-FIGS: each is declared once, and a family is composed of them."""

from __future__ import annotations

from figs_spark.stages.params.declared import Declared
from figs_spark.stages.params.values import (
    boolean,
    choice,
    class_weight,
    integer,
    number,
    numbers,
    subset_strategy,
    text,
    texts,
)

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
OUTCOME = (LABEL_COL, WEIGHT_COL)
OUTPUTS = (PREDICTION_COL, LEAF_COL, CONTRIBUTIONS_COL)
CLASSES = (CLASS_WEIGHT, PROBABILITY_COL, RAW_PREDICTION_COL, THRESHOLD, THRESHOLDS)
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
SAMPLING = (NUM_ESTIMATORS, SUBSAMPLING_RATE, BOOTSTRAP, ID_COL)

# The Params of each family are composed of these, for numbers and for classes.

FIGS_REGRESSION = (*INPUTS, *OUTCOME, *OUTPUTS, *GROWING)
FIGS_CLASSIFICATION = (*INPUTS, *OUTCOME, *OUTPUTS, *CLASSES, *GROWING)


def composed(
    params: tuple[Declared, ...],
    without: tuple[Declared, ...] = (),
    changed: tuple[Declared, ...] = (),
    more: tuple[Declared, ...] = (),
) -> tuple[Declared, ...]:
    """`params` less some, with others in place of those of the same name, and some more."""
    replaced = {item.name: item for item in changed}
    kept = (replaced.get(item.name, item) for item in params if item not in without)
    return (*kept, *more)
