"""G-FIGS: one small model per group, each trained on all rows.

In the model of a group a row weighs the probability that it belongs to the group. So a group of few
rows also learns from rows of other groups that resemble its own. The models of all groups grow as
one batch over the same packed rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame

from figs_spark.engine.group_values import folds_for, grow_with_group_values
from figs_spark.engine.progress import Progress
from figs_spark.engine.table import Table
from figs_spark.engine.training import Plan, train
from figs_spark.stages.base.checks import Checked
from figs_spark.stages.base.estimator import NestedSizes, progress_bar
from figs_spark.stages.base.outputs import ThresholdParams
from figs_spark.stages.gfigs.grouped_here import counts_of_groups_here
from figs_spark.stages.gfigs.groups import Group, group_name
from figs_spark.stages.gfigs.membership import Membership
from figs_spark.stages.gfigs.model import (
    GFIGSClassificationModel,
    GFIGSRegressionModel,
    GroupedModel,
)
from figs_spark.stages.gfigs.own_rows import with_counts_of_groups
from figs_spark.stages.gfigs.params import (
    CLASSIFICATION,
    MEMBERSHIP,
    MEMBERSHIP_ESTIMATOR,
    MIXTURE,
    POOLED,
    REGRESSION,
    SHRINK,
)
from figs_spark.stages.gfigs.weights import (
    Prepared,
    check_groups,
    prepare,
    table_by_part,
    weighted_table,
)
from figs_spark.stages.params.catalogue import CALIBRATE
from figs_spark.stages.params.declared import with_signature
from figs_spark.treesum import TreeSum
from figs_spark.treesum.levels import as_fitted
from figs_spark.treesum.own_rows import without_empty_branches

Grown = dict[Group, tuple[TreeSum, float]]  # the largest model, and the effective sample size


class GFIGSEstimator(NestedSizes):
    """Grows one FIGS model per group."""

    _model_class: type[GroupedModel]

    def _grow(self, dataset: DataFrame) -> tuple[Prepared, Grown]:
        with progress_bar(self.getOrDefault("verbose"), None) as step:
            prepared = self._prepare(dataset)
            return prepared, self._grow_prepared(prepared, step)

    def _check_rows(self, dataset: DataFrame) -> Checked:
        checked = super()._check_rows(dataset)
        groups = check_groups(self._with_derived(dataset), self, checked)
        self._check_sizes(groups)
        return checked

    def _prepare(self, dataset: DataFrame, membership: Membership | None = None) -> Prepared:
        self._check_params()
        dataset = self._with_derived(dataset)
        prepared = prepare(dataset, self, self._classification, membership)
        self._check_params(prepared.checked.table.target.classes)
        self._check_sizes(prepared.groups)
        return prepared

    def _grow_prepared(self, prepared: Prepared, step: Progress | None = None) -> Grown:
        if step is None:
            with progress_bar(self.getOrDefault("verbose"), None) as shown:
                return self._grow_prepared(prepared, shown)
        table, effective = weighted_table(prepared, self)
        largest = self._largest()
        plan = self._plan(prepared.checked)
        plan = replace(plan, rules=replace(plan.rules, max_splits=largest))
        groups, models = prepared.groups, self._grow_models(prepared, table, plan, step)
        if self.getOrDefault("weighting") in (MEMBERSHIP, SHRINK):
            models = self._with_counts(prepared, models)
        return dict(zip(groups, zip(models, effective, strict=True), strict=True))

    def _with_counts(self, prepared: Prepared, models: list[TreeSum]) -> list[TreeSum]:
        """The models with the rows of their own group in every node."""
        rows = prepared.checked.table.here
        if prepared.here is None or rows is None:
            return with_counts_of_groups(prepared.frame, models)
        return counts_of_groups_here(rows, prepared.here, models)

    def _grow_models(
        self, prepared: Prepared, table: Table, plan: Plan, step: Progress
    ) -> list[TreeSum]:
        """The model of each group at its largest size."""
        weighting, groups = self.getOrDefault("weighting"), len(prepared.groups)
        if weighting == SHRINK:
            parts = table_by_part(prepared, self, folds_for(groups))
            return grow_with_group_values(parts, plan, groups, step).models
        members = 1 if weighting == POOLED else groups
        trained = train(table, plan, members, progress=step)
        return trained.models * (groups // members)

    def _model(self, prepared: Prepared, grown: Grown) -> GroupedModel:
        model: GroupedModel = self._copyValues(self._model_class())
        model._resetUid(self.uid)
        sums = []
        for group, (largest, effective) in grown.items():
            size = self._size_of(group)
            smaller = largest if size is None else largest.truncate(size)
            sums.append(without_empty_branches(smaller) if self._prunes else smaller)
            model._effective[group] = effective
        model._sums = dict(zip(grown, as_fitted(sums), strict=True))
        model._classes = prepared.checked.table.target.classes
        model._class_names = prepared.checked.class_names
        model._membership = prepared.membership
        return model

    @property
    def _prunes(self) -> bool:
        """Whether branches that no row of the group reaches are left out; a mixture needs them for
        rows of other groups."""
        get = self.getOrDefault
        return bool(get("weighting") == MEMBERSHIP and get("unseenGroup") != MIXTURE)

    # Sizes

    def _size_of(self, group: Group) -> Any:
        by_group = self.getOrDefault("maxSplitsByGroup") or {}
        return by_group.get(group_name(group), self.getOrDefault("maxSplits"))

    def _largest(self) -> int | None:
        size = self.getOrDefault("maxSplits")
        by_group = (self.getOrDefault("maxSplitsByGroup") or {}).values()
        return None if size is None else max([size, *by_group])

    def _check_sizes(self, groups: tuple[Group, ...]) -> None:
        unknown = sorted(
            set(self.getOrDefault("maxSplitsByGroup") or {}) - set(map(group_name, groups))
        )
        if unknown:
            raise ValueError(
                f"maxSplitsByGroup names the group {unknown[0]!r}, and column "
                f"'{self.getOrDefault('groupCol')}' (groupCol) has {list(groups)}. Name these only."
            )

    # Saving

    def _parts(self) -> dict[str, Any]:
        estimator = self.getOrDefault("membershipEstimator")
        return {} if estimator is None else {"membershipEstimator": estimator}

    def _set_parts(self, parts: dict[str, Any]) -> None:
        if parts:
            self._set(**parts)


@with_signature
class GFIGSRegressor(GFIGSEstimator):
    """G-FIGS for a numeric outcome.

    >>> GFIGSRegressor(featuresCols=["age", "dose"], labelCol="days", groupCol="site").fit(df)
    """

    __module__ = "figs_spark"

    declared = (*REGRESSION, MEMBERSHIP_ESTIMATOR)
    _classification = False
    _model_class = GFIGSRegressionModel


@with_signature
class GFIGSClassifier(ThresholdParams, GFIGSEstimator):
    """G-FIGS for two or more classes, labelled 0, 1, 2, ...

    >>> GFIGSClassifier(
    ...     featuresCols=["age", "gcs"], labelCol="died", groupCol="age_group",
    ...     membershipExcludeCols=["age"], classWeight="inverse",
    ... ).fit(df)
    """

    __module__ = "figs_spark"

    declared = (*CLASSIFICATION, CALIBRATE, MEMBERSHIP_ESTIMATOR)
    _classification = True
    _model_class = GFIGSClassificationModel
