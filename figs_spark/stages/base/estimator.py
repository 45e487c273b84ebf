"""What all estimators share: the Params of growing, and one fit for many sizes."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pyspark.ml import Estimator
from pyspark.ml.base import _FitMultipleIterator
from pyspark.ml.param import Params
from pyspark.sql import DataFrame
from tqdm.auto import tqdm

from figs_spark.dataframes.compat import check_frame
from figs_spark.dataframes.workers import modules_on_workers
from figs_spark.engine.grower import GrowthRules
from figs_spark.engine.progress import PROFILE, Progress
from figs_spark.engine.refitting import Refit
from figs_spark.engine.training import Plan
from figs_spark.stages.base.checks import Checked, check
from figs_spark.stages.base.constraints import constraint_problems, read_constraints
from figs_spark.stages.base.deriving import Deriving
from figs_spark.stages.base.persistence import Persistent
from figs_spark.stages.params.values import features_per_step
from figs_spark.treesum.nodes import IDENTITY
from figs_spark.treesum.prediction import logistic_link


class Growing(Deriving, Persistent, Estimator[Any]):
    """An estimator with the Params of growing."""

    _classification: bool
    _auto_subset = "all"  # what the featureSubsetStrategy "auto" means
    _joint = True  # whether a ridge means that all values are fitted together

    def _check_params(self, classes: int | None = None) -> None:
        """ValueError if Params contradict one another or, if it is given, the number of classes."""

    def fit(self, dataset: Any, params: Any = None) -> Any:
        """A model fitted to a Spark DataFrame; `params` are as in Spark ML."""
        check_frame(dataset)
        with modules_on_workers():
            return super().fit(dataset, params)

    def _check_rows(self, dataset: DataFrame) -> Checked:
        """What `fit` checks before it grows anything."""
        self._check_params()
        checked = check(self._with_derived(dataset), self, self._classification)
        self._check_params(checked.table.target.classes)
        return checked

    def _plan(self, checked: Checked) -> Plan:
        get = self.getOrDefault
        strategy, features = get("featureSubsetStrategy"), len(checked.table.features)
        logistic = self._value_if_any("loss") == "logistic"
        problems = self._outcome_problems(checked.table.target.classes)
        if problems := [*problems, *constraint_problems(self, checked.table)]:
            raise ValueError("\n".join(problems))
        rules = GrowthRules(
            max_splits=get("maxSplits"),
            max_trees=get("maxTrees"),
            max_depth=get("maxDepth"),
            min_rows=get("minInstancesPerNode"),
            min_weight_fraction=get("minWeightFractionPerNode"),
            min_impurity_decrease=get("minImpurityDecrease"),
            features_per_step=features_per_step(strategy, features, self._auto_subset),
            seed=get("seed"),
            ridge=self._logistic_ridge() if logistic else self._ridge(),
            joint=self._joint,
            polish=bool(self._value_if_any("polish")),
            logistic=logistic,
            constraints=read_constraints(self, checked.table),
            category_smoothing=get("categorySmoothing"),
        )
        self._check_polish(rules)
        if (
            rules.joint
            and not logistic
            and rules.ridge != 0
            and rules.features_per_step is not None
        ):
            raise ValueError(
                f"regParam fits all values together, which needs all features in every step, and "
                f"featureSubsetStrategy is '{strategy}'. Set it to 'all', or regParam to 0."
            )
        return Plan(rules, get("mode"), get("maxBins"), get("workDir"), self._refit(checked))

    def _check_polish(self, rules: GrowthRules) -> None:
        """ValueError if splits are to be made again and cannot be."""
        if not rules.polish:
            return
        reasons = {
            "regParam is 0: it needs values that are fitted together. Set regParam to 'auto'": (
                rules.ridge == 0 and not rules.logistic
            ),
            "loss is 'logistic', which has no penalised squared error. Set one of them back": (
                rules.logistic
            ),
            "there are constraints, which it would not keep. Leave one of them out": (
                rules.constraints is not None
            ),
            "maxSplits is None: it begins at the full size. Give a number": (
                rules.max_splits is None
            ),
        }
        if problems := [f"polish is set, and {text}." for text, holds in reasons.items() if holds]:
            raise ValueError("\n".join(problems))

    def _ridge(self) -> float | None:
        """The ridge of growing; None: from the data."""
        value = self.getOrDefault("regParam")
        return None if value == "auto" else value

    def _logistic_ridge(self) -> float | None:
        """The ridge of growing by the logistic loss; None: the usual one."""
        value = self.getOrDefault("regParam")
        return value if self.isSet("regParam") and value != "auto" else None

    def _outcome_problems(self, classes: int) -> list[str]:
        """Logarithms without classes, and Params that contradict each other."""
        how, loss = self.getOrDefault("refit"), self._value_if_any("loss")
        label, problems = self.getOrDefault("labelCol"), []
        for name, value, other in (
            ("loss", loss, "Use 'squared'."),
            ("refit", how, "Use 'linear' or 'none'."),
        ):
            if value == "logistic" and not classes:
                problems.append(
                    f"{name} 'logistic' is for classes, and column '{label}' (labelCol) has "
                    f"numbers. {other}"
                )
        if loss == "logistic" and how == "linear":
            problems.append(
                "loss 'logistic' makes the sum a logarithm, and refit 'linear' a probability. Set "
                "refit to 'logistic' or 'none', which are the same then."
            )
        return problems

    def _refit(self, checked: Checked) -> Refit | None:
        """How values are fitted once the splits are made."""
        how = self.getOrDefault("refit")
        unweighted = bool(self._value_if_any("calibrate") and checked.table.class_factors)
        if "logistic" in (how, self._value_if_any("loss")):
            return Refit(logistic_link(checked.table.target.classes), unweighted)
        return Refit(IDENTITY, unweighted) if unweighted or how == "linear" else None


class NestedSizes(Growing):
    """Sizes are nested, so one fit serves every `maxSplits`."""

    @abstractmethod
    def _grow(self, dataset: DataFrame) -> tuple[Any, Any]:
        """Grow up to `maxSplits`; all smaller models are inside the result."""

    @abstractmethod
    def _model(self, checked: Any, trained: Any) -> Any:
        """The model of at most `maxSplits`, from the result of `_grow`."""

    def _fit(self, dataset: DataFrame) -> Any:
        return self._model(*self._grow(dataset))

    def fitMultiple(
        self, dataset: DataFrame, paramMaps: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Models for several param maps; those that differ in `maxSplits` only share one fit."""
        estimators = [self.copy(extra) for extra in paramMaps]
        fits: dict[str, _SharedFit] = {}
        for estimator in estimators:
            fit = fits.setdefault(estimator._all_but_size(), _SharedFit(dataset))
            fit.estimators.append(estimator)

        def fit_one(index: int) -> Any:
            return fits[estimators[index]._all_but_size()].model(estimators[index])

        return _FitMultipleIterator(fit_one, len(estimators))

    def _all_but_size(self) -> str:
        """All Params but `maxSplits`, as text that is equal if they are. A model with required
        features keeps its last splits for them, and does not contain its smaller ones; intervals
        and a polished model are of one size."""
        alone = any(map(self._value_if_any, ("required", "intervalSamples", "polish")))
        nested = () if alone else ("maxSplits",)
        values = {p.name: v for p, v in self.extractParamMap().items() if p.name not in nested}
        return repr(sorted((name, _shown(value)) for name, value in values.items()))


def _shown(value: Any) -> str:
    """A Param's value as text. Copies of a stage share their uid, so its Params are shown too."""
    if not isinstance(value, Params):
        return repr(value)
    return repr((value, sorted((p.name, repr(v)) for p, v in value.extractParamMap().items())))


class _SharedFit:
    """One fit for estimators that differ in size only; it runs when the first model is needed."""

    def __init__(self, dataset: DataFrame):
        self.dataset = dataset
        self.estimators: list[NestedSizes] = []
        self.lock = threading.Lock()
        self.grown: tuple[Any, Any] | None = None

    def model(self, estimator: NestedSizes) -> Any:
        with self.lock:
            if self.grown is None:
                sizes = [e.getOrDefault("maxSplits") for e in self.estimators]
                largest = estimator.copy()._set(maxSplits=None if None in sizes else max(sizes))
                self.grown = largest._grow(self.dataset)
        return estimator._model(*self.grown)


class ProgressBar(Progress):
    """A bar that names the phase, and moves by one with every greedy step."""

    def __init__(self, bar: Any):
        self.bar = bar

    def phase(self, name: str) -> None:
        self.bar.set_description(f"FIGS, {name}")

    def __call__(self, models: int) -> None:
        self.bar.update()


@contextmanager
def progress_bar(shown: bool, total: int | None) -> Iterator[Progress]:
    """Progress from the first look at the rows to the last split, if it is to be shown."""
    with tqdm(total=total, desc="FIGS", unit="split", disable=not shown) as bar:
        progress = ProgressBar(bar)
        progress.phase(PROFILE)
        yield progress
