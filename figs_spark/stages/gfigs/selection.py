"""Which size and which membership model? Chosen on validation rows, in two stages.

First, for every membership model and group, the size with the best specificity on the validation
rows of that group. Then, with these sizes, one membership model for all groups, by the validation
rows of all groups together. Ties go to the next sensitivity that is asked for, then to the smaller
model. Sizes are nested, so each membership model needs one fit. Rows are ranked by the raw score:
the probability does not tell scores of 0 and below apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from figs_spark.clinical.curves import Curve
from figs_spark.clinical.scored import Scored
from figs_spark.stages.base.inputs import OUTPUTS
from figs_spark.stages.gfigs.estimator import GFIGSClassifier
from figs_spark.stages.gfigs.membership import Membership
from figs_spark.stages.gfigs.params import MEMBERSHIP, POOLED

if TYPE_CHECKING:
    import pandas as pd

ALL = object()  # all groups together, in place of a group
Specificities = tuple[float, ...]  # at each sensitivity


@dataclass(frozen=True)
class SelectedGFIGS:
    """The model, fitted on all rows; the estimator that it was fitted by; and what was tried.

    `table` has one row per membership model, group and size, and one per membership model with the
    group "all" and the splits of the chosen sizes together: the specificity at each sensitivity,
    and whether it was chosen. `memberships` are the membership models that were fitted on train and
    validation rows, if asked for.
    """

    model: Any
    estimator: Any
    table: pd.DataFrame
    memberships: tuple[Membership, ...] = ()


@dataclass(frozen=True)
class Tried:
    """Sizes, by group, of the model with one membership estimator; one size for all if pooled."""

    membership: int
    sizes: dict[Any, int]
    specificities: Specificities

    @property
    def order(self) -> tuple[float, ...]:
        """The best comes first."""
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

    `membershipEstimators` are tried in place of the estimator's own. The first of the
    `sensitivities` is what specificity is compared at, the others settle ties. `weightCol` weights
    the validation rows. With `membershipOnBoth` the membership models that are tried are fitted on
    train and validation rows together; the outcome of the latter is not looked at. They may come
    from a selection of another kind of model on the same rows: its `memberships`.
    With weighting "pooled" one size is chosen for all, with "separate" one by group.
    """
    if not isinstance(estimator, GFIGSClassifier):
        raise ValueError(f"A GFIGSClassifier is needed, got {type(estimator).__name__}.")
    if not sizes or not sensitivities:
        raise ValueError("sizes and sensitivities need at least one value each.")
    by_membership = estimator.getOrDefault("weighting") == MEMBERSHIP
    if membershipEstimators is None or not by_membership:
        membershipEstimators = [estimator.getOrDefault("membershipEstimator")]
    if memberships and len(memberships) != len(membershipEstimators):
        raise ValueError(
            f"memberships has {len(memberships)} models, and {len(membershipEstimators)} "
            f"membershipEstimators are tried. Give one for each, in the same order."
        )
    both = train.unionByName(validation)
    judge = _Judge(validation, sensitivities, weightCol)
    first: list[Tried] = []
    second: list[Tried] = []
    fitted: list[Membership | None] = [*memberships]  # on all rows but the test rows
    for k, classifier in enumerate(membershipEstimators):
        own = estimator.copy()._set(membershipEstimator=classifier, maxSplitsByGroup=None)
        if not memberships:
            wanted = membershipOnBoth and by_membership
            fitted.append(own._prepare(both).membership if wanted else None)
        tried, chosen = _sizes(k, own, train, sizes, judge, fitted[k])
        first += tried
        second.append(chosen)
    best = min(second, key=lambda tried: tried.order)
    final = _with_sizes(estimator, best, membershipEstimators[best.membership])
    table = _table(first, second, best, membershipEstimators, sensitivities)
    folds = estimator.getOrDefault("membershipFolds")  # weigh a row without having seen it
    prepared = final._prepare(both, None if folds else fitted[best.membership])
    model = final._model(prepared, final._grow_prepared(prepared))
    return SelectedGFIGS(model, final, table, tuple(known for known in fitted if known is not None))


def _sizes(
    number: int,
    estimator: GFIGSClassifier,
    train: DataFrame,
    sizes: Sequence[int],
    judge: _Judge,
    known: Membership | None,
) -> tuple[list[Tried], Tried]:
    """All sizes of every group with one membership model, and the best of each together."""
    largest = estimator.copy()._set(maxSplits=max(sizes))
    prepared = largest._prepare(train, known)
    model = largest._model(prepared, largest._grow_prepared(prepared))
    pooled = estimator.getOrDefault("weighting") == POOLED
    groups = [ALL] if pooled else list(model.groups)
    tried = []
    for size in sorted(sizes):
        found = judge.specificities(model.truncate(size))
        tried += [Tried(number, {group: size}, found[group]) for group in groups]
    chosen: dict[Any, int] = {}
    for group in groups:
        best = min((t for t in tried if group in t.sizes), key=lambda t: t.order)
        chosen |= best.sizes
    smaller = model.truncate(chosen[ALL] if pooled else chosen)
    return tried, Tried(number, chosen, judge.specificities(smaller)[ALL])


def _with_sizes(estimator: GFIGSClassifier, best: Tried, classifier: Any) -> GFIGSClassifier:
    by_group = None if ALL in best.sizes else best.sizes
    return estimator.copy()._set(
        membershipEstimator=classifier,
        maxSplits=max(best.sizes.values()),
        maxSplitsByGroup=by_group,
    )


@dataclass(frozen=True)
class _Judge:
    validation: DataFrame
    sensitivities: Sequence[float]
    weight: str | None

    def specificities(self, model: Any) -> dict[Any, Specificities]:
        """By group, and of all rows under "all"."""
        get, score = model.getOrDefault, f"{model.uid}_score"
        names = {p: "" for p in OUTPUTS if model.hasParam(p)} | {"rawPredictionCol": score}
        scored = model.copy()._set(**names).transform(self.validation)
        rows = Scored(scored, get("labelCol"), score, self.weight, get("groupCol"))
        found = {}
        for place, (group, of_group) in enumerate(rows.by_group()):
            curve = Curve(of_group)
            for name, value in (("positives", 1), ("negatives", 0)):
                if not getattr(of_group, name).sum() > 0:
                    raise ValueError(
                        f"Group {group!r} of column '{get('groupCol')}' (groupCol) has no {name} "
                        f"to choose by: column '{get('labelCol')}' (labelCol) is {value} in 0 of "
                        f"its {of_group.rows.sum():.0f} validation rows. Take more rows."
                    )
            at = [curve.at_sensitivity(level) for level in self.sensitivities]
            found[group if place else ALL] = tuple(float(curve.specificity[k]) for k in at)
        lost = [group for group in model.groups if group not in found]
        if lost:
            raise ValueError(
                f"Group {lost[0]!r} of column '{get('groupCol')}' (groupCol) has 0 validation "
                f"rows. Every group needs some."
            )
        return found


def _table(
    first: Sequence[Tried],
    second: Sequence[Tried],
    best: Tried,
    estimators: Sequence[Any],
    sensitivities: Sequence[float],
) -> pd.DataFrame:
    import pandas as pd

    chosen = {tried.membership: tried.sizes for tried in second}
    rows = []
    for tried, group, used in [
        *((t, g, chosen[t.membership][g] == s) for t in first for g, s in t.sizes.items()),
        *((t, ALL, t is best) for t in second),
    ]:
        rows.append(
            {
                "membership": tried.membership,
                "membershipEstimator": str(estimators[tried.membership] or "default"),
                "group": "all" if group is ALL else group,
                "maxSplits": sum(tried.sizes.values()),
                **{
                    f"specificityAt{level:g}": value
                    for level, value in zip(sensitivities, tried.specificities, strict=True)
                },
                "chosen": used,
            }
        )
    return pd.DataFrame(rows)
