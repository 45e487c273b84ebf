"""A fitted G-FIGS: one FIGS model per group. The model of its group scores a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from figs_spark.dataframes.columns import column, field
from figs_spark.dataframes.expressions import COLUMNS
from figs_spark.exports.instrument import Family, Patient
from figs_spark.pictures.waterfall import DrawnExplanation
from figs_spark.stages.base.inputs import packed_column, with_scoring_array
from figs_spark.stages.base.model import FittedModel
from figs_spark.stages.base.outputs import ClassificationOutputs, RegressionOutputs
from figs_spark.stages.base.rows import by_name
from figs_spark.stages.calibration import Calibrating
from figs_spark.stages.figs import FIGSClassificationModel, FIGSModel, FIGSRegressionModel
from figs_spark.stages.gfigs.groups import (
    Group,
    check_group_column,
    refused,
    routed,
    rows_by_group,
)
from figs_spark.stages.gfigs.logistic import LogisticMembership, read_logistic
from figs_spark.stages.gfigs.membership import PROBABILITY, VECTOR, Membership
from figs_spark.stages.gfigs.membership_columns import check_scoring_type, from_list, to_list
from figs_spark.stages.gfigs.params import CLASSIFICATION, MIXTURE, REGRESSION
from figs_spark.stages.gfigs.shown import ShownByGroup
from figs_spark.treesum import Feature, TreeSum
from figs_spark.treesum.adjustments import Adjustment
from figs_spark.treesum.contents import read_groups
from figs_spark.treesum.nodes import IDENTITY, only_named
from figs_spark.treesum.serialization import to_dict

if TYPE_CHECKING:
    import pandas as pd
    from typing_extensions import Self


class GroupedModel(ShownByGroup, Calibrating):
    """A fitted G-FIGS, for a numeric outcome or for classes."""

    _figs_class: type[FIGSModel]

    def __init__(self, **params: Any) -> None:
        super().__init__(**params)
        self._sums: dict[Group, TreeSum] = {}
        self._effective: dict[Group, float] = {}
        self._membership: Membership | None = None

    # Contents

    @property
    def models(self) -> dict[Group, Any]:
        """The FIGS model of each group, with the Params of this model."""
        return {group: self._model_of(k, group) for k, group in enumerate(self._sums)}

    @property
    def membershipModel(self) -> Any:
        """The classifier of groups; None if none was fitted."""
        return None if self._membership is None else self._membership.model

    @property
    def membershipCoefficients(self) -> pd.DataFrame | None:
        """The log odds of each group by feature, if the membershipModel is linear; else None.

        With two groups there is one column, for the second group against the first.
        """
        return None if self._membership is None else self._membership.coefficients()

    @property
    def effectiveSampleSizes(self) -> dict[Group, float]:
        """The effective sample size of each group, by Kish: (sum w)^2 / sum w^2.

        So many rows of equal weight are as informative as the weighted rows of the group.
        """
        return dict(self._effective)

    def truncate(self, k: int | Mapping[Group, int]) -> Self:
        """The model of each group as it was after its first k splits.

        With {group: k} the groups have different sizes; a group that is not named stays as it is.
        """
        sizes = dict(k) if isinstance(k, Mapping) else dict.fromkeys(self._sums, k)
        for group in sizes:
            self._check_group(group)
        smaller = self.copy()
        sums = [
            tree_sum.truncate(sizes[group]) if group in sizes else tree_sum
            for group, tree_sum in self._sums.items()
        ]
        smaller._sums = dict(zip(self._sums, only_named(sums), strict=True))
        return smaller

    def _with_sums(self, change: Adjustment) -> Self:
        changed = self.copy()
        sums = only_named([change(tree_sum) for tree_sum in self._sums.values()])
        changed._sums = dict(zip(self._sums, sums, strict=True))
        return changed

    def _with_one_sum(self, change: Adjustment, group: Any) -> Self:
        if group is None:
            raise ValueError(f"The model has the groups {list(self._sums)}. Name one as `group`.")
        self._check_group(group)
        changed = self.copy()
        sums = [change(one) if name == group else one for name, one in self._sums.items()]
        changed._sums = dict(zip(self._sums, only_named(sums), strict=True))
        return changed

    def _sums_by_group(self) -> Mapping[Any, TreeSum]:
        return self._sums

    def _take_sums(self, sums: Mapping[Any, TreeSum]) -> None:
        self._sums = dict(sums)

    def _group_of_rows(self) -> Column:
        return column(self.getOrDefault("groupCol"))

    def _model_of(self, k: int, group: Group) -> FIGSModel:
        model: FIGSModel = self._copyValues(self._figs_class())
        model._resetUid(f"{self.uid}_{k}")
        model.treeSum = self._sums[group]
        model._classes, model._class_names = self._classes, self._class_names
        return model

    def _model_for(self, group: Group) -> Any:
        self._check_group(group)
        return self._model_of(self.groups.index(group), group)

    def explain(self, row: Any) -> DrawnExplanation:
        """What each tree adds for one row, by the model of its group; see that of a FIGS model.

        `row` has names (a dict, a Spark Row, a pandas Series) and the group in `groupCol`.
        """
        explanation: DrawnExplanation = self._model_for(self._group_of(row)).explain(row)
        return explanation

    def _check_group(self, group: Any) -> None:
        if group not in self._sums:
            raise ValueError(f"There is no group {group!r}; there are {list(self._sums)}.")

    # Scoring

    @property
    def _features(self) -> tuple[Feature, ...]:
        return next(iter(self._sums.values())).features if self._sums else ()

    @property
    def _used(self) -> set[int]:
        return {split.feature for tree_sum in self._sums.values() for split in tree_sum.splits}

    @property
    def _shares(self) -> str:
        """The name of the column with the probability of each group; it exists during scoring."""
        return f"{self.uid}_shares"

    def _transform(self, dataset: DataFrame) -> DataFrame:
        self._check_fitted()
        dataset = self._with_derived(dataset)
        check_group_column(dataset, self.getOrDefault("groupCol"), self.groups[0])
        if self.getOrDefault("unseenGroup") == MIXTURE:
            dataset = self._with_shares(dataset)
        return super()._transform(dataset).drop(self._shares)

    def _with_shares(self, dataset: DataFrame) -> DataFrame:
        """Add the probability of each group: from a column, or from the membership model."""
        param = "membershipProbabilityCol"
        if name := self.getOrDefault(param):
            shares = packed_column(field(dataset, name, param), param)
            return dataset.withColumn(self._shares, shares)
        if self._membership is None or self.membershipModel is None:
            raise ValueError(
                "unseenGroup is 'mixture', and the model has no membershipModel. Fit it with "
                "weighting 'membership', or with unseenGroup 'mixture' from the start."
            )
        packed, cells = f"{self.uid}_packed", []
        if any(source.place is not None for source in self._membership.columns):
            name = self.getOrDefault("featuresCol")
            dataset = with_scoring_array(dataset, name, self.numFeatures, packed)
        for source in self._membership.columns:
            if source.place is None:
                kind = field(dataset, source.name, "membershipFeaturesCols").dataType
                check_scoring_type(source, kind)
                cells.append(column(source.name))
            else:
                cells.append(column(packed)[source.place])
        return self._membership.with_probabilities(dataset, cells, self._shares).drop(packed)

    def _family(self) -> Family:
        name = self.getOrDefault("groupCol")
        notes: tuple[str, ...] = ()
        if self.getOrDefault("unseenGroup") == MIXTURE:
            notes = ("In Spark a row of an unknown group gets a mixture; here it has no result.",)
        return Family("groups", tuple(self._sums.values()), self.groups, name, notes)

    def _patient(self, row: Any) -> Patient:
        return {**super()._patient(row), self.getOrDefault("groupCol"): self._group_of(row)}

    def _group_of(self, row: Any) -> Any:
        name, named = self.getOrDefault("groupCol"), by_name(row) or {}
        if name not in named:
            raise ValueError(f"The row lacks '{name}' (groupCol). Give a dict, a Row or a Series.")
        return named[name]

    def _score_array(self, features: Sequence[Column]) -> Column:
        name, models = self.getOrDefault("groupCol"), self.models
        scores = {group: model._score_array(features) for group, model in models.items()}
        if self.getOrDefault("unseenGroup") == MIXTURE:
            other = self._mixture(list(scores.values()))
        else:
            other = refused(self.groups, name)
        return routed(self.groups, name, scores.__getitem__, other)

    def _mixture(self, scores: Sequence[Column]) -> Column:
        """The mean of the models' predictions, weighted by the probabilities of their groups."""
        outputs = self._target.outputs
        predicted = []
        for score in scores:
            values = self._predicted([score[c] for c in range(outputs)])
            predicted.append(values[-1:] if self._classes == 2 else values)
        shares = [F.get(column(self._shares), F.lit(k)) for k in range(len(scores))]
        total = sum(shares[1:], start=shares[0])
        pairs = list(zip(shares, predicted, strict=True))
        means = [
            sum((share * p[c] for share, p in pairs[1:]), start=pairs[0][0] * pairs[0][1][c])
            / total
            for c in range(outputs)
        ]
        message = (
            f"A row of an unseen group in column '{self.getOrDefault('groupCol')}' (groupCol) has "
            f"no membership probabilities. Give it finite membership features."
        )
        valid = total.isNotNull() & (total > 0) & ~F.isnan(total)
        if self._target.link != IDENTITY:
            scored = COLUMNS.log_odds if len(means) == 1 else COLUMNS.log_weight
            means = [scored(mean) for mean in means]
        return F.when(valid, F.array(*means)).otherwise(F.raise_error(message))

    def _details(self, features: Sequence[Column]) -> dict[str, Column]:
        """The optional outputs, from the model of the row's group; null for an unseen group."""
        name, by_output = self.getOrDefault("groupCol"), dict[str, dict[Group, Column]]()
        for group, model in self.models.items():
            for output, expression in model._details(features).items():
                by_output.setdefault(output, {})[group] = expression
        return {
            output: routed(self.groups, name, by_group.__getitem__)
            for output, by_group in by_output.items()
        }

    def _raw_scores(self, values: Any) -> np.ndarray:
        """The scores of the rows of a table, each from the model of its group."""
        name = self.getOrDefault("groupCol")
        if name not in getattr(values, "columns", ()):
            raise ValueError(
                f"The groups of the rows are not given. Use predict(values, group), or a pandas "
                f"DataFrame with the column '{name}' (groupCol)."
            )
        scores = np.empty((len(values), self._target.outputs))
        places = rows_by_group(values, name, self.groups)
        for tree_sum, of_group in zip(self._sums.values(), places, strict=True):
            scores[of_group] = tree_sum.predict(values.iloc[of_group])
        return scores

    # Saving

    def _contents(self) -> dict[str, Any]:
        membership, own = self._membership, {}
        if isinstance(self.membershipModel, LogisticMembership):
            own["membershipLogistic"] = self.membershipModel.to_dict()
        return {
            "groups": list(self._sums),
            "models": [to_dict(tree_sum) for tree_sum in self._sums.values()],
            "effectiveSampleSizes": list(self._effective.values()),
            "membershipColumns": None if membership is None else to_list(membership.columns),
            **own,
            **self._class_contents(),
        }

    def _set_contents(self, contents: dict[str, Any], source: str) -> None:
        self._sums, self._effective = read_groups(contents, source)
        first = next(iter(self._sums.values()))
        self._set_classes(contents, first, source)
        if contents.get("membershipColumns") is None:
            self._membership = None
        else:
            columns = from_list(contents["membershipColumns"], len(first.features), source)
            model = None
            if (saved := contents.get("membershipLogistic")) is not None:
                slots = sum(len(column.slots) for column in columns)
                model = read_logistic(saved, len(self.groups), slots, source, VECTOR, PROBABILITY)
            self._membership = Membership(self.groups, columns, model)

    def _parts(self) -> dict[str, Any]:
        model = self.membershipModel
        inside = model is None or isinstance(model, LogisticMembership)  # of the contents
        return {} if inside else {"membershipModel": model}

    def _set_parts(self, parts: dict[str, Any]) -> None:
        if self._membership is not None and "membershipModel" in parts:
            self._membership = replace(self._membership, model=parts["membershipModel"])


class PredictsByGroup(FittedModel):
    """Predictions without Spark, for rows of one group or with a column of groups."""

    if TYPE_CHECKING:  # GroupedModel has it; it comes later, so that outputs may override it

        def _model_for(self, group: Group) -> Any: ...

    def predict(self, values: Any, group: Group | None = None) -> Any:
        """What `transform` gives, without Spark, as for a FIGS model.

        `group` is the group of all rows. Without it, `values` is a pandas DataFrame or a row with
        names that has the group in the column `groupCol`.
        """
        if group is None:
            return super().predict(values)
        return self._model_for(group).predict(values)


class GFIGSRegressionModel(PredictsByGroup, RegressionOutputs, GroupedModel):
    """A fitted G-FIGS for a numeric outcome."""

    __module__ = "figs_spark"

    declared = REGRESSION
    _figs_class = FIGSRegressionModel


class GFIGSClassificationModel(PredictsByGroup, ClassificationOutputs, GroupedModel):
    """A fitted G-FIGS for classes."""

    __module__ = "figs_spark"

    declared = CLASSIFICATION
    _figs_class = FIGSClassificationModel

    def predictProbability(self, values: Any, group: Group | None = None) -> np.ndarray:
        """Probabilities without Spark, shape (rows, classes); `group` as in `predict`."""
        if group is None:
            return super().predictProbability(values)
        probabilities: np.ndarray = self._model_for(group).predictProbability(values)
        return probabilities
