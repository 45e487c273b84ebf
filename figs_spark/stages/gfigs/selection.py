"""Chooses the sizes and the membership model of a G-FIGS on validation rows, in two stages.

The first stage chooses, for every membership model and group, the size with the best specificity on
the validation rows of the group. The second stage takes these sizes and chooses one membership
model for all groups, by the validation rows of all groups together. The specificity at the next
sensitivity settles ties, then the smaller size. Smaller models are inside larger ones, so each
membership model needs one fit. Rows are ranked by the raw score, because the probability of all
scores of 0 and below is the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from figs_spark.clinical.curves import Curve
from figs_spark.clinical.scored import Scored
from figs_spark.stages.gfigs.estimator import GFIGSClassifier
from figs_spark.stages.gfigs.membership import Membership
from figs_spark.stages.gfigs.params import MEMBERSHIP, POOLED

if TYPE_CHECKING:
    import pandas as pd

ALL = object()  # stands for all groups together
Specificities = tuple[float, ...]  # at each sensitivity


@dataclass(frozen=True)
class SelectedGFIGS:
    """The model, fitted on all rows; the estimator that fitted it; and the table of candidates.

    `table` has one row per membership model, group and size: the specificity at each sensitivity,
    and whether the size was chosen. It also has one row per membership model with the group "all",
    the splits of all its chosen sizes, and whether the membership model was chosen. `memberships`
    are the membership models that were fitted on train and validation rows together, if they were.
    """

    __module__ = "figs_spark"

    model: Any
    estimator: Any
    table: pd.DataFrame
    memberships: tuple[Membership, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A membership model with sizes by group, or with one size for ALL, and its specificities."""

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
    validation: DataFrame,
    sizes: Sequence[int] = (8, 12, 16),
    membershipEstimators: Sequence[Any] | None = None,
    sensitivities: Sequence[float] = (0.94, 0.90),
    weightCol: str | None = None,
    membershipOnBoth: bool = False,
    memberships: Sequence[Membership] = (),
) -> SelectedGFIGS:
    """Choose `maxSplits` by group and the membership model, and fit on train and validation rows.

    `membershipEstimators` are the membership models to choose from; by default the estimator's own.
    Specificity is compared at the first of the `sensitivities`; the others settle ties. `weightCol`
    weights the validation rows. With `membershipOnBoth` the membership models are fitted on train
    and validation rows together, without their outcome. `memberships` are fitted membership models,
    such as the `memberships` of another selection on the same rows.
    With weighting "pooled" one size is chosen for all groups, with "separate" one for each.
    """
    by_membership = _by_membership(estimator, sizes, sensitivities)
    if membershipEstimators is None or not by_membership:
        membershipEstimators = [estimator.getOrDefault("membershipEstimator")]
    if memberships and len(memberships) != len(membershipEstimators):
        raise ValueError(
            f"memberships has {len(memberships)} models, and {len(membershipEstimators)} "
            f"membershipEstimators are compared. Give one for each, in the same order."
        )
    both = train.unionByName(validation)
    evaluator = _ValidationEvaluator(validation, sensitivities, weightCol)
    first: list[Candidate] = []
    second: list[Candidate] = []
    fitted: list[Membership | None] = [*memberships]  # on train and validation rows
    for k, classifier in enumerate(membershipEstimators):
        variant = estimator.copy()._set(membershipEstimator=classifier, maxSplitsByGroup=None)
        if not memberships:
            fits = membershipOnBoth and by_membership
            fitted.append(variant._prepare(both).membership if fits else None)
        candidates, chosen = _sizes(k, variant, train, sizes, evaluator, fitted[k])
        first += candidates
        second.append(chosen)
    best = min(second, key=lambda candidate: candidate.rank)
    final = _with_sizes(estimator, best, membershipEstimators[best.membership])
    table = _table(first, second, best, membershipEstimators, sensitivities)
    folds = estimator.getOrDefault("membershipFolds")  # need a new fit for each fold
    prepared = final._prepare(both, None if folds else fitted[best.membership])
    model = final._model(prepared, final._grow_prepared(prepared))
    return SelectedGFIGS(model, final, table, tuple(m for m in fitted if m is not None))


def _by_membership(estimator: Any, sizes: Sequence[int], sensitivities: Sequence[float]) -> bool:
    """Whether membership weights the rows; ValueError if there is nothing to choose."""
    if not isinstance(estimator, GFIGSClassifier):
        raise ValueError(f"A GFIGSClassifier is needed, got {type(estimator).__name__}.")
    if not sizes or not sensitivities:
        raise ValueError("sizes and sensitivities need at least one value each.")
    return bool(estimator.getOrDefault("weighting") == MEMBERSHIP)


def _sizes(
    number: int,
    estimator: GFIGSClassifier,
    train: DataFrame,
    sizes: Sequence[int],
    evaluator: _ValidationEvaluator,
    membership: Membership | None,
) -> tuple[list[Candidate], Candidate]:
    """All sizes of every group with one membership model, and the best sizes together."""
    largest = estimator.copy()._set(maxSplits=max(sizes))
    prepared = largest._prepare(train, membership)
    model = largest._model(prepared, largest._grow_prepared(prepared))
    pooled = estimator.getOrDefault("weighting") == POOLED
    groups = [ALL] if pooled else list(model.groups)
    candidates = []
    for size in sorted(sizes):
        by_group = evaluator.specificities(model.truncate(size))
        candidates += [Candidate(number, {group: size}, by_group[group]) for group in groups]
    chosen: dict[Any, int] = {}
    for group in groups:
        best = min((c for c in candidates if group in c.sizes), key=lambda c: c.rank)
        chosen |= best.sizes
    smaller = model.truncate(chosen[ALL] if pooled else chosen)
    return candidates, Candidate(number, chosen, evaluator.specificities(smaller)[ALL])


def _with_sizes(estimator: GFIGSClassifier, best: Candidate, classifier: Any) -> GFIGSClassifier:
    """The estimator with the chosen sizes and membership model."""
    by_group = None if ALL in best.sizes else best.sizes
    return estimator.copy()._set(
        membershipEstimator=classifier,
        maxSplits=max(best.sizes.values()),
        maxSplitsByGroup=by_group,
    )


@dataclass(frozen=True)
class _ValidationEvaluator:
    """Evaluates a model by its specificity on the validation rows."""

    validation: DataFrame
    sensitivities: Sequence[float]
    weight: str | None

    def specificities(self, model: Any) -> dict[Any, Specificities]:
        """By group, and of all rows under ALL."""
        get, score = model.getOrDefault, f"{model.uid}_score"
        scored = model._with_one_output(self.validation, "rawPredictionCol", score)
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
    estimators: Sequence[Any],
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
        rows.append(
            {
                "membership": candidate.membership,
                "membershipEstimator": str(estimators[candidate.membership] or "default"),
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
