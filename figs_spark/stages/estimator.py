"""What the FIGS estimators share: from a DataFrame and Params to a fitted model."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from pyspark.ml import Estimator
from pyspark.ml.base import _FitMultipleIterator
from pyspark.ml.param import Params
from pyspark.sql import DataFrame
from tqdm.auto import tqdm

from figs_spark.engine.growing import Settings
from figs_spark.engine.training import Plan, Trained, train
from figs_spark.stages.checks import Checked, check
from figs_spark.stages.model import FIGSModel
from figs_spark.stages.params import DeclaredParams, features_per_step
from figs_spark.stages.persistence import Persistent
from figs_spark.stages.sizes import SizePath, fold_column, size_table


class Growing(DeclaredParams, Persistent, Estimator[Any]):
    """An estimator with the Params of growing."""

    _classification: bool
    _auto_subset = "all"  # what the featureSubsetStrategy "auto" means

    def _check_params(self, classes: int | None = None) -> None:
        """Raise where Params exclude one another or, once these are known, the classes."""

    def _plan(self, checked: Checked) -> Plan:
        get = self.getOrDefault
        strategy, features = get("featureSubsetStrategy"), len(checked.table.features)
        settings = Settings(
            max_splits=get("maxSplits"),
            max_trees=get("maxTrees"),
            max_depth=get("maxDepth"),
            min_rows=get("minInstancesPerNode"),
            min_weight_fraction=get("minWeightFractionPerNode"),
            min_impurity_decrease=get("minImpurityDecrease"),
            features_per_step=features_per_step(strategy, features, self._auto_subset),
            seed=get("seed"),
        )
        return Plan(settings, get("mode"), get("maxBins"), get("workDir"))


class NestedSizes(Growing):
    """Sizes are nested, so one fit serves every `maxSplits`."""

    @abstractmethod
    def _grow(self, dataset: DataFrame) -> tuple[Any, Any]:
        """Grow up to `maxSplits`: the path of all models of that size and below."""

    @abstractmethod
    def _model(self, checked: Any, trained: Any) -> Any:
        """Of what was grown, the model of at most `maxSplits`."""

    def _fit(self, dataset: DataFrame) -> Any:
        return self._model(*self._grow(dataset))

    def fitMultiple(
        self, dataset: DataFrame, paramMaps: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        """Models for several param maps; those that differ in `maxSplits` only share one fit."""
        estimators = [self.copy(extra) for extra in paramMaps]
        paths: dict[str, _SharedPath] = {}
        for estimator in estimators:
            path = paths.setdefault(estimator._all_but_size(), _SharedPath(dataset))
            path.estimators.append(estimator)

        def fit_one(index: int) -> Any:
            return paths[estimators[index]._all_but_size()].model(estimators[index])

        return _FitMultipleIterator(fit_one, len(estimators))

    def _all_but_size(self) -> str:
        values = {p.name: v for p, v in self.extractParamMap().items() if p.name != "maxSplits"}
        return repr(sorted((name, _shown(value)) for name, value in values.items()))


def _shown(value: Any) -> str:
    """A Param's value as text that tells it from others; copies of a stage share their uid."""
    if not isinstance(value, Params):
        return repr(value)
    return repr((value, sorted((p.name, repr(v)) for p, v in value.extractParamMap().items())))


class FIGSEstimator(NestedSizes):
    """Grows one FIGS model."""

    _model_class: type[FIGSModel]

    def crossValidatePath(
        self, dataset: DataFrame, numFolds: int = 5, foldCol: str | None = None
    ) -> SizePath:
        """The held-out loss of every size up to `maxSplits`, from one batch of fits.

        `foldCol` keeps rows together: those with equal values, such as a patient's, are in the same
        fold. Integers from 0 to numFolds - 1 name the fold itself. Else folds are random by `seed`.
        """
        self._check_params()
        fold = fold_column(dataset, numFolds, foldCol, self.getOrDefault("seed"))
        whole = self.copy()._set(validationIndicatorCol=None)
        checked = check(dataset, whole, self._classification, held=fold)
        with progress_bar(self.getOrDefault("verbose"), None) as step:
            trained = train(checked.table, self._plan(checked), range(numFolds + 1), step)
        held = [fit.held_losses for fit in trained[:numFolds] if fit.held_losses is not None]
        empty = [k for k, losses in enumerate(held) if np.isnan(losses).any()]
        if empty:
            raise ValueError(
                f"Fold {empty[0]} of {numFolds} has no rows. Use fewer folds, or another foldCol."
            )
        full = Trained(trained[numFolds].model)
        table = size_table(held, full.model.losses, checked.table.rows)
        return SizePath(table, whole._model(checked, full))

    def _grow(self, dataset: DataFrame) -> tuple[Checked, Trained]:
        self._check_params()
        checked = check(dataset, self, self._classification)
        self._check_params(checked.table.target.classes)
        with progress_bar(self.getOrDefault("verbose"), self.getOrDefault("maxSplits")) as step:
            trained = train(checked.table, self._plan(checked), progress=step)[0]
        return checked, trained

    def _model(self, checked: Checked, trained: Trained) -> FIGSModel:
        """The model of at most `maxSplits`; where rows were held, of the size they like best."""
        size, held = self.getOrDefault("maxSplits"), trained.held_losses
        kept = len(trained.model.splits) if size is None else size
        if held is not None:
            held = held[: kept + 1]
            kept = int(np.argmin(held))
        model: FIGSModel = self._copyValues(self._model_class())
        model._resetUid(self.uid)
        model.treeSum = trained.model.truncate(kept)
        model._classes = checked.table.target.classes
        model._class_names = checked.class_names
        model._validation_losses = None if held is None else tuple(held.tolist())
        return model


class _SharedPath:
    """One fit for estimators that differ in size only, made when the first model is asked for."""

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


@contextmanager
def progress_bar(shown: bool, total: int | None) -> Iterator[Callable[[int], None]]:
    """A bar that moves by one with every greedy step."""
    with tqdm(total=total, desc="FIGS", unit="split", disable=not shown) as bar:

        def step(models: int) -> None:
            bar.update()

        yield step
