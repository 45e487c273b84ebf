"""The Params of FIGS and Bagging-FIGS. Each is declared once; a family of stages combines them."""

from __future__ import annotations

from figs_spark.stages.params.declared import Declared
from figs_spark.stages.params.values import (
    boolean,
    by_feature,
    choice,
    class_weight,
    cuts,
    direction,
    expressions,
    groups_of_texts,
    integer,
    number,
    numbers,
    orders,
    ridge,
    subset_strategy,
    system,
    text,
    texts,
)

TEXTS = "Sequence[str]"  # what a setter takes for a list of column names

FEATURES_COL = Declared("featuresCol", "features", text, "vector or array column with the features")
FEATURES_COLS = Declared(
    "featuresCols",
    None,
    texts,
    "scalar feature columns (numeric, boolean, string); used instead of featuresCol if set",
    accepts=TEXTS,
)
CATEGORICAL_COLS = Declared(
    "categoricalCols",
    None,
    texts,
    "numeric features to split as sets of categories; string and boolean features always are",
    accepts=TEXTS,
)
ORDERED_COLS = Declared(
    "orderedCols",
    None,
    orders,
    "{column: [lowest, ..., highest]}: text that is split in this order, as numbers are; bands "
    "such as '[70-80)' or '65+' have their order without it; []: a set after all",
    accepts="Mapping[str, Sequence[str]]",
)
CODE_SYSTEMS = Declared(
    "codeSystems",
    None,
    by_feature(system),
    "{column: system}: text that holds codes with levels, which are split as well: 'icd9' and "
    "'icd10' (chapters, blocks, categories), 'atc', 'dotted', 'prefix:1,3' (first characters)",
    accepts="Mapping[str, str]",
)
DERIVED_COLS = Declared(
    "derivedCols",
    None,
    expressions,
    "{column: SQL expression}: columns to derive from others before training and before scoring; a "
    "column that the DataFrame has already is not derived",
    accepts="Mapping[str, str]",
)
LABEL_COL = Declared(
    "labelCol",
    "label",
    text,
    "column with the outcome; classes may be 0, 1, 2, ..., booleans or text",
)
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
    "two classes: predict 1 if its probability is above this; below 0: always",
)
THRESHOLDS = Declared(
    "thresholds",
    None,
    numbers,
    "one number per class: predict the class with the largest probability / threshold",
    accepts="Sequence[float]",
)
CLASS_WEIGHT = Declared(
    "classWeight",
    "none",
    class_weight,
    "'balanced' gives all classes the same total weight; 'inverse', for two classes, multiplies "
    "the weight of class 1 by the ratio of negatives to positives; {label: factor}: your own "
    "factors, 1 for a label that is not named",
    accepts="str | Mapping[int, float]",
)
LEAF_COL = Declared("leafCol", "", text, "output: vector with the leaf in each tree; '' for none")
CONTRIBUTIONS_COL = Declared(
    "contributionsCol",
    "",
    text,
    "output: what each tree adds to the score, an array with one value per tree (several classes: "
    "one array per tree); '' for none",
)
RISK_INTERVAL_COL = Declared(
    "riskIntervalCol",
    "",
    text,
    "output: array with the lower and upper end of a 95% interval of the prediction or, of two "
    "classes, of the probability of class 1; it needs intervalSamples; '' for none",
)
INTERVAL_SAMPLES = Declared(
    "intervalSamples",
    0,
    integer(0),
    "bootstrap samples of the rows, by which leaf values and predictions get intervals, for the "
    "splits of the model; 200 are enough, 0: no intervals",
)
MAX_SPLITS = Declared(
    "maxSplits",
    12,
    integer(0),
    "splits in all trees together; None: until no split helps, which can take long",
    optional=True,
)
MAX_TREES = Declared("maxTrees", None, integer(1), "trees; 1 grows CART; None: no limit")
MAX_DEPTH = Declared("maxDepth", None, integer(1), "depth of a tree; None: no limit")
MAX_BINS = Declared("maxBins", 255, integer(2, 255), "bins per feature, without the missing one")
MIN_CATEGORY_COUNT = Declared(
    "minCategoryCount",
    10,
    integer(1),
    "text and codes: values that fewer rows have are not named but count as 'other'; 1: name all",
)
CATEGORY_SMOOTHING = Declared(
    "categorySmoothing",
    20.0,
    number(0),
    "text and codes with more than 16 categories: rows by which the mean of a category is drawn to "
    "that of its leaf; a set of so many then also needs more gain to win; 0: neither",
)
MIN_INSTANCES = Declared("minInstancesPerNode", 1, integer(1), "smallest number of rows in a leaf")
MIN_WEIGHT = Declared(
    "minWeightFractionPerNode",
    0.0,
    number(0, 0.5),
    "smallest share of the total weight in a leaf",
)
MIN_DECREASE = Declared(
    "minImpurityDecrease", 0.0, number(0), "gain / total weight of a split must be above this"
)
REG_PARAM = Declared(
    "regParam",
    0.0,
    ridge,
    "0: FIGS as in the paper; above 0: all leaf values are fitted together after every split, with "
    "this ridge (in units of row weights), and splits are chosen by what that gains; 'auto': the "
    "ridge is estimated from the data",
    accepts="float | str",
)
REFIT = Declared(
    "refit",
    "none",
    choice("none", "linear", "logistic"),
    "how all leaf values are fitted together once the splits are made: 'none', as they grew; "
    "'linear', by least squares; 'logistic', for classes: the sum becomes log odds, of more than "
    "two classes the log weight of each",
)
POLISH = Declared(
    "polish",
    False,
    boolean,
    "with regParam: when all splits are made, up to four weak ones are taken back, one after the "
    "other, and the best is made in their place, and up to four inner ones are cut elsewhere, if "
    "that lowers the penalised error",
)
LOSS = Declared(
    "loss",
    "squared",
    choice("squared", "logistic"),
    "what splits lower: 'squared', the squared error; 'logistic', for classes: the logistic loss, "
    "with a ridge of 30 unless regParam is set to a number, and then a logistic refit",
)
CALIBRATE = Declared(
    "calibrate",
    False,
    boolean,
    "with classWeight: fit all leaf values on rows without their class weights, so that "
    "probabilities are the rates of the data",
)
MONOTONE = Declared(
    "monotone",
    None,
    by_feature(direction),
    "{feature: 1 or -1}: the prediction never falls (1) or never rises (-1) with this feature",
    accepts="Mapping[str, int]",
)
FORBIDDEN = Declared("forbidden", None, texts, "features that no split may use", accepts=TEXTS)
REQUIRED = Declared(
    "required",
    None,
    texts,
    "features that some split must use; the last splits are kept for them if need be",
    accepts=TEXTS,
)
INTERACTION_GROUPS = Declared(
    "interactionGroups",
    None,
    groups_of_texts,
    "lists of features that may share a tree; a feature in no list is alone in its trees",
    accepts="Sequence[Sequence[str]]",
)
FEATURE_COSTS = Declared(
    "featureCosts",
    None,
    by_feature(number(0)),
    "{feature: cost}: the first split on a feature must gain this share of the variance of the "
    "outcome more than others; later ones are free",
    accepts="Mapping[str, float]",
)
NEW_FEATURE_PENALTY = Declared(
    "newFeaturePenalty",
    0.0,
    number(0, 1),
    "by which share gains are lowered for features that no split uses yet; 0.3 saves one feature",
)
MAX_FEATURES = Declared(
    "maxFeatures", None, integer(1), "features in the whole model; None: no limit"
)
ALLOWED_CUTS = Declared(
    "allowedCuts",
    None,
    by_feature(cuts),
    "{feature: [cuts]}: the only thresholds of a numeric feature, where value <= cut goes left; "
    "{feature: unit}: multiples of the unit; whether a value is missing may always be asked",
    accepts="Mapping[str, Sequence[float] | float]",
)
SUBSET = Declared(
    "featureSubsetStrategy",
    "all",
    subset_strategy,
    "features each step may choose from: 'all', 'sqrt', 'log2', 'onethird', a share or a number",
    accepts="str | float",
)
VALIDATION_COL = Declared(
    "validationIndicatorCol",
    None,
    text,
    "boolean column: true rows are held out of training and choose the number of splits",
)
SEED = Declared("seed", 0, integer(), "seed of random feature subsets")
MODE = Declared(
    "mode",
    "auto",
    choice("auto", "driver", "cluster"),
    "where the packed rows are kept; 'auto' chooses the driver if they are small",
)
WORK_DIR = Declared(
    "workDir",
    None,
    text,
    "directory for packed rows if Spark refuses to cache them (serverless); emptied after a fit",
)
VERBOSE = Declared(
    "verbose", False, boolean, "show a bar: profile, pack, grow, and the splits made so far"
)
NUM_ESTIMATORS = Declared("numEstimators", 100, integer(1), "members of the ensemble")
SUBSAMPLING_RATE = Declared(
    "subsamplingRate", 1.0, number(1e-9, 1), "size of a member's sample, as a share of the rows"
)
BOOTSTRAP = Declared(
    "bootstrap", True, boolean, "draw samples with replacement (Poisson counts), or without"
)
OOB_SCORE = Declared(
    "oobScore", False, boolean, "evaluate each row by the members that did not train on it"
)
ID_COL = Declared(
    "idCol",
    None,
    text,
    "column that identifies a row: the samples are drawn by it; not set: by the content of the row",
)

INPUTS = (FEATURES_COL, FEATURES_COLS, CATEGORICAL_COLS, ORDERED_COLS, CODE_SYSTEMS, DERIVED_COLS)
OUTCOME = (LABEL_COL, WEIGHT_COL)
PREDICTIONS = (PREDICTION_COL, LEAF_COL, CONTRIBUTIONS_COL)
CLASSES = (LOSS, CLASS_WEIGHT, PROBABILITY_COL, RAW_PREDICTION_COL, THRESHOLD, THRESHOLDS)
CONSTRAINTS = (
    MONOTONE,
    FORBIDDEN,
    REQUIRED,
    INTERACTION_GROUPS,
    FEATURE_COSTS,
    NEW_FEATURE_PENALTY,
    MAX_FEATURES,
    ALLOWED_CUTS,
)
GROWING = (
    MAX_SPLITS,
    MAX_TREES,
    MAX_DEPTH,
    MAX_BINS,
    MIN_CATEGORY_COUNT,
    CATEGORY_SMOOTHING,
    MIN_INSTANCES,
    MIN_WEIGHT,
    MIN_DECREASE,
    REG_PARAM,
    POLISH,
    REFIT,
    *CONSTRAINTS,
    SUBSET,
    VALIDATION_COL,
    SEED,
    MODE,
    WORK_DIR,
    VERBOSE,
)
INTERVALS = (RISK_INTERVAL_COL, INTERVAL_SAMPLES)
SAMPLING = (NUM_ESTIMATORS, SUBSAMPLING_RATE, BOOTSTRAP, ID_COL)

# The Params of FIGS; the other families are composed from them.

FIGS_REGRESSION = (*INPUTS, *OUTCOME, *PREDICTIONS, *GROWING, *INTERVALS)
FIGS_CLASSIFICATION = (*INPUTS, *OUTCOME, *PREDICTIONS, *CLASSES, *GROWING, *INTERVALS)


def composed(
    params: tuple[Declared, ...],
    without: tuple[Declared, ...] = (),
    changed: tuple[Declared, ...] = (),
    more: tuple[Declared, ...] = (),
) -> tuple[Declared, ...]:
    """The Params of another family: `params` without some, with others in their place, and more.

    An item of `changed` replaces the Param of the same name.
    """
    replaced = {item.name: item for item in changed}
    kept = (replaced.get(item.name, item) for item in params if item not in without)
    return (*kept, *more)
