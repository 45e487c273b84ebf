"""Chooses sizes, membership model and weighting of a G-FIGS on rows that did not train it.

These are validation rows or, without them, the folds of a cross-validation, each scored by a model
of the others. There are two stages. The first chooses, for every candidate (a weighting and, if it
is by membership, a membership model) and group, the size with the best specificity on the rows of
the group. The second takes these sizes and chooses one candidate for all groups, by the rows of all
groups together. The specificity at the next sensitivity settles ties, then the smaller size.
Smaller models are inside larger ones, so each candidate needs one fit. Rows are ranked by the raw
score, because the probability of all scores of 0 and below is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from figs_spark.clinical.curves import Curve
from figs_spark.clinical.scored import Scored
from figs_spark.stages.cross_validation import fold_column
from figs_spark.stages.gfigs.estimator import GFIGSClassifier
from figs_spark.stages.gfigs.membership import Membership
from figs_spark.stages.gfigs.params import MEMBERSHIP, POOLED, SHRINK, WEIGHTINGS

if TYPE_CHECKING:
    import pandas as pd

ALL = object()  # stands for all groups together
Specificities = tuple[float, ...]  # at each sensitivity
Division = tuple[DataFrame, DataFrame]  # rows to train on, and rows to choose by


@dataclass(frozen=True)
class SelectedGFIGS:
    """The model, fitted on all rows; the estimator that fitted it; and the table of candidates.

    `table` has one row per candidate, group and size: the specificity at each sensitivity, and
    whether the size was chosen. A candidate is a weighting and a membership model; `membership` is
    its number. The table also has one row per candidate with the group "all", the splits of all its
    chosen sizes, and whether the candidate was chosen. `reason` says in words which weighting was
    chosen and why. `memberships` are the membership models that were fitted on train and validation
    rows together, if they were.
    """

    __module__ = "figs_spark"

    model: Any
    estimator: Any
    table: pd.DataFrame
    memberships: tuple[Membership, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class Candidate:
    """A candidate with sizes by group, or with one size for ALL, and its specificities."""

    membership: int  # its number
    sizes: dict[Any, int]
    specificities: Specificities

    @property
    def rank(self) -> tuple[float, ...]:
        """Smaller is better."""
        return (*(-value for value in self.specificities), sum(self.sizes.values()))


def select_gfigs(
    estimator: GFIGSClassifier,
    train: DataFrame,
    validation: DataFrame | None = None,
    sizes: Sequence[int] = (8, 12, 16),
    membershipEstimators: Sequence[Any] | None = None,
    sensitivities: Sequence[float] = (0.94, 0.90),
    weightCol: str | None = None,
    membershipOnBoth: bool = False,
    memberships: Sequence[Membership] = (),
    weightings: Sequence[str] | None = None,
    numFolds: int = 4,
    foldCol: str | None = None,
) -> SelectedGFIGS:
    """Choose `maxSplits` by group, the membership model and the weighting, and fit on all rows.

    `membershipEstimators` are the membership models to choose from; by default the estimator's own.
    `weightings` are the weightings to choose from, such as ("membership", "shrink", "separate",
    "pooled"); by default the estimator's own. Specificity is compared at the first of the
    `sensitivities`; the others settle ties. `weightCol` weights the validation rows. Without
    validation rows the choice is by cross-validation, with `numFolds` folds; rows with equal values
    of `foldCol` share a fold. With `membershipOnBoth` the membership models are fitted on train and
    validation rows together, without their outcome. `memberships` are fitted membership models,
    such as the `memberships` of another selection on the same rows.
    With weighting "pooled" and "shrink" one size is chosen for all groups, else one for each.
    """
    _check_choices(estimator, sizes, sensitivities, weightings)
    by_weighting = weightings or [estimator.getOrDefault("weighting")]
    if membershipEstimators is None or MEMBERSHIP not in by_weighting:
        membershipEstimators = [estimator.getOrDefault("membershipEstimator")]
    if memberships and len(memberships) != len(membershipEstimators):
        raise ValueError(
            f"memberships has {len(memberships)} models, and {len(membershipEstimators)} "
            f"membershipEstimators are compared. Give one for each, in the same order."
        )
    both = train if validation is None else train.unionByName(validation)
    divisions = _divisions(train, validation, numFolds, foldCol, estimator.getOrDefault("seed"))
    evaluator = _Evaluator(divisions, sensitivities, weightCol)
    own = [estimator.getOrDefault("membershipEstimator")]
    variants = [
        estimator.copy()._set(
            weighting=weighting, membershipEstimator=classifier, maxSplitsByGroup=None
        )
        for weighting in by_weighting
        for classifier in (membershipEstimators if weighting == MEMBERSHIP else own)
    ]
    known = iter(memberships)
    first: list[Candidate] = []
    second: list[Candidate] = []
    fitted: list[Membership | None] = []  # on train and validation rows
    for k, variant in enumerate(variants):
        by_membership = variant.getOrDefault("weighting") == MEMBERSHIP
        membership = next(known, None) if by_membership else None
        if membership is None and membershipOnBoth and by_membership:
            membership = variant._prepare(both).membership
        fitted.append(membership)
        candidates, chosen = _sizes(k, variant, sizes, evaluator, membership)
        first += candidates
        second.append(chosen)
    best = min(second, key=lambda candidate: candidate.rank)
    final = _with_sizes(variants[best.membership], best)
    table = _table(first, second, best, variants, sensitivities)
    folds = estimator.getOrDefault("membershipFolds")  # need a new fit for each fold
    prepared = final._prepare(both, None if folds else fitted[best.membership])
    model = final._model(prepared, final._grow_prepared(prepared))
    reason = _reason(second, best, variants, sensitivities[0], validation is None)
    return SelectedGFIGS(model, final, table, tuple(m for m in fitted if m is not None), reason)


def _check_choices(
    estimator: Any,
    sizes: Sequence[int],
    sensitivities: Sequence[float],
    weightings: Sequence[str] | None,
) -> None:
    """ValueError if there is nothing to choose."""
    if not isinstance(estimator, GFIGSClassifier):
        raise ValueError(f"A GFIGSClassifier is needed, got {type(estimator).__name__}.")
    if not sizes or not sensitivities:
        raise ValueError("sizes and sensitivities need at least one value each.")
    unknown = [weighting for weighting in weightings or () if weighting not in WEIGHTINGS]
    if unknown or (weightings is not None and not weightings):
        raise ValueError(
            f"weightings are some of {', '.join(WEIGHTINGS)}, got {list(weightings or ())}."
        )


def _divisions(
    train: DataFrame, validation: DataFrame | None, folds: int, fold_col: str | None, seed: int
) -> list[Division]:
    """The one division into train and validation rows, or one for each fold."""
    if validation is not None:
        return [(train, validation)]
    number = fold_column(train, folds, fold_col, seed)  # it checks the folds, too
    if fold_col is None:
        parts = train.randomSplit([1.0] * folds, seed)
    else:
        parts = [train.where(number == k) for k in range(folds)]
    return [
        (reduce(DataFrame.unionByName, [*parts[:k], *parts[k + 1 :]]), part)
        for k, part in enumerate(parts)
    ]


def _sizes(
    number: int,
    estimator: GFIGSClassifier,
    sizes: Sequence[int],
    evaluator: _Evaluator,
    membership: Membership | None,
) -> tuple[list[Candidate], Candidate]:
    """All sizes of every group with one candidate, and the best sizes together."""
    largest = estimator.copy()._set(maxSplits=max(sizes))
    models = []
    for train, _ in evaluator.divisions:
        prepared = largest._prepare(train, membership)
        models.append(largest._model(prepared, largest._grow_prepared(prepared)))
    together = estimator.getOrDefault("weighting") in (POOLED, SHRINK)
    groups = [ALL] if together else list(models[0].groups)
    candidates = []
    for size in sorted(sizes):
        by_group = evaluator.specificities([model.truncate(size) for model in models])
        candidates += [Candidate(number, {group: size}, by_group[group]) for group in groups]
    chosen: dict[Any, int] = {}
    for group in groups:
        best = min((c for c in candidates if group in c.sizes), key=lambda c: c.rank)
        chosen |= best.sizes
    smaller = [model.truncate(chosen[ALL] if together else chosen) for model in models]
    return candidates, Candidate(number, chosen, evaluator.specificities(smaller)[ALL])


def _with_sizes(variant: GFIGSClassifier, best: Candidate) -> GFIGSClassifier:
    """The chosen candidate with the chosen sizes."""
    by_group = None if ALL in best.sizes else best.sizes
    return variant.copy()._set(maxSplits=max(best.sizes.values()), maxSplitsByGroup=by_group)


@dataclass(frozen=True)
class _Evaluator:
    """Evaluates models by their specificity on the rows that did not train them."""

    divisions: Sequence[Division]
    sensitivities: Sequence[float]
    weight: str | None

    def specificities(self, models: Sequence[Any]) -> dict[Any, Specificities]:
        """By group, and of all rows under ALL; there is a model for each division."""
        model = models[0]
        get, score = model.getOrDefault, f"{model.uid}_score"
        pairs = zip(models, self.divisions, strict=True)
        parts = [m._with_one_output(rows, "rawPredictionCol", score) for m, (_, rows) in pairs]
        scored = reduce(DataFrame.unionByName, parts)
        rows = Scored(scored, get("labelCol"), score, self.weight, get("groupCol"))
        by_group = {}
        for place, (group, of_group) in enumerate(rows.by_group()):
            curve = Curve(of_group)
            for name, value in (("positives", 1), ("negatives", 0)):
                if not getattr(of_group, name).sum() > 0:
                    raise ValueError(
                        f"Group {group!r} of column '{get('groupCol')}' (groupCol) has no {name} "
                        f"to choose by: column '{get('labelCol')}' (labelCol) is {value} in 0 of "
                        f"its {of_group.rows.sum():.0f} validation rows. Use more rows."
                    )
            at = [curve.at_sensitivity(sensitivity) for sensitivity in self.sensitivities]
            by_group[group if place else ALL] = tuple(float(curve.specificity[k]) for k in at)
        lost = [group for group in model.groups if group not in by_group]
        if lost:
            raise ValueError(
                f"Group {lost[0]!r} of column '{get('groupCol')}' (groupCol) has 0 validation "
                f"rows. Every group needs some."
            )
        return by_group


def _table(
    first: Sequence[Candidate],
    second: Sequence[Candidate],
    best: Candidate,
    variants: Sequence[GFIGSClassifier],
    sensitivities: Sequence[float],
) -> pd.DataFrame:
    """The table of a SelectedGFIGS, from the candidates of both stages."""
    import pandas as pd

    chosen = {candidate.membership: candidate.sizes for candidate in second}
    rows = []
    for candidate, group, is_chosen in [
        *((c, g, chosen[c.membership][g] == s) for c in first for g, s in c.sizes.items()),
        *((c, ALL, c is best) for c in second),
    ]:
        get = variants[candidate.membership].getOrDefault
        rows.append(
            {
                "membership": candidate.membership,
                "weighting": get("weighting"),
                "membershipEstimator": str(get("membershipEstimator") or "default"),
                "group": "all" if group is ALL else group,
                "maxSplits": sum(candidate.sizes.values()),
                **{
                    f"specificityAt{sensitivity:g}": value
                    for sensitivity, value in zip(
                        sensitivities, candidate.specificities, strict=True
                    )
                },
                "chosen": is_chosen,
            }
        )
    return pd.DataFrame(rows)


def _reason(
    second: Sequence[Candidate],
    best: Candidate,
    variants: Sequence[GFIGSClassifier],
    sensitivity: float,
    by_folds: bool,
) -> str:
    """Which weighting was chosen, and what the others reached."""
    names = [variant.getOrDefault("weighting") for variant in variants]
    reached = {c.membership: f"{c.specificities[0]:.3f}" for c in second}
    others = [f"{names[k]} {value}" for k, value in reached.items() if k != best.membership]
    rows = "rows of other folds" if by_folds else "validation rows"
    text = (
        f"{names[best.membership]}: specificity {reached[best.membership]} at sensitivity "
        f"{sensitivity:g} on {rows}"
    )
    return f"{text}; {', '.join(others)}" if others else text
