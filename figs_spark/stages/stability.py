"""Would the model look the same if the data were a little different?

The model is grown again several times, after the labels of a few rows are swapped or after rows are
drawn with replacement. All fits are one batch over the same packed rows. The features that the
models split on are compared: the Jaccard similarity of two sets of features is the share of all
their features that is in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from figs_spark.engine.table import Table
from figs_spark.engine.training import Plan, train
from figs_spark.engine.weights import Perturbation, PerturbedWeights
from figs_spark.stages.base.checks import check
from figs_spark.stages.base.estimator import progress_bar
from figs_spark.stages.figs import FIGSEstimator
from figs_spark.stages.gfigs.estimator import GFIGSEstimator
from figs_spark.stages.gfigs.params import POOLED, SHRINK
from figs_spark.stages.gfigs.weights import weighted_table
from figs_spark.treesum import TreeSum

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
BOOTSTRAP = "bootstrap"

FeatureSets = dict[Any, list[set[str]]]  # by group: of the original model, then of the others


@dataclass(frozen=True)
class Stability:
    """How similar the models of perturbed rows are to the model of the original rows.

    `table` has, by perturbation and group, the mean Jaccard similarity of the split features, its
    standard error and the number of repeats. `frequencies` has, by group and feature, the share of
    the repeats that split on the feature; "unperturbed" is 1 if the original model does.
    `firstSplits` is the same of the first split alone.
    """

    __module__ = "figs_spark"

    table: pd.DataFrame
    frequencies: pd.DataFrame
    firstSplits: pd.DataFrame


def stability(
    estimator: FIGSEstimator | GFIGSEstimator,
    dataset: DataFrame,
    flip: Sequence[float] = (0.01, 0.025, 0.05),
    repeats: int = 5,
    bootstrap: bool = False,
    seed: int = 0,
) -> Stability:
    """Grow the model of a FIGS or G-FIGS estimator again on perturbed rows, and compare.

    `flip` has the shares of rows whose label is swapped; it needs two classes. With `bootstrap` the
    model is also grown on rows drawn with replacement. Which rows are drawn depends on the seed
    and, as in Bagging-FIGS, on the layout of the input. Membership and class weights are those of
    the original rows.
    """
    _check(estimator, flip, repeats, bootstrap)
    kinds = {f"{rate:.1%} of labels swapped": Perturbation(flip=rate) for rate in flip}
    if bootstrap:
        kinds[BOOTSTRAP] = Perturbation(bootstrap=True)
    table, plan, sizes = training_inputs(estimator, dataset)
    if flip and table.target.classes != 2:
        raise ValueError(
            f"Labels are swapped between two classes, and column "
            f"'{estimator.getOrDefault('labelCol')}' (labelCol) has "
            f"{table.target.classes or 'no'} classes. Use flip=() and bootstrap=True."
        )
    perturbations = [Perturbation(), *(p for p in kinds.values() for _ in range(repeats))]
    table = replace(table, mergeable=False).with_content_ids()
    weights = PerturbedWeights(table.target, tuple(perturbations), len(sizes), seed)
    with progress_bar(estimator.getOrDefault("verbose"), None) as step:
        members = len(perturbations) * len(sizes)
        models = train(table, plan, members, weights, progress=step).models
    features = {
        group: [_split_features(model, size) for model in models[k :: len(sizes)]]
        for k, (group, size) in enumerate(sizes.items())
    }
    first = {group: _first_features(models[k :: len(sizes)]) for k, group in enumerate(sizes)}
    names = list(kinds)
    return Stability(
        _table(features, names, repeats),
        _frequencies(features, names, repeats),
        _frequencies(first, names, repeats),
    )


def _check(estimator: Any, flip: Sequence[float], repeats: int, bootstrap: bool) -> None:
    if not isinstance(estimator, FIGSEstimator | GFIGSEstimator):
        raise ValueError(
            f"A FIGS or G-FIGS estimator is needed, got {type(estimator).__name__}. Name one."
        )
    wrong = [rate for rate in flip if not 0 < rate <= 0.5]
    if wrong:
        raise ValueError(f"flip has {wrong[0]}. Give shares of the rows above 0 and up to 0.5.")
    if repeats < 1 or not (flip or bootstrap):
        raise ValueError("At least one repeat of at least one perturbation is needed.")


def training_inputs(
    estimator: Any, dataset: DataFrame
) -> tuple[Table, Plan, dict[Any, int | None]]:
    """The table to train on, the plan, and the largest size of each model, by group."""
    if isinstance(estimator, FIGSEstimator):
        whole = estimator.copy()._set(validationIndicatorCol=None)
        checked = check(dataset, whole, estimator._classification)
        return checked.table, whole._plan(checked), {ALL: whole.getOrDefault("maxSplits")}
    prepared = estimator._prepare(dataset)
    table, _ = weighted_table(prepared, estimator)
    plan = estimator._plan(prepared.checked)
    plan = replace(plan, rules=replace(plan.rules, max_splits=estimator._largest()))
    if estimator.getOrDefault("weighting") in (POOLED, SHRINK):  # one structure for all groups
        return table, plan, {ALL: estimator.getOrDefault("maxSplits")}
    return table, plan, {group: estimator._size_of(group) for group in prepared.groups}


def _split_features(model: TreeSum, size: int | None) -> set[str]:
    """The names of the features that a model of this size splits on."""
    smaller = model if size is None else model.truncate(size)
    return {model.features[split.feature].name for split in smaller.splits}


def _first_features(models: Sequence[TreeSum]) -> list[set[str]]:
    """The feature of each model's first split; none in a model without splits."""
    return [{m.features[s.feature].name for s in m.splits[:1]} for m in models]


def _table(features: FeatureSets, kinds: list[str], repeats: int) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for group, (base, *perturbed) in features.items():
        for k, kind in enumerate(kinds):
            repeated = perturbed[k * repeats : (k + 1) * repeats]
            rows += [(kind, group, _jaccard(base, other)) for other in repeated]
    long = pd.DataFrame(rows, columns=["perturbation", "group", "jaccard"])
    by = long.groupby(["perturbation", "group"], sort=False)["jaccard"]
    table = by.agg(jaccard="mean", standardError="sem", repeats="size")
    return table.reset_index()


def _jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def _frequencies(features: FeatureSets, kinds: list[str], repeats: int) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for group, (base, *perturbed) in features.items():
        parts = [perturbed[k * repeats : (k + 1) * repeats] for k in range(len(kinds))]
        counts = [Counter(name for names in part for name in names) for part in parts]
        for name in sorted(set().union(base, *perturbed)):
            shares = [count[name] / repeats for count in counts]
            rows.append((group, name, float(name in base), *shares))
    columns = ["group", "feature", "unperturbed", *kinds]
    table = pd.DataFrame(rows, columns=columns)
    order = ["group", "unperturbed", *kinds[:1]]
    return table.sort_values(order, ascending=[True, False, False]).reset_index(drop=True)
