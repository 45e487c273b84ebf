"""Would the instrument look the same, had the data been a little different?

Labels of a few rows are swapped, or rows are drawn with replacement, and the model is grown again,
several times; all fits are one batch over the same packed rows. Compared are the features that the
models split on: the Jaccard similarity of two sets is the share of their features that both have.
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
from figs_spark.stages.gfigs.params import POOLED
from figs_spark.stages.gfigs.weights import weighted_table
from figs_spark.treesum import TreeSum

if TYPE_CHECKING:
    import pandas as pd

ALL = "all"
BOOTSTRAP = "bootstrap"


@dataclass(frozen=True)
class Stability:
    """How alike the models of perturbed rows are to that of the rows as they are.

    `table` has, by perturbation and group, the mean Jaccard similarity of the split features, its
    standard error and the number of repeats. `frequencies` has, by group and feature, the share of
    the repeats that split on the feature; "unperturbed" is 1 where the model itself does.
    """

    table: pd.DataFrame
    frequencies: pd.DataFrame


def stability(
    estimator: FIGSEstimator | GFIGSEstimator,
    dataset: DataFrame,
    flip: Sequence[float] = (0.01, 0.025, 0.05),
    repeats: int = 5,
    bootstrap: bool = False,
    seed: int = 0,
) -> Stability:
    """Grow the model of a FIGS or G-FIGS estimator again on perturbed rows.

    `flip`: shares of the rows whose label, of two classes, is swapped. `bootstrap`: also on rows
    drawn with replacement. Which rows are drawn depends on the seed and, as in Bagging-FIGS, on
    the layout of the input. Membership and class weights are those of the rows as they are.
    """
    _check(estimator, flip, repeats, bootstrap)
    kinds = {f"{rate:.1%} of labels swapped": Perturbation(flip=rate) for rate in flip}
    if bootstrap:
        kinds[BOOTSTRAP] = Perturbation(bootstrap=True)
    table, plan, sizes = _inputs(estimator, dataset)
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
    found = {
        group: [_features(model, size) for model in models[k :: len(sizes)]]
        for k, (group, size) in enumerate(sizes.items())
    }
    return Stability(_table(found, list(kinds), repeats), _frequencies(found, list(kinds), repeats))


def _check(estimator: Any, flip: Sequence[float], repeats: int, bootstrap: bool) -> None:
    if not isinstance(estimator, FIGSEstimator | GFIGSEstimator):
        raise ValueError(
            f"A FIGS or G-FIGS estimator is needed, got {type(estimator).__name__}. Name one."
        )
    wrong = [rate for rate in flip if not 0 < rate <= 0.5]
    if wrong:
        raise ValueError(f"flip has {wrong[0]}; shares of the rows above 0, up to 0.5, are needed.")
    if repeats < 1 or not (flip or bootstrap):
        raise ValueError("At least one repeat of at least one perturbation is needed.")


def _inputs(estimator: Any, dataset: DataFrame) -> tuple[Table, Plan, dict[Any, int | None]]:
    """What to train on, how, and the largest size of each model, by group."""
    if isinstance(estimator, FIGSEstimator):
        whole = estimator.copy()._set(validationIndicatorCol=None)
        checked = check(dataset, whole, estimator._classification)
        return checked.table, whole._plan(checked), {ALL: whole.getOrDefault("maxSplits")}
    prepared = estimator._prepare(dataset)
    table, _ = weighted_table(prepared, estimator)
    plan = estimator._plan(prepared.checked)
    plan = replace(plan, rules=replace(plan.rules, max_splits=estimator._largest()))
    if estimator.getOrDefault("weighting") == POOLED:
        return table, plan, {ALL: estimator.getOrDefault("maxSplits")}
    return table, plan, {group: estimator._size_of(group) for group in prepared.groups}


def _features(model: TreeSum, size: int | None) -> set[str]:
    kept = model if size is None else model.truncate(size)
    return {model.features[split.feature].name for split in kept.splits}


def _table(found: dict[Any, list[set[str]]], kinds: list[str], repeats: int) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for group, (base, *perturbed) in found.items():
        for k, kind in enumerate(kinds):
            alike = [_jaccard(base, other) for other in perturbed[k * repeats : (k + 1) * repeats]]
            rows += [(kind, group, value) for value in alike]
    long = pd.DataFrame(rows, columns=["perturbation", "group", "jaccard"])
    by = long.groupby(["perturbation", "group"], sort=False)["jaccard"]
    table = by.agg(jaccard="mean", standardError="sem", repeats="size")
    return table.reset_index()


def _jaccard(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one | other else 1.0


def _frequencies(found: dict[Any, list[set[str]]], kinds: list[str], repeats: int) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for group, (base, *perturbed) in found.items():
        parts = [perturbed[k * repeats : (k + 1) * repeats] for k in range(len(kinds))]
        counts = [Counter(name for features in part for name in features) for part in parts]
        for name in sorted(set().union(base, *perturbed)):
            shares = [count[name] / repeats for count in counts]
            rows.append((group, name, float(name in base), *shares))
    columns = ["group", "feature", "unperturbed", *kinds]
    table = pd.DataFrame(rows, columns=columns)
    order = ["group", "unperturbed", *kinds[:1]]
    return table.sort_values(order, ascending=[True, False, False]).reset_index(drop=True)
